# The first operator that made a NaN or an infinity: detect_anomaly and nan_check.

cdef enum:
    LOOK_NAN = 1
    LOOK_INF = 2

cdef int _nan_checks = 0                # what backward passes look for: bits
cdef int _nan_checkers = 0, _inf_checkers = 0


@cython.final
cdef class NanWatch:
    """Looks at what each operator of this thread gives, while it is entered."""

    cdef fl_interposer entry
    cdef int looks_for
    cdef bint everywhere                # backward passes too

    def __cinit__(self, bint inf=True):
        self.looks_for = LOOK_NAN | LOOK_INF if inf else LOOK_NAN
        self.entry.kind = FL_I_TRACE
        self.entry.ctx = <void *>self
        self.entry.call = watch_for_nan

    def __enter__(self):
        FL.push_interposer(&self.entry)
        Py_INCREF(<PyObject *>self)     # its entry stays on the thread's stack
        count_nan_check(self.looks_for, 1)
        return self

    def __exit__(self, *exception):
        FL.pop_interposer(&self.entry)  # first: in another thread this is refused
        count_nan_check(self.looks_for, -1)
        Py_DECREF(<PyObject *>self)


cdef int count_nan_check(int looks_for, int step) except -1:
    global _nan_checks, _nan_checkers, _inf_checkers, _noting
    _nan_checkers += step
    _noting += step
    if looks_for & LOOK_INF:
        _inf_checkers += step
    _nan_checks = (LOOK_NAN if _nan_checkers else 0) | (LOOK_INF if _inf_checkers else 0)
    _want_scopes(step > 0)
    return 0


cdef int watch_for_nan(void *ctx, const fl_op *op, const fl_value *values, int n,
                       fl_value *out) except -1:
    """Run the operator; raise when it made a NaN of finite inputs."""
    cdef NanWatch watch = <NanWatch>ctx
    cdef int i, found
    cdef bint fresh = out[0].tag != FL_TENSOR
    cdef int before = 0 if fresh else bad_inputs(values, n)
    FL.dispatch(op, values, n, out)
    if fl_node_in_hand is not NULL or op.category == FL_VIEW_OP or is_unfilled(op):
        return 0
    for i in range(op.nouts):
        if out[i].tag != FL_TENSOR:
            continue
        found = bad_values(out[i].t, watch.looks_for)
        if not found:
            continue
        if fresh:
            before = bad_inputs(values, n)
        if not before or (found == LOOK_NAN and before == LOOK_INF):
            text = told_nan(op, values, n, found)
            for k in range(op.nouts):
                if fresh and out[k].tag == FL_TENSOR:
                    Py_DECREF(<PyObject *>out[k].t)
                out[k].tag = FL_NONE
            raise RuntimeError(text)
    return 0


cdef bint is_unfilled(const fl_op *op) noexcept:
    """empty() and empty_strided(): what is there by chance was made by nobody."""
    return strncmp(op.name, b"empty", 5) == 0


cdef int bad_inputs(const fl_value *values, int n) except -1:
    """LOOK_NAN or LOOK_INF when such a number came in, be it as a Python number; else 0."""
    cdef int i
    cdef uint32_t k
    cdef int worst = 0
    for i in range(n):
        if values[i].tag == FL_TENSOR:
            worst = worse(worst, bad_values(values[i].t, LOOK_NAN | LOOK_INF))
        elif values[i].tag == FL_FLOAT and not isfinite(values[i].d):
            worst = worse(worst, LOOK_NAN if values[i].d != values[i].d else LOOK_INF)
        elif values[i].tag == FL_TENSORS:
            for k in range(values[i].len):
                if values[i].ts[k] is not NULL:
                    worst = worse(worst, bad_values(values[i].ts[k], LOOK_NAN | LOOK_INF))
    return worst


cdef inline int worse(int a, int b) noexcept:
    """Of none, an infinity and a NaN the worse."""
    return LOOK_NAN if a == LOOK_NAN or b == LOOK_NAN else a | b


