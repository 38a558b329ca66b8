# What autograd adds to Tensor: grad, grad_fn, requires_grad, backward ...

cdef inline fl_tensor *pointer(object tensor) except NULL:
    if not is_tensor(<PyObject *>tensor):
        require_tensor(tensor, "self")
    return <fl_tensor *><PyObject *>tensor


cdef object about_to_change = _core.about_to_change
cdef dict change_hooks = _core.change_hooks


def get_grad(tensor):
    """``Tensor.grad``: the gradient accumulated here, or None."""
    cdef fl_tensor *t = pointer(tensor)
    cdef NodeExtras extras
    if is_leaf_record(t.autograd):
        if change_hooks:
            about_to_change(tensor, "grad_read", (<AccumulateGrad>t.autograd).grad)
        return (<AccumulateGrad>t.autograd).grad
    if not is_node(t.autograd):
        if change_hooks:
            about_to_change(tensor, "grad_read", None)
        return None
    extras = (<Node>t.autograd).extras
    if extras is not None and extras.kept_grads is not None \
            and t.output_nr in extras.kept_grads:
        return extras.kept_grads[t.output_nr]
    warn_not_leaf()
    return None


cdef int warn_not_leaf() except -1:
    warnings.warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
        "attribute won't be populated during autograd.backward(). If you indeed want the .grad "
        "field to be populated for a non-leaf Tensor, use .retain_grad() on it before backward().",
        UserWarning, stacklevel=1)
    return 0


def set_grad(tensor, grad):
    """``Tensor.grad = ...``: None, or a tensor of the same shape, dtype and device."""
    cdef fl_tensor *t = pointer(tensor)
    if grad is not None:
        check_grad(t, grad)
    about_to_change(tensor, "grad", grad)
    if is_node(t.autograd):
        retain(t)
        extras_of(<Node>t.autograd).kept_grads[t.output_nr] = grad
    elif grad is not None or is_leaf_record(t.autograd):
        leaf_of(t).grad = grad


def delete_grad(tensor):
    """``del tensor.grad``: the same as ``tensor.grad = None``."""
    set_grad(tensor, None)


def get_output_nr(tensor):
    """``Tensor.output_nr``: which output of ``grad_fn`` the tensor is; 0 for leaves."""
    cdef fl_tensor *t = pointer(tensor)
    if is_linked_view(t):
        refresh_view(t)
    return t.output_nr


cdef int check_grad(fl_tensor *t, object grad) except -1:
    require_tensor(grad, "the value assigned to .grad")
    cdef fl_tensor *g = pointer(grad)
    if g == t:
        raise RuntimeError("can't assign Variable as its own grad: assign a clone()")
    if not same_shape(t, g):
        raise RuntimeError(f"assigned grad has data of a different size: the tensor has shape "
                           f"{list(shape_of(t))}, the gradient {list(shape_of(g))}")
    if g.dtype != t.dtype or g.device_type != t.device_type \
            or g.device_index != t.device_index:
        raise RuntimeError(f"assigned grad is {describe(g)} on {grad.device}, the tensor is "
                           f"{describe(t)} on {(<object><PyObject *>t).device}: use "
                           "grad.to(tensor.device, tensor.dtype)")
    return 0


def get_grad_fn(tensor):
    """``Tensor.grad_fn``: the node that made this tensor, None for leaves."""
    cdef fl_tensor *t = pointer(tensor)
    if is_linked_view(t):
        refresh_view(t)
    return shown(t.autograd) if is_node(t.autograd) else None


def get_is_leaf(tensor):
    """``Tensor.is_leaf``: made by the user, or does not require grad."""
    cdef fl_tensor *t = pointer(tensor)
    if is_linked_view(t):
        refresh_view(t)
    return not is_node(t.autograd)


def get_requires_grad(tensor):
    """``Tensor.requires_grad``: whether gradients are computed for it."""
    return requires_grad(pointer(tensor))


