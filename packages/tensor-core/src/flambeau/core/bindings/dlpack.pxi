# DLPack both ways, with and without version, read-only flag honoured.
from cpython.pycapsule cimport (
    PyCapsule_GetPointer,
    PyCapsule_IsValid,
    PyCapsule_New,
    PyCapsule_SetName,
)

cdef extern from "flambeau/dlpack.h":
    ctypedef struct fl_dl_version:
        uint32_t major, minor
    ctypedef struct fl_dl_device:
        int32_t device_type, device_id
    ctypedef struct fl_dl_dtype:
        uint8_t code, bits
        unsigned short lanes
    ctypedef struct fl_dl_tensor:
        void *data
        fl_dl_device device
        int32_t ndim
        fl_dl_dtype dtype
        int64_t *shape
        int64_t *strides
        uint64_t byte_offset
    ctypedef struct fl_dl_managed:
        fl_dl_tensor tensor
        void *context
        void (*deleter)(fl_dl_managed *) noexcept
    ctypedef struct fl_dl_versioned:
        fl_dl_version version
        void *context
        void (*deleter)(fl_dl_versioned *) noexcept
        uint64_t flags
        fl_dl_tensor tensor

# (code, bits) of the format; codes: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool
cdef dict _dl_of_code = {
    FL_BOOL: (6, 8), FL_U8: (1, 8), FL_I8: (0, 8), FL_I16: (0, 16), FL_I32: (0, 32),
    FL_I64: (0, 64), FL_U16: (1, 16), FL_U32: (1, 32), FL_U64: (1, 64), FL_F16: (2, 16),
    FL_BF16: (4, 16), FL_F32: (2, 32), FL_F64: (2, 64), FL_C64: (5, 64), FL_C128: (5, 128),
    FL_C32: (5, 32), FL_F8_E4M3: (10, 8), FL_F8_E4M3UZ: (11, 8), FL_F8_E5M2: (12, 8),
    FL_F8_E5M2UZ: (13, 8), FL_F8_E8M0: (14, 8)}
cdef dict _code_of_dl = {v: k for k, v in _dl_of_code.items()}


cdef Tensor _pinned(Tensor t):
    """A tensor that nobody else has over the same elements: ``t`` may get another shape, or other
    memory, while the capsule lives."""
    cdef fl_storage *s = <fl_storage *>t._storage
    cdef Tensor pinned = fl_steal(fl_tensor_on(s, t._dtype, t._ndim, t._shape, t._strides,
                                               t._data - s.ptr))
    pinned._flags |= t._flags & FL_READONLY
    return pinned


cdef int _describe(Tensor t, fl_dl_tensor *d) except -1:
    d.data = t._data
    d.device.device_type, d.device.device_id = _dlpack_device(t)
    d.ndim = t._ndim
    d.dtype.code, d.dtype.bits = _dl_of_code[t._dtype]
    d.dtype.lanes = 1
    d.shape = t._shape
    d.strides = t._strides
    d.byte_offset = 0
    return 0


def _dlpack_device(Tensor t not None):
    """(device type, index) in the format's numbers."""
    if t._device_type == FL_CPU:
        return 1, 0
    if t.device.type == "cuda":
        return 2, t._device_index
    raise BufferError(f"a tensor on {t.device} cannot be shared through DLPack; write x.cpu()")


cdef void _free_managed(fl_dl_managed *m) noexcept with gil:
    Py_DECREF(<object>m.context)
    PyMem_Free(m)


cdef void _free_versioned(fl_dl_versioned *m) noexcept with gil:
    Py_DECREF(<object>m.context)
    PyMem_Free(m)


cdef void _drop_capsule(object capsule) noexcept:
    """Free what nobody took."""
    cdef fl_dl_versioned *v
    cdef fl_dl_managed *m
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        v = <fl_dl_versioned *>PyCapsule_GetPointer(capsule, "dltensor_versioned")
        v.deleter(v)
    elif PyCapsule_IsValid(capsule, "dltensor"):
        m = <fl_dl_managed *>PyCapsule_GetPointer(capsule, "dltensor")
        m.deleter(m)