cdef int bad_values(fl_tensor *t, int looks_for) except -1:
    """LOOK_NAN or LOOK_INF when such a number is among the elements, else 0."""
    if not is_differentiable(t.dtype) or t.numel == 0:
        return 0
    _core.settle(<object><PyObject *>t)
    if t.device_type == FL_CPU and t.flags & FL_CONTIGUOUS and t.dtype == FL_F32:
        return bad_floats(<const float *>t.data, t.numel, looks_for)
    if t.device_type == FL_CPU and t.flags & FL_CONTIGUOUS and t.dtype == FL_F64:
        return bad_floats(<const double *>t.data, t.numel, looks_for)
    return bad_by_operators(<object><PyObject *>t, looks_for)


ctypedef fused real_t:
    float
    double


cdef int bad_floats(const real_t *data, int64_t n, int looks_for) noexcept nogil:
    """x - x is zero for finite x, NaN for the others; sums of them keep the loop simple."""
    cdef int64_t i
    cdef real_t total = 0
    cdef bint has_nan = False
    for i in range(n):
        total += data[i] - data[i]
    if total == 0:
        return 0
    for i in range(n):
        if data[i] != data[i]:
            has_nan = True
            break
    if has_nan:
        return LOOK_NAN
    return LOOK_INF & looks_for


cdef int bad_by_operators(object tensor, int looks_for) except -1:
    """The same for half precision, complex, strided, other devices, and levels of transforms."""
    cdef uint32_t mode = FL.get_mode()
    if _core.level_of(tensor):
        from flambeau.autograd.transforms.stack import plain
        tensor = plain(tensor)
    if tensor.device.type == "meta":
        return 0
    FL.set_mode(mode & ~<uint32_t>FL_M_GRAD)
    try:
        if bool(ops.any(ops.isnan(tensor))):
            return LOOK_NAN
        if looks_for & LOOK_INF and bool(ops.any(ops.isinf(tensor))):
            return LOOK_INF
    finally:
        FL.set_mode(mode)
    return 0


cdef str told_nan(const fl_op *op, const fl_value *values, int n, int found):
    """What was made, by which call, of what, where."""
    what = "a NaN" if found == LOOK_NAN else "an infinity"
    of = "inputs without NaN" if found == LOOK_NAN else "finite inputs"
    inputs = ", ".join([describe(values[i].t) for i in range(n) if values[i].tag == FL_TENSOR])
    return (f"{key_of(op)}() made {what} of {of} ({inputs or 'no tensors'}) at "
            f"{call_site_here()}. Look at the values that went in: a logarithm or root of "
            "something "
            "that is not positive, a division by zero, an exponential that overflowed, a softmax "
            "of nothing but -inf")


cdef int check_gradient(Node node, int i, fl_tensor *grad) except -1:
    """Raise when a node's backward made a NaN."""
    cdef int found = bad_values(grad, _nan_checks)
    if not found:
        return 0
    what = "nan" if found == LOOK_NAN else "infinite"
    warn_of_error(node)
    raise RuntimeError(
        f"Function '{node_name(node)}' returned {what} values in its {i}th output: the gradient of "
        f"{describe(grad)} that flowed in was finite, what its backward made of it is not."
        f"{told_call_site(node)} Where the derivative has no finite value (sqrt or norm at 0, "
        "x / 0, "
        "pow at 0), keep the forward away from that point: clamp, or add a small number")


cdef int check_seeds_for_nan(tuple grads) except -1:
    """A pass that begins with a NaN is nobody's fault but the caller's."""
    if not _nan_checks:
        return 0
    for i, grad in enumerate(grads):
        if bad_values(<fl_tensor *><PyObject *>grad, _nan_checks):
            raise RuntimeError(f"backward() was given a gradient with nan or infinite values for "
                               f"output {i}: what it multiplies will be NaN everywhere")
    return 0
