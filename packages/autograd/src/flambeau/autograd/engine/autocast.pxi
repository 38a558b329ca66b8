# autocast: inputs of an operator are cast as its definition says (column `autocast` of the table).
#
# A watcher above the tape: the casts are recorded, so gradients come back in the dtype of what
# was cast. While no block is open nothing of this is called.

cdef dict _casts = {}                   # (thread, device type) -> the innermost AutocastBlock


@cython.final
cdef class AutocastBlock:
    """One ``with autocast(...)``: entered and left in turn."""

    cdef fl_interposer entry
    cdef readonly int device_type, dtype
    cdef readonly bint enabled, cache_enabled
    cdef AutocastBlock outer
    cdef dict cache                     # shared with the outermost block
    cdef object key

    def __cinit__(self, int device_type, int dtype, bint enabled, bint cache_enabled):
        self.device_type = device_type
        self.dtype = dtype
        self.enabled = enabled
        self.cache_enabled = cache_enabled
        self.entry.kind = FL_I_AUTOCAST
        self.entry.ctx = <void *>self
        self.entry.call = autocast_call

    def __enter__(self):
        self.key = (PyThread_get_thread_ident(), self.device_type)
        self.outer = _casts.get(self.key)
        self.cache = {} if self.outer is None else self.outer.cache
        if self.enabled:
            FL.push_interposer(&self.entry)
        if self.outer is not None and self.outer.enabled:
            FL.pop_interposer(&self.outer.entry)
        _casts[self.key] = self
        return self

    def __exit__(self, *exception):
        if self.outer is not None and self.outer.enabled:
            FL.push_interposer(&self.outer.entry)
        if self.enabled:
            FL.pop_interposer(&self.entry)
        if self.outer is None:
            _casts.pop(self.key, None)
            self.cache.clear()
        else:
            _casts[self.key] = self.outer
        self.outer = None
        self.cache = None


def open_autocasts():
    """(device type, dtype, enabled) of this thread's innermost blocks."""
    cdef AutocastBlock block
    thread = PyThread_get_thread_ident()
    return [(block.device_type, block.dtype, block.enabled) for key, block in _casts.items()
            if key[0] == thread]


def innermost_autocast(int device_type):
    """This thread's AutocastBlock for a device type, or None."""
    return _casts.get((PyThread_get_thread_ident(), device_type))


cdef int autocast_call(void *ctx, const fl_op *op, const fl_value *values, int n,
                       fl_value *out) except -1:
    """Cast what the definition's policy says, then go on."""
    cdef AutocastBlock block = <AutocastBlock>ctx
    cdef fl_value cast[FL_MAX_PARAMS]
    cdef int i, target
    if not op.flags & FL_O_AUTOCAST or out[0].tag == FL_TENSOR:
        return FL.dispatch(op, values, n, out)
    target = target_of(block, op, values, n)
    if target < 0:
        return FL.dispatch(op, values, n, out)
    held = []                           # what was cast, until the call is over
    lists = []
    for i in range(n):
        cast[i] = values[i]
        if values[i].tag == FL_TENSOR:
            cast[i].t = cast_input(block, op, values[i].t, target, held)
        elif values[i].tag == FL_TENSORS:
            cast_list(block, op, &values[i], &cast[i], target, held, lists)
    return FL.dispatch(op, cast, n, out)


cdef int target_of(AutocastBlock block, const fl_op *op, const fl_value *values, int n) noexcept:
    """The dtype to cast to, or -1 for none."""
    cdef int i, widest = -1
    cdef uint32_t k
    if op.flags & FL_O_LOWER:
        return block.dtype
    if op.flags & FL_O_SINGLE:
        return FL_F32
    if op.flags & FL_O_SINGLE_GPU:
        return FL_F32 if block.device_type != FL_CPU else -1
    for i in range(n):
        if values[i].tag == FL_TENSOR:
            widest = wider(block, widest, values[i].t)
        elif values[i].tag == FL_TENSORS:
            for k in range(values[i].len):
                if values[i].ts[k] is not NULL:
                    widest = wider(block, widest, values[i].ts[k])
    return widest


cdef int wider(AutocastBlock block, int widest, fl_tensor *t) noexcept:
    """float32 beats both half precisions; of the two, what is not alike becomes float32."""
    if not is_castable(block, t) or t.dtype == widest:
        return widest
    return t.dtype if widest < 0 else FL_F32


cdef inline bint is_castable(AutocastBlock block, fl_tensor *t) noexcept:
    """Floating tensors of the block's device, but not float64."""
    return t.device_type == block.device_type and FL_F16 <= t.dtype <= FL_F32


cdef fl_tensor *cast_input(AutocastBlock block, const fl_op *op, fl_tensor *t, int target,
                           list held) except NULL:
    """The tensor in the dtype wanted (borrowed: ``held`` owns it)."""
    cdef fl_value values[2]
    cdef PyObject *result
    if not is_castable(block, t) or t.dtype == target:
        return t
    if block.cache_enabled and is_worth_caching(t, target):
        return cached_cast(block, t, target, held)
    put_tensor(&values[0], <PyObject *>t)
    put_int(&values[1], FL_DTYPE, target)
    result = call_op(OPS.cast, values, 2)
    held.append(<object>result)
    Py_DECREF(result)
    return <fl_tensor *>result


cdef inline bint is_worth_caching(fl_tensor *t, int target) noexcept:
    """Parameters: leaves in float32 that are used again and again."""
    return t.dtype == FL_F32 and target != FL_F32 and t.flags & FL_REQUIRES_GRAD \
        and not t.flags & FL_VIEW and not is_node(t.autograd)


cdef fl_tensor *cached_cast(AutocastBlock block, fl_tensor *t, int target,
                            list held) except NULL:
    """A parameter's cast of this block, while mode and version are the same."""
    cdef fl_value values[2]
    cdef PyObject *result
    state = (target, FL.get_mode(), version_of(t))
    known = block.cache.get(<size_t>t)
    if known is not None and known[0] == state:
        held.append(known[2])
        return <fl_tensor *><PyObject *>known[2]
    put_tensor(&values[0], <PyObject *>t)
    put_int(&values[1], FL_DTYPE, target)
    result = call_op(OPS.cast, values, 2)
    block.cache[<size_t>t] = (state, <object><PyObject *>t, <object>result)
    held.append(<object>result)
    Py_DECREF(result)
    return <fl_tensor *>result


cdef int cast_list(AutocastBlock block, const fl_op *op, const fl_value *v, fl_value *cast,
                   int target, list held, list lists) except -1:
    """A list with its floating tensors cast; its memory lives in ``lists``."""
    cdef uint32_t k
    cdef bytearray room = bytearray(max(v.len, 1) * sizeof(void *))
    cdef fl_tensor **ts = <fl_tensor **><char *>room
    for k in range(v.len):
        ts[k] = cast_input(block, op, v.ts[k], target, held) if v.ts[k] is not NULL else NULL
    lists.append(room)
    cast.ts = ts
    return 0
