# Watching and replaying operators from Python: what jit, profilers and tests use.

cdef class interpose:
    """Show operator calls to ``fn`` instead of running them, on this thread.

    Args:
        kind: ``"profiler"``, ``"autocast"``, ``"transform"`` or ``"trace"``: the position in the
            order of dispatch.
        fn: ``fn(op, args, outs)`` with the operator, its arguments in the definition's order
            (defaults filled in), and ``None`` or the tensors to write to. Returns the tensor or the
            list of tensors; what it calls itself goes on below this position.
        on_read: ``on_read(tensor, what)``, called before values are read (``item()`` and so on).
        level: show only calls with a tensor of this transform level.
        always: names of operators to show whatever their tensors are.
    """
    cdef fl_interposer _entry
    cdef object _fn, _on_read, _old_hook
    cdef uint32_t _level
    cdef set _always

    def __cinit__(self, str kind, fn, on_read=None, *, int level=0, always=()):
        order = {"profiler": FL_I_PROFILER, "autocast": FL_I_AUTOCAST,
                 "transform": FL_I_TRANSFORM, "trace": FL_I_TRACE}
        if kind not in order:
            raise ValueError(f"interpose(): kind must be one of {sorted(order)}, got {kind!r}")
        self._fn = fn
        self._on_read = on_read
        self._entry.kind = order[kind]
        self._entry.ctx = <void *>self
        self._entry.call = _call_interposer
        self._level = level
        self._always = {<uintptr_t>fl_find_op(name.encode()) for name in always}

    def __enter__(self):
        fl_api_push(&self._entry)
        if self._on_read is not None:
            thread = PyThread_get_thread_ident()
            self._old_hook = _read_hooks.get(thread)
            _read_hooks[thread] = self._on_read
            if self._entry.kind != FL_I_TRANSFORM:
                _heard[thread] = _heard.get(thread, 0) + 1
        return self

    def __exit__(self, *exc):
        if self._on_read is not None:
            thread = PyThread_get_thread_ident()
            if self._entry.kind != FL_I_TRANSFORM:
                _heard[thread] -= 1
                if not _heard[thread]:
                    del _heard[thread]
            if self._old_hook is None:
                _read_hooks.pop(thread, None)
            else:
                _read_hooks[thread] = self._old_hook
        fl_api_pop(&self._entry)
        return False


def may_read(Tensor t not None) -> bool:
    """Whether values can be looked at without cost or notice: on the CPU, of no transform, not
    traced. Inside a transform plain tensors are what they are outside.

    Operators that check values check them where this is true.
    """
    return t._device_type == FL_CPU and not t._flags >> FL_LEVEL_SHIFT \
        and PyThread_get_thread_ident() not in _heard


cdef int _call_interposer(void *ctx, const fl_op *op, const fl_value *args, int n,
                          fl_value *out) except -1:
    cdef interpose self = <interpose>ctx
    cdef int i
    if self._level and not _has_level(self._level, op, args, n, out) \
            and not (self._always and <uintptr_t>op in self._always):
        return fl_dispatch(op, args, n, out)
    cdef list values = [fl_box(&args[i]) for i in range(n)]
    outs = None
    if out[0].tag == FL_TENSOR:
        outs = [<object>(<PyObject *>out[i].t) for i in range(op.nouts)]
    result = self._fn(_op_object(op), values, outs)
    _store_results(op, result, out)
    return 0


cdef inline bint _is_of_level(const fl_tensor *t, uint32_t level) noexcept:
    """Whether a tensor, or what it is a view of, is of a transform level. A view that was taken
    before its base became of the level does not know of it yet."""
    if t.flags >> FL_LEVEL_SHIFT == level:
        return True
    base = (<Tensor><PyObject *>t)._base_tensor
    return base is not None and (<Tensor>base)._flags >> FL_LEVEL_SHIFT == level


