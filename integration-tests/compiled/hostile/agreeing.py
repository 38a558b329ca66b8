"""Programs that are run as they are and compiled, and what of them is compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from random_programs import describe

import flambeau
from flambeau.jit import bridge, compiling
from flambeau.jit.replay import automatic

Compiled = Callable[[Any], Any]
Use = Callable[[Compiled, int], Any]


def numbers(rows: int, seed: int = 0, **options: Any) -> flambeau.Tensor:
    """A tensor of normal numbers, four a row, the same for the same seed."""
    drawn = np.random.default_rng(seed).standard_normal((rows, 4)).astype("float32")
    return flambeau.tensor(drawn, **options)


def told(value: Any) -> Any:
    """What can be compared of what a program gives: bits, geometry, versions, history, texts."""
    if isinstance(value, flambeau.Tensor):
        if value.layout != flambeau.strided:
            dense = value.detach().to_dense()
            return (str(value.layout), value.requires_grad, told(dense))
        grad = value.grad if value.is_leaf else None
        # Sums of gradients are new tensors, or not, as memory allows: they have no certain version.
        beside = None if grad is None else told(grad.detach().clone())
        return (type(value).__name__, *describe(value), beside)
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: told(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [told(item) for item in value]
    return repr(value)


def ran(use: Use, compiled: Compiled, rows: int) -> Any:
    """All that a program did: result or error, and where it left the generator."""
    flambeau.manual_seed(5)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = told(use(compiled, rows))
        except AssertionError:
            raise
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    return found, flambeau.get_rng_state().tolist()


def each_call(work: Callable[..., Any], changes: list[Callable[[], Any]]) -> list[Any]:
    """What a function gives three times before and after each change."""
    kept: list[Any] = []
    for change in (lambda: None, *changes):
        change()
        for _ in range(3):
            try:
                kept.append(work())
            except (ArithmeticError, LookupError, NameError, RuntimeError, TypeError, ValueError,
                    AttributeError) as error:
                kept.append(f"{type(error).__name__}: {error}")
    return kept


def replay_at_once(patch: pytest.MonkeyPatch) -> None:
    """The first call that may be is recorded, and replays are kept whatever time they take."""
    for name, value in (("CALLS_BEFORE", 1), ("TRIALS", 0), ("MOST_TRIALS", 0),
                        ("MOST_OF_TIME", float("inf"))):
        patch.setattr(automatic, name, value)


def _as_it_is(function: Any) -> Any:
    return function


def at_once(function: Any) -> Any:
    """Compiled, and replayed from the second call on wherever that is proved, as for itself."""
    made = flambeau.compile(function)
    vars(made).get("_compiled", made).calls_left = 1
    return made


WAYS: dict[str, Compiled] = {
    "compiled": flambeau.compile,
    "at once": at_once,
    "replayed": partial(flambeau.compile, replay=True, check_every=3),
    "budget": partial(flambeau.compile, options={"activation_memory_budget": 0.0}),
}


def each_way(uses: list[Use]) -> Any:
    """Mark a test of ``(use, way)`` with all programs, compiled in all ways."""
    named = {use.__name__: use for use in uses}
    return pytest.mark.parametrize(
        ("use", "way"), [pytest.param(use, way, id=f"{name}-{way}")
                         for name, use in named.items() for way in WAYS
                         if way != "budget" or not hasattr(use, "not_within_a_budget")])


def agree(use: Use, way: str) -> None:
    """A program does the same, compiled: of few rows whose kernels wait, and of many."""
    for rows, least in ((3, 1), (8200, None)):
        wanted = ran(use, _as_it_is, rows)
        if least is not None:
            bridge.configure_deferral(compiling.make_plan, least)
        try:
            with pytest.MonkeyPatch.context() as patch:
                replay_at_once(patch)
                for _ in range(2):
                    assert ran(use, WAYS[way], rows) == wanted
        finally:
            bridge.configure_deferral(compiling.make_plan)
