# Storages as objects, for pickles and copies, and tensors as buffers.
from cpython.object cimport Py_TYPE

cdef extern from "dispatch/python.h":
    PyTypeObject fl_storage_type


def _storage_of(Tensor t not None):
    """The object that owns the memory of a CPU tensor and its views."""
    return <object>t._storage


def _storage_bytes(storage not None):
    """The memory of a CPU storage as a bytes object."""
    cdef fl_storage *s = <fl_storage *><PyObject *>storage
    about_to_change(storage, "pickling or copying a tensor", None)
    fl_settle_storage("storage", s, True)
    return (<const char *>s.ptr)[:s.nbytes]


def _place_in_storage(Tensor t not None):
    """How many bytes after the start of its storage a tensor begins."""
    return t._data - (<fl_storage *>t._storage).ptr


def _on_storage(storage not None, dtype not None, tuple shape not None, tuple strides not None,
                int64_t offset):
    """A tensor over a CPU storage; the geometry must lie inside it."""
    cdef fl_storage *s = <fl_storage *><PyObject *>storage
    cdef int64_t sizes[32]
    cdef int64_t steps[32]
    cdef int code = _unbox_dtype(<PyObject *>dtype), n = len(shape), i
    if Py_TYPE(storage) != &fl_storage_type or s.device_type != FL_CPU:
        raise TypeError("a tensor is rebuilt on a storage of the CPU")
    if n > FL_MAX_DIMS or len(strides) != n:
        raise ArgumentError(f"{len(strides)} strides for {n} dimensions; {FL_MAX_DIMS} are the "
                            "limit")
    last = sum([(a - 1) * b for a, b in zip(shape, strides, strict=True)]) + 1
    if offset < 0 or min(shape, default=0) < 0 or min(strides, default=0) < 0 \
            or 0 not in shape and offset + last * fl_itemsize(code) > s.nbytes:
        raise ArgumentError(f"shape {shape} and strides {strides} reach outside the storage")
    for i in range(n):
        sizes[i] = shape[i]
        steps[i] = strides[i]
    return fl_steal(fl_tensor_on(s, code, n, sizes, steps, offset))


# ---- the buffer protocol ---------------------------------------------------------------

# NumPy takes the first C type of a format for the dtype: int64 is long where that has 64 bits.
cdef bint _has_wide_long = sizeof(long) == 8
cdef dict _format_of_code = {
    FL_BOOL: b"?", FL_U8: b"B", FL_I8: b"b", FL_I16: b"h", FL_U16: b"H", FL_I32: b"i",
    FL_U32: b"I", FL_I64: b"l" if _has_wide_long else b"q",
    FL_U64: b"L" if _has_wide_long else b"Q", FL_F16: b"e", FL_F32: b"f", FL_F64: b"d",
    FL_C64: b"Zf", FL_C128: b"Zd"}

cdef struct _buffer_hold:
    PyObject *storage               # the tensor may be given other memory while it is exported
    Py_ssize_t geometry[64]


cdef int _fill_buffer(Tensor t, Py_buffer *view, int flags) except -1:
    cdef _buffer_hold *hold
    cdef bytes form
    cdef int i
    if t._flags >> FL_LEVEL_SHIFT == <uint32_t>FL_SPARSE_LEVEL:
        raise BufferError("a sparse tensor is no array; write x.to_dense(), or take x.values()")
    if t._device_type != FL_CPU:
        raise BufferError(f"a tensor on {t.device} has no memory here; write x.cpu()")
    if fl_thread.mode & FL_M_GRAD and fl_requires_grad(<fl_tensor *><PyObject *>t):
        raise BufferError("a tensor that requires grad is not shared; write x.detach()")
    if t._dtype not in _format_of_code:
        raise BufferError(f"buffers have no format for {t.dtype}; write x.float()")
    if t._flags & FL_READONLY and flags & PyBUF_WRITABLE:
        raise BufferError("this tensor is read-only; write x.clone()")
    if not t._flags & FL_CONTIGUOUS and (
            flags & PyBUF_STRIDES != PyBUF_STRIDES or flags & PyBUF_C_CONTIGUOUS
            == PyBUF_C_CONTIGUOUS):
        raise BufferError("this tensor is not contiguous; write x.contiguous()")
    if flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS and t._ndim > 1:
        raise BufferError("tensors are not exported in the order of Fortran")
    _about_to_share(t, "memoryview()")
    hold = <_buffer_hold *>PyMem_Malloc(sizeof(_buffer_hold))
    if hold == NULL:
        raise MemoryError()
    size = fl_itemsize(t._dtype)
    for i in range(t._ndim):
        hold.geometry[i] = t._shape[i]
        hold.geometry[32 + i] = t._strides[i] * size
    hold.storage = t._storage
    Py_INCREF(<object>hold.storage)
    form = _format_of_code[t._dtype]
    view.obj = t
    view.buf = t._data
    view.len = t._numel * size
    view.itemsize = size
    view.readonly = t._flags & FL_READONLY != 0
    view.ndim = t._ndim
    view.format = <char *>form if flags & PyBUF_FORMAT else NULL
    view.shape = NULL
    view.strides = NULL
    if flags & PyBUF_ND:
        view.shape = hold.geometry
    if flags & PyBUF_STRIDES == PyBUF_STRIDES:
        view.strides = hold.geometry + 32
    view.suboffsets = NULL
    view.internal = hold
    return 0


cdef int _drop_buffer(Py_buffer *view) except -1:
    cdef _buffer_hold *hold = <_buffer_hold *>view.internal
    Py_XDECREF(hold.storage)
    PyMem_Free(hold)
    view.internal = NULL
    return 0
