# Hooks: functions of the user that see, and may replace, gradients on their way.

cdef uint64_t _next_hook = 0


@cython.auto_pickle(True)
@cython.final
cdef class RemovableHandle:
    """What registering a hook gives back; ``remove()`` takes the hook away again."""

    cdef dict hooks
    cdef readonly uint64_t id

    def __init__(self, dict hooks, hook, bint checked=True):
        global _next_hook
        if checked and not callable(hook):
            raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
        _next_hook += 1
        self.id = _next_hook
        self.hooks = hooks
        hooks[self.id] = hook

    def remove(self):
        """Take the hook away. Does nothing the second time."""
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


cdef object call_hooks(dict hooks, object grad):
    """The gradient after all tensor hooks."""
    for hook in list(hooks.values()):
        result = hook(grad)
        if result is not None:
            check_replacement(hook, grad, result)
            grad = result
    return grad


cdef int check_replacement(object hook, object grad, object result) except -1:
    name = getattr(hook, "__name__", type(hook).__name__)
    require_tensor(result, f"what the hook {name}() returns")
    if grad is None:
        raise RuntimeError(
            f"hook {name}(): can't replace a None gradient with a non-None value: only other "
            "outputs of the function have gradients in this pass; return None when given None")
    if not same_shape(<fl_tensor *><PyObject *>grad, <fl_tensor *><PyObject *>result):
        raise RuntimeError(
            f"hook {name}() has changed the size of value: it was given a gradient of shape "
            f"{list(grad.shape)} and returned one of shape {list(result.shape)}; return a "
            "gradient of the same shape, or None to leave it as it is")
    return 0


cdef int replace_grad(PyObject **slot, object grad) except -1:
    cdef PyObject *old = slot[0]
    Py_INCREF(<PyObject *>grad)
    slot[0] = <PyObject *>grad
    Py_XDECREF(old)
    return 0


cdef int before_node(Node node, entry_t *entry) except -1:
    """Tensor hooks and kept gradients, in this order."""
    cdef NodeExtras extras = node.extras
    if extras.tensor_hooks is not None:
        for output_nr, hooks in list(extras.tensor_hooks.items()):
            change_grad(entry, output_nr, hooks)
    if extras.kept_grads is not None:
        for output_nr in list(extras.kept_grads):
            keep_grad(extras, entry, output_nr)
    return 0


cdef int outputs_of(Node node) except -1:
    """How many outputs a node has gradients of."""
    cdef NodeExtras extras = node.extras
    if node.plan is not NULL:
        return node.noutputs if node.plan.outputs == OUTPUTS_IN_LIST else node.plan.outputs
    if extras is not None and extras.output_shapes is not None:
        return len(extras.output_shapes)
    return 1


cdef object grad_of_output(entry_t *entry, int output_nr):
    if output_nr == 0:
        return <object>entry.grad if entry.grad is not NULL else None
    if entry.others is NULL or output_nr > len(<list>entry.others):
        return None
    return (<list>entry.others)[output_nr - 1]


cdef int set_grad_of_output(entry_t *entry, int output_nr, object grad) except -1:
    entry.shared = 1
    if output_nr == 0:
        return replace_grad(&entry.grad, grad)
    if entry.others is NULL:
        others = []
        Py_INCREF(<PyObject *>others)
        entry.others = <PyObject *>others
    others = <list>entry.others
    while len(others) < output_nr:
        others.append(None)
    others[output_nr - 1] = grad
    return 0


cdef int change_grad(entry_t *entry, int output_nr, dict hooks) except -1:
    """Call an output's hooks; with None where only other outputs have a gradient."""
    grad = grad_of_output(entry, output_nr)
    changed = call_hooks(hooks, grad)
    if changed is not None:
        set_grad_of_output(entry, output_nr, changed)
    return 0


