# Parts of a whole: rows, slices, diagonals. The gradient of one part is zero almost everywhere.
# The first part that arrives at a tensor makes the zeros; the others are added into them, where
# they belong. So taking a tensor apart into n parts costs one pass backwards, not n.

cdef bint add_part(Task task, Node node, entry_t *entry) except -1:
    """Add a part's gradient into the whole that waits already; false when none does."""
    cdef edge_t *edge = &node.edges[0]
    cdef PyObject *whole = waiting_whole(task, edge)
    cdef PyObject *part
    if whole is NULL or entry.grad is NULL or either_has_level(whole, entry.grad) \
            or (<fl_tensor *>whole).dtype != (<fl_tensor *>entry.grad).dtype:
        return False
    Py_INCREF(whole)
    part = NULL
    try:
        part = view_again(node, whole)
        add_into(part, entry.grad)
    finally:
        Py_XDECREF(part)
        Py_DECREF(whole)
    return True


cdef PyObject *waiting_whole(Task task, edge_t *edge) noexcept:
    """The gradient that waits at the end of an edge, if it may be written to (borrowed)."""
    cdef entry_t *entry
    cdef Node target
    if task.overlaps or edge.output_nr > 0:
        return NULL
    if not is_node(edge.node):
        return grad_of_leaf(task, <AccumulateGrad>edge.node)
    target = <Node>edge.node
    if target.task != task.number:
        return NULL
    entry = &task.entries[target.entry]
    if entry.grad is NULL or entry.shared or not may_write(entry.grad):
        return NULL
    return entry.grad


cdef PyObject *grad_of_leaf(Task task, AccumulateGrad leaf) noexcept:
    """The gradient stored in a leaf, which is added to in place anyhow."""
    if takes_at_once(task, leaf) and leaf.grad is not None and _passes == 1:
        return <PyObject *>leaf.grad
    return NULL


cdef PyObject *view_again(Node node, PyObject *whole) except NULL:
    """The view that the node stands for, of another tensor of the same shape."""
    cdef fl_value values[FL_MAX_PARAMS]
    cdef int64_t scratch[FL_MAX_PARAMS][64]
    cdef int s, k
    for k in range(node.op.nparams):
        values[k] = node.op.params[k].fallback
    put_tensor(&values[0], whole)
    for s in range(node.plan.nslots):
        k = node.plan.slots[s].index
        if node.plan.slots[s].kind == SAVE_VALUE and k > 0:
            slot_value(node, &node.slots[s], node.op.params[k].role, &values[k], scratch[k])
    return call_op(node.op, values, node.op.nparams)