cdef bint _has_level(uint32_t level, const fl_op *op, const fl_value *args, int n,
                     fl_value *out) noexcept:
    """Whether a tensor of the call is of this transform level."""
    cdef int i
    cdef uint32_t k
    for i in range(n):
        if args[i].tag == FL_TENSOR and _is_of_level(args[i].t, level):
            return True
        if args[i].tag == FL_TENSORS:
            for k in range(args[i].len):
                if args[i].ts[k] != NULL and _is_of_level(args[i].ts[k], level):
                    return True
    for i in range(op.nouts):
        if out[i].tag == FL_TENSOR and _is_of_level(out[i].t, level):
            return True
    return False


cdef int _store_results(const fl_op *op, object result, fl_value *out) except -1:
    cdef int i
    if op.nouts == 1 and isinstance(result, Tensor):
        result = (result,)
    if not isinstance(result, (list, tuple)) or len(result) != op.nouts:
        raise TypeError(f"an interposer must return {op.nouts} tensor(s) for "
                        f"{op.name.decode()}(), got {type(result).__name__}")
    for i in range(op.nouts):
        if not isinstance(result[i], Tensor):
            raise TypeError(f"an interposer must return tensors, got {type(result[i]).__name__}")
    for i in range(op.nouts):
        Py_INCREF(result[i])
        out[i].tag = FL_TENSOR
        out[i].t = <fl_tensor *><PyObject *>result[i]
    return 0


@cython.final
cdef class OpHandle:
    """One overload of an operator, as defined."""
    cdef const fl_op *_op
    cdef readonly str key
    cdef readonly str name

    @property
    def params(self):
        """Names of the parameters in order."""
        return tuple([self._op.params[i].name.decode() for i in range(self._op.nparams)])

    @property
    def parameters(self):
        """Name of each parameter, what it accepts in words, and whether None will do."""
        from flambeau.core.operator_docs import Parameter
        cdef int i
        found = []
        for i in range(self._op.nparams):
            kind = fl_role_name(self._op.params[i].role).decode()
            optional = bool(self._op.params[i].flags & FL_P_OPTIONAL)
            found.append(Parameter(self._op.params[i].name.decode(), kind, optional))
        return found

    @property
    def dtype_rule(self) -> str:
        """How the dtype of the result follows from the operands."""
        return _DTYPE_RULES[self._op.dtype_rule]

    @property
    def fields(self) -> tuple:
        """Names of the results where there are several."""
        named = self._op.reserved[0]
        return (<object><PyObject *><uintptr_t>named)._fields if named else ()

    @property
    def category(self) -> str:
        return _CATEGORIES[self._op.category]

    @property
    def differentiable(self) -> bool:
        """Whether results may carry gradients; those of comparisons may not."""
        return bool(self._op.flags & FL_O_DIFFERENTIABLE)

    @property
    def random(self) -> bool:
        """Whether it draws random numbers, so that equal calls differ."""
        return bool(self._op.flags & FL_O_RANDOM)

    @property
    def dynamic_shape(self) -> bool:
        """Whether the shape of a result depends on values."""
        return bool(self._op.flags & FL_O_DYNAMIC_SHAPE)

    @property
    def raises_on_values(self) -> bool:
        """Whether there are values, not only shapes and dtypes, that it refuses."""
        return bool(self._op.flags & FL_O_RAISES_ON_VALUES)

    @property
    def batching(self) -> str:
        """How it runs under ``vmap``: one of ``flambeau.core.opdefs.opdef.BATCHING``."""
        return _definition(self.key).batching

    @property
    def jvp(self) -> str:
        """How tangents are pushed forward: one of ``flambeau.core.opdefs.opdef.JVP``."""
        return _definition(self.key).jvp

    @property
    def linear_in(self) -> tuple:
        """The parameters it is linear in, together or one by one, and what is only added."""
        return _definition(self.key).linear_in

    @property
    def _roles(self) -> list:
        return [self._op.params[i].role for i in range(self._op.nparams)]

    @property
    def nouts(self) -> int:
        return self._op.nouts

    def __repr__(self):
        return f"<definition {self.key}>"


