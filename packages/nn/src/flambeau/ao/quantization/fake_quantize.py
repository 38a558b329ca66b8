"""Fake quantization: floats that are rounded as integers would be, and have gradients."""
from __future__ import annotations

from typing import Any

import flambeau
import flambeau.ao.quantization.observer as observers
from flambeau import Tensor
from flambeau.nn import Module

from .fused_observer import rounded, watched_and_rounded
from .observer import _BY_CHANNEL, _SYMMETRIC, ObserverBase, _With

__all__ = ["FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize",
           "FusedMovingAvgObsFakeQuantize", "disable_fake_quant", "disable_observer",
           "enable_fake_quant", "enable_observer"]


class FakeQuantizeBase(Module):
    """What all of them have: switches for watching and for rounding."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", flambeau.tensor([1], dtype=flambeau.uint8))
        self.register_buffer("observer_enabled", flambeau.tensor([1], dtype=flambeau.uint8))

    def forward(self, x: Tensor) -> Tensor:
        """Watch and round numbers."""
        raise NotImplementedError

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point."""
        raise NotImplementedError

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round numbers from now on."""
        self.fake_quant_enabled.fill_(int(enabled))

    def disable_fake_quant(self) -> None:
        """Let numbers pass unchanged."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Watch numbers from now on."""
        self.observer_enabled.fill_(int(enabled))

    def disable_observer(self) -> None:
        """Keep the scale as it is."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> _With:
        """The class with some of its arguments, for a `QConfig`."""
        return _With(cls, **kwargs)


class FakeQuantize(FakeQuantizeBase):
    r"""Rounds to :math:`s (\mathrm{clamp}(\mathrm{round}(x / s) + z, q_{min}, q_{max}) - z)`.

    The gradient passes where nothing was clamped.

    Args:
        observer: The class of what chooses the scale.
        quant_min: The least integer; None: as the observer has it.
        quant_max: The greatest integer.
        is_dynamic: Whether scales are found anew for every input.
        observer_kwargs: What the observer is made with.

    Example:
        >>> import flambeau
        >>> from flambeau.ao.quantization import FakeQuantize
        >>> FakeQuantize()(flambeau.tensor([0.0, 0.3, 0.51, 2.55]))
        tensor([0.0000, 0.3000, 0.5100, 2.5500])
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(self, observer: Any = observers.MovingAverageMinMaxObserver,
                 quant_min: int | None = None, quant_max: int | None = None,
                 is_dynamic: bool = False, **observer_kwargs: Any) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.is_dynamic = is_dynamic
        self.activation_post_process: ObserverBase = observer(**observer_kwargs)
        watched: Any = self.activation_post_process
        self.quant_min, self.quant_max = watched.quant_min, watched.quant_max
        self.dtype, self.qscheme = watched.dtype, watched.qscheme
        self.ch_axis = getattr(watched, "ch_axis", -1)
        self.is_per_channel = self.qscheme in _BY_CHANNEL
        is_float = self.qscheme == flambeau.per_channel_affine_float_qparams
        points = flambeau.float32 if is_float else flambeau.int32
        self.register_buffer("scale", flambeau.tensor([1.0]))
        self.register_buffer("zero_point", flambeau.tensor([0], dtype=points))

    def calculate_qparams(self) -> Any:     # type: ignore[override]
        """The scale and the zero point that the observer knows."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        """Watch and round numbers, as the switches say."""
        if bool(self.observer_enabled):
            if self.is_dynamic:
                self.activation_post_process.reset_min_max_vals()
            self.activation_post_process(X.detach())
            scale, zero_point = self.calculate_qparams()
            self.scale.resize_(scale.shape).copy_(scale)
            self.zero_point.resize_(zero_point.shape).copy_(zero_point)
        if not bool(self.fake_quant_enabled):
            return X
        return rounded(X, self.scale, self.zero_point,
                       self.ch_axis if self.is_per_channel else None, self.quant_min,
                       self.quant_max)

    def extra_repr(self) -> str:
        """The switches, the scale and the range."""
        reduced = getattr(self.activation_post_process, "reduce_range", False)
        return (f"fake_quant_enabled={_plain(self.fake_quant_enabled)}, "
                f"observer_enabled={_plain(self.observer_enabled)}, scale={self.scale}, "
                f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min}, "
                f"quant_max={self.quant_max}, qscheme={self.qscheme}, reduce_range={reduced}")

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Load scales, of which there may be as many as channels."""
        for name in ("scale", "zero_point"):
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _plain(switch: Tensor) -> str:
    return f"tensor({switch.tolist()})"


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    r"""`FakeQuantize` over an observer of moving averages, as the configurations for training use.

    Where it trains, scales are those of `fused_observer.chosen`, as in PyTorch;
    ``calculate_qparams`` has what the observer says.

    Args:
        as in `FakeQuantize`.
    """

    def forward(self, X: Tensor) -> Tensor:
        """Watch and round numbers, as the switches say."""
        watched: Any = self.activation_post_process
        return watched_and_rounded(
            X, self.observer_enabled, self.fake_quant_enabled, watched.min_val, watched.max_val,
            self.scale, self.zero_point, watched.averaging_constant, self.quant_min,
            self.quant_max, self.ch_axis, self.is_per_channel, self.qscheme in _SYMMETRIC)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Fake quantization with a scale that is known without watching.

    Args:
        observer: A `FixedQParamsObserver` with its arguments.
    """

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=_without_dynamic(observer))
        scale, zero_point = self.activation_post_process.calculate_qparams()
        self.scale.copy_(scale)
        self.zero_point.copy_(zero_point)


def _without_dynamic(observer: Any) -> Any:
    return lambda **kwargs: observer()


def _switch(name: str, what: str) -> Any:
    def apply(mod: Module) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{what}; for ``network.apply({name})``."
    return apply


disable_fake_quant = _switch("disable_fake_quant", "Let numbers pass unchanged")
enable_fake_quant = _switch("enable_fake_quant", "Round numbers from now on")
disable_observer = _switch("disable_observer", "Keep scales as they are")
enable_observer = _switch("enable_observer", "Watch numbers from now on")


def __getattr__(name: str) -> Any:
    """Fake quantization with its arguments, which stands beside the configurations."""
    from flambeau.ao.quantization import qconfig

    if "fake_quant" in name:
        return getattr(qconfig, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