def set_requires_grad(tensor, value):
    """``Tensor.requires_grad = ...``, of leaves only."""
    if value is not True and value is not False:
        raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}: "
                           "write x.requires_grad = True or False")
    cdef fl_tensor *t = pointer(tensor)
    if is_node(t.autograd):
        if not value:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()")
        return
    if requires_grad(t) != value:
        about_to_change(tensor, "requires_grad", value)
    if not value:
        t.flags &= ~<uint32_t>FL_REQUIRES_GRAD
        return
    check_can_require(t)
    leaf_of(t)
    t.flags |= FL_REQUIRES_GRAD


cdef int check_can_require(fl_tensor *t) except -1:
    if not is_differentiable(t.dtype):
        raise RuntimeError(
            "only Tensors of floating point and complex dtype can require gradients, and this is "
            f"{describe(t)}: convert it first, x = x.float()")
    if t.flags & FL_INFERENCE and not FL.get_mode() & FL_M_INFERENCE:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode "
                           "is not allowed: make a normal tensor first, x = x.clone()")
    return 0


def refuse_deletion(tensor):
    """``del tensor.requires_grad`` and other attributes."""
    raise RuntimeError("this attribute of a tensor can not be deleted: set it to False or None, "
                       "or make another tensor with x.detach()")


def get_volatile(tensor):
    """``Tensor.volatile`` of programs older than no_grad(): always False."""
    warnings.warn("volatile was removed (Variable.volatile is always False): write "
                  "with flambeau.no_grad():", UserWarning, stacklevel=1)
    return False


def requires_grad_(tensor, requires_grad=True):
    """Set ``requires_grad`` and return the tensor."""
    refuse_inside("Tensor.requires_grad_()",
                  "Differentiate with the transforms (flambeau.func), which make variables of the "
                  "arguments, or call requires_grad_() before")
    if requires_grad is not True and requires_grad is not False:
        raise TypeError("argument 'requires_grad' must be bool, not "
                        f"{type(requires_grad).__name__}: write requires_grad=True or False")
    set_requires_grad(tensor, requires_grad)
    return tensor


cdef int retain(fl_tensor *t) except -1:
    cdef NodeExtras extras = extras_of(<Node>t.autograd)
    if extras.kept_grads is None:
        extras.kept_grads = {}
    extras.kept_grads.setdefault(t.output_nr, None)
    return 0


def retain_grad(tensor):
    """Keep the gradient of a computed tensor in its ``grad``, too."""
    cdef fl_tensor *t = pointer(tensor)
    refuse_inside("Tensor.retain_grad()",
                  "Return the tensor, and differentiate by it with a transform of its own")
    if not requires_grad(t):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False: it takes no "
                           "part in the graph")
    if is_linked_view(t):
        refresh_view(t)
    if is_node(t.autograd):
        retain(t)


def get_retains_grad(tensor):
    """``Tensor.retains_grad``: whether retain_grad() was called on a computed tensor."""
    cdef fl_tensor *t = pointer(tensor)
    cdef NodeExtras extras
    if not is_node(t.autograd):
        return False
    extras = (<Node>t.autograd).extras
    return extras is not None and extras.kept_grads is not None \
        and t.output_nr in extras.kept_grads


def register_hook(tensor, hook):
    """Call ``hook(grad)`` when this tensor's gradient is known; what it returns replaces it."""
    cdef fl_tensor *t = pointer(tensor)
    cdef NodeExtras extras
    if not requires_grad(t):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient: "
                           "call requires_grad_() on it first")
    about_to_change(tensor, "hook", hook)
    if is_linked_view(t):
        refresh_view(t)
    if not is_node(t.autograd):
        return leaf_hook(leaf_of(t), hook)
    extras = extras_of(<Node>t.autograd)
    if extras.tensor_hooks is None:
        extras.tensor_hooks = {}
    return RemovableHandle(extras.tensor_hooks.setdefault(t.output_nr, {}), hook)


def get_backward_hooks(tensor):
    """``Tensor._backward_hooks``: those of register_hook by their handle's number, or None."""
    cdef fl_tensor *t = pointer(tensor)
    if is_leaf_record(t.autograd):
        return (<AccumulateGrad>t.autograd).hooks
    if not is_node(t.autograd) or (<Node>t.autograd).extras is None:
        return None
    return (extras_of(<Node>t.autograd).tensor_hooks or {}).get(t.output_nr)


