# Arrays both ways without copying, through the buffer and array-interface protocols.
# NumPy is imported on first use, and its C interface never.
import sys

cdef dict _typestr = {
    FL_BOOL: "|b1", FL_U8: "|u1", FL_I8: "|i1", FL_I16: "<i2", FL_I32: "<i4", FL_I64: "<i8",
    FL_U16: "<u2", FL_U32: "<u4", FL_U64: "<u8", FL_F16: "<f2", FL_F32: "<f4", FL_F64: "<f8",
    FL_C64: "<c8", FL_C128: "<c16"}
cdef dict _code_of_typestr = {v: k for k, v in _typestr.items()}


cdef bint _is_array(object o):
    return hasattr(o, "__array_interface__") or hasattr(o, "__array__") or \
        hasattr(o, "__dlpack__") or hasattr(o, "__cuda_array_interface__")


cdef object _from_array(object o):
    if not hasattr(o, "__array_interface__"):
        if hasattr(o, "__dlpack__"):
            return from_dlpack(o)
        if hasattr(o, "__cuda_array_interface__"):
            return _from_cuda_interface(o, o.__cuda_array_interface__)
        import numpy
        o = numpy.asarray(o)
    return _from_host_interface(o)


cdef object _from_host_interface(object o):
    """A tensor over an array's memory. NumPy's scalars show the memory of an array that is made for
    the question and gone with the answer, so they become arrays of their own first."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(o, numpy.generic):
        o = numpy.asarray(o)
    return _from_interface(o, o.__array_interface__, 0)


cdef object _from_cuda_interface(object owner, dict face):
    """A tensor over memory on a CUDA device, once the stream that fills it has finished."""
    cdef int code
    from flambeau.core import backends
    if face.get("mask") is not None:
        raise TypeError(f"can't convert a masked {type(owner).__name__} to a tensor; fill its "
                        "masked elements first")
    try:
        code = _device_type("cuda")
    except RuntimeError as error:
        raise RuntimeError(f"{type(owner).__name__} has memory on a CUDA device, for which there "
                           f"is no backend: {error}") from None
    adapter = backends.adapter("cuda")
    index = adapter.device_of(face["data"][0] or 0)
    if face.get("stream") is not None:
        adapter.synchronize(index)
    return _from_interface(owner, face, code << 8 | <int>index)


cdef object _from_interface(object owner, dict face, int device_code):
    cdef int64_t shape[32]
    cdef int64_t strides[32]
    cdef int ndim = len(face["shape"]), i, code
    cdef int64_t step, nbytes
    if face["typestr"] not in _code_of_typestr:
        raise TypeError(f"can't convert an array of type {face['typestr']!r} to a tensor; "
                        f"supported are {sorted(_code_of_typestr)} (native byte order)")
    if ndim > FL_MAX_DIMS:
        raise ValueError(f"an array of {ndim} dimensions; tensors have at most {FL_MAX_DIMS}")
    code = _code_of_typestr[face["typestr"]]
    size = fl_itemsize(code)
    for i in range(ndim):
        shape[i] = face["shape"][i]
    step = 1
    nbytes = size
    given = face.get("strides")
    for i in range(ndim - 1, -1, -1):
        if given is None:
            strides[i] = step
            step *= shape[i]
        elif given[i] < 0 or given[i] % size:
            raise ValueError(
                "from_numpy(): negative strides, or strides that are not whole elements, are not "
                "supported; write from_numpy(array.copy())")
        else:
            strides[i] = given[i] // size
        nbytes += (shape[i] - 1) * strides[i] * size
    if 0 in face["shape"]:
        nbytes = 0
    address, readonly = face["data"]
    cdef char *p = <char *><uintptr_t>(address or 0)
    cdef fl_storage *s = fl_storage_foreign(p, nbytes, device_code, <PyObject *>owner, readonly)
    s.is_shared |= FL_S_FIXED
    cdef fl_tensor *t
    try:
        t = fl_tensor_on(s, code, ndim, shape, strides, 0)
    finally:
        Py_DECREF(<object>s)
    return fl_steal(t)


def from_numpy(array):
    """A tensor that shares the memory of an array; read-only arrays give read-only tensors.

    Args:
        array: A ``numpy.ndarray`` (or anything with ``__array_interface__``).

    Raises:
        TypeError: the array's dtype has no counterpart.

    Example:
        >>> import numpy, flambeau
        >>> a = numpy.zeros(2, dtype="float32")
        >>> flambeau.from_numpy(a).add_(1)
        tensor([1., 1.])
        >>> a
        array([1., 1.], dtype=float32)
    """
    if not hasattr(array, "__array_interface__"):
        raise TypeError(f"expected a numpy.ndarray (got {type(array).__name__})")
    made = _from_host_interface(array)
    if made.is_readonly:
        _warn_of_read_only("array", "from_numpy", "array.copy()")
    return made


def frombuffer(buffer, *, dtype not None, Py_ssize_t count=-1, Py_ssize_t offset=0,
               bint requires_grad=False):
    """A one-dimensional tensor over the memory of a buffer.

    Args:
        buffer: An object with the buffer protocol.
        dtype: Element type.
        count: Number of elements; all that fit by default.
        offset: Bytes to skip.
        requires_grad: Whether operations on it are recorded.

    Raises:
        ValueError: the object has no buffer, or no element is asked for, or more than it holds.
    """
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError(f"frombuffer(): a {type(buffer).__name__} object does not implement "
                         "Python buffer protocol.; write tensor(data), or give "
                         "bytes(data)") from None
    cdef Py_ssize_t length = view.nbytes
    if length == 0 or count == 0:
        raise ValueError(f"frombuffer(): both buffer length ({length}) and count ({count}) must "
                         "not be 0; write empty(0, dtype=...)")
    if not 0 <= offset < length:
        raise ValueError(f"frombuffer(): offset ({offset} bytes) must be non-negative and no "
                         f"greater than buffer length ({length} bytes) minus 1")
    if view.readonly:
        _warn_of_read_only("buffer", "frombuffer", "bytearray(buffer)")
    cdef Tensor made = over_buffer(view, dtype, count, offset)
    fl_root_storage(made._storage).is_shared |= FL_S_FIXED
    return requiring(made) if requires_grad else made


cdef int _warn_of_read_only(str what, str name, str instead) except -1:
    import warnings
    warnings.warn(f"The given {what} is not writable. The tensor of {name}() is non-writable, too: "
                  f"a write to it raises; give {instead} to write", stacklevel=1)
    return 0


def over_buffer(buffer, dtype not None, Py_ssize_t count=-1, Py_ssize_t offset=0):
    """The same for memory that the library made itself, of no bytes too; see ``frombuffer``."""
    cdef int code = _unbox_dtype(<PyObject *>dtype)
    view = memoryview(buffer)
    if not view.contiguous:
        raise ValueError("frombuffer(): the buffer is not contiguous; give bytes(buffer)")
    flat = view.cast("B")
    cdef Py_ssize_t size = fl_itemsize(code), room = flat.nbytes - offset
    if count < 0 and room % size:
        raise ValueError(f"frombuffer(): buffer length ({room} bytes) after offset ({offset} "
                         f"bytes) must be a multiple of element size ({size}) of {dtype}; give "
                         "count")
    count = room // size if count < 0 else count
    if count * size > room:
        raise ValueError(f"frombuffer(): requested buffer length ({count} * {size} bytes) after "
                         f"offset ({offset} bytes) must not be greater than actual buffer length "
                         f"({flat.nbytes} bytes)")
    return _over_buffer(flat, code, count, offset)


cdef object _over_buffer(object view, int code, int64_t count, Py_ssize_t offset):
    # Not a typed memoryview of Cython's: the code for those is a tenth of this module. The address
    # stays good as long as the view, which the storage holds.
    cdef Py_buffer *buffer = PyMemoryView_GET_BUFFER(view)
    cdef char *p = <char *>buffer.buf if buffer.len else NULL
    cdef fl_storage *s = fl_storage_foreign(p, buffer.len, 0, <PyObject *>view, buffer.readonly)
    cdef int64_t shape = count
    cdef fl_tensor *t
    try:
        t = fl_tensor_on(s, code, 1, &shape, NULL, offset)
    finally:
        Py_DECREF(<object>s)
    return fl_steal(t)


cdef int _expect_shareable(Tensor t) except -1:
    """Refuse what NumPy cannot show, and run what still has to write to the memory."""
    if t._device_type != FL_CPU:
        raise TypeError(f"can't convert a tensor on {t.device} to numpy; write x.cpu() first")
    if fl_thread.mode & FL_M_GRAD and fl_requires_grad(<fl_tensor *><PyObject *>t):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use "
                           "tensor.detach().numpy() instead.")
    if t._dtype not in _typestr:
        raise TypeError(f"NumPy has no dtype {t.dtype}; write x.float().numpy()")
    _about_to_share(t, "numpy()")
    return 0


def _cuda_array_interface(Tensor t not None):
    """The array-interface dict of a CUDA tensor (``Tensor.__cuda_array_interface__``)."""
    if t.device.type != "cuda":
        raise AttributeError(f"a tensor on {t.device} has no __cuda_array_interface__; write "
                             "x.to('cuda')", name="__cuda_array_interface__", obj=t)
    if t._flags & FL_REQUIRES_GRAD:
        raise RuntimeError("Can't get __cuda_array_interface__ of a tensor that requires grad; "
                           "use tensor.detach()")
    if t._dtype not in _typestr:
        raise AttributeError(f"the CUDA array interface has no dtype {t.dtype}; write x.float()",
                             name="__cuda_array_interface__", obj=t)
    _about_to_share(t, "__cuda_array_interface__")
    size = fl_itemsize(t._dtype)
    strides = None if t._flags & FL_CONTIGUOUS else \
        tuple([t._strides[i] * size for i in range(t._ndim)])
    return {"version": 2, "typestr": _typestr[t._dtype], "shape": tuple(t.shape),
            "strides": strides,
            "data": (<uintptr_t>t._data if t._numel else 0, bool(t._flags & FL_READONLY))}


def raw_bytes(Tensor t not None):
    """The memory of a contiguous CPU tensor as a bytes object."""
    if not t._flags & FL_CONTIGUOUS or t._device_type != FL_CPU:
        raise ValueError("raw_bytes(): the tensor must be contiguous and on the CPU")
    _about_to_read(t, "bytes")
    return (<const char *>t._data)[:t._numel * fl_itemsize(t._dtype)]


cdef object _asarray = None


def _to_numpy(Tensor t not None):
    global _asarray
    if _asarray is None:
        import numpy
        _asarray = numpy.asarray
    _expect_shareable(t)
    fl_root_storage(t._storage).is_shared |= FL_S_FIXED
    return _asarray(t)      # by the buffer protocol, several times as fast as a dict of facts
