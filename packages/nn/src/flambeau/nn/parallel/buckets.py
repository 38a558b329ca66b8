"""Gradients of many parameters, side by side in memory, that processes average together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import distributed

FIRST_BYTES = 1 << 20  # of the first bucket, small so that the exchange begins soon
Hook = Callable[[Any, "GradBucket"], Any]


class GradBucket:
    """What a communication hook is given: the gradients of some parameters in one tensor.

    Args:
        index: The number of the bucket, in the order of exchange.
        buffer: The gradients, one after the other.
        parameters: The parameters.
        is_last: Whether it is exchanged last.
    """

    def __init__(
        self, index: int, buffer: Any, parameters: Sequence[Any], is_last: bool
    ) -> None:
        self._index = index
        self._buffer = buffer
        self._parameters = list(parameters)
        self._is_last = is_last

    def index(self) -> int:
        """The number of the bucket, in the order of exchange."""
        return self._index

    def buffer(self) -> Any:
        """The gradients, one after the other."""
        return self._buffer

    def set_buffer(self, buffer: Any) -> None:
        """Replace the gradients."""
        self._buffer = buffer

    def parameters(self) -> list[Any]:
        """The parameters."""
        return self._parameters

    def gradients(self) -> list[Any]:
        """The gradients, as views of the buffer."""
        return views_of(self._buffer, self._parameters)

    def is_last(self) -> bool:
        """Whether the bucket is exchanged last."""
        return self._is_last


def views_of(flat: Any, parameters: Sequence[Any]) -> list[Any]:
    """The parts of a flat tensor that belong to parameters, in their shapes."""
    parts = flambeau.split(flat, [p.numel() for p in parameters])
    return [part.view(p.shape) for part, p in zip(parts, parameters, strict=True)]


def divided(parameters: Sequence[Any], most_bytes: int) -> list[list[int]]:
    """Numbers of parameters in buckets, the last parameters first: their gradients come first."""
    buckets: list[list[int]] = []
    kind: Any = None
    size = 0
    for i in reversed(range(len(parameters))):
        p = parameters[i]
        limit = FIRST_BYTES if len(buckets) == 1 else most_bytes
        if (p.dtype, p.device) != kind or size >= min(limit, most_bytes):
            buckets.append([])
            kind, size = (p.dtype, p.device), 0
        buckets[-1].append(i)
        size += p.numel() * p.element_size()
    return buckets


class Bucket:
    """One bucket of a module, over and over.

    Args:
        index: Its number.
        numbers: The numbers of its parameters.
        parameters: All parameters.
        group: The processes.
        is_last: Whether it is exchanged last.
    """

    def __init__(
        self, index: int, numbers: Sequence[int], parameters: Sequence[Any], group: Any,
        is_last: bool,
    ) -> None:
        self.index = index
        self.numbers = list(numbers)
        self.parameters = [parameters[i] for i in numbers]
        self.group = group
        self.is_last = is_last
        self.waiting = set(numbers)
        first = self.parameters[0]
        self.flat = flambeau.zeros(
            sum(p.numel() for p in self.parameters), dtype=first.dtype, device=first.device
        )
        self.views = views_of(self.flat, self.parameters)
        self._going: Any = None

    def begin(self) -> None:
        """Wait for all gradients again."""
        self.waiting = set(self.numbers)

    def start(
        self, hook: Hook | None, state: Any, divisor: int | None = None, zeros: bool = False
    ) -> None:
        """Begin the exchange of the gradients, which are all there.

        Args:
            hook: What exchanges them, if not an `all_reduce`.
            state: What the hook is given.
            divisor: What their sum is divided by; the number of processes by default.
            zeros: Whether this process has none.
        """
        for view, p in zip(self.views, self.parameters, strict=True):
            if zeros or p.grad is None:
                view.zero_()
            elif p.grad.data_ptr() != view.data_ptr():
                view.copy_(p.grad)
        if hook is not None:
            given = GradBucket(self.index, self.flat, self.parameters, self.is_last)
            self._going = hook(state, given)
            return
        # Before the sum, so that it does not overflow in half precision.
        self.flat.mul_(1.0 / (divisor or distributed.get_world_size(self.group)))
        self._going = distributed.all_reduce(self.flat, group=self.group, async_op=True)

    def finish(self, used: Callable[[int], bool], as_views: bool) -> None:
        """Wait for the exchange, and put the averages into the gradients."""
        result = self._going.wait()
        if result is not True:  # a future of the averages
            averages = result[0] if isinstance(result, list | tuple) else result
            if averages.data_ptr() != self.flat.data_ptr():
                self.flat.copy_(averages.view(-1))
        for number, view, p in zip(self.numbers, self.views, self.parameters, strict=True):
            if not used(number):
                continue
            if as_views:
                p.grad = view
            elif p.grad is None:
                p.grad = view.clone()
            else:
                p.grad.copy_(view)
