# Work on single gradients: adding, fitting to the input's shape and dtype.
# Functions that take a PyObject* gradient take over the reference.

cdef struct known_ops:       # definitions the engine itself calls
    const fl_op *add
    const fl_op *sum
    const fl_op *view
    const fl_op *cast
    const fl_op *real_part
    const fl_op *to_device
    const fl_op *clone
    const fl_op *expand
    const fl_op *as_strided
    const fl_op *view_as_complex
    const fl_op *batch_norm

cdef known_ops OPS


cdef int find_known_ops() except -1:
    OPS.add = FL.find_op(b"add")
    OPS.sum = FL.find_op(b"sum")
    OPS.view = FL.find_op(b"view")
    OPS.cast = FL.find_op(b"cast")
    OPS.real_part = FL.find_op(b"real_part")
    OPS.to_device = FL.find_op(b"to_device")
    OPS.clone = FL.find_op(b"clone")
    OPS.expand = FL.find_op(b"expand")
    OPS.as_strided = FL.find_op(b"as_strided")
    OPS.view_as_complex = FL.find_op(b"view_as_complex")
    OPS.batch_norm = FL.find_op(b"native_batch_norm")
    return 0


cdef inline void put_tensor(fl_value *v, PyObject *t) noexcept:
    v.tag = FL_TENSOR
    v.len = 0
    v.t = <fl_tensor *>t


cdef inline void put_int(fl_value *v, uint32_t tag, int64_t i) noexcept:
    v.tag = tag
    v.len = 0
    v.i = i


cdef inline void put_ints(fl_value *v, int64_t *sizes, int n) noexcept:
    v.tag = FL_INTS
    v.len = n
    v.is_ = sizes


cdef PyObject *call_op(const fl_op *op, const fl_value *values, int n) except NULL:
    """Run a definition with one output."""
    cdef fl_value out
    out.tag = FL_NONE
    out.len = 0
    FL.dispatch(op, values, n, &out)
    return <PyObject *>out.t


cdef PyObject *replace(const fl_op *op, PyObject *grad, const fl_value *values,
                       int n) except NULL:
    """Run a definition on a gradient that is given up for the result."""
    try:
        return call_op(op, values, n)
    finally:
        Py_DECREF(grad)


cdef object clone(object t):
    cdef fl_value v
    put_tensor(&v, <PyObject *>t)
    cdef PyObject *copy = call_op(OPS.clone, &v, 1)
    result = <object>copy
    Py_DECREF(copy)
    return result


# ---- adding ------------------------------------------------------------------------------------
cdef inline bint may_write(PyObject *o) noexcept:
    """Whether nobody else can see this tensor or its memory."""
    cdef fl_tensor *t = <fl_tensor *>o
    return Py_REFCNT(o) == 1 and Py_REFCNT(t.storage) == 1 and t.flags & FL_CONTIGUOUS \
        and not t.flags & (FL_READONLY | FL_VIEW | FL_REQUIRES_GRAD) \
        and Py_TYPE(o) == FL.tensor_type


cdef int add_into(PyObject *target, PyObject *grad) except -1:
    """target += grad, without history."""
    cdef fl_value values[2]
    cdef fl_value out
    put_tensor(&values[0], target)
    put_tensor(&values[1], grad)
    put_tensor(&out, target)
    FL.dispatch(OPS.add, values, 2, &out)
    Py_DECREF(target)                   # the call gave its target back as a new reference
    return 0


cdef inline bint either_has_level(PyObject *a, PyObject *b) noexcept:
    """Whether a transform level has to do with one of the tensors."""
    return ((<fl_tensor *>a).flags | (<fl_tensor *>b).flags) >> FL_LEVEL_SHIFT != 0