cdef int keep_grad(NodeExtras extras, entry_t *entry, int output_nr) except -1:
    """What retain_grad() asked for."""
    grad = grad_of_output(entry, output_nr)
    if grad is None:
        return 0
    kept = extras.kept_grads[output_nr]
    if kept is None or was_of_a_vmap(kept):
        extras.kept_grads[output_nr] = ops.clone(grad)
    else:
        extras.kept_grads[output_nr] = ops.add(kept, grad)
    return 0


cdef bint was_of_a_vmap(object grad) except -1:
    """Whether nothing can be added to a gradient, because its vmap has ended."""
    return _core.level_of(grad) and getattr(grad.__dict__["_level"], "is_closed", False)


cdef tuple grads_of_outputs(Node node, entry_t *entry):
    """The gradients that arrived at a node, None for outputs without one."""
    cdef int i
    return tuple([grad_of_output(entry, i) for i in range(outputs_of(node))])


cdef int call_pre_hooks(Node node, entry_t *entry) except -1:
    """Hooks of the node before it runs: they may replace what arrived."""
    cdef NodeExtras extras = node.extras
    cdef int i
    if extras.pre_hooks is None:
        return 0
    for hook in list(extras.pre_hooks.values()):
        result = hook(grads_of_outputs(node, entry))
        if result is None:
            continue
        for i, grad in enumerate(result):
            if grad is not None:
                set_grad_of_output(entry, i, grad)
    return 0


cdef inline bint watches_run(Node node) noexcept:
    """Whether hooks of the node itself want to see it run."""
    cdef NodeExtras extras = node.extras
    return extras is not None and (extras.pre_hooks is not None or extras.post_hooks is not None)


cdef int after_node(Node node, entry_t *entry, PyObject **results) except -1:
    """Hooks of the node itself: they see what came in and what goes out."""
    cdef NodeExtras extras = node.extras
    cdef int i
    if extras.post_hooks is None or not extras.post_hooks:
        return 0
    outgoing = tuple([<object>results[i] if results[i] is not NULL else None
                      for i in range(node.nedges)])
    changed = call_post_hooks(extras.post_hooks, outgoing, grads_of_outputs(node, entry))
    if changed is outgoing:
        return 0
    for i in range(node.nedges):
        if changed[i] is not None:
            replace_grad(&results[i], changed[i])
    return 0


cdef tuple call_post_hooks(dict hooks, tuple outgoing, tuple incoming):
    for hook in list(hooks.values()):
        result = hook(outgoing, incoming)
        if result is not None:
            outgoing = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return outgoing


# ---- hooks of leaf records -----------------------------------------------------------------------
cdef object leaf_prehook(AccumulateGrad leaf, hook):
    """A hook before the gradient is stored; it may replace it."""
    if leaf.node_hooks is None:
        leaf.node_hooks = {}
        expect_leaf_hooks()
    if leaf.pre_hooks is None:
        leaf.pre_hooks = {}
    return RemovableHandle(leaf.pre_hooks, hook)


cdef object leaf_posthook(AccumulateGrad leaf, hook):
    """A hook that sees the gradient that was stored, once it was."""
    if leaf.node_hooks is None:
        leaf.node_hooks = {}
        expect_leaf_hooks()
    return RemovableHandle(leaf.node_hooks, hook)


cdef int before_storing(AccumulateGrad leaf, entry_t *entry) except -1:
    """Hooks of the record, once its gradient is known to be stored."""
    if leaf.pre_hooks is None:
        return 0
    for hook in list(leaf.pre_hooks.values()):
        result = hook((<object>entry.grad,))
        if result is not None:
            result = result[0] if isinstance(result, (tuple, list)) else result
            check_replacement(hook, <object>entry.grad, result)
            replace_grad(&entry.grad, result)
            entry.shared = 1
    return 0


cdef int after_storing(AccumulateGrad leaf, object grad) except -1:
    """Hooks that were promised the leaf, then those of the record."""
    owner = leaf.owner()
    if owner is not None and leaf.post_hooks is not None:
        for hook in list(leaf.post_hooks.values()):
            hook(owner)
    if leaf.node_hooks is not None:
        for hook in list(leaf.node_hooks.values()):
            hook((), (grad,))
    return 0
