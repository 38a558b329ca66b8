# Small functions for rules, fast because they look at tensors directly.

def conj(value):
    """The complex conjugate; real tensors and numbers are given back as they are."""
    if is_tensor(<PyObject *>value):
        return ops.conj(value) if is_complex((<fl_tensor *><PyObject *>value).dtype) else value
    return value.conjugate() if isinstance(value, complex) else value


def reshaped(g, tuple shape):
    """The gradient in another shape."""
    cdef fl_value values[2]
    cdef int64_t sizes[FL_MAX_DIMS]
    cdef int d, ndim = len(shape)
    cdef PyObject *result
    require_tensor(g, "reshaped(): g")
    if not (<fl_tensor *><PyObject *>g).flags & FL_CONTIGUOUS:
        return ops.reshape(g, shape)
    for d in range(ndim):
        sizes[d] = shape[d]
    put_tensor(&values[0], <PyObject *>g)
    put_ints(&values[1], sizes, ndim)
    result = call_op(OPS.view, values, 2)
    whole = <object>result
    Py_DECREF(result)
    return whole


def spread(g, tuple shape, dim, bint keepdim):
    """Undo a reduction: repeat ``g`` over the dimensions of ``shape`` that were reduced."""
    cdef fl_value values[2]
    cdef int64_t sizes[FL_MAX_DIMS]
    cdef int d, ndim = len(shape)
    cdef PyObject *result
    require_tensor(g, "spread(): g")
    result = <PyObject *>g
    Py_INCREF(result)
    if not keepdim and (<fl_tensor *>result).ndim > 0:
        for d in range(ndim):
            sizes[d] = shape[d]
        mark_reduced(sizes, ndim, dim)
        put_tensor(&values[0], result)
        put_ints(&values[1], sizes, ndim)
        result = replace(OPS.view, result, values, 2)
    for d in range(ndim):
        sizes[d] = shape[d]
    put_tensor(&values[0], result)
    put_ints(&values[1], sizes, ndim)
    result = replace(OPS.expand, result, values, 2)
    whole = <object>result
    Py_DECREF(result)
    return whole


cdef int mark_reduced(int64_t *sizes, int ndim, object dim) except -1:
    """Size 1 for each reduced dimension; None and no dims mean all."""
    cdef int d
    if dim is None or dim == () or dim == []:
        for d in range(ndim):
            sizes[d] = 1
    elif isinstance(dim, (tuple, list)):
        for d in dim:
            sizes[d + ndim if d < 0 else d] = 1
    else:
        d = dim
        sizes[d + ndim if d < 0 else d] = 1
    return 0


def sum_to_shape(grad, tuple shape):
    """Sum a gradient to the shape of the input that was broadcast."""
    cdef int64_t sizes[FL_MAX_DIMS]
    cdef int d
    require_tensor(grad, "sum_to_shape(): grad")
    for d in range(len(shape)):
        sizes[d] = shape[d]
    Py_INCREF(<PyObject *>grad)
    cdef PyObject *total = sum_to(<PyObject *>grad, len(shape), sizes)
    result = <object>total
    Py_DECREF(total)
    return result
