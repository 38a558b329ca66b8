"""Functions that are called often, replayed or not: they give what Python gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau

CALLS = 6


def flat(value: Any) -> list[Any]:
    """Tensors, numbers and classes of containers in what a call returned, in order."""
    if isinstance(value, flambeau.Tensor):
        return [value.detach().clone(), value.requires_grad]
    if isinstance(value, dict):
        return [type(value), *value, *(each for v in value.values() for each in flat(v))]
    if isinstance(value, (list, tuple)):
        return [type(value), *(each for v in value for each in flat(v))]
    return [type(value), value]


def same(one: list[Any], other: list[Any]) -> bool:
    """Whether two such lists are equal, tensors bit for bit."""
    return len(one) == len(other) and all(
        a.equal(b) if isinstance(a, flambeau.Tensor) else a == b
        for a, b in zip(one, other, strict=True))


def replayed(fn: Callable[..., Any], *args: Any) -> Any:
    """The compiled function, after calls of which the last ones were replays."""
    run = flambeau.compile(fn, replay=True)
    for _ in range(CALLS):
        run(*args)
    assert run.explain().startswith("replayed"), run.explain().split("\n")[0]
    return run


def check_replayed(fn: Callable[..., Any], *args: Any) -> None:
    """``fn`` is replayed, for other values of its arguments too, and gives what Python gives."""
    run = flambeau.compile(fn, replay=True)
    for k in range(CALLS):
        given = [arg + k if isinstance(arg, flambeau.Tensor) else arg for arg in args]
        assert same(flat(run(*given)), flat(fn(*given)))
    assert run.explain().startswith("replayed"), run.explain().split("\n")[0]