def _to_dlpack_device(Tensor t not None, tuple dl_device, copy):
    if dl_device != (1, 0):
        raise BufferError(f"__dlpack__(): a tensor on {t.device} cannot be exported to the DLPack "
                          f"device {dl_device}; only to its own and to (1, 0), the CPU")
    if copy is False:
        raise BufferError("__dlpack__(): another device needs a copy, but copy=False was given")
    return _operators["to_device"](t, device("cpu"))


def _to_dlpack(Tensor t not None, stream=None, max_version=None, dl_device=None, copy=None):
    """A capsule over the memory of ``t`` (``Tensor.__dlpack__``)."""
    cdef fl_dl_versioned *v
    cdef fl_dl_managed *m
    if t._flags & FL_REQUIRES_GRAD:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and type(stream) is not int:
        raise TypeError(f"__dlpack__(): stream must be an int or None, got {stream!r}")
    moved = dl_device is not None and tuple(dl_device) != _dlpack_device(t)
    if moved:
        t = _to_dlpack_device(t, tuple(dl_device), copy)
    elif t._device_type != FL_CPU and stream != -1:
        from flambeau.core import backends
        backends.adapter(t.device.type).hand_over(t, stream)
    _about_to_share(t, "__dlpack__()")
    versioned = max_version is not None and max_version[0] >= 1
    if copy and not moved:
        t = _operators["clone"](t)
    elif t._flags & FL_READONLY and not versioned:
        raise BufferError("this tensor is read-only, which DLPack before version 1 cannot say; "
                          "export x.clone()")
    copied = copy or moved
    t = _pinned(t)
    fl_root_storage(t._storage).is_shared |= FL_S_EXPORTED
    if versioned:
        v = <fl_dl_versioned *>PyMem_Malloc(sizeof(fl_dl_versioned))
        if v == NULL:
            raise MemoryError()
        v.version.major, v.version.minor = 1, 0
        v.flags = (1 if t._flags & FL_READONLY else 0) | (2 if copied else 0)
        v.context = <void *>t
        v.deleter = _free_versioned
        _describe(t, &v.tensor)
        Py_INCREF(t)
        return PyCapsule_New(v, "dltensor_versioned", <void (*)(object) noexcept>_drop_capsule)
    m = <fl_dl_managed *>PyMem_Malloc(sizeof(fl_dl_managed))
    if m == NULL:
        raise MemoryError()
    m.context = <void *>t
    m.deleter = _free_managed
    _describe(t, &m.tensor)
    Py_INCREF(t)
    return PyCapsule_New(m, "dltensor", <void (*)(object) noexcept>_drop_capsule)


cdef class _Taken:
    """Owns what a DLPack producer passed."""
    cdef fl_dl_versioned *v
    cdef fl_dl_managed *m

    def __dealloc__(self):
        if self.v != NULL and self.v.deleter != NULL:
            self.v.deleter(self.v)
        if self.m != NULL and self.m.deleter != NULL:
            self.m.deleter(self.m)


cdef object _ask_dlpack(object ext, device, copy):
    """The capsule of a producer, with as many of our wishes as it understands."""
    wishes = {"max_version": (1, 0)}
    if copy is not None:
        wishes["copy"] = copy
    if device is not None and str(device) == "cpu":
        wishes["dl_device"] = (1, 0)
    elif hasattr(ext, "__dlpack_device__"):
        kind, index = ext.__dlpack_device__()
        if kind == 2:
            from flambeau.core import backends
            wishes["stream"] = backends.adapter("cuda").current_stream(index)
    for asked in (wishes, {"max_version": (1, 0)}):
        try:
            return ext.__dlpack__(**asked)
        except TypeError:
            continue
    return ext.__dlpack__()


