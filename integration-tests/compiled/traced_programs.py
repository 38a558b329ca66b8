"""Random programs, traced and run on other values, sizes and aliases of their inputs.

Every run is that of the function, bit for bit, with all it leaves behind, or is refused.
"""

from __future__ import annotations

import random
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
from random_programs import Program, differences, snapshot, world

import flambeau
from flambeau import jit
from flambeau.jit import bridge

REFUSALS = (jit.TraceError, jit.ProgramError)


class Case:
    """One random program on a world of its own, as a function of three tensors."""

    def __init__(self, seed: int, rows: int = 3) -> None:
        self.lines = random.Random(seed).choice([2, 4, 8])
        self.function = Program(seed, self.lines).function()
        self.world = world(seed, rows)

    def __call__(self, x: Any, y: Any, ints: Any) -> dict[str, Any]:
        view = SimpleNamespace(**vars(self.world))
        view.x, view.y, view.ints = x, y, ints
        return self.function(view, [])


def inputs(kind: str, w: SimpleNamespace, seed: int) -> list[Any]:
    """Tensors to call with: other values or sizes, or tensors that share memory."""
    numbers = np.random.default_rng(seed + 1)
    rows = 5 if kind == "rows" else 3
    x, y = (flambeau.tensor(numbers.standard_normal((rows, 4)).astype("float32")) for _ in "xy")
    ints = flambeau.tensor(numbers.integers(-4, 5, (rows, 4)))
    if kind == "same":
        y = x
    if kind == "views":
        flat = flambeau.tensor(numbers.standard_normal(16).astype("float32"))
        x, y = flat[:12].view(3, 4), flat[4:].view(3, 4)
    if kind == "captured":
        x = w.rows
    if kind == "strides":
        x = x.t().contiguous().t()
    return [x, y, ints]


def observe(w: SimpleNamespace, given: list[Any], results: Any, error: str) -> dict[str, Any]:
    """What a run left behind, without what a program says it does not keep (Python's objects)."""
    seen = {f"given{i}": tensor for i, tensor in enumerate(given)}
    made = results if isinstance(results, dict) else {}
    found = snapshot({"world": w, "results": {**made, **seen}, "error": error, "notes": []})
    return {name: _values(value) if isinstance(value, tuple) else value
            for name, value in found.items() if name not in ("kept0", "w.kept", "error")}


def _values(description: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without strides, offset, version and the kind of node."""
    dtype, shape, *_, requires, grad, values = description
    return dtype, shape, requires and grad is None, values


def call(fn: Any, given: list[Any]) -> tuple[Any, Exception | None]:
    """The results, or the error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return fn(*given), None
        except Exception as error:
            return {}, error


def compare(seed: int) -> tuple[str, list[str]]:
    """How a seed's program fared (a word), and in what it differed from eager, if in anything."""
    draw = random.Random(seed)
    eager, traced = Case(seed), Case(seed)
    options: dict[str, Any] = {"dynamic": draw.random() < 0.5}
    modes = (flambeau.enable_grad, flambeau.no_grad)
    mode = draw.choice(modes)
    w = traced.world
    with mode():
        program, error = call(lambda *given: jit.trace(traced, given, **options),
                              [w.x, w.y, w.ints])
    if error is not None:       # its own may come from sizes that the function is not made for
        if options["dynamic"] or isinstance(error, REFUSALS):
            return "refused", []
        with mode():
            _, wanted = call(eager, [eager.world.x, eager.world.y, eager.world.ints])
        return "failed", [f"tracing: {error!r}"] if wanted is None else []
    w.list.clear()
    unknown = () if holds_array(program, w) else ("w.array", "w.over", "w.under")
    ran = 0
    kinds = draw.sample(["values", "values", "rows", "same", "views", "captured", "strides"], 4)
    flambeau.manual_seed(seed)
    for kind in kinds:
        mine, its = inputs(kind, eager.world, seed), inputs(kind, traced.world, seed)
        state = flambeau.get_rng_state()
        with mode():
            wanted, failed = call(eager, mine)
        eager.world.list.clear()
        before = observe(eager.world, mine, wanted, "")
        after = flambeau.get_rng_state()
        flambeau.set_rng_state(state)
        with mode():
            found, error = call(program, its)
        if isinstance(error, jit.ProgramError):
            break
        if (failed is None) is not (error is None):
            return "differs", [f"{kind}: eager {failed!r}, traced {error!r}"]
        if failed is not None:
            break
        differ = differences(before, observe(traced.world, its, found, ""))
        differ = [name for name in differ if name not in unknown]
        if differ:
            return "differs", [f"{kind}: {name}" for name in differ]
        flambeau.set_rng_state(after)
        ran += 1
        _write_to_results(wanted, found)
        differ = differences(observe(eager.world, mine, wanted, ""),
                             observe(traced.world, its, found, ""))
        differ = [name for name in differ if name not in unknown]
        if differ:
            return "differs", [f"{kind}, after writing to results: {name}" for name in differ]
    return ("equal" if ran else "guarded"), []


def holds_array(program: Any, w: SimpleNamespace) -> bool:
    """Whether a program captured the world's array; if not, what Python does to it is its own."""
    first = w.array.ctypes.data
    return any(first <= bridge.memory_address(capture.tensor) < first + w.array.nbytes
               for capture in program.graph.captures)


def _write_to_results(wanted: dict[str, Any], found: dict[str, Any]) -> None:
    """Shows which results share memory with what."""
    for number, name in enumerate(wanted):
        for results in (wanted, found):
            if isinstance(results[name], flambeau.Tensor):
                call(lambda tensor, n=number: tensor.detach().fill_(n % 2), [results[name]])
