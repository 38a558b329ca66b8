# Devices: "cpu", "meta" and whatever backends are registered.

@cython.final
cdef class device:
    """Where a tensor lives: ``flambeau.device("cuda", 0)`` or ``flambeau.device("cuda:0")``."""
    cdef readonly int code
    cdef bint _indexed

    def __cinit__(self, type, index=None):
        if isinstance(type, device):
            self.code = (<device>type).code
            self._indexed = (<device>type)._indexed
            return
        if not isinstance(type, str):
            raise TypeError(f"device(): expected a string such as 'cpu' or 'cuda:0', got {type!r}")
        name, colon, number = (<str>type).partition(":")
        if colon:
            if index is not None or not number.isdigit():
                raise ValueError(f"device(): cannot read {type!r}; write 'cuda:0' or ('cuda', 0)")
            index = int(number)
        if index is not None and not 0 <= index < 255:
            raise ValueError(f"device(): index {index} is out of range")
        self.code = _device_type(name) << 8 | (index or 0)
        self._indexed = index is not None

    @property
    def type(self) -> str:
        return fl_device_name(self.code >> 8).decode()

    @property
    def index(self):
        if self._indexed or self.code >> 8 >= 2:
            return self.code & 255
        return None

    def __repr__(self):
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and self.code == (<device>other).code

    def __hash__(self):
        return self.code

    def __reduce__(self):
        return device, (str(self),)


cdef int _device_type(str name) except -1:
    cdef bytes raw = name.encode()
    cdef int code = fl_backend_by_name(raw)
    if code < 0:
        from flambeau.core import backends
        backends.load(name)
        code = fl_backend_by_name(raw)
    return code


cdef list _boxed_devices = [None] * 4


cdef PyObject *_box_device(int code) except NULL:
    cdef device d
    if code == 0 and _boxed_devices[0] is not None:
        d = _boxed_devices[0]
    else:
        d = device.__new__(device, fl_device_name(code >> 8).decode(), None)
        d.code = code
        if code == 0:
            _boxed_devices[0] = d
    Py_INCREF(d)
    return <PyObject *>d


cdef int _unbox_device(PyObject *o) except -1:
    value = <object>o
    if type(value) is device:
        return (<device>value).code
    if isinstance(value, int) and not isinstance(value, bool):
        return _device_type("cuda") << 8 | <int>value
    return (<device>device(value)).code