def from_dlpack(ext, *, device=None, copy=None):
    """A tensor over the memory of another library's array.

    Args:
        ext: An object with ``__dlpack__`` and ``__dlpack_device__``, or a capsule from it.
        device: Where the result should live; where it is by default.
        copy: True to copy, False to refuse copying, None to share where possible.

    Example:
        >>> import flambeau, numpy
        >>> flambeau.from_dlpack(numpy.arange(3))
        tensor([0, 1, 2])
    """
    if PyCapsule_IsValid(ext, "dltensor_versioned") or PyCapsule_IsValid(ext, "dltensor"):
        capsule = ext
    elif hasattr(ext, "__dlpack__"):
        capsule = _ask_dlpack(ext, device, copy)
    else:
        raise TypeError(f"from_dlpack(): {type(ext).__name__} has no __dlpack__ method; give an "
                        "array of a library that supports DLPack")
    result = _from_capsule(capsule)
    if device is not None and str(result.device) != str(device):
        if copy is False:
            raise ValueError("from_dlpack(): another device needs a copy, but copy=False was given")
        return result.to(device)
    return _operators["clone"](result) if copy and not _is_copied(capsule) else result


cdef bint _is_copied(object capsule):
    """Whether the producer says that the memory is a copy made for us, and may be written to."""
    cdef fl_dl_versioned *v
    if not PyCapsule_IsValid(capsule, "used_dltensor_versioned"):
        return False
    v = <fl_dl_versioned *>PyCapsule_GetPointer(capsule, "used_dltensor_versioned")
    return v.flags & 3 == 2


cdef object _from_capsule(object capsule):
    cdef _Taken owner = _Taken.__new__(_Taken)
    cdef fl_dl_tensor *d
    cdef bint readonly = False
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        owner.v = <fl_dl_versioned *>PyCapsule_GetPointer(capsule, "dltensor_versioned")
        if owner.v.version.major != 1:
            owner.v = NULL
            raise BufferError("from_dlpack(): the producer speaks another major version of DLPack")
        PyCapsule_SetName(capsule, "used_dltensor_versioned")
        d = &owner.v.tensor
        readonly = owner.v.flags & 1
    elif PyCapsule_IsValid(capsule, "dltensor"):
        owner.m = <fl_dl_managed *>PyCapsule_GetPointer(capsule, "dltensor")
        PyCapsule_SetName(capsule, "used_dltensor")
        d = &owner.m.tensor
    else:
        raise BufferError("from_dlpack(): not a DLPack capsule, or one that was used already")
    return _over_dl(d, owner, readonly)


cdef object _over_dl(fl_dl_tensor *d, object owner, bint readonly):
    cdef int64_t strides[32]
    cdef int i, device_code = 0
    cdef int64_t n = 1, step = 1
    cdef bint is_empty = False
    key = (d.dtype.code, d.dtype.bits)
    if d.dtype.lanes != 1 or key not in _code_of_dl:
        raise BufferError(f"from_dlpack(): no dtype for code {key[0]} with {key[1]} bits")
    if d.device.device_type not in (1, 2, 3):
        raise BufferError(f"from_dlpack(): device type {d.device.device_type} is not supported")
    if d.device.device_type == 2:
        device_code = _device_type("cuda") << 8 | d.device.device_id
    if d.ndim > FL_MAX_DIMS:
        raise BufferError(f"from_dlpack(): {d.ndim} dimensions; at most {FL_MAX_DIMS}")
    code = _code_of_dl[key]
    for i in range(d.ndim - 1, -1, -1):
        strides[i] = step if d.strides == NULL else d.strides[i]
        if strides[i] < 0:
            raise BufferError("from_dlpack(): negative strides are not supported; copy the array")
        step *= d.shape[i]
        n += (d.shape[i] - 1) * strides[i]
        is_empty |= d.shape[i] == 0
    if is_empty:
        n = 0
    cdef char *p = <char *>d.data + d.byte_offset
    cdef fl_storage *s = fl_storage_foreign(p, n * fl_itemsize(code), device_code,
                                            <PyObject *>owner, readonly)
    s.is_shared |= FL_S_FIXED
    cdef fl_tensor *t
    try:
        t = fl_tensor_on(s, code, d.ndim, d.shape, strides, 0)
    finally:
        Py_DECREF(<object>s)
    return fl_steal(t)
