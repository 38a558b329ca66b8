"""Fourier transforms: the extension ``fft`` of the standard."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau

_ALONG_ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_ALONG_SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")


def _along_one(name: str) -> Callable[..., Any]:
    transform = getattr(flambeau.fft, name)

    def function(x: Any, /, *, n: int | None = None, axis: int = -1,
                 norm: str = "backward") -> Any:
        return transform(x, n, axis, norm)

    return _named(function, name, "along one axis")


def _along_several(name: str) -> Callable[..., Any]:
    transform = getattr(flambeau.fft, name)

    def function(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        return transform(x, s, axes, norm)

    return _named(function, name, "along several axes")


def _named(function: Callable[..., Any], name: str, where: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = f"The transform ``{name}`` {where}."
    return function


globals().update({name: _along_one(name) for name in _ALONG_ONE})
globals().update({name: _along_several(name) for name in _ALONG_SEVERAL})


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of what ``fft`` gives."""
    return flambeau.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of what ``rfft`` gives."""
    return flambeau.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Any, /, *, axes: Any = None) -> Any:
    """The frequency 0 moved to the middle."""
    return flambeau.fft.fftshift(x, axes)


def ifftshift(x: Any, /, *, axes: Any = None) -> Any:
    """The frequency 0 moved back to the front."""
    return flambeau.fft.ifftshift(x, axes)


__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
__all__.extend(_ALONG_ONE + _ALONG_SEVERAL)
