# Tensors of classes with `__torch_dispatch__`: calls shown to them below the tape.

cdef extern from "overrides/subclass.h":
    enum:
        FL_SUBCLASS_LEVEL, FL_WRAPPER_LEVEL
    bint fl_is_shown_below(const fl_tensor *) noexcept
    bint fl_showing_below
    int32_t fl_below_off
    fl_call_fn fl_show_below
    PyObject *fl_subclass_blank
    PyObject *fl_subclass_alias
    void fl_whole_below(fl_op *, bint)
    void fl_start_showing_below(fl_op **, int)
    int fl_call_unasked(const fl_op *, const fl_value *, int, fl_value *) except -1
    char *fl_wrapper_memory(size_t)

cdef extern from *:
    """
    static bool fl_is_below_tape(void) {
        return fl_thread.level > 0 && fl_thread.stack[fl_thread.level - 1].kind > FL_I_TAPE;
    }
    """
    bint fl_is_below_tape() noexcept


def no_dispatch(func, types, args=(), kwargs=None):
    """``Tensor.__torch_dispatch__``: run a call without showing it to classes."""
    global fl_below_off
    fl_below_off += 1
    try:
        return func(*args, **(kwargs or {}))
    finally:
        fl_below_off -= 1


def is_shown_below(cls) -> bool:
    """Whether a class of tensors is shown calls below autograd."""
    method = getattr(cls, "__torch_dispatch__", no_dispatch)
    return method is not no_dispatch and method is not no_override


def is_dispatched(value) -> bool:
    """Whether ``value`` is a tensor whose class is shown calls below autograd."""
    return isinstance(value, Tensor) and fl_is_shown_below(<fl_tensor *><PyObject *>value)


def is_asked_below(value) -> bool:
    """The same, unless calls are shown to no class now (``DisableTorchDispatch``)."""
    return not fl_below_off and is_dispatched(value)


def is_wrapper(value) -> bool:
    """Whether ``value`` is a tensor without memory of its own."""
    return isinstance(value, Tensor) \
        and (<Tensor>value)._flags >> FL_LEVEL_SHIFT == <uint32_t>FL_WRAPPER_LEVEL


def shows_classes_below() -> bool:
    """Whether classes are shown calls below autograd on this thread."""
    return fl_below_off == 0


# ---- making them ------------------------------------------------------------------------------
cdef object _below = None       # flambeau.library.subclasses, once there is such a class


cdef int _start_below() except -1:
    """From now on operators look for tensors of such classes."""
    global _below, fl_show_below, fl_subclass_blank, fl_subclass_alias
    cdef vector[fl_op *] ops
    if fl_showing_below:
        return 0
    from flambeau.library import subclasses
    for key in op_keys():
        ops.push_back(fl_find_op(key.encode()))
    for key, is_constant in subclasses.shown_whole():
        fl_whole_below(fl_find_op(key.encode()), is_constant)
    _below = subclasses
    fl_show_below = _show_below
    fl_subclass_blank = <PyObject *>subclasses.blank
    Py_INCREF(subclasses.blank)
    fl_subclass_alias = <PyObject *>_alias_of_subclass
    fl_start_showing_below(ops.data(), ops.size())
    return 0


cdef int _set_level(Tensor t, uint32_t level) except -1:
    _start_below()
    t._flags = (t._flags & ((<uint32_t>1 << FL_LEVEL_SHIFT) - 1)) | level << FL_LEVEL_SHIFT
    return 0


cdef int _mark_subclass(Tensor t, Tensor source) except -1:
    """After ``t`` took over the memory of ``source``: whether its class is shown calls."""
    if is_shown_below(type(t)):
        _set_level(t, FL_WRAPPER_LEVEL if is_wrapper(source) else FL_SUBCLASS_LEVEL)
    return 0


def make_wrapper(cls, tuple shape not None, strides, dtype not None, device,
                 int64_t offset=0):
    """A tensor of a class that has a geometry, and no memory of its own."""
    cdef int64_t sizes[32]
    cdef int64_t steps[32]
    cdef int i, n = len(shape)
    cdef int code = _unbox_dtype(<PyObject *>dtype), where = _unbox_device(<PyObject *>device)
    cdef fl_storage *s
    cdef Tensor blank
    cdef Tensor t
    if n > FL_MAX_DIMS or strides is not None and len(strides) != n:
        raise ArgumentError(f"_make_wrapper_subclass(): {n} sizes and strides {strides}; there is "
                            f"one stride for each, and {FL_MAX_DIMS} are the limit")
    step = 1
    for i in reversed(range(n)):
        sizes[i] = shape[i]
        steps[i] = strides[i] if strides is not None else step
        if sizes[i] < 0 or steps[i] < 0:
            raise ArgumentError(f"_make_wrapper_subclass(): negative size or stride in {shape}, "
                                f"{strides}")
        step *= max(sizes[i], 1)
    span = offset + 1 + sum([(a - 1) * b for a, b in zip(shape, strides)]) \
        if strides is not None else offset + step
    nbytes = 0 if 0 in shape else span * fl_itemsize(code)
    memory = fl_wrapper_memory(nbytes + 64) if where >> 8 != FL_META else NULL
    if memory == NULL and where >> 8 != FL_META:
        raise MemoryError(f"_make_wrapper_subclass(): no address space for shape {shape}")
    s = fl_storage_foreign(memory, nbytes, where, NULL, True)
    blank = fl_steal(fl_tensor_on(s, code, n, sizes, steps, offset * fl_itemsize(code)))
    Py_DECREF(<object><PyObject *>s)
    t = Tensor.__new__(cls)
    _take_over(t, blank)
    _set_level(t, FL_WRAPPER_LEVEL)
    return t


