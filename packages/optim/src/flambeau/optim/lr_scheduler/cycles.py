"""Schedules that go up and down: cycles of the rate, and of momentum against it."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, each_group, set_option, within_step

Scale = Callable[[float], float]


class _WithMomentum(LRScheduler):
    """A schedule that may also cycle the momentum, or the first of Adam's betas."""

    cycle_momentum: bool
    use_beta1: bool

    def _start_momentum(
        self, base: Any, greatest: Any, last_epoch: int
    ) -> tuple[list[Any], list[Any]]:
        """Begin with the greatest momentum; the least and the greatest of every group."""
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                f"{type(optimizer).__name__} has neither momentum nor betas: write "
                "cycle_momentum=False"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        lows = each_group("base_momentum", base, optimizer)
        highs = each_group("max_momentum", greatest, optimizer)
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return lows, highs

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """The rate rises from ``base_lr`` to ``max_lr`` and falls back, again and again.

    Call ``step`` after every batch. (Smith, Cyclical Learning Rates for Training Neural Networks,
    2017.)

    Args:
        optimizer: Whose learning rates are set.
        base_lr: The least rate, or one for every group.
        max_lr: The greatest rate before it is scaled, or one for every group.
        step_size_up: Batches from the least to the greatest.
        step_size_down: Batches back; as many as up if left out.
        mode: ``"triangular"``: all cycles alike; ``"triangular2"``: every cycle half as high as
            the last; ``"exp_range"``: the height is scaled by ``gamma**batch``.
        gamma: See ``mode``.
        scale_fn: A function that scales the height, instead of ``mode``.
        scale_mode: Whether ``scale_fn`` takes the number of the ``"cycle"`` or of the batch
            (``"iterations"``).
        cycle_momentum: Move the momentum the other way.
        base_momentum: The least momentum, or one for every group.
        max_momentum: The greatest momentum, or one for every group.
        last_epoch: The last batch of the training that is resumed; -1 to begin.

    Raises:
        ValueError: ``mode`` is not known, or the optimizer has no momentum.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0, momentum=0.9)
        >>> schedule = optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2)
        >>> rates = []
        >>> for batch in range(5):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Scale | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if mode not in _SCALE_MODES and scale_fn is None:
            raise ValueError(f"mode is one of {', '.join(_SCALE_MODES)}, not {mode!r}")
        self.optimizer = optimizer
        base_lrs = each_group("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", lr)
        self.max_lrs = each_group("max_lr", max_lr, optimizer)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _SCALE_MODES[mode]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            momenta = self._start_momentum(base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = momenta
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """By how much the height is scaled in cycle, or batch, ``x``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 0.5 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this batch; sets the momentum."""
        height = self._height()
        if self.cycle_momentum:
            limits = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, limits, strict=True):
                self._set_momentum(group, high - (high - low) * height)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]

    def _height(self) -> float:
        """Where between the least and the greatest rate this batch is, scaled."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        way = 1.0 + self.last_epoch / self.total_size - cycle
        rises = way <= self.step_ratio
        height = way / self.step_ratio if rises else (way - 1) / (self.step_ratio - 1)
        return height * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of a scaling function only an object's attributes."""
        state = super().state_dict()
        state["_scale_fn_custom"] = _attributes(self._scale_fn_custom)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned; the scaling function stays as it is."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom")
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        super().load_state_dict(state)


_SCALE_MODES = {"triangular": "cycle", "triangular2": "cycle", "exp_range": "iterations"}


def _attributes(function: Scale | None) -> dict[str, Any] | None:
    if function is None or isinstance(function, FunctionType):
        return None
    return dict(function.__dict__)


class OneCycleLR(_WithMomentum):
    """The rate rises to ``max_lr`` and then falls far below where it began, once.

    Call ``step`` after every batch. (Smith and Topin, Super-Convergence, 2018.)

    Args:
        optimizer: Whose learning rates are set.
        max_lr: The greatest rate, or one for every group.
        total_steps: Batches in all; or give the next two.
        epochs: The number of epochs.
        steps_per_epoch: Batches in an epoch.
        pct_start: Which part of the batches the rise takes.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: Move the momentum the other way.
        base_momentum: The least momentum, or one for every group.
        max_momentum: The greatest momentum, or one for every group.
        div_factor: The first rate is ``max_lr / div_factor``.
        final_div_factor: The last rate is the first one over this.
        three_phase: Fall to the first rate in as many batches as the rise took, and only then to
            the last one.
        last_epoch: The last batch of the training that is resumed; -1 to begin.

    Raises:
        ValueError: A number is out of range, the optimizer has no momentum, or, in ``step``,
            there were more batches than ``total_steps``.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0, momentum=0.9)
        >>> schedule = optim.lr_scheduler.OneCycleLR(
        ...     optimizer, 1.0, total_steps=5, pct_start=0.4, anneal_strategy="linear", div_factor=4
        ... )
        >>> rates = []
        >>> for batch in range(5):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> [round(rate, 2) for rate in rates]
        [0.25, 1.0, 0.67, 0.33, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start is a float between 0 and 1, not {pct_start!r}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f'anneal_strategy is "cos" or "linear", not {anneal_strategy!r}')
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        greatest = each_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, greatest, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this batch; sets the momentum."""
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"step {self.last_epoch} of a schedule of {self.total_steps} steps: raise "
                "total_steps, or step once a batch"
            )
        phase, way = self._phase()
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], way))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(*ends, way))
        return rates

    def _phase(self) -> tuple[dict[str, Any], float]:
        """The phase of this batch, and which part of it is over."""
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if self.last_epoch <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        return phase, (self.last_epoch - start) / (phase["end_step"] - start)

    def _between(self, start: float, end: float, way: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * way + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * way) + 1)


def _total_steps(total: int | None, epochs: int | None, per_epoch: int | None) -> int:
    if total is None and (epochs is None or per_epoch is None):
        raise ValueError("give total_steps, or epochs and steps_per_epoch")
    counts = {"epochs": epochs, "steps_per_epoch": per_epoch}
    counts = counts if total is None else {"total_steps": total}
    for name, count in counts.items():
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"{name} is a positive integer, not {count!r}")
    return math.prod(counts.values())  # type: ignore[arg-type]


def _phase(end: float, rates: str, momenta: str) -> dict[str, Any]:
    """A phase until batch ``end``; the names of the options it goes between."""
    start_lr, end_lr = rates.split()
    start_momentum, end_momentum = momenta.split()
    return {
        "end_step": end,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }


def _phases(start: float, total: int, three: bool) -> list[dict[str, Any]]:
    rise = _phase(start * total - 1, "initial_lr max_lr", "max_momentum base_momentum")
    if not three:
        return [rise, _phase(total - 1, "max_lr min_lr", "base_momentum max_momentum")]
    back = _phase(2 * start * total - 2, "max_lr initial_lr", "base_momentum max_momentum")
    return [rise, back, _phase(total - 1, "initial_lr min_lr", "max_momentum max_momentum")]