def set_backward_hooks(tensor, hooks):
    """``Tensor._backward_hooks = ...``: a dict from any key to a hook, or None for no hooks."""
    cdef fl_tensor *t = pointer(tensor)
    cdef NodeExtras extras
    if is_linked_view(t):
        refresh_view(t)
    if not is_node(t.autograd):
        leaf_of(t).hooks = None if hooks is None else dict(hooks)
        expect_leaf_hooks()
        return
    extras = extras_of(<Node>t.autograd)
    if extras.tensor_hooks is None:
        extras.tensor_hooks = {}
    extras.tensor_hooks[t.output_nr] = dict(hooks or {})


cdef object leaf_hook(AccumulateGrad leaf, hook):
    if leaf.hooks is None:
        leaf.hooks = {}
        expect_leaf_hooks()
    return RemovableHandle(leaf.hooks, hook)


def register_post_accumulate_grad_hook(tensor, hook):
    """Call ``hook(tensor)`` after a leaf's gradient was stored."""
    cdef fl_tensor *t = pointer(tensor)
    cdef AccumulateGrad leaf
    if not t.flags & FL_REQUIRES_GRAD or is_node(t.autograd):
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors: "
                           "use register_hook(), or register it on the parameter itself")
    leaf = leaf_of(t)
    if leaf.post_hooks is None:
        leaf.post_hooks = {}
        expect_leaf_hooks()
    return RemovableHandle(leaf.post_hooks, hook)


def detach_(tensor):
    """Cut the tensor from its history in place, and return it."""
    cdef fl_tensor *t = pointer(tensor)
    _core.refuse_captured(tensor, "detach_")
    if requires_grad(pointer(tensor)):
        about_to_change(tensor, "requires_grad", False)
    if t.flags & FL_VIEW and FL.base(t) is not NULL:
        raise RuntimeError("Can't detach views in-place. Use detach() instead: y = y.detach()")
    t.flags &= ~<uint32_t>FL_REQUIRES_GRAD
    if is_node(t.autograd):
        leaf_of(t).detached = True
        t.output_nr = 0
    if _core.level_of(tensor):
        tensor.__dict__["_level"].detach_(tensor)
    return tensor


def backward(tensor, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Compute gradients and add them to the ``grad`` of the leaves this tensor depends on."""
    refuse_inside("backward()", "Use flambeau.func.grad or vjp, or autograd.grad")
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        backward_one(tensor, gradient, keep, create_graph)
    else:
        run_backward([tensor], [gradient], keep, create_graph, inputs)


def attach_backward(tensor, str name, inputs, backward, saved=()):
    """Hang a node on the result of a call that is no operator, as flambeau.sparse's are."""
    import flambeau.autograd.rules      # whole before its modules: Note [first uses]
    from flambeau.autograd.rules._sparse import attach

    attach(tensor, name, inputs, backward, saved)


#: What the core puts on Tensor when this package is imported.
TENSOR_ATTRIBUTES = {
    "_attach_backward": attach_backward,
    "_backward_hooks": property(get_backward_hooks, set_backward_hooks, refuse_deletion),
    "_grad": property(get_grad, set_grad, delete_grad),
    "backward": backward,
    "detach_": detach_,
    "grad": property(get_grad, set_grad, delete_grad),
    "_refuse_derivative": refuse_derivative,
    "_grad_fn": property(get_grad_fn, None, refuse_deletion),
    "grad_fn": property(get_grad_fn),
    "is_leaf": property(get_is_leaf),
    "output_nr": property(get_output_nr),
    "register_hook": register_hook,
    "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
    "requires_grad": property(get_requires_grad, set_requires_grad, refuse_deletion),
    "requires_grad_": requires_grad_,
    "retain_grad": retain_grad,
    "retains_grad": property(get_retains_grad),
    "volatile": property(get_volatile),
}