cdef object _new_wrapper(cls, size, strides, storage_offset, memory_format, dtype, device):
    if not isinstance(cls, type) or not is_shown_below(cls):
        raise TypeError(f"_make_wrapper_subclass(): {getattr(cls, '__name__', cls)} must define "
                        "__torch_dispatch__, as a class method: what its tensors do with calls")
    from flambeau import get_default_dtype
    shape = tuple(size)
    if memory_format is not None and strides is None:
        made = make_wrapper(cls, shape, None, dtype or get_default_dtype(), device or "cpu")
        strides = format_strides(made, memory_format)
    return make_wrapper(cls, shape, None if strides is None else tuple(strides),
                        dtype or get_default_dtype(), "cpu" if device is None else device,
                        storage_offset or 0)


cdef int _check_made_of(cls, Tensor source) except -1:
    """Refuse to show a tensor without memory as one of a class that is asked for nothing."""
    if is_wrapper(source) and not is_shown_below(cls):
        raise RuntimeError(
            f"a {type(source).__name__} has no memory of its own, and {cls.__name__} has no "
            "__torch_dispatch__: what it would show is not there; make it of the tensors inside")
    return 0


cdef bint _set_subclass_data(Tensor t, Tensor other) except -1:
    """``t.data = other`` of tensors of one such class; False where only memory is taken."""
    if not (is_dispatched(t) or is_dispatched(other)):
        return False
    if type(t) is not type(other):
        if not (is_wrapper(t) or is_wrapper(other)):
            return False
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            f"incompatible tensor type ({type(t).__name__} and {type(other).__name__}); exchange "
            "them with flambeau.utils.swap_tensors(x, y), or make a new parameter")
    keeps = {name: True for name in ("_is_param", "_is_buffer")
             if getattr(t, name, False)}
    _copy_geometry(t, other)
    (<object>t).__dict__.clear()
    _copy_attributes(t, other)
    for name in keeps:
        setattr(t, name, True)
    return True


cdef int _copy_attributes(t, source) except -1:
    """Attributes from the dictionary and from slots."""
    for name, value in attributes_of(source).items():
        setattr(t, name, value)
    return 0


def attributes_of(value) -> dict:
    """The attributes that an object has in its dictionary and in slots."""
    found = dict(value.__dict__)
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def swap_tensors(Tensor a not None, Tensor b not None):
    """Exchange what two tensors are: memory, class and attributes; see ``utils.swap_tensors``."""
    cdef Tensor kept = Tensor.__new__(Tensor)
    facts, others = attributes_of(a), attributes_of(b)
    grads, wanted = (a.grad, b.grad), (a.requires_grad, b.requires_grad)
    kinds = type(a), type(b)
    if kinds[0] is not kinds[1]:
        a.__class__, b.__class__ = kinds[1], kinds[0]
    for one in (a, b):
        (<Tensor>one)._autograd = None
        (<Tensor>one)._flags &= ~<uint32_t>FL_REQUIRES_GRAD
        (<object>one).__dict__.clear()
    _copy_geometry(kept, a)
    _copy_geometry(a, b)
    _copy_geometry(b, kept)
    for one, given, grad, wants in ((a, others, grads[1], wanted[1]),
                                    (b, facts, grads[0], wanted[0])):
        for name, value in given.items():
            setattr(one, name, value)
        if wants:
            one.requires_grad = True
        if grad is not None:
            one.grad = grad


cdef object _detached_subclass(Tensor t):
    if fl_below_off:
        if is_wrapper(t):
            return _alias_of_subclass(t)
        return _plain_below(t)
    return method_below("detach.default", t)


cdef Tensor _plain_below(Tensor t):
    """The memory of a tensor of such a class as a plain tensor."""
    cdef Tensor plain = fl_steal(fl_tensor_alias_from(<fl_tensor *><PyObject *>t, 0))
    return plain


def _alias_of_subclass(Tensor source not None):
    """The same tensor as another object of its class, without history."""
    cdef Tensor t = Tensor.__new__(type(source))
    _copy_geometry(t, source)
    _copy_attributes(t, source)
    return t