cdef object _definition(str key):
    from flambeau.core.register import definition
    return definition(key)


cdef dict _handles = {}


cdef OpHandle _op_object(const fl_op *op):
    cdef OpHandle h = _handles.get(<uintptr_t>op)
    if h is None:
        h = OpHandle.__new__(OpHandle)
        h._op = op
        h.name = op.name.decode()
        h.key = _op_key(op)
        _handles[<uintptr_t>op] = h
    return h


cdef const fl_op *_opdef_of(object op) except NULL:
    if isinstance(op, OpHandle):
        return (<OpHandle>op)._op
    if isinstance(op, Operator):
        return (<Operator>op).overloads[0]
    return fl_find_op((<str?>op).encode())


def find_op(key):
    """The definition with this key, e.g. ``"max.dim"``."""
    return _op_object(_opdef_of(key))


def op_keys():
    """Keys of all definitions, built in and registered."""
    return list(<object>fl_op_table())


cdef int _unbox_all(const fl_op *op, object args, fl_value *values, fl_arena *arena) except -1:
    cdef int i, n = len(args)
    if n > op.nparams:
        raise TypeError(f"{op.name.decode()}() takes {op.nparams} arguments, got {n}")
    for i in range(op.nparams):
        if i < n:
            value = args[i]
            if value is None and not op.params[i].flags & FL_P_OPTIONAL:
                values[i] = op.params[i].fallback
                continue
            fl_unbox(<PyObject *>value, op, &op.params[i], &values[i], arena)
        elif op.params[i].flags & FL_P_DEFAULT:
            values[i] = op.params[i].fallback
        else:
            raise TypeError(f"{op.name.decode()}() misses argument "
                            f"'{op.params[i].name.decode()}'")
    return 0


def call(op, args, outs=None):
    """Run one definition with its arguments in order.

    Args:
        op: A key, an Operator or a definition handle.
        args: Values in the definition's order; missing ones take their defaults.
        outs: Tensors to write to, one per output, or None.

    Returns:
        A tensor, or a tuple of tensors.
    """
    cdef const fl_op *opdef = _opdef_of(op)
    cdef fl_value values[16]
    cdef fl_value out[8]
    cdef fl_arena arena
    cdef int i
    args = list(args)
    _unbox_all(opdef, args, values, &arena)
    for i in range(opdef.nouts):
        out[i].tag = FL_NONE
        if outs is not None:
            out[i].tag = FL_TENSOR
            out[i].t = <fl_tensor *><PyObject *>(<Tensor?>outs[i])
    fl_dispatch(opdef, values, opdef.nparams, out)
    return fl_results(opdef, out)


def infer(op, args):
    """What a definition would give, without computing it.

    Args:
        op: A key, an Operator or a definition handle.
        args: Values in the definition's order.

    Returns:
        A list of (shape, dtype, device, layout); layout is None for C order, a tuple of strides,
        or ``("alias", input, offset, strides)``.
    """
    cdef const fl_op *opdef = _opdef_of(op)
    cdef fl_value values[16]
    cdef fl_spec specs[8]
    cdef fl_arena arena
    cdef int i, d
    if opdef.infer == NULL:
        raise NotImplementedError(f"{opdef.name.decode()}() is composite: infer its parts")
    if opdef.flags & FL_O_DYNAMIC_SHAPE:
        raise NotImplementedError(f"the shape of {opdef.name.decode()}() depends on values")
    args = list(args)
    _unbox_all(opdef, args, values, &arena)
    if opdef.infer(opdef, values, opdef.nparams, specs) < 0:
        fl_raise()
    result = []
    for i in range(opdef.nouts):
        strides = tuple([specs[i].strides[d] for d in range(specs[i].ndim)])
        layout = None
        if specs[i].layout == FL_L_STRIDED:
            layout = strides
        elif specs[i].layout == FL_L_ALIAS:
            layout = ("alias", specs[i].alias, specs[i].offset, strides)
        result.append((tuple([specs[i].shape[d] for d in range(specs[i].ndim)]),
                       _dtypes[specs[i].dtype],
                       fl_python_device(specs[i].device_type << 8 | specs[i].device_index),
                       layout))
    return result


