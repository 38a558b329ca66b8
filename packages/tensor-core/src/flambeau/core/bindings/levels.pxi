# Tensors of transform levels: what autograd's vmap and forward mode hand to the user's function.
#
# Such a tensor looks like one of the tensors that the function was written for. It has the shape,
# dtype and device of that, and shows the memory of `inner`, without its first dimension where that
# is a batch. What it stands for is in its `__dict__`; the level's interposer works with that.

cdef object _level_functions = None     # (alias, detach, text, blank)


def make_level(Tensor inner not None, int number, bint batched, dict facts not None,
               Tensor base=None):
    """A tensor of a transform level.

    Args:
        inner: What it stands for, one level below.
        number: The level, 1 to 252.
        batched: Whether the first dimension of ``inner`` is a batch, hidden from the function.
        facts: The new tensor's ``__dict__``.
        base: The tensor of the level that this one is a view of.
    """
    cdef Tensor t
    cdef Tensor root
    if not 0 < number < FL_WRAPPER_LEVEL or (batched and inner._ndim == 0):
        raise ValueError(f"make_level(): level {number} of a tensor of {inner._ndim} dimensions")
    t = fl_steal(fl_tensor_alias_from(<fl_tensor *><PyObject *>inner, batched))
    t._flags |= <uint32_t>number << FL_LEVEL_SHIFT
    (<object>t).__dict__.update(facts)
    if base is not None:
        root = base if base._base_tensor is None else base._base_tensor
        t._base_tensor = root
        t._flags |= FL_VIEW | (base._flags & FL_CONSTANT_VIEW)
        if not fl_thread.mode & FL_M_GRAD:
            t._flags |= FL_CONSTANT_VIEW
    return t


def level_of(value) -> int:
    """The transform level of a tensor; 0 for tensors of no transform and everything else."""
    cdef uint32_t number = (<Tensor>value)._flags >> FL_LEVEL_SHIFT \
        if isinstance(value, Tensor) else 0
    return 0 if number >= <uint32_t>FL_WRAPPER_LEVEL else number


cdef int _refuse_batch(Tensor t, str what) except -1:
    """Raise where the memory of ``t`` is that of a whole batch, at its level or at one below."""
    cdef object inner = t
    while level_of(inner):
        if inner.__dict__.get("_batched"):
            raise RuntimeError(
                f"vmap: {what} inside a function that is vectorized is not allowed: the memory is "
                "that of all samples, and the function sees one. Write x.detach() for values "
                "without history, return a new tensor instead of replacing one, and ask for "
                "memory formats outside of vmap")
        inner = inner.__dict__["_inner"]
    return 0


def retarget_level(Tensor t not None, Tensor inner not None, int number, bint batched,
                   dict facts not None):
    """Let an existing tensor be of a level from now on, or stand for another ``inner``."""
    cdef Tensor fresh = make_level(inner, number, batched, facts)
    base, flags = t._base_tensor, t._flags
    _take_over(t, fresh)
    t._base_tensor = base
    t._flags |= (flags & (FL_VIEW | FL_CONSTANT_VIEW)) | <uint32_t>number << FL_LEVEL_SHIFT
    (<object>t).__dict__.update(facts)


def enter_captures(tensors):
    """From now on this thread runs a function that a transform differentiates: it must not write
    to memory that was made before, except that of ``tensors``, its arguments."""
    cdef vector[fl_tensor *] arguments
    for t in tensors:
        arguments.push_back(<fl_tensor *><PyObject *>(<Tensor?>t))
    fl_capture_enter(arguments.data(), arguments.size())


def exit_captures():
    """The function has returned."""
    fl_capture_exit()


def enter_births() -> int:
    """From now on it is noted when memory is made; the time, for ``is_born_since``."""
    return fl_births_enter()


def exit_births():
    """Ends what ``enter_births`` began."""
    fl_births_exit()


def is_born_since(Tensor t not None, uint64_t began) -> bool:
    """Whether a tensor's memory was made since a time that ``enter_births`` gave."""
    return fl_is_born_since(<fl_tensor *><PyObject *>t, began)


