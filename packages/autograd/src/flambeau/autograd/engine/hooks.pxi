# Hooks: functions of the user that see, and may replace, gradients on their way.

cdef uint64_t _next_hook = 0


@cython.final
cdef class RemovableHandle:
    """What registering a hook gives back; ``remove()`` takes the hook away again."""

    cdef dict hooks
    cdef readonly uint64_t id
    cdef RemovableHandle partner        # goes together with this one

    def __init__(self, dict hooks, hook):
        global _next_hook
        if not callable(hook):
            raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
        _next_hook += 1
        self.id = _next_hook
        self.hooks = hooks
        hooks[self.id] = hook

    def remove(self):
        """Take the hook away. Does nothing the second time."""
        self.hooks.pop(self.id, None)
        if self.partner is not None:
            self.partner.remove()

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
    if not same_shape(<fl_tensor *><PyObject *>grad, <fl_tensor *><PyObject *>result):
        raise RuntimeError(
            f"hook {name}() has changed the size of value: it was given a gradient of shape "
            f"{list(grad.shape)} and returned one of shape {list(result.shape)}; return a "
            "gradient of the same shape, or None to leave it as it is")
    return 0


cdef int replace_grad(PyObject **place, object grad) except -1:
    cdef PyObject *old = place[0]
    Py_INCREF(<PyObject *>grad)
    place[0] = <PyObject *>grad
    Py_XDECREF(old)
    return 0


cdef int before_node(Node node, entry_t *entry) except -1:
    """Tensor hooks, kept gradients and prehooks, in this order."""
    cdef NodeExtras extras = node.extras
    if extras.tensor_hooks is not None:
        for output_nr, hooks in list(extras.tensor_hooks.items()):
            change_grad(entry, output_nr, hooks)
    if extras.kept_grads is not None:
        for output_nr in list(extras.kept_grads):
            keep_grad(extras, entry, output_nr)
    if extras.pre_hooks is not None:
        call_pre_hooks(node, extras, entry)
    return 0


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
    (<list>entry.others)[output_nr - 1] = grad
    return 0


cdef int change_grad(entry_t *entry, int output_nr, dict hooks) except -1:
    grad = grad_of_output(entry, output_nr)
    if grad is not None:
        set_grad_of_output(entry, output_nr, call_hooks(hooks, grad))
    return 0


cdef int keep_grad(NodeExtras extras, entry_t *entry, int output_nr) except -1:
    """What retain_grad() asked for."""
    grad = grad_of_output(entry, output_nr)
    if grad is None:
        return 0
    kept = extras.kept_grads[output_nr]
    extras.kept_grads[output_nr] = ops.clone(grad) if kept is None else ops.add(kept, grad)
    return 0


cdef int call_pre_hooks(Node node, NodeExtras extras, entry_t *entry) except -1:
    cdef int i, count = 1 if entry.others is NULL else 1 + len(<list>entry.others)
    for hook in list(extras.pre_hooks.values()):
        result = hook(tuple([grad_of_output(entry, i) for i in range(count)]))
        if result is None:
            continue
        for i in range(count):
            if result[i] is not None:
                set_grad_of_output(entry, i, result[i])
    return 0


cdef int after_node(Node node, entry_t *entry, PyObject **results) except -1:
    """Hooks of the node itself: they see what came in and what goes out."""
    cdef NodeExtras extras = node.extras
    cdef int i
    if extras.post_hooks is None or not extras.post_hooks:
        return 0
    outgoing = tuple([<object>results[i] if results[i] is not NULL else None
                      for i in range(node.nedges)])
    incoming = (<object>entry.grad if entry.grad is not NULL else None,)
    changed = call_post_hooks(extras.post_hooks, outgoing, incoming)
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
    """A node's prehook in the shape of a tensor hook."""
    require_callable(hook)

    def before(grad):
        result = hook((grad,))
        return result[0] if isinstance(result, (tuple, list)) else result
    if leaf.hooks is None:
        leaf.hooks = {}
    return RemovableHandle(leaf.hooks, before)


cdef object leaf_posthook(AccumulateGrad leaf, hook):
    """A node's hook: sees the gradient that was stored, once it was."""
    require_callable(hook)
    seen = []

    def look(grad):
        seen.append(grad)

    def after(owner):
        if seen:
            hook((), (seen.pop(),))
    if leaf.hooks is None:
        leaf.hooks = {}
    if leaf.post_hooks is None:
        leaf.post_hooks = {}
    first = RemovableHandle(leaf.hooks, look)
    second = RemovableHandle(leaf.post_hooks, after)
    second.partner = first
    return second


cdef int require_callable(hook) except -1:
    if not callable(hook):
        raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
    return 0
