"""``GradScaler``: keeps small gradients of half precision from vanishing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any

import flambeau
from flambeau import Tensor, rooms

from ._unscale import unscale
from .optimizer import Optimizer

_GREATEST = 3.4028234663852886e38  # of float32, beyond which the scale does not grow


class OptState(Enum):
    """How far an optimizer has come since the last ``update``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class NoGradientsError(RuntimeError, AssertionError):
    """There were no gradients to look at: an ``AssertionError``, as in PyTorch."""


class GradScaler:
    """Multiplies losses by a scale, and divides gradients by it before the optimizer's step.

    Small gradients would vanish in float16. A scale that is too large makes some of them infinite:
    such a step is skipped, and the scale lowered; after many good steps it grows again
    (Micikevicius et al., Mixed Precision Training, 2018).

    Args:
        device: The type of device that gradients are on. Without a GPU ``"cuda"`` warns and
            switches the scaler off, as in PyTorch; write ``GradScaler("cpu")``.
        init_scale: The first scale.
        growth_factor: By which factor the scale grows, greater than 1.
        backoff_factor: By which factor it is lowered, less than 1.
        growth_interval: After how many good steps in a row it grows.
        enabled: Without it ``scale`` returns what it is given and ``step`` always steps.

    Raises:
        ValueError: A factor is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer, scaler = optim.SGD([x], lr=0.1), flambeau.amp.GradScaler("cpu")
        >>> scaler.scale((3 * x).sum()).backward()
        >>> x.grad
        tensor([196608.])
        >>> scaler.step(optimizer)
        True
        >>> scaler.update()
        >>> x.detach()
        tensor([0.7000])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if growth_factor <= 1.0:
            raise ValueError(f"growth_factor is greater than 1, not {growth_factor}")
        if backoff_factor >= 1.0:
            raise ValueError(f"backoff_factor is less than 1, not {backoff_factor}")
        self._device = device
        self._enabled = enabled and _is_usable(device)
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._stages: dict[int, OptState] = {}
        self._found_inf: dict[int, bool] = {}
        self._is_used = False

    def scale(self, outputs: Any) -> Any:
        """Multiply by the scale.

        Args:
            outputs: A tensor, or tensors in lists, tuples or other iterables.

        Returns:
            The same, multiplied.

        Raises:
            ValueError: There is something else than a tensor.
        """
        if not self._enabled:
            return outputs
        self._is_used = True
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable) and not isinstance(outputs, (str, bytes, dict)):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError(
            f"scale() takes a tensor or an iterable of tensors, not {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer by the scale, e.g. to clip them before the step.

        Args:
            optimizer: Whose parameters' gradients are divided.

        Raises:
            RuntimeError: It was done since the last ``update``, or nothing was scaled.
            ValueError: A gradient is of float16: the division would lose what scaling saved.
        """
        if not self._enabled:
            return
        self._check_used("unscale_")
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() was already called for this optimizer since the last update()"
            )
        if stage is OptState.STEPPED:
            raise RuntimeError("unscale_() after step(): call update() first")
        gradients = _gradients(optimizer)
        if gradients:
            self._found_inf[id(optimizer)] = unscale(gradients, 1.0 / self._scale)
        self._stages[id(optimizer)] = OptState.UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients, unless that was done, and step if all of them are finite.

        Args:
            optimizer: Whose step is taken.
            args: Arguments of ``optimizer.step``; not a closure, which would unscale anew.
            kwargs: Likewise.

        Returns:
            Whether the step was taken; what ``optimizer.step`` returned if that is not ``None``.

        Raises:
            RuntimeError: A step was taken since the last ``update``, nothing was scaled, or there
                is a closure.
            NoGradientsError: No parameter has a gradient.
        """
        if not self._enabled:
            return _report(optimizer.step(*args, **kwargs))
        if "closure" in kwargs:
            raise RuntimeError(
                "step() with a closure: its gradients would not be unscaled. Compute them before, "
                "or make the scaler with enabled=False"
            )
        self._check_used("step")
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage is OptState.STEPPED:
            raise RuntimeError("step() was already called since the last update()")
        if stage is OptState.READY:
            self.unscale_(optimizer)
        if id(optimizer) not in self._found_inf:
            raise NoGradientsError(
                "step(): No inf checks were recorded for this optimizer: none of its parameters "
                "has a gradient. Call scaler.scale(loss).backward() before, and see that the loss "
                "depends on these parameters"
            )
        self._stages[id(optimizer)] = OptState.STEPPED
        if self._found_inf[id(optimizer)]:
            return False
        return _report(optimizer.step(*args, **kwargs))

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Lower the scale if a step was skipped; let it grow after many good ones.

        Args:
            new_scale: The scale to go on with, instead.

        Raises:
            NoGradientsError: No gradients were checked since the last ``update``.
            ValueError: ``new_scale`` is a tensor with more than one element.
        """
        if not self._enabled:
            return
        self._check_used("update")
        if new_scale is not None:
            self._scale = _number(new_scale)
        elif not self._found_inf:
            raise NoGradientsError(
                "update(): No inf checks were recorded prior to update: no gradients were checked; "
                "call step(optimizer) before"
            )
        elif any(self._found_inf.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._grow()
        self._stages.clear()
        self._found_inf.clear()

    def get_scale(self) -> float:
        """The scale; 1 if the scaler is not enabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """By which factor the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set by which factor the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By which factor the scale is lowered."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set by which factor the scale is lowered."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether the scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale, how it changes, and how many good steps there were; save after ``update``."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned; nothing if the scaler is not enabled.

        Raises:
            RuntimeError: The state is that of a scaler that was not enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("the state is empty: it was saved from a scaler not enabled")
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = int(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        if self._stages:
            raise RuntimeError("a scaler is copied after update(), not amid an iteration")
        return dict(self.__dict__)

    def _grow(self) -> None:
        self._growth_tracker += 1
        if self._growth_tracker < self._growth_interval:
            return
        grown = self._scale * self._growth_factor
        self._scale = grown if grown <= _GREATEST else self._scale
        self._growth_tracker = 0

    def _check_used(self, method: str) -> None:
        if not self._is_used:
            raise RuntimeError(
                f"{method}(): nothing was scaled; call scaler.scale(loss).backward() first"
            )


def _is_usable(device: str) -> bool:
    if str(device).partition(":")[0] != "cuda":
        return True
    if rooms.installed("cuda") and rooms.enter("cuda").is_available():
        return True
    warnings.warn(
        'GradScaler("cuda") does nothing: there is no GPU. Write GradScaler("cpu")', stacklevel=3
    )
    return False


def _gradients(optimizer: Optimizer) -> list[Tensor]:
    params = [param for group in optimizer.param_groups for param in group["params"]]
    grads = [param.grad for param in params if param.grad is not None]
    if any(grad.dtype == flambeau.float16 for grad in grads):
        raise ValueError(
            "a gradient is of float16, and dividing it by the scale would lose what scaling "
            "saved. Keep parameters in float32 and compute under flambeau.autocast"
        )
    return grads


def _report(result: Any) -> Any:
    return True if result is None else result


def _number(scale: float | Tensor) -> float:
    if isinstance(scale, Tensor) and scale.numel() != 1:
        raise ValueError(
            f"new_scale is a number or a tensor with one element, not of shape {tuple(scale.shape)}"
        )
    return float(scale)
