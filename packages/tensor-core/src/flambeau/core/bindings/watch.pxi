# Watching and replaying operators from Python: what jit, profilers and tests use.

cdef extern from *:
    """
    /* Where an interposer stands among those of this thread, or -1. */
    static int fl_position_of(const void *ctx) {
        for (int i = 0; i < fl_thread.watchers; i++)
            if (fl_thread.stack[i].ctx == ctx)
                return i;
        return -1;
    }
    """
    int fl_position_of(const void *) noexcept


cdef class interpose:
    """Show operator calls to ``fn`` instead of running them, on this thread.

    Args:
        kind: ``"profiler"``, ``"autocast"``, ``"transform"``, ``"trace"`` or ``"mode"``: the
            position in the order of dispatch.
        fn: ``fn(op, args, outs)`` with the operator, its arguments in the definition's order
            (defaults filled in), and ``None`` or the tensors to write to. Returns the tensor or the
            list of tensors; what it calls itself goes on below this position.
        on_read: ``on_read(tensor, what)``, called before values are read (``item()`` and so on).
        on_change: ``on_change(subject, what, value)``, called where a tensor or a generator changes
            beside operators; see ``about_to_change``. Where it returns True the change is left out.
        level: show only calls with a tensor of this transform level.
        always: names of operators to show whatever their tensors are.
    """
    cdef fl_interposer _entry
    cdef object _fn, _on_read, _on_change, _old_hook, _old_change
    cdef uint32_t _level
    cdef set _always

    def __cinit__(self, str kind, fn, on_read=None, *, on_change=None, int level=0,
                  always=()):
        order = {"profiler": FL_I_PROFILER, "autocast": FL_I_AUTOCAST,
                 "transform": FL_I_TRANSFORM, "trace": FL_I_TRACE,
                 "mode": FL_I_MODE}
        if kind not in order:
            raise ValueError(f"interpose(): kind must be one of {sorted(order)}, got {kind!r}")
        self._fn = fn
        self._on_read = on_read
        self._on_change = on_change
        self._entry.kind = order[kind]
        self._entry.ctx = <void *>self
        self._entry.call = _call_interposer
        self._level = level
        self._always = {<uintptr_t>fl_find_op(name.encode()) for name in always}

    def __enter__(self):
        fl_api_push(&self._entry)
        if self._on_change is not None:
            thread = PyThread_get_thread_ident()
            self._old_change = _change_hooks.get(thread)
            _change_hooks[thread] = self._on_change
        if self._on_read is not None:
            thread = PyThread_get_thread_ident()
            self._old_hook = _read_hooks.get(thread)
            _read_hooks[thread] = self._on_read
            if self._entry.kind != FL_I_TRANSFORM:
                _heard[thread] = _heard.get(thread, 0) + 1
        return self

    def __exit__(self, *exc):
        if self._on_change is not None:
            thread = PyThread_get_thread_ident()
            del _change_hooks[thread]
            if self._old_change is not None:
                _change_hooks[thread] = self._old_change
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

    def around(self, function, *args):
        """Call a function whose operators come to this interposer, and not to the tape."""
        cdef uint32_t before = fl_thread.mode
        fl_thread.mode = before & ~<uint32_t>FL_M_GRAD
        try:
            return self._at(fl_position_of(<void *>self), function, args)
        finally:
            fl_thread.mode = before

    def beyond(self, function, *args):
        """Call a function whose operators have passed this interposer."""
        return self._at(fl_position_of(<void *>self) + 1, function, args)

    cdef object _at(self, int level, function, tuple args):
        cdef int32_t before = fl_thread.level
        fl_thread.level = level
        try:
            return function(*args)
        finally:
            fl_thread.level = before


def call_unwatched(function):
    """Call a function whose operators and reads nobody on this thread is shown.

    What is made once of what a program holds, and kept, is no part of what is traced or
    transformed.
    """
    cdef int32_t level = fl_thread.level
    thread = PyThread_get_thread_ident()
    hook = _read_hooks.pop(thread, None)
    fl_thread.level = fl_thread.watchers
    try:
        return function()
    finally:
        fl_thread.level = level
        if hook is not None:
            _read_hooks[thread] = hook


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
