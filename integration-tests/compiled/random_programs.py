"""Random programs: lines of Python over a few tensors, run as they are and compiled.

A line is kept where it runs eagerly, so that programs are valid without a model of shapes. What two
runs may differ in is compared bit for bit: results and everything they could have touched.
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from random_lines import LINES
from random_names import names as known_names
from random_names import reset
from random_uses import LINES as USES

import flambeau

Lines = dict[str, tuple[int, tuple[str, ...]]]
#: With hooks, threads and the like.
WIDE: Lines = {**LINES, **USES}


def world(seed: int, rows: int, dtype: str = "float32", device: str = "cpu") -> SimpleNamespace:
    """The tensors that a program starts with, and what else it may change."""
    w = _world(seed, rows, dtype)
    if device != "cpu":
        _move(w, device)
    w.optimizer = flambeau.optim.AdamW(w.model.parameters(), lr=0.1)
    return w


def _move(w: SimpleNamespace, device: str) -> None:
    for name, value in list(vars(w).items()):
        if isinstance(value, flambeau.Tensor) and name != "state":
            moved = value.detach().to(device).requires_grad_(value.requires_grad)
            setattr(w, name, moved)
    w.rows = w.flat.view(w.rows.shape)
    w.under = w.over[:, 1:]
    w.model.to(device)


def _world(seed: int, rows: int, dtype: str) -> SimpleNamespace:
    flambeau.manual_seed(seed)
    numbers = np.random.default_rng(seed)
    w = SimpleNamespace(list=[], count=0, p=0.25, kept=None, state=flambeau.get_rng_state())
    w.x = flambeau.tensor(numbers.standard_normal((rows, 4)).astype(dtype))
    w.y = flambeau.tensor(numbers.standard_normal((rows, 4)).astype(dtype))
    w.ints = flambeau.tensor(numbers.integers(-4, 5, (rows, 4)))
    w.zero = flambeau.tensor(0)
    w.i = flambeau.tensor([0, 2])
    w.labels = flambeau.tensor(numbers.integers(0, 4, (rows,)))
    w.flat = flambeau.tensor(numbers.standard_normal(rows * 4).astype(dtype))
    w.rows = w.flat.view(rows, 4)
    w.array = numbers.standard_normal((rows, 4)).astype(dtype)
    w.over, w.under = flambeau.from_numpy(w.array), flambeau.from_numpy(w.array[:, 1:])
    w.leaf = flambeau.tensor(numbers.standard_normal((rows, 4)).astype(dtype),
                             requires_grad=True)
    w.mean, w.spread = flambeau.zeros(4), flambeau.ones(4)
    w.g = flambeau.Generator().manual_seed(seed)
    w.model = flambeau.nn.Sequential(flambeau.nn.Linear(4, 3), flambeau.nn.Dropout(0.3),
                                     flambeau.nn.GELU(), flambeau.nn.Linear(3, 2))
    return w


def _as_it_is(function: Any) -> Any:
    return function


class Program:
    """Lines over names; as source it is a function of a world."""

    def __init__(self, seed: int, lines: int = 12, table: Lines = LINES,
                 device: str = "cpu") -> None:
        self.seed = seed
        self.device = device
        self.table = table
        self.kinds = [kind for kind, (often, _) in table.items() for _ in range(often)]
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = ["x", "y", "ints", "flat", "rows", "over", "under", "leaf"]
        self._grow(lines)

    def source(self) -> str:
        """The program as text."""
        head = ["def program(w, notes):"]
        head += [f"{name} = w.{name}" for name in
                 ("x", "y", "ints", "flat", "rows", "over", "under", "leaf")]
        results = ", ".join(f"'{name}': {name}" for name in self._results())
        text = "\n".join([*head[1:], *self.lines, f"return {{{results}}}"])
        return head[0] + "\n" + "\n".join("    " + line for line in text.split("\n"))

    def function(self, compiled: Callable[[Any], Any] = _as_it_is) -> Any:
        """The function ``program(w, notes)``; ``compiled`` is what it calls by that name."""
        names = known_names(compiled)
        exec(compile(self.source(), "<random program>", "exec"), names)
        return names["program"]

    def _results(self) -> list[str]:
        made = [name for name in self.names if name.startswith("v")]
        return [name for name in made if (int(name[1:].rstrip("m")) + self.seed) % 3]

    def _grow(self, count: int) -> None:
        """Add lines that run; one that fails after it changed something is kept as it fell."""
        w = world(self.seed, 3, device=self.device)
        names = known_names(_as_it_is) | {"w": w, "notes": []}
        names |= {name: getattr(w, name) for name in self.names}
        tries = 0
        while len(self.lines) < count and tries < 12 * count:
            tries += 1
            known = list(self.names)
            self._add(self._draw())
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    exec(self.lines[-1], names)
                except Exception:
                    reset()
                    self.names = known
                    self.lines.pop()

    def _draw(self) -> str:
        kind = self.random.choice(self.kinds)
        line = self.random.choice(self.table[kind][1])
        return _in_try(line) if kind == "error" else line

    def _add(self, line: str) -> None:
        recent = self.names[-4:] if self.random.random() < 0.6 else self.names
        values = {letter: self.random.choice(recent) for letter in "AB"}
        new = {letter: f"v{len(self.lines)}{letter.lower()}" for letter in "NM"}
        new["N"] = f"v{len(self.lines)}"
        if line == "del A" and not values["A"].startswith("v"):
            line = "notes.append(len(notes))"
        self.lines.append(re.sub(r"\b[ABNM]\b", lambda m: (values | new)[m[0]], line))
        if line == "del A":
            self.names.remove(values["A"])
        elif not line.startswith("try"):
            made = "N" if self.table is LINES else "NM"
            self.names += [new[letter] for letter in made if re.search(rf"\b{letter}\b", line)]


def _in_try(line: str) -> str:
    return f"try:\n    {line}\nexcept Exception as error:\n    notes.append(type(error).__name__)"


def run(function: Any, w: SimpleNamespace) -> dict[str, Any]:
    """Run a program on a world; everything that may be compared afterwards."""
    notes: list[Any] = []
    results, error = {}, ""
    sys.unraisablehook = lambda raised: notes.append(f"ignored: {raised.exc_value!r}")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = function(w, notes)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
            raised.__traceback__ = None
        finally:
            reset()
            sys.unraisablehook = sys.__unraisablehook__
    return {"error": error, "notes": notes, "world": w, "results": results}


def snapshot(ran: dict[str, Any]) -> dict[str, Any]:
    """What a run left behind, as comparable values."""
    w = ran["world"]
    tensors = {**ran["results"], **{f"w.{k}": v for k, v in vars(w).items()}}
    tensors |= {f"p{i}": p for i, p in enumerate(w.model.parameters())}
    tensors |= {f"kept{i}": t for i, t in enumerate(w.list)}
    found: dict[str, Any] = {"error": ran["error"].split(":")[0]}
    for name, value in tensors.items():
        if isinstance(value, flambeau.Tensor):
            found[name] = describe(value)
            if value.is_leaf and value.grad is not None:
                # Sums of gradients are new tensors, or not, as memory allows.
                found[f"{name}.grad"] = without_version(describe(value.grad))
        elif isinstance(value, np.ndarray):
            found[name] = value.tobytes()
    found["notes"] = [repr(note) if not isinstance(note, np.ndarray) else note.tobytes()
                      for note in ran["notes"]]
    found["rng"] = flambeau.get_rng_state().tolist()
    found["generator"] = w.g.get_state().tolist()
    return found


def describe(t: Any) -> tuple[Any, ...]:
    """A tensor as a tuple: dtype, geometry, version, history, and bits (any NaN is NaN)."""
    version = None if t.is_inference() else t._version
    numbers = t.detach()
    kind = str(t.dtype)
    if t.is_meta:
        numbers = flambeau.zeros(0)
    if t.dtype == flambeau.bfloat16:
        numbers = numbers.float()
    array = np.array(numbers.clone().cpu().numpy())     # whose memory stays its own
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    grad = type(t.grad_fn).__name__ if t.grad_fn is not None else None
    return (kind, tuple(t.shape), t.stride(), t.storage_offset(), version, t.requires_grad, grad,
            array.tobytes())


def without_version(described: tuple[Any, ...]) -> tuple[Any, ...]:
    """What ``describe`` gave, without the version."""
    return (*described[:4], None, *described[5:])


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The names under which two snapshots differ."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]
