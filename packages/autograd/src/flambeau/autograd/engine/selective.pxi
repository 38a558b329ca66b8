# Passes with named inputs: autograd.grad and backward(inputs=...). Only the nodes that lead to
# them run, and what arrives at them is captured.

cdef class Capture:
    """What to do with the gradient of one input."""

    cdef list positions                    # indices into results
    cdef bint into_grad                 # backward(inputs=...): add it to the tensor's grad


cdef int choose_inputs(Task task, list roots, list inputs, bint into_grad) except -1:
    """Note the inputs and find the nodes that lead to them."""
    cdef fl_tensor *t
    cdef Capture capture
    cdef uint64_t oldest = <uint64_t>-1
    task.selective = True
    task.captures = {}
    for index, tensor in enumerate(inputs):
        t = <fl_tensor *><PyObject *>tensor
        key = (<size_t>t.autograd, t.output_nr)
        capture = task.captures.get(key)
        if capture is None:
            capture = Capture()
            capture.positions = []
            capture.into_grad = into_grad
            task.captures[key] = capture
        capture.positions.append(index)
        if into_grad and is_node(t.autograd):
            retain(t)
        oldest = min(oldest, sequence_of(t.autograd))
    task.wanted = leading_to([key[0] for key in task.captures], roots, oldest)
    return 0


cdef uint64_t sequence_of(PyObject *target) noexcept:
    return (<Node>target).sequence if is_node(target) else (<AccumulateGrad>target).sequence


cdef set leading_to(list ends, list roots, uint64_t oldest):
    """Ids of the nodes from which one of ``ends`` is reached; ends included."""
    cdef vector[PyObject *] stack
    cdef PyObject *target
    cdef PyObject *child
    cdef int i
    order = []
    seen = set()
    for root in roots:
        stack.push_back((<fl_tensor *><PyObject *>root).autograd)
    while not stack.empty():
        target = stack.back()
        stack.pop_back()
        if <size_t>target in seen or sequence_of(target) < oldest:
            continue
        seen.add(<size_t>target)
        order.append((sequence_of(target), <size_t>target))
        if is_node(target):
            for i in range((<Node>target).nedges):
                child = (<Node>target).edges[i].node
                if child is not NULL:
                    stack.push_back(child)
    order.sort()                        # oldest first: what a node leads to is decided before it
    return keep_leading(order, set(ends) & seen)


cdef set keep_leading(list order, set wanted):
    cdef PyObject *target
    cdef int i
    for _, number in order:
        target = <PyObject *><size_t>number
        if not is_node(target):
            continue
        for i in range((<Node>target).nedges):
            if (<Node>target).edges[i].node is not NULL \
                    and <size_t>(<Node>target).edges[i].node in wanted:
                wanted.add(number)
                break
    return wanted


cdef uint32_t wanted_edges(Task task, Node node) except? 0xFFFFFFFF:
    """The node's needs without edges that lead nowhere wanted."""
    cdef uint32_t needs = 0
    cdef int i
    for i in range(node.nedges):
        if node.edges[i].node is not NULL and <size_t>node.edges[i].node in task.wanted:
            needs |= 1 if node.nedges > MAX_INPUTS or is_list_node(node) else <uint32_t>1 << i
    return needs


cdef inline bint is_list_node(Node node) noexcept:
    return node.plan is not NULL and node.plan.takes_list


cdef int capture_node(Task task, Node node, entry_t *entry) except -1:
    """Store what arrived at an interior tensor that was asked for."""
    cdef Capture capture
    cdef uint32_t output_nr
    cdef uint32_t count = 1 if entry.others is NULL else 1 + len(<list>entry.others)
    for output_nr in range(count):
        capture = task.captures.get((<size_t><void *>node, output_nr))
        grad = grad_of_output(entry, output_nr)
        if capture is not None and grad is not None and not capture.into_grad:
            store_captured(task, capture, grad)
    return 0


cdef bint captures_into_grad(Task task, Node node) except -1:
    """Whether backward(inputs=...) names an output of the node."""
    cdef Capture capture
    cdef int i
    for i in range(outputs_of(node)):
        capture = task.captures.get((<size_t><void *>node, i))
        if capture is not None and capture.into_grad:
            return True
    return False


cdef bint capture_leaf(Task task, AccumulateGrad leaf, entry_t *entry) except -1:
    """Store a leaf's gradient; true when it is to be added to ``grad`` as well."""
    cdef Capture capture = task.captures.get((<size_t><void *>leaf, 0))
    if capture is None:
        return False
    if not capture.into_grad:
        store_captured(task, capture, <object>entry.grad)
    return capture.into_grad


cdef int store_captured(Task task, Capture capture, object grad) except -1:
    for position in capture.positions:
        task.results[position] = grad
    return 0


def only_leads_to(outputs, own):
    """Whether the history of tensors ends at leaves among ``own`` and nowhere else.

    Variables of transforms that are over count for nothing: nobody asks for their gradients.
    """
    cdef vector[PyObject *] stack
    cdef PyObject *target
    cdef int i
    cdef fl_tensor *t
    ends = {<size_t>(<fl_tensor *><PyObject *>x).autograd for x in own}
    seen = set()
    for root in outputs:
        t = <fl_tensor *><PyObject *>root
        if not requires_grad(t):
            continue
        if is_linked_view(t):
            refresh_view(t)
        if not is_node(t.autograd):
            leaf_of(t)
        stack.push_back(t.autograd)
    while not stack.empty():
        target = stack.back()
        stack.pop_back()
        if <size_t>target in seen or <size_t>target in ends:
            continue
        if not is_node(target):
            if (<AccumulateGrad>target).ended:
                continue
            return False
        seen.add(<size_t>target)
        for i in range((<Node>target).nedges):
            if (<Node>target).edges[i].node is not NULL:
                stack.push_back((<Node>target).edges[i].node)
    return True


def end_variables(tensors):
    """Tell the tape that nobody outside asks for gradients by these leaves."""
    cdef fl_tensor *t
    for tensor in tensors:
        t = <fl_tensor *><PyObject *>tensor
        if requires_grad(t) and not is_node(t.autograd):
            leaf_of(t).ended = True


def record_of(tensor):
    """The node or leaf record that gradients of a tensor arrive at."""
    cdef fl_tensor *t
    require_tensor(tensor, "record_of(): tensor")
    t = <fl_tensor *><PyObject *>tensor
    if not requires_grad(t):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient: "
                           "call requires_grad_() on it first")
    if is_linked_view(t):
        refresh_view(t)
    if not is_node(t.autograd):
        leaf_of(t)
    return <object>t.autograd


def reached_now(list records):
    """How many of these records the backward pass of this thread reaches."""
    cdef Task task
    cdef uint64_t oldest = <uint64_t>-1
    if fl_task_in_hand is NULL:
        return len(records)
    task = <Task>fl_task_in_hand
    ids = [<size_t><PyObject *>record for record in records]
    if task.selective:
        return sum([number in task.wanted for number in ids])
    for record in records:
        oldest = min(oldest, sequence_of(<PyObject *>record))
    found = leading_to(ids, list(task.roots), oldest)
    return sum([number in found for number in ids])
