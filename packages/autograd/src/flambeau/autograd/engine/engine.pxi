# The backward pass: youngest waiting node first.

cdef int _passes = 0                    # passes running now, in all threads
cdef uint64_t _pass_number = 0


cdef Task _spare_task = None            # kept for its vectors' memory


cdef Task new_task(bint keep_graph, bint create_graph):
    """A pass that has not begun."""
    global _spare_task
    cdef Task task = _spare_task
    _spare_task = None
    if task is None:
        task = Task.__new__(Task)
    task.keep_graph = keep_graph
    task.create_graph = create_graph
    return task


cdef int finish(Task task) except -1:
    """Release what still waits (after an error), and keep the object for the next pass."""
    global _spare_task
    task.drop_all()
    task.turns.clear()
    task.roots = None
    if task.selective:
        task.selective = False
        task.captures = task.wanted = task.results = None
    if _spare_task is None and task.entries.capacity() < 4096:
        task.entries.clear()
        task.unused.clear()
        task.entry_of.clear()
        _spare_task = task
    return 0


cdef enum:
    MAX_NESTED_PASSES = 40              # then a new thread, with a stack of its own, goes on


cdef int run_task(Task task, tuple roots, tuple grads) except -1:
    """Send the gradients of the roots down the graph. Passes that rules begin are nested in the
    one that called the rule, as deep as there are functions that call backward()."""
    if fl_nested_passes >= MAX_NESTED_PASSES and not in_transform():
        return run_in_thread(NestedPass(task, roots, grads, FL.get_mode()))
    set_nested_passes(fl_nested_passes + 1)
    try:
        return run_pass(task, roots, grads)
    finally:
        set_nested_passes(fl_nested_passes - 1)


cdef bint in_transform() except -1:
    """Whether this thread is inside a transform, whose levels another one would not know."""
    from flambeau.autograd.transforms.stack import STATE

    return STATE.depth > 0


@cython.final
cdef class NestedPass:
    """A pass, for another thread to run in the mode of this one."""

    cdef Task task
    cdef tuple roots, grads
    cdef uint32_t mode

    def __cinit__(self, Task task, tuple roots, tuple grads, uint32_t mode):
        self.task = task
        self.roots = roots
        self.grads = grads
        self.mode = mode

    def __call__(self):
        FL.set_mode(self.mode)
        run_task(self.task, self.roots, self.grads)


cdef int run_in_thread(NestedPass nested) except -1:
    """Run a pass in a thread of its own, and wait for it."""
    from flambeau.autograd._nested import run_in_thread as run

    run(nested)
    return 0


cdef int run_pass(Task task, tuple roots, tuple grads) except -1:
    global _passes, _pass_number
    cdef uint32_t mode = FL.get_mode()
    cdef fl_tensor *t
    cdef PyObject *grad
    cdef PyObject *outer = fl_task_in_hand
    cdef Py_ssize_t i
    _pass_number += 1
    task.roots = roots
    set_task_in_hand(<PyObject *>task)
    task.number = _pass_number
    task.overlaps = _passes > 0
    _passes += 1
    FL.set_mode(mode | FL_M_GRAD if task.create_graph else mode & ~<uint32_t>FL_M_GRAD)
    try:
        if _noting:
            check_seeds_for_nan(grads)
        find_turns(task, roots)
        for i in range(len(roots)):
            t = <fl_tensor *><PyObject *>roots[i]
            grad = <PyObject *>grads[i]
            Py_INCREF(grad)
            deliver(task, t.autograd, t.output_nr, grad, True)
        while not task.heap.empty():
            step(task)
    finally:
        _passes -= 1
        FL.set_mode(mode)
        set_task_in_hand(outer)
        finish(task)
    return 0


cdef int step(Task task) except -1:
    """Run the youngest waiting target."""
    cdef entry_t entry = task.take()
    try:
        if is_node(entry.target):
            run_node(task, <Node>entry.target, &entry)
        else:
            run_leaf(task, <AccumulateGrad>entry.target, &entry)
    finally:
        Py_DECREF(entry.target)
        Py_XDECREF(entry.grad)
        Py_XDECREF(entry.others)
    return 0


