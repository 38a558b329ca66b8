"""Averages of gradients over processes, made while the backward pass goes on."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import flambeau
from flambeau import distributed

from .buckets import Bucket, Hook, divided


class Reducer:
    """Exchanges the gradients of parameters in buckets, each as soon as its gradients are there.

    Args:
        names: The parameters' names, for messages.
        parameters: The parameters.
        group: The processes.
        most_bytes: The size of a bucket.
        find_unused: Whether some parameters may have no gradient in some processes.
        as_views: Whether gradients stay in the buckets' memory.
    """

    def __init__(
        self,
        names: Sequence[str],
        parameters: Sequence[Any],
        group: Any,
        most_bytes: int,
        find_unused: bool,
        as_views: bool,
    ) -> None:
        self.names = list(names)
        self.parameters = list(parameters)
        self.group = group
        self.find_unused = find_unused
        self.as_views = as_views
        numbers = divided(self.parameters, most_bytes)
        self.buckets = [
            Bucket(i, each, self.parameters, group, i == len(numbers) - 1)
            for i, each in enumerate(numbers)
        ]
        self._bucket_of = {i: bucket for bucket in self.buckets for i in bucket.numbers}
        self._hook: Hook | None = None
        self._state: Any = None
        self._next = len(self.buckets)
        self._expecting = False
        self._divisor: int | None = None
        self._used = flambeau.zeros(len(self.parameters), dtype=flambeau.int32)
        for i, p in enumerate(self.parameters):
            p.register_post_accumulate_grad_hook(functools.partial(self._accumulated, i))

    def set_hook(self, state: Any, hook: Hook) -> None:
        """Have a function exchange the buckets.

        Raises:
            RuntimeError: There is one.
        """
        if self._hook is not None:
            raise RuntimeError(
                "register_comm_hook(): register_ddp_comm_hook can only be called once; there is a "
                "hook already"
            )
        self._state, self._hook = state, hook

    def check_finished(self) -> None:
        """Check that the last backward pass reached all parameters.

        Raises:
            RuntimeError: It did not.
        """
        missing = sorted(i for bucket in self.buckets for i in bucket.waiting)
        if not self._expecting or len(missing) in (0, len(self.parameters)):
            return
        names = [self.names[i] for i in missing[:10]]
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one: "
            f"{len(missing)} parameters had no gradient, among them {names}. Give "
            "DistributedDataParallel find_unused_parameters=True, or have the loss depend on all "
            "outputs of forward()"
        )

    def begin(self, outputs: Any, divisor: int | None = None) -> None:
        """Expect a backward pass from the outputs.

        Args:
            outputs: What the network gave.
            divisor: What sums of gradients are divided by; the number of processes by default.
        """
        self._expecting = True
        self._next = 0
        self._divisor = divisor
        for bucket in self.buckets:
            bucket.begin()
        if not self.find_unused:
            return
        reached = set(map(id, leaves_of(outputs)))
        self._used.fill_(1)
        for i, p in enumerate(self.parameters):
            if id(p) not in reached:
                self._used[i] = 0
                self._ready(i)

    def prepare_for_backward(self, outputs: Any) -> None:
        """Expect a backward pass from the outputs, under the name that trainers call."""
        self.begin(outputs)

    def _rebuild_buckets(self) -> bool:
        """Return False: buckets stay as they are. Trainers call it before a backward pass."""
        return False

    def shadow(self, divisor: int | None) -> None:
        """Exchange zeros with processes that have gradients, and take the averages for gradients.

        Args:
            divisor: As in `begin`.
        """
        self._used.zero_()
        for p in self.parameters:       # that of a parameter that nobody used is from another step
            p.grad = None
        for bucket in self.buckets:
            bucket.start(self._hook, self._state, divisor, zeros=True)
        self._divisor, self._next = divisor, len(self.buckets)
        self._finish()

    def end(self) -> None:
        """Expect nothing: gradients stay in their process."""
        self._expecting = False

    def _accumulated(self, number: int, parameter: Any) -> None:
        if self._expecting:
            if number not in self._bucket_of[number].waiting:
                raise RuntimeError(
                    f"Expected to mark a variable ready only once: parameter "
                    f"{self.names[number]!r} had a second gradient in one backward pass, from a "
                    "part of the network that runs again in it; call checkpoint() with "
                    "use_reentrant=False, and forward() once before a backward pass"
                )
            self._ready(number)

    def _ready(self, number: int) -> None:
        self._bucket_of[number].waiting.discard(number)
        while self._next < len(self.buckets) and not self.buckets[self._next].waiting:
            self.buckets[self._next].start(self._hook, self._state, self._divisor)
            self._next += 1
        if self._next == len(self.buckets):
            self._finish()

    def _finish(self) -> None:
        self._expecting = False
        used = [True] * len(self.parameters)
        if self.find_unused:
            distributed.all_reduce(self._used, group=self.group)
            used = [count > 0 for count in self._used.tolist()]
        for bucket in self.buckets:
            bucket.finish(used.__getitem__, self.as_views)


def leaves_of(outputs: Any) -> Iterator[Any]:
    """The tensors whose gradients a backward pass from the outputs fills."""
    tensors, waiting = list(tensors_of(outputs)), []
    for t in tensors:
        if t.grad_fn is not None:
            waiting.append(t.grad_fn)
        elif t.requires_grad:
            yield t
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        if hasattr(node, "variable"):
            yield node.variable
        for other, _ in node.next_functions:
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append(other)


def tensors_of(outputs: Any) -> Iterator[Any]:
    """The tensors in what a network gives."""
    if isinstance(outputs, flambeau.Tensor):
        yield outputs
    elif isinstance(outputs, dict):
        for each in outputs.values():
            yield from tensors_of(each)
    elif isinstance(outputs, list | tuple):
        for each in outputs:
            yield from tensors_of(each)
    elif hasattr(outputs, "__dataclass_fields__"):
        for name in outputs.__dataclass_fields__:
            yield from tensors_of(getattr(outputs, name))
