"""Methods that make tensors of the dtype and on the device of another: ``x.new_zeros(3)``."""
from flambeau.core import _core
from flambeau.core.composites.creation import creation
from flambeau.core.layouts import expect_strided

_op = _core.operators()


def _asked(name, self, args, dtype, device, requires_grad):
    """The answer of a class with ``__torch_dispatch__``."""
    options = {key: value for key, value in (("dtype", dtype), ("device", device))
               if value is not None}
    x = _core.method_below(f"{name}.default", self, *args, **options)
    return _core.requiring(x, requires_grad) if requires_grad else x


def _size(sizes, size):
    """The size that is given by numbers, as a tuple or by name."""
    if size is not None:
        if sizes:
            raise TypeError("size is given twice: by position and by name")
        return size
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes


def _made(x, requires_grad):
    _core._as_new(x)    # filling it was part of making it
    return _core.requiring(x, requires_grad) if requires_grad else x


def new_empty(self, *sizes, size=None, dtype=None, device=None, requires_grad=False, layout=None,
              pin_memory=False):
    """Uninitialized memory of this dtype and device."""
    expect_strided("new_empty", layout)
    if _core.is_dispatched(self):
        return _asked("new_empty", self, (list(_size(sizes, size)),), dtype, device, requires_grad)
    size = _size(sizes, size)
    dtype, device = dtype or self.dtype, device or self.device
    x = _op["empty"](size, dtype=dtype, device=device) if not _core.level_of(self) else \
        _core.blank_at_levels((self,), size, None, dtype, device)
    return _made(x, requires_grad)


def new_empty_strided(self, size, stride, dtype=None, device=None, requires_grad=False,
                      layout=None, pin_memory=False):
    """Uninitialized memory of this dtype and device, with given strides."""
    expect_strided("new_empty_strided", layout)
    if _core.is_dispatched(self):
        return _asked("new_empty_strided", self, (list(size), list(stride)), dtype, device,
                      requires_grad)
    dtype, device = dtype or self.dtype, device or self.device
    if _core.level_of(self):
        return _made(_core.blank_at_levels((self,), size, stride, dtype, device), requires_grad)
    return creation.empty_strided(size, stride, dtype=dtype, device=device,
                                  requires_grad=requires_grad)


def new_zeros(self, *sizes, size=None, dtype=None, device=None, requires_grad=False, layout=None,
              pin_memory=False):
    """Zeros of this dtype and device."""
    expect_strided("new_zeros", layout)
    if _core.is_dispatched(self):
        return _asked("new_zeros", self, (list(_size(sizes, size)),), dtype, device, requires_grad)
    x = _op["fill_"](new_empty(self, *sizes, size=size, dtype=dtype, device=device), 0)
    return _made(x, requires_grad)


def new_ones(self, *sizes, size=None, dtype=None, device=None, requires_grad=False, layout=None,
             pin_memory=False):
    """Ones of this dtype and device."""
    expect_strided("new_ones", layout)
    if _core.is_dispatched(self):
        return _asked("new_ones", self, (list(_size(sizes, size)),), dtype, device, requires_grad)
    x = _op["fill_"](new_empty(self, *sizes, size=size, dtype=dtype, device=device), 1)
    return _made(x, requires_grad)


def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None,
             pin_memory=False):
    """One repeated number in this dtype and on this device."""
    expect_strided("new_full", layout)
    if _core.is_dispatched(self):
        return _asked("new_full", self, (list(size), fill_value), dtype, device, requires_grad)
    x = _op["fill_"](new_empty(self, size, dtype=dtype, device=device), fill_value)
    return _made(x, requires_grad)


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """A tensor of this dtype and device from data."""
    return _core.tensor(data, dtype=dtype or self.dtype, device=device or self.device,
                        requires_grad=requires_grad)


METHODS = {f.__name__: f for f in (  # type: dict[str, object]
    new_empty, new_empty_strided, new_zeros, new_ones, new_full, new_tensor)}