cdef int _copy_geometry(Tensor t, Tensor source) except -1:
    _take_over(t, source)
    t._flags = (t._flags & ((<uint32_t>1 << FL_LEVEL_SHIFT) - 1)) \
        | (source._flags >> FL_LEVEL_SHIFT) << FL_LEVEL_SHIFT
    return 0


# ---- showing calls ----------------------------------------------------------------------------
cdef int _pass_through(void *ctx, const fl_op *op, const fl_value *args, int n,
                       fl_value *out) except -1:
    return fl_dispatch(op, args, n, out)


cdef fl_interposer _below_tape
_below_tape.kind = FL_I_TRACE
_below_tape.ctx = NULL
_below_tape.call = _pass_through


cdef class _BelowTape:
    """Inside such a block calls are not recorded: what a class does when it is shown a call."""
    cdef int32_t _level

    def __enter__(self):
        self._level = fl_thread.level
        fl_api_push(&_below_tape)
        fl_thread.level = fl_thread.watchers

    def __exit__(self, *exc):
        fl_api_pop(&_below_tape)
        fl_thread.level = self._level


cdef int _show_below(const fl_op *op, const fl_value *args, int n, fl_value *out) except -1:
    cdef list values = [fl_box(&args[i]) for i in range(n)]
    cdef int i
    outs = None
    if out[0].tag == FL_TENSOR:
        outs = [<object>(<PyObject *>out[i].t) if out[i].tag == FL_TENSOR else None
                for i in range(op.nouts)]
    result = ask_below(_below.show, _op_object(op), values, outs)
    if outs is not None:
        for t in outs:
            fl_count_write(op, <fl_tensor *><PyObject *>t)
        _store_results(op, outs, out)
    elif op.nouts == 1 and not isinstance(result, Tensor) and op.category == FL_COMPOSITE:
        Py_INCREF(result)
        out[0].tag = FL_OBJECT
        out[0].o = <PyObject *>result
    else:
        result = _fresh_results(result, values)
        if op.category == FL_VIEW_OP and isinstance(result, Tensor):
            _link_view(op, args, n, result)
        _store_results(op, result, out)
    return 0


cdef int _link_view(const fl_op *op, const fl_value *args, int n, Tensor result) except -1:
    """Let a class's view of its tensor be a view for the tape, too, which knows views by their
    geometry: it gets the storage of what it is a view of."""
    cdef Tensor source = <Tensor><PyObject *>args[0].t
    cdef Tensor view
    cdef fl_value out[1]
    cdef int i
    if result._base_tensor is not None or not is_wrapper(result) or not is_wrapper(source) \
            or result._autograd is not None:
        return 0
    out[0].tag = FL_NONE
    fl_call_unasked(op, args, n, out)
    view = fl_steal(out[0].t)
    if view._dtype != result._dtype or view._ndim != result._ndim \
            or view._device_type != result._device_type:
        return 0
    for i in range(view._ndim):
        if view._shape[i] != result._shape[i] or view._strides[i] != result._strides[i]:
            return 0
    Py_INCREF(<object>view._storage)
    Py_DECREF(<object>result._storage)
    result._storage = view._storage
    result._data = view._data
    result._version_counter = view._version_counter
    result._base_tensor = view._base_tensor
    result._flags |= view._flags & (FL_VIEW | FL_CONSTANT_VIEW | FL_MULTI_VIEW)
    return 0


cdef object _fresh_results(result, list values):
    """Results that are an argument become objects of their own, which get a history of theirs."""
    if isinstance(result, Tensor):
        return _fresh(result, values)
    if isinstance(result, (list, tuple)):
        return [_fresh(one, values) for one in result]
    return result


cdef object _fresh(one, list values):
    for value in values:
        if one is value:
            return one.detach() if type(one) is Tensor else _alias_of_subclass(one)
    return one


def ask_below(function, *args):
    """Call ``function`` as classes are called: below the tape, once."""
    if fl_is_below_tape() and fl_thread.level >= fl_thread.watchers:
        return function(*args)
    with _BelowTape():
        return function(*args)


def method_below(str name, *args, **kwargs):
    """Show a call that is no operator's, such as ``aten.detach.default``; ``name.overload``."""
    return ask_below(_below.show_aten, name, args, kwargs)


@cython.final
cdef class DisableTorchDispatch:
    """Inside such a ``with`` block classes are shown no calls below autograd."""
    def __enter__(self):
        global fl_below_off
        fl_below_off += 1

    def __exit__(self, *exc):
        global fl_below_off
        fl_below_off -= 1


fl_type_set(<PyTypeObject *>Tensor, "__torch_dispatch__", staticmethod(no_dispatch))


def call_unrecorded(function):
    """Call a function with gradients switched off."""
    before = fl_thread.mode
    fl_thread.mode = before & ~<uint32_t>FL_M_GRAD
    try:
        return function()
    finally:
        fl_thread.mode = before