def storage_id(Tensor t not None):
    """A number shared by a tensor and its views while they live."""
    return <uintptr_t>t._storage


def storage_bytes(Tensor t not None) -> int:
    """Bytes of the memory that a tensor and its views share."""
    return fl_storage_bytes(<fl_tensor *><PyObject *>t)


def storage_refcount(Tensor t not None) -> int:
    """How many tensors and other owners hold the memory of ``t``."""
    return _Py_REFCNT(t._storage)


def bump_version(Tensor t not None):
    """Count a write to ``t`` that an interposer stands for."""
    fl_count_write(NULL, <fl_tensor *><PyObject *>t)


def _as_new(Tensor t not None):
    """Forget the writes that made ``t``; nothing else may have seen it."""
    t._version_counter[0] = 0


def check_write(op, args, outs):
    """Raise what writing the results of a definition into ``outs`` would raise, and write nothing.

    Args:
        op: A key, an Operator or a definition handle.
        args: Values in the definition's order.
        outs: The tensors that would be written to, one per output.
    """
    cdef const fl_op *opdef = _opdef_of(op)
    cdef fl_value values[16]
    cdef fl_spec specs[8]
    cdef fl_arena arena
    cdef int i
    args = list(args)
    _unbox_all(opdef, args, values, &arena)
    if opdef.infer(opdef, values, opdef.nparams, specs) < 0:
        fl_raise()
    for i in range(opdef.nouts):
        fl_check_write(opdef, values, opdef.nparams, &specs[i],
                       <fl_tensor *><PyObject *>(<Tensor?>outs[i]))


def parallel_for_address() -> int:
    """Address of the thread pool's ``fl_parallel_chunks(n, grain, fn, ctx)``."""
    return <uintptr_t><void *>&fl_parallel_chunks


def isa_level() -> str:
    """The instruction set level kernels run at: ``v2``, ``v3``, ``v4`` or ``base``."""
    return fl_isa_name(fl_isa_level()).decode()


def get_num_threads() -> int:
    """Threads that take part in one operator."""
    return fl_get_num_threads()


def set_num_threads(count):
    """Set how many threads take part in one operator; at least 1."""
    if not _is_integer(count):
        raise TypeError(f"set_num_threads(): expects an int, but got {type(count).__name__}")
    if fl_set_num_threads(count) < 0:
        fl_raise()


def memory_stats() -> dict:
    """Bytes and counts of the CPU allocator."""
    cdef fl_alloc_info info
    fl_alloc_stats(&info)
    return {"live_bytes": info.live_bytes, "peak_live_bytes": info.peak_live_bytes,
            "cached_bytes": info.cached_bytes, "cache_limit": info.cache_limit,
            "alloc_count": info.alloc_count, "free_count": info.free_count,
            "system_count": info.system_count}


def reset_peak_memory_stats():
    """Start a new peak of live bytes."""
    fl_alloc_reset_peak()


def empty_cache():
    """Give freed blocks back to the operating system."""
    fl_alloc_trim()


def _fail_allocations_after(int64_t blocks):
    """For tests, under FLAMBEAU_ALLOC=plain: the request after so many more fails; -1: none."""
    fl_alloc_fail_after(blocks)


def is_grad_enabled() -> bool:
    """Whether operations are recorded on this thread."""
    return (fl_thread.mode & FL_M_GRAD) != 0


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return (fl_thread.mode & FL_M_INFERENCE) != 0


def _set_mode(uint32_t mode):
    fl_thread.mode = mode


def _get_mode():
    return fl_thread.mode
