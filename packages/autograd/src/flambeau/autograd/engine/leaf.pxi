# The end of the road: gradients arrive at leaves.

cdef int accumulate(AccumulateGrad leaf, PyObject *grad, bint shared) except -1:
    """leaf.grad += grad. The first gradient is kept as it is when nobody else sees it."""
    cdef bint recording = FL.get_mode() & FL_M_GRAD
    cdef object old
    while leaf.busy:
        wait_a_little()
    leaf.busy = True
    try:
        old = leaf.grad
        if old is None:
            leaf.grad = first_grad(leaf, grad, recording or shared or not may_keep(grad))
        elif is_sparse(<PyObject *>old) and not is_sparse(grad):
            leaf.grad = ops.add(<object>grad, old)
        elif recording:
            leaf.grad = ops.add(old, <object>grad)
        else:
            add_into(<PyObject *>old, grad)
    finally:
        leaf.busy = False
        Py_DECREF(grad)
    return 0


cdef bint is_sparse(PyObject *t) noexcept:
    return (<fl_tensor *>t).flags >> FL_LEVEL_SHIFT != 0 and _core.is_sparse_object(<object>t)


cdef bint may_keep(PyObject *grad) noexcept:
    """Whether a gradient can be kept as it is; of a sparse one nobody else holds the object."""
    return may_write(grad) or (is_sparse(grad) and Py_REFCNT(grad) == 1)


cdef object first_grad(AccumulateGrad leaf, PyObject *grad, bint copies):
    """The first gradient, in the leaf's layout: its strides if it is dense, else contiguous."""
    cdef fl_tensor *g = <fl_tensor *>grad
    cdef PyObject *owner = referent(<PyObject *>leaf.owner)
    cdef bint fits = owner is NULL or g.flags >> FL_LEVEL_SHIFT != 0 \
        or has_layout_of(g, <fl_tensor *>owner)
    held = None
    if owner is not NULL:
        held = <object>owner
        Py_DECREF(owner)
    if fits:
        return clone(<object>grad) if copies else <object>grad
    result = laid_out_like(<fl_tensor *>owner, <object>grad)
    ops.copy_(result, <object>grad)
    return result


cdef object laid_out_like(fl_tensor *t, grad):
    """Memory for a gradient of ``t``."""
    if is_dense(t):
        return ops.empty_strided(shape_of(t), strides_of(t), dtype=grad.dtype, device=grad.device)
    return ops.empty(shape_of(t), dtype=grad.dtype, device=grad.device)


cdef bint has_layout_of(fl_tensor *g, fl_tensor *t) noexcept:
    cdef int d
    if t.flags & g.flags & FL_CONTIGUOUS:
        return True
    if not is_dense(t):
        return g.flags & FL_CONTIGUOUS != 0
    for d in range(t.ndim):
        if t.shape[d] != 1 and t.strides[d] != g.strides[d]:
            return False
    return True


cdef bint is_dense(fl_tensor *t) noexcept:
    """Whether the elements fill their memory without gaps or overlaps, in any order."""
    cdef int64_t step = 1
    cdef int d, found, left = 0
    cdef uint64_t taken = 0
    if t.flags & FL_CONTIGUOUS or t.numel <= 1:
        return True
    for d in range(t.ndim):
        left += t.shape[d] != 1
    while left > 0:
        found = -1
        for d in range(t.ndim):
            if t.shape[d] != 1 and not taken >> d & 1 and t.strides[d] == step:
                found = d
                break
        if found < 0:
            return False
        taken |= <uint64_t>1 << found
        step *= t.shape[found]
        left -= 1
    return True


# Adding releases the GIL for large tensors, so passes in several threads take turns at a leaf.
cdef void wait_a_little() noexcept:
    with nogil:
        usleep(20)


# ---- when leaves with hooks run: as soon as they have all of their gradient ---------------------
# A leaf is older than every node that leads to it, so in the order of creation it would run at the
# end of a pass: hooks that send gradients to other processes, or give up their memory, would wait
# for everything. It is complete once the oldest of those nodes in the pass has run, which only a
# walk over the graph tells; programs without hooks on leaves are spared it.

cdef bint _leaves_have_hooks = False    # or had: some leaf in this process


cdef int expect_leaf_hooks() except -1:
    """A hook is registered on a leaf."""
    global _leaves_have_hooks
    _leaves_have_hooks = True
    return 0


cdef inline bint has_hooks(AccumulateGrad leaf) noexcept:
    return leaf.hooks is not None or leaf.post_hooks is not None or leaf.node_hooks is not None


cdef int find_turns(Task task, tuple roots) except -1:
    """The turn of every leaf with hooks: just after the oldest node that leads to it."""
    cdef vector[PyObject *] stack
    cdef unordered_set[size_t] seen
    cdef PyObject *target
    cdef Node node
    cdef int i
    if not _leaves_have_hooks:
        return 0
    for root in roots:
        target = (<fl_tensor *><PyObject *>root).autograd
        if is_node(target) and seen.insert(<size_t>target).second:
            stack.push_back(target)
    while not stack.empty():
        node = <Node>stack.back()
        stack.pop_back()
        for i in range(node.nedges):
            target = node.edges[i].node
            if target is NULL:
                continue
            if not is_node(target):
                note_turn(task, <AccumulateGrad>target, 2 * node.sequence - 1)
            elif seen.insert(<size_t>target).second:
                stack.push_back(target)
    return 0


cdef inline void note_turn(Task task, AccumulateGrad leaf, uint64_t turn) noexcept:
    cdef size_t key = <size_t><void *>leaf
    if has_hooks(leaf) and (not task.turns.count(key) or turn < task.turns[key]):
        task.turns[key] = turn


cdef inline uint64_t turn_of(Task task, AccumulateGrad leaf) noexcept:
    cdef size_t key = <size_t><void *>leaf
    if task.turns.empty() or not task.turns.count(key):
        return 2 * leaf.sequence
    return task.turns[key]
