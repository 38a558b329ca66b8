# What replayed calls (flambeau.jit) need to know of leaves and of graphs.

cdef int leaf_state(fl_tensor *t, PyObject **grad) noexcept:
    """0 for a plain leaf, 1 for one with hooks, 2 for a computed tensor, 3 for a leaf whose hooks
    are gone, to which gradients still come at once; its gradient, borrowed. Of no tensor: whether
    anybody watches what is recorded or packs what is saved."""
    cdef AccumulateGrad leaf
    grad[0] = NULL
    if t is NULL:
        return _noting != 0 or _packing != _budgets
    if is_node(t.autograd):
        return 2
    if not is_leaf_record(t.autograd):
        return 0
    leaf = <AccumulateGrad>t.autograd
    grad[0] = <PyObject *>leaf.grad
    if leaf.ended or leaf.hooks or leaf.post_hooks or leaf.pre_hooks or leaf.node_hooks:
        return 1
    return 3 if has_hooks(leaf) else 0


def spent_node(tensor):
    """The node that made a tensor where its graph holds nothing any more, be it because a backward
    pass gave it up; ``None`` where it does. Such nodes stand for each other."""
    cdef fl_tensor *t = pointer(tensor)
    cdef Node node
    cdef list todo
    cdef set seen = set()
    cdef int i
    if not is_node(t.autograd) or t.flags & FL_VIEW:
        return None
    todo = [<object>t.autograd]
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if not holds_nothing(node):
            return None
        for i in range(<int>node.nedges):
            if is_node(node.edges[i].node):
                todo.append(<object>node.edges[i].node)
    return <object>t.autograd


cdef bint holds_nothing(Node node):
    """Whether a node keeps neither tensors nor what a program gave it; a write to a view keeps how
    that lay, and the node of what was written."""
    cdef NodeExtras extras = node.extras
    if extras is None:
        return not (node.flags & N_FUNCTION or holds_tensors(node))
    if not isinstance(extras.function, CopySlices) or extras.metadata or extras.tensor_hooks \
            or extras.kept_grads or extras.pre_hooks or extras.post_hooks:
        return False
    return holds_nothing((<CopySlices>extras.function).inner)


cdef bint holds_tensors(Node node) noexcept:
    cdef int s
    if node.flags & N_FREED:
        return False
    for s in range(node.nslots):
        if node.slots[s].kind in (S_INPUT, S_OUTPUT, S_TENSORS, S_PACKED):
            return True
    return False
