# Devices: "cpu", "meta" and whatever backends are registered.

import _thread    # not threading, which takes a millisecond to import

cdef extern from *:
    """
    static __thread int fl_default_device;     /* where new tensors of a thread go */
    static __thread int fl_current_index;      /* the device that its type alone stands for */
    """
    int fl_default_device
    int fl_current_index

cdef object _outer = _thread._local()  # the devices around every open `with device`


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
    global fl_default_device
    fl_default_device = 0 if where is None else _unbox_device(<PyObject *>where)


def set_current_index(int index):
    """Choose which device of a backend a type alone stands for in this thread."""
    global fl_current_index
    fl_current_index = index


def get_default_device():
    """Where new tensors of this thread go when no device is named."""
    return fl_python_device(fl_default_device)


def _where(device):
    """The device that was named, else the default; None stands for the CPU."""
    return device if device is not None or fl_default_device == 0 else get_default_device()


# Types of devices that PyTorch knows: a program may name one before it asks whether it is there.
cdef frozenset _foreign_types = frozenset(("cuda", "mps", "xpu", "hip", "xla", "hpu", "mtia", "ipu",
                                           "maia", "vulkan", "privateuseone"))


@cython.final
cdef class device:
    """Where a tensor lives: ``flambeau.device("cuda", 0)`` or ``flambeau.device("cuda:0")``."""
    cdef readonly int code      # its low byte is the index; negative where `_absent` is set
    cdef bint _indexed
    cdef str _absent            # the type, while nothing makes such devices

    def __cinit__(self, type, index=None):
        if isinstance(type, device):
            self.code = (<device>type).code
            self._indexed = (<device>type)._indexed
            self._absent = (<device>type)._absent
            return
        if isinstance(type, int) and index is None:     # that of the accelerator, as in x.to(0)
            if type < 0:
                raise ArgumentError(f"device(): index {type} must not be negative")
            type, index = "cuda", type
            _device_type(type)      # the error that says what is missing
        if not isinstance(type, str):
            raise TypeError(f"device(): expected a string such as 'cpu' or 'cuda:0', got {type!r}")
        name, colon, number = (<str>type).partition(":")
        if colon:
            if index is not None or not number.isdigit():
                raise ArgumentError(
                    f"device(): cannot read {type!r}; write 'cuda:0' or ('cuda', 0)")
            index = int(number)
        if index is not None and not 0 <= index < 255:
            raise ArgumentError(f"device(): index {index} is out of range")
        if name in _foreign_types and fl_backend_by_name(name.encode()) < 0:
            self._absent = name
            self.code = -256 | (index or 0)
        else:
            self.code = _device_type(name)
            if index is None and self.code >= 2:        # of a backend
                self.code = self.code << 8 | fl_current_index
                return
            self.code = self.code << 8 | (index or 0)
        self._indexed = index is not None

    cdef int found(self) except -1:
        """The code, or the error that says what a device of this type needs."""
        if self._absent is not None:
            self.code = _device_type(self._absent) << 8 | self.code & 255
            self._absent = None
        return self.code if self.code >> 8 >= 2 else self.code & ~255   # the CPU is one device

    @property
    def type(self) -> str:
        if self._absent is not None:
            return self._absent
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
        if not isinstance(other, device) or self.code & 255 != (<device>other).code & 255:
            return False
        return self.type == other.type and self.index == other.index

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (str(self),)

    def __enter__(self):
        global fl_default_device
        cdef int code = self.found()
        if not hasattr(_outer, "devices"):
            _outer.devices = []
        _outer.devices.append(fl_default_device)
        fl_default_device = code
        return self

    def __exit__(self, *error):
        global fl_default_device
        fl_default_device = _outer.devices.pop()


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
        return (<device>value).found()
    if isinstance(value, int) and not isinstance(value, bool):
        return _device_type("cuda") << 8 | <int>value
    return (<device>device(value)).found()