def refuse_captured(Tensor t not None, str what):
    """Refuse ``what``, which changes a tensor in place, to a function that captured the tensor and
    that a transform differentiates.

    Args:
        t: What would be changed.
        what: The method, for the error.
    """
    if fl_any_capture_scope() and fl_is_captured(<fl_tensor *><PyObject *>t):
        raise RuntimeError(
            f"{what}() would mutate a captured Tensor of shape {list(t.shape)}: it was made "
            "outside the function that a transform (grad, vjp, jvp, ...) differentiates, and is no "
            "argument of it. Pass it to the function as an argument and return it, or change "
            "a x.clone()")


def is_differentiated_inside(Tensor t not None) -> bool:
    """Whether a transform differentiates the function that runs, and the tensor is its argument or
    was made in it; others, which it captured, stay what they are outside."""
    return fl_is_differentiated_inside(<fl_tensor *><PyObject *>t)


def requiring(Tensor t not None, requires_grad=True):
    """The tensor after ``t.requires_grad = requires_grad``, which unlike ``requires_grad_()`` is
    taken inside transforms, too: for functions that make tensors."""
    if requires_grad is not True and requires_grad is not False:
        raise TypeError("argument 'requires_grad' must be bool, not "
                        f"{type(requires_grad).__name__}: write requires_grad=True or False")
    t.requires_grad = requires_grad
    return t


def set_level_functions(alias, detach, text, blank):
    """What aliases, detaches and prints tensors of a level, and makes memory for results of
    theirs; from the package that makes them."""
    global _level_functions
    global fl_level_alias, fl_level_blank
    _level_functions = (alias, detach, text, blank)
    fl_level_alias = <PyObject *>alias
    fl_level_blank = <PyObject *>blank


def blank_at_levels(tensors, shape, strides, dtype, device):
    """Memory that is of all levels that one of the tensors is of; one of them must be.

    Args:
        tensors: What will be written to the memory.
        shape: As the function sees it.
        strides: None for a contiguous tensor.
        dtype: Of the elements.
        device: Where.
    """
    return _level_functions[3](tensors, shape, strides, dtype, device)


cdef object _escaped = None


def watch_escaped(function):
    """``function(tensor, name)`` is called for operators that meet a tensor of a level."""
    global _escaped
    global fl_level_escaped
    _escaped = function
    fl_level_escaped = <PyObject *>function


cdef object _detached_level(Tensor t):
    if is_sparse_object(t):
        return _sparse_functions[1](t)
    if fl_is_shown_below(<fl_tensor *><PyObject *>t):
        return _detached_subclass(t)
    return _level_functions[1](t)


cdef object _level_text(Tensor t):
    if fl_is_shown_below(<fl_tensor *><PyObject *>t):
        return _below.text(t)
    return _level_functions[2](t)


# ---- the tape at a level: what dispatch does for plain tensors -------------------------------
# Called by the level's interposer. Operators that the tape itself runs have to come by it again,
# so the thread's level in the order of dispatch goes back by one.
def tape_record(op, args, results):
    """Hang a node on the results of a call whose arguments require grad."""
    _tape_step(0, None, op, args, results)


def tape_prepare(op, args, targets):
    """Before a call writes to ``targets``: a token for ``tape_commit``."""
    return _tape_step(1, None, op, args, targets)


def tape_commit(token, op, args, targets):
    """After the write: the targets get their new history."""
    _tape_step(2, token, op, args, targets)


cdef object _tape_step(int step, object token, op, args, tensors):
    cdef const fl_op *opdef = _opdef_of(op)
    cdef fl_value values[16]
    cdef fl_value out[8]
    cdef fl_arena arena
    cdef int level = fl_thread.level
    _unbox_all(opdef, args, values, &arena)
    _fill_targets(opdef, tensors, out)
    fl_thread.level = max(level - 1, 0)
    try:
        if step == 0:
            fl_the_tape.record(opdef, values, opdef.nparams, out, opdef.nouts)
            return None
        if step == 1:
            return fl_steal_object(
                fl_the_tape.prepare(opdef, values, opdef.nparams, out, opdef.nouts))
        fl_the_tape.commit(<PyObject *>token, opdef, values, opdef.nparams, out, opdef.nouts)
    finally:
        fl_thread.level = level


cdef object fl_steal_object(PyObject *o):
    result = <object>o
    Py_DECREF(result)
    return result


cdef int _fill_targets(const fl_op *opdef, object tensors, fl_value *out) except -1:
    cdef int i
    for i in range(opdef.nouts):
        out[i].tag = FL_TENSOR
        out[i].t = <fl_tensor *><PyObject *>(<Tensor?>tensors[i])
    return 0
