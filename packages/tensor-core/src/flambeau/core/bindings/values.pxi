# Elements as Python numbers: item(), tolist(), and who wants to know of reads.

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8(str) except NULL

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident()


cdef dict _read_hooks = {}     # thread -> what its interposer wants to know of reads
cdef dict _heard = {}          # thread -> how many interposers make something of every read
cdef dict _change_hooks = {}   # thread -> what its interposer wants to know beside operators
change_hooks = _change_hooks    # for packages that ask before they tell


def about_to_change(subject, what, value=None):
    """Tell who listens what is about to happen beside operators; true if it is done already.

    Args:
        subject: A tensor, a storage, an optimizer or a generator (``None``: the default one).
        what: ``"data"``, ``"detach"``, ``"made"`` (from Python numbers), ``"hook"``, ``"shape"``
            and ``"numel"`` (the answer takes its place), ``"len"``, ``"grad"``,
            ``"requires_grad"``, ``"manual_seed"``, ``"set_state"``, ``"get_state"``, ``"step"``,
            or the call in words.
        value: What it becomes or gives.
    """
    hook = _change_hooks.get(PyThread_get_thread_ident()) if _change_hooks else None
    return False if hook is None else hook(subject, what, value)


cdef int _refuse_sparse(Tensor t, str what) except -1:
    """Raise where a sparse tensor is taken for memory, which it has not."""
    if t._flags >> FL_LEVEL_SHIFT == <uint32_t>FL_SPARSE_LEVEL:
        raise TypeError(f"{what}: a sparse tensor has no memory of all elements; write "
                        "x.to_dense(), or take its parts, such as x.values()")
    return 0


cdef int _about_to_read(Tensor t, str what) except -1:
    _refuse_sparse(t, what)
    if t._flags >> FL_LEVEL_SHIFT == <uint32_t>FL_WRAPPER_LEVEL:
        raise RuntimeError(
            f"{what}: Cannot access data pointer of Tensor that doesn't have storage: a "
            f"{type(t).__name__} has no memory of its own; ask the tensors that it consists of")
    if fl_any_waiting():
        fl_settle(PyUnicode_AsUTF8(what), <fl_tensor *><PyObject *>t, True)
    if _read_hooks:
        hook = _read_hooks.get(PyThread_get_thread_ident())
        if hook is not None:
            hook(t, what)
    return 0


cdef int _about_to_share(Tensor t, str what) except -1:
    """The address is given away: what lies there may be read and written from now on."""
    tell_of_sharing(t)
    fl_settle_for_good(PyUnicode_AsUTF8(what), <fl_tensor *><PyObject *>t)
    return _about_to_read(t, what)


cdef Tensor _on_cpu(Tensor t):
    if t._device_type == FL_CPU:
        return t
    if t._device_type == FL_META:
        raise NotImplementedError("a meta tensor has no values; make one with real memory, e.g. "
                                  "flambeau.empty_like(x, device='cpu')")
    return _operators["to_device"](t, "cpu")


cdef object _item(Tensor t, str what):
    if t._numel != 1:
        raise _argument_error(f"a Tensor with {t._numel} elements cannot be converted to Scalar "
                              f"({what} of shape {list(t.shape)}): only one element tensors can be "
                              "converted to Python scalars; index one element, or use x.tolist()")
    if t._flags >> FL_LEVEL_SHIFT and not fl_below_off \
            and fl_is_shown_below(<fl_tensor *><PyObject *>t):
        return method_below("_local_scalar_dense.default", t)
    _about_to_read(t, what)
    return _read_element(_on_cpu(t)._data, t._dtype)


cdef object _real_item(Tensor t, str what):
    """The only element; a complex one must be real."""
    value = _item(t, what)
    if not fl_is_complex(t._dtype):
        return value
    if value.imag != 0:
        raise RuntimeError(f"{what}: {value} has an imaginary part; read x.real or x.imag, or use "
                           "complex(x)")
    return value.real


cdef int _wide_dtype(int code) noexcept:
    """The dtype of Python's numbers that holds this one."""
    if code == FL_BOOL or code == FL_U64:
        return code
    if fl_is_int(code):
        return FL_I64
    return FL_C128 if fl_is_complex(code) else FL_F64


cdef object _python_number(const char *p, int wide):
    if wide == FL_F64:
        return (<const double *>p)[0]
    if wide == FL_I64:
        return (<const int64_t *>p)[0]
    if wide == FL_BOOL:
        return p[0] != 0
    if wide == FL_U64:
        return (<const uint64_t *>p)[0]
    return PyComplex_FromDoubles((<const double *>p)[0], (<const double *>p)[1])


cdef void _widen(const char *p, int code, int64_t stride, char *to, int wide,
                 int64_t n) noexcept nogil:
    cdef int64_t one = 1
    cdef fl_strided src, dst
    src.data, src.dtype, src.strides = <char *>p, code, &stride
    dst.data, dst.dtype, dst.strides = to, wide, &one
    fl_copy_strided(dst, src, 1, &n)


cdef object _read_element(const char *p, int code):
    cdef double room[2]
    cdef int wide = _wide_dtype(code)
    if wide == code:
        return _python_number(p, code)
    _widen(p, code, 1, <char *>room, wide, 1)
    return _python_number(<char *>room, wide)


cdef list _row_to_list(const char *p, int code, int64_t n, int64_t stride):
    """Elements of a row, widened some at a time."""
    cdef double room[2 * 128]
    cdef int wide = _wide_dtype(code)
    cdef int64_t i, begin = 0, count, step = fl_itemsize(wide), size = fl_itemsize(code)
    cdef list row = PyList_New(n)
    while begin < n:
        count = min(n - begin, 128)
        _widen(p + begin * stride * size, code, stride, <char *>room, wide, count)
        for i in range(count):
            value = _python_number(<char *>room + i * step, wide)
            Py_INCREF(value)
            PyList_SET_ITEM(row, begin + i, value)
        begin += count
    return row


cdef object _to_list(Tensor t, int dim=0, int64_t offset=0):
    cdef int64_t i
    cdef const char *p = t._data + offset * fl_itemsize(t._dtype)
    if dim == t._ndim:
        return _read_element(p, t._dtype)
    if dim == t._ndim - 1:
        return _row_to_list(p, t._dtype, t._shape[dim], t._strides[dim])
    return [_to_list(t, dim + 1, offset + i * t._strides[dim]) for i in range(t._shape[dim])]