cdef PyObject *sum_of(PyObject *a, PyObject *b, bint shared) except NULL:
    """a + b, in place where nothing else sees the memory."""
    cdef fl_value values[2]
    cdef bint recording = FL.get_mode() & FL_M_GRAD
    cdef PyObject *total
    if either_has_level(a, b):
        recording = True                # not in place: one may be a batch, the other not
    if not recording and not shared and may_write(a):
        add_into(a, b)
        total = a
        Py_INCREF(total)
    elif not recording and not shared and may_write(b):
        add_into(b, a)
        total = b
        Py_INCREF(total)
    else:
        put_tensor(&values[0], a)
        put_tensor(&values[1], b)
        total = call_op(OPS.add, values, 2)
    Py_DECREF(a)
    Py_DECREF(b)
    return total


# ---- fitting -----------------------------------------------------------------------------------
cdef inline PyObject *fit(Node node, int i, PyObject *grad) except NULL:
    """Bring a gradient to the shape, dtype and device of input ``i``."""
    cdef edge_t *edge = &node.edges[i]
    cdef fl_tensor *t = <fl_tensor *>grad
    if edge.reshaped:
        if edge.reshaped == SHAPE_OF_CUSTOM:
            check_sums_to(node, i, grad)
        grad = sum_to(grad, <int>node.shapes[i * (FL_MAX_DIMS + 1)],
                      node.shapes + i * (FL_MAX_DIMS + 1) + 1)
        t = <fl_tensor *>grad
    if t.numel != edge.numel:
        raise_wrong_shape(node, i, grad)
    if t.dtype != edge.dtype:
        grad = cast_to(grad, edge.dtype)
    if t.device_type != edge.device_type or t.device_index != edge.device_index:
        grad = move_to(grad, edge.device_type << 8 | edge.device_index)
    return grad


cdef int check_sums_to(Node node, int i, PyObject *grad) except -1:
    """What a custom function returns has the shape of its input, or is summed to it."""
    cdef fl_tensor *t = <fl_tensor *>grad
    cdef int64_t *row = node.shapes + i * (FL_MAX_DIMS + 1)
    cdef int lead = t.ndim - <int>row[0]
    cdef int d
    if lead < 0:
        raise_wrong_shape(node, i, grad)
    for d in range(<int>row[0]):
        if row[1 + d] != 1 and row[1 + d] != t.shape[lead + d]:
            raise_wrong_shape(node, i, grad)
    return 0


cdef PyObject *cast_to(PyObject *grad, int dtype) except NULL:
    cdef fl_value values[2]
    if (<fl_tensor *>grad).dtype >= FL_C64 and is_complex((<fl_tensor *>grad).dtype) \
            and not is_complex(dtype):
        put_tensor(&values[0], grad)
        grad = replace(OPS.real_part, grad, values, 1)
        if (<fl_tensor *>grad).dtype == dtype:
            return grad
    put_tensor(&values[0], grad)
    put_int(&values[1], FL_DTYPE, dtype)
    return replace(OPS.cast, grad, values, 2)


cdef PyObject *move_to(PyObject *grad, int device) except NULL:
    cdef fl_value values[2]
    put_tensor(&values[0], grad)
    put_int(&values[1], FL_DEVICE, device)
    return replace(OPS.to_device, grad, values, 2)


cdef PyObject *sum_to(PyObject *grad, int ndim, int64_t *sizes) except NULL:
    """Sum over the dimensions that broadcasting added or stretched."""
    cdef fl_tensor *t = <fl_tensor *>grad
    cdef int64_t dims[FL_MAX_DIMS]
    cdef fl_value values[3]
    cdef int lead = t.ndim - ndim
    cdef int count = lead
    cdef int d
    for d in range(lead):
        dims[d] = d
    for d in range(ndim):
        if sizes[d] == 1 and t.shape[lead + d] != 1:
            dims[count] = lead + d
            count += 1
    if count == 0:
        return grad
    put_tensor(&values[0], grad)
    put_ints(&values[1], dims, count)
    put_int(&values[2], FL_BOOLEAN, count != lead)
    grad = replace(OPS.sum, grad, values, 3)
    if lead == 0 or count == lead:
        return grad
    put_tensor(&values[0], grad)
    put_ints(&values[1], sizes, ndim)
    return replace(OPS.view, grad, values, 2)
