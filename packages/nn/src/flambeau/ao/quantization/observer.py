"""Observers: modules that watch numbers go by, and know scales and zero points for them."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core.quantized.schemes import RANGES
from flambeau.nn import Module

__all__ = ["MinMaxObserver", "MovingAverageMinMaxObserver",
           "MovingAveragePerChannelMinMaxObserver", "ObserverBase", "PerChannelMinMaxObserver",
           "UniformQuantizationObserverBase", "get_observer_state_dict",
           "load_observer_state_dict"]

_RANGES = RANGES | {dtype: (flambeau.iinfo(dtype).min, flambeau.iinfo(dtype).max) for dtype in (
    flambeau.int8, flambeau.uint8, flambeau.int16, flambeau.int32)}
_SYMMETRIC = (flambeau.per_tensor_symmetric, flambeau.per_channel_symmetric)
_BY_CHANNEL = (flambeau.per_channel_affine, flambeau.per_channel_symmetric,
               flambeau.per_channel_affine_float_qparams)


class _With(functools.partial):
    """A class with some of its arguments, and more of them by ``with_args``."""

    def with_args(self, **kwargs: Any) -> _With:
        """The same with further arguments."""
        return _With(self, **kwargs)

    def with_callable_args(self, **kwargs: Callable[[], Any]) -> _With:
        """The same with arguments that are computed at each use."""
        def make(**more: Any) -> Any:
            return self(**{name: each() for name, each in kwargs.items()}, **more)

        return _With(make)

    @property
    def p(self) -> _With:
        """Itself: what programs for PyTorch find the class and its arguments in."""
        return self

    def __repr__(self) -> str:
        return "functools.partial" + super().__repr__().removeprefix("_With")


class ObserverBase(Module):
    """What all observers have: ``forward`` watches, ``calculate_qparams`` answers.

    Args:
        dtype: The dtype that the numbers will have.
        is_dynamic: Whether scales are found anew for every input.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def forward(self, x: Tensor) -> Tensor:
        """Watch numbers."""
        raise NotImplementedError

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point."""
        raise NotImplementedError

    @classmethod
    def with_args(cls, **kwargs: Any) -> _With:
        """The class with some of its arguments, for a `QConfig`."""
        return _With(cls, **kwargs)

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> _With:
        """The class with arguments that are computed at each use."""
        return _With(cls).with_callable_args(**kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    r"""Observers of steps of one size, between the least number and the greatest.

    .. math:: s = \frac{\max(x, 0) - \min(x, 0)}{q_{max} - q_{min}}, \quad
              z = q_{min} - \mathrm{round}(\min(x, 0) / s)

    and for symmetric schemes :math:`s = 2 \max |x| / (q_{max} - q_{min})`.

    Args:
        dtype: ``qint8``, ``quint8`` or ``qint32``.
        qscheme: How integers stand for numbers.
        reduce_range: Whether one bit is left unused.
        quant_min: The least integer; None: that of the dtype.
        quant_max: The greatest integer.
        factory_kwargs: Device and dtype of buffers.
        eps: The least scale.
        is_dynamic: Whether scales are found anew for every input.
    """

    eps: Tensor
    _version = 3    # of PyTorch's entries, which these are

    def __init__(self, dtype: Any = flambeau.quint8, qscheme: Any = flambeau.per_tensor_affine,
                 reduce_range: bool = False, quant_min: int | None = None,
                 quant_max: int | None = None, factory_kwargs: Any = None,
                 eps: float = flambeau.finfo(flambeau.float32).eps, is_dynamic: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", flambeau.tensor([eps], **(factory_kwargs or {})))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        low, high = self._range(quant_min, quant_max)
        self.quant_min, self.quant_max = low, high

    def _range(self, quant_min: int | None, quant_max: int | None) -> tuple[int, int]:
        if self.dtype not in _RANGES:
            raise ValueError(f"{type(self).__name__}: dtype must be qint8, quint8 or qint32, "
                             f"not {self.dtype}")
        low, high = _RANGES[self.dtype]
        if quant_min is not None and quant_max is not None:
            if not quant_min <= 0 <= quant_max or quant_min == quant_max:
                raise ValueError(f"{type(self).__name__}: zero must lie between quant_min and "
                                 f"quant_max, got {quant_min} and {quant_max}")
            low, high = quant_min, quant_max
        return (low // 2, high // 2) if self.reduce_range else (low, high)

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        """Scales in float32 and zero points in int64, for what was seen."""
        if not min_val.numel() or bool((min_val > max_val).any()):
            warnings.warn(f"{type(self).__name__} has seen no numbers: run the network on some "
                          "before calculate_qparams(); the scale is 1", stacklevel=3)
            return flambeau.tensor([1.0]), flambeau.tensor([0])
        low, high = min_val.clamp(max=0), max_val.clamp(min=0)
        if self.qscheme in _SYMMETRIC:
            greatest = flambeau.maximum(-low, high)
            scale = greatest / (float(self.quant_max - self.quant_min) / 2)
            zero = 0
            if self.dtype.name in ("quint8", "uint8"):
                zero = 128
                if self.has_customized_qrange:
                    zero = (self.quant_min + self.quant_max) // 2
            scale = flambeau.maximum(scale, self.eps)
            return self._vector(scale), flambeau.full_like(self._vector(scale), zero).long()
        if self.qscheme == flambeau.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / float(self.quant_max - self.quant_min)
            scale = flambeau.where(scale > self.eps, scale, flambeau.ones_like(scale))
            return self._vector(scale), self._vector(-min_val / scale)
        scale = (high - low) / float(self.quant_max - self.quant_min)
        scale = flambeau.maximum(scale, self.eps)
        points = self.quant_min - flambeau.round(low / scale).int()
        points = points.clamp(self.quant_min, self.quant_max)
        return self._vector(scale), self._vector(points).long()

    @staticmethod
    def _vector(x: Tensor) -> Tensor:
        return x.reshape(1) if x.ndim == 0 else x

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        raise NotImplementedError


class MinMaxObserver(UniformQuantizationObserverBase):
    """Watches the least and the greatest of all numbers.

    Args:
        as in `UniformQuantizationObserverBase`.

    Example:
        >>> import flambeau
        >>> from flambeau.ao.quantization import MinMaxObserver
        >>> observer = MinMaxObserver()
        >>> _ = observer(flambeau.tensor([-1.0, 0.0, 1.55]))
        >>> observer.calculate_qparams()
        (tensor([0.0100]), tensor([100]))
    """

    min_val: Tensor
    max_val: Tensor

    def __init__(self, dtype: Any = flambeau.quint8, qscheme: Any = flambeau.per_tensor_affine,
                 *args: Any, **kwargs: Any) -> None:
        super().__init__(dtype, qscheme, *args, **kwargs)
        if self.qscheme not in (flambeau.per_tensor_affine, flambeau.per_tensor_symmetric):
            raise NotImplementedError(f"{type(self).__name__} has one scale for a tensor: write "
                                      f"PerChannelMinMaxObserver(qscheme={qscheme})")
        made = kwargs.get("factory_kwargs") or {}
        self.register_buffer("min_val", flambeau.tensor(float("inf"), **made))
        self.register_buffer("max_val", flambeau.tensor(float("-inf"), **made))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Watch numbers, which pass unchanged."""
        if x_orig.numel():
            low, high = flambeau.aminmax(x_orig.detach().to(self.min_val.dtype))
            self._seen(low, high)
        return x_orig

    def _seen(self, low: Tensor, high: Tensor) -> None:
        self.min_val.copy_(flambeau.minimum(low, self.min_val))
        self.max_val.copy_(flambeau.maximum(high, self.max_val))

    def calculate_qparams(self) -> Any:     # type: ignore[override]
        """The scale and the zero point, for what was seen so far."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """What was seen."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(float("-inf"))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Watches averages of the least and the greatest numbers of each input.

    Args:
        averaging_constant: The weight of a new input.
        others: as in `MinMaxObserver`.
    """

    def __init__(self, averaging_constant: float = 0.01, dtype: Any = flambeau.quint8,
                 qscheme: Any = flambeau.per_tensor_affine, *args: Any, **kwargs: Any) -> None:
        self.averaging_constant = averaging_constant
        super().__init__(dtype, qscheme, *args, **kwargs)

    def _seen(self, low: Tensor, high: Tensor) -> None:
        if not bool(self.min_val.isinf()):
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self.min_val.copy_(low)
        self.max_val.copy_(high)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Watches the least and the greatest numbers of each index of one dimension.

    Args:
        ch_axis: The dimension.
        others: as in `UniformQuantizationObserverBase`.
    """

    min_val: Tensor
    max_val: Tensor

    def __init__(self, ch_axis: int = 0, dtype: Any = flambeau.quint8,
                 qscheme: Any = flambeau.per_channel_affine, *args: Any, **kwargs: Any) -> None:
        super().__init__(dtype, qscheme, *args, **kwargs)
        if self.qscheme not in _BY_CHANNEL:
            raise NotImplementedError(f"{type(self).__name__} has a scale for each channel: write "
                                      f"MinMaxObserver(qscheme={qscheme})")
        self.ch_axis = ch_axis
        made = kwargs.get("factory_kwargs") or {}
        self.register_buffer("min_val", flambeau.tensor([], **made))
        self.register_buffer("max_val", flambeau.tensor([], **made))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Watch numbers, which pass unchanged."""
        if x_orig.numel():
            x = x_orig.detach().to(self.min_val.dtype).movedim(self.ch_axis, 0).flatten(1) \
                if x_orig.ndim > 1 else x_orig.detach().to(self.min_val.dtype).reshape(-1, 1)
            low, high = flambeau.aminmax(x, dim=1)
            self._seen(low, high)
        return x_orig

    def _seen(self, low: Tensor, high: Tensor) -> None:
        if self.min_val.numel():
            low = flambeau.minimum(low, self.min_val)
            high = flambeau.maximum(high, self.max_val)
        self._keep(low, high)

    def _keep(self, low: Tensor, high: Tensor) -> None:
        self.min_val.resize_(low.shape)
        self.max_val.resize_(high.shape)
        self.min_val.copy_(low)
        self.max_val.copy_(high)

    def calculate_qparams(self) -> Any:     # type: ignore[override]
        """Scales and zero points, for what was seen so far."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """What was seen."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = flambeau.tensor([]), flambeau.tensor([])

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Load what was seen, whose size depends on it."""
        for name in ("min_val", "max_val"):
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *args)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """`MovingAverageMinMaxObserver` for each index of one dimension.

    Args:
        averaging_constant: The weight of a new input.
        others: as in `PerChannelMinMaxObserver`.
    """

    def __init__(self, averaging_constant: float = 0.01, ch_axis: int = 0,
                 dtype: Any = flambeau.quint8, qscheme: Any = flambeau.per_channel_affine,
                 *args: Any, **kwargs: Any) -> None:
        self.averaging_constant = averaging_constant
        super().__init__(ch_axis, dtype, qscheme, *args, **kwargs)

    def _seen(self, low: Tensor, high: Tensor) -> None:
        if self.min_val.numel():
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self._keep(low, high)


def get_observer_state_dict(mod: Module) -> dict[str, Any]:
    """The entries of a prepared network's state that belong to observers.

    Args:
        mod: The network.
    """
    return {key: value for key, value in mod.state_dict().items()
            if "activation_post_process" in key}


def load_observer_state_dict(mod: Module, obs_dict: dict[str, Any]) -> None:
    """Load what `get_observer_state_dict` gave into a network that was prepared alike.

    Args:
        mod: The network.
        obs_dict: That state.

    Raises:
        RuntimeError: An observer of the network is not in it.
    """
    missing, unexpected = mod.load_state_dict(obs_dict, strict=False)
    missing = [key for key in missing if "activation_post_process" in key]
    if missing or unexpected:
        raise RuntimeError(f"load_observer_state_dict(): missing are {missing}, and the network "
                           f"has no {list(unexpected)}: prepare it as the one that was saved")


def __getattr__(name: str) -> Any:
    """PyTorch's module has the other observers, too, and all of them with their arguments."""
    from flambeau.ao.quantization import qconfig

    if name.endswith("Observer") or "default" in name or "observer" in name:
        return getattr(qconfig, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