cdef int deliver(Task task, PyObject *target, uint32_t output_nr, PyObject *grad,
                 bint shared) except -1:
    """Add a gradient to what waits for a node; leaves without hooks take it at once."""
    cdef AccumulateGrad leaf
    cdef uint32_t number
    if is_node(target):
        number = task.entry_of_node(<Node>target)
    else:
        leaf = <AccumulateGrad>target
        if takes_at_once(task, leaf):
            return accumulate(leaf, grad, shared)
        number = task.entry_of_leaf(leaf)
    if shared:
        task.entries[number].shared = 1
    if output_nr > 0:
        return deliver_other(task, number, output_nr, grad)
    if task.entries[number].grad is not NULL:
        shared = task.entries[number].shared
        grad = sum_of(task.entries[number].grad, grad, shared)
    task.entries[number].grad = grad
    return 0


cdef int deliver_nothing(Task task, PyObject *target) except -1:
    """Let a node run, or the hooks of a leaf, although no gradient comes this way: custom
    functions get zeros or None then, hooks get None."""
    cdef AccumulateGrad leaf
    if is_node(target):
        task.entry_of_node(<Node>target)
        return 0
    leaf = <AccumulateGrad>target
    if has_hooks(leaf):
        task.entry_of_leaf(leaf)
    return 0


cdef inline bint takes_at_once(Task task, AccumulateGrad leaf) noexcept:
    """A leaf whose gradient nobody wants to see as a whole before it is stored."""
    return not task.selective and not has_hooks(leaf)


cdef int deliver_other(Task task, uint32_t number, uint32_t output_nr, PyObject *grad) except -1:
    """The same for outputs beyond the first."""
    cdef list others
    value = <object>grad
    Py_DECREF(grad)
    if task.entries[number].others is NULL:
        others = []
        Py_INCREF(<PyObject *>others)
        task.entries[number].others = <PyObject *>others
    others = <list>task.entries[number].others
    while len(others) < output_nr:
        others.append(None)
    if others[output_nr - 1] is not None:
        value = ops.add(others[output_nr - 1], value)
    others[output_nr - 1] = value
    return 0


cdef int run_node(Task task, Node node, entry_t *entry) except -1:
    cdef PyObject *inside[MAX_INPUTS]
    cdef PyObject **results = inside
    cdef int i
    cdef uint32_t needs = node.needs
    if node.extras is not None:
        before_node(node, entry)
    if task.selective:
        capture_node(task, node, entry)
        needs = wanted_edges(task, node)
        if not needs:
            if not (watches_run(node) and captures_into_grad(task, node)):
                return 0
            needs = node.needs
    if node.extras is not None:
        call_pre_hooks(node, entry)
    if node.flags & N_FUNCTION:
        return run_function(task, node, entry)
    if node.plan.is_part and node.extras is None and not task.create_graph \
            and add_part(task, node, entry):
        return 0
    if node.nedges > MAX_INPUTS:
        results = <PyObject **>calloc(node.nedges, sizeof(PyObject *))
        if results is NULL:
            raise MemoryError
    for i in range(node.nedges):
        results[i] = NULL
    try:
        if entry.grad is NULL and entry.others is NULL:
            pass                        # no gradient arrived, none goes on: hooks hear of it
        elif _noting:
            call_watched(node, entry, needs, results)
        else:
            call_rule(node, entry.grad, entry.others, needs, results,
                      node.extras is None and not entry.shared)
        if node.extras is not None:
            after_node(node, entry, results)
        if not task.keep_graph:
            release_saved(node)
        give_up_grads(entry)
        for i in range(node.nedges):
            hand_on(task, node, i, &results[i], False)
    finally:
        for i in range(node.nedges):
            Py_XDECREF(results[i])
        if results != inside:
            free(results)
    return 0


