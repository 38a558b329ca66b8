# Devices: "cpu", "meta" and whatever backends are registered.

import threading

cdef extern from *:
    """
    static __thread int fl_place;       /* where new tensors of a thread go */
    """
    int fl_place

cdef object _outer = threading.local()  # the places around every open `with device`


def set_default_device(where):
    """Choose where new tensors of this thread go when no device is named; None is the CPU.

    Args:
        where: A device or its name.

    Example:
        >>> import flambeau
        >>> flambeau.set_default_device("meta")
        >>> flambeau.zeros(2).device
        device(type='meta')
        >>> flambeau.set_default_device(None)
    """
    global fl_place
    fl_place = 0 if where is None else _unbox_device(<PyObject *>where)


def get_default_device():
    """Where new tensors of this thread go when no device is named."""
    return fl_python_device(fl_place)


def _where(device):
    """The device that was named, else the default; None stands for the CPU."""
    return device if device is not None or fl_place == 0 else get_default_device()


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

    def __enter__(self):
        global fl_place
        if not hasattr(_outer, "places"):
            _outer.places = []
        _outer.places.append(fl_place)
        fl_place = self.code
        return self

    def __exit__(self, *error):
        global fl_place
        fl_place = _outer.places.pop()


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
