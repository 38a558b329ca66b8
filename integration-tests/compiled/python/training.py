"""Small training programs, of which the same is made twice: one of them is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kept import flat, same

import flambeau
from flambeau import nn

Make = Callable[[Callable[[Any], Any]], tuple[Callable[[int], Any], Callable[[], Any]]]
#: Replays of the calls of one program, at least: the first ones are recorded.
LEAST_REPLAYS = 4


def rows(k: int, count: int = 4) -> flambeau.Tensor:
    """Numbers that are others for each k."""
    return flambeau.arange(count * 6.0).view(count, 6).sin() * (1 + 0.1 * k)


def network(out: int = 3) -> nn.Sequential:
    """The same one at each call."""
    flambeau.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, out))


def weights(*modules: Any) -> list[Any]:
    """All that they hold, and gradients."""
    found = []
    for each in modules:
        found += [*each.state_dict().values()]
        found += [param.grad for param in each.parameters()]
    return flat(found)


def check_program(make: Make, calls: int = 12, least: int = LEAST_REPLAYS) -> Any:
    """A program does the same compiled at each call, most of which are replays."""
    compiled: list[Any] = []

    def compiling(fn: Any) -> Any:
        compiled.append(flambeau.compile(fn, replay=True))
        return compiled[0]

    flambeau.manual_seed(5)
    plain, told = make(lambda fn: fn)
    wanted = [(flat(plain(k)), flat(told())) for k in range(calls)]
    flambeau.manual_seed(5)
    step, told = make(compiling)
    replays = 0
    for k in range(calls):
        result, after = flat(step(k)), flat(told())
        assert same(result, wanted[k][0]), k
        assert same(after, wanted[k][1]), k
        made = vars(compiled[0]).get("_compiled", compiled[0])
        replays += made.earned()
    assert replays >= least, (replays, made.explain().split("\n")[0])
    return made