cdef inline int give_up_grads(entry_t *entry) except -1:
    """Drop the incoming gradients before the outgoing ones travel on: their memory may be reused.
    """
    cdef PyObject *grad = entry.grad
    cdef PyObject *others = entry.others
    entry.grad = entry.others = NULL
    Py_XDECREF(grad)
    Py_XDECREF(others)
    return 0


cdef inline int hand_on(Task task, Node node, int i, PyObject **result, bint shared) except -1:
    cdef PyObject *grad = result[0]
    cdef PyObject *target = node.edges[i].node
    if target is NULL:
        return 0
    if task.selective and <size_t>target not in task.wanted:
        return 0
    if grad is NULL:
        return deliver_nothing(task, target)
    result[0] = NULL
    return deliver(task, target, node.edges[i].output_nr, grad, shared)


cdef int run_function(Task task, Node node, entry_t *entry) except -1:
    """Custom functions and writes to views."""
    cdef NodeExtras extras = node.extras
    cdef NodeFunction function = extras.function
    cdef PyObject *results[1]
    cdef int i
    grads = function_grads(node, entry)
    needs = tuple([node.edges[i].node is not NULL and (
        not task.selective or <size_t>node.edges[i].node in task.wanted)
        for i in range(node.nedges)])
    if entry.grad is NULL and entry.others is NULL and not function.runs_without_grads:
        values = (None,) * node.nedges
    elif _noting:
        values = run_watched(node, function, grads, needs)
    else:
        values = function.run(node, grads, needs)
    if len(values) != node.nedges:
        raise_wrong_count(node, len(values))
    if extras.post_hooks is not None:
        values = call_post_hooks(extras.post_hooks, values, grads)
    if not task.keep_graph:
        function.release()
    grads = None                        # whom nobody else holds may be kept or written to
    give_up_grads(entry)
    outgoing = list(values)
    values = None
    for i in range(node.nedges):
        value, outgoing[i] = outgoing[i], None
        if node.edges[i].node is NULL:
            continue
        if value is None:
            results[0] = NULL
            hand_on(task, node, i, results, False)
            continue
        Py_INCREF(<PyObject *>value)
        results[0] = <PyObject *>value
        value = None
        results[0] = fitted(node, i, results[0])
        hand_on(task, node, i, results, False)
        Py_XDECREF(results[0])
    return 0


cdef tuple function_grads(Node node, entry_t *entry):
    """The gradients of a function node's outputs; None where none arrived."""
    cdef NodeExtras extras = node.extras
    cdef int count = len(extras.output_shapes) if extras.output_shapes is not None else 1
    values = [None] * count
    if entry.grad is not NULL:
        values[0] = <object>entry.grad
    if entry.others is not NULL:
        for i, other in enumerate(<list>entry.others):
            values[i + 1] = other
    return tuple(values)


cdef int run_leaf(Task task, AccumulateGrad leaf, entry_t *entry) except -1:
    """Store a leaf's whole gradient, with its hooks."""
    cdef PyObject *grad
    if entry.grad is NULL:
        return tell_leaf_of_nothing(task, leaf)
    if leaf.hooks is not None:
        replace_grad(&entry.grad, call_hooks(leaf.hooks, <object>entry.grad))
        entry.shared = 1
    if task.selective and not capture_leaf(task, leaf, entry):
        return 0
    before_storing(leaf, entry)
    grad = entry.grad
    if leaf.node_hooks is None and leaf.post_hooks is None:
        entry.grad = NULL
        return accumulate(leaf, grad, entry.shared)
    Py_INCREF(grad)
    accumulate(leaf, grad, entry.shared)
    return after_storing(leaf, <object>grad)


cdef int tell_leaf_of_nothing(Task task, AccumulateGrad leaf) except -1:
    """Call a leaf's hooks in a pass that came by without a gradient for it."""
    cdef Capture capture
    if leaf.hooks is not None:
        call_hooks(leaf.hooks, None)
    if task.selective:
        capture = task.captures.get((<size_t><void *>leaf, 0))
        if capture is None or not capture.into_grad:
            return 0
    if leaf.pre_hooks is not None:
        for hook in list(leaf.pre_hooks.values()):
            hook((None,))
    return after_storing(leaf, None)
