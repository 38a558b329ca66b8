"""Random functions that reach a handful of tensors in many ways, and what happens between calls.

The same tensors are arguments, variables, attributes, items and parameters, in turn and at once.
"""

from __future__ import annotations

import linecache
import random
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from random_programs import describe

import flambeau
from flambeau import nn

NAMES = ("x", "y", "z", "leaf", "view", "over", "under", "integers", "first", "second", "third")
#: Nobody else holds these to begin with.
OWN = ("first", "second", "third")
#: How a function reads one of the tensors.
READS = (
    "a", "b", "items[0]", "items[-1]", "table['k']", "table['other'][0]", "rest[0]", "more['q']",
    "X", "Y", "LIST[0]", "LIST[-1]", "DICT['k']", "DICT.get('k')", "DICT['inner'][1]", "PAIR[0]",
    "PAIR[1][0]", "OBJECT.t", "OBJECT.under.t", "OBJECT.listed[0]", "getattr(OBJECT, 't')",
    "MODULE.w", "MODULE.buffer", "MODULE.both[0]", "MODULE(a)", "list(MODULE.parameters())[0]",
    "helper(a)", "helper(b, X)", "PARTIAL(b)", "METHOD(a)", "keyed(a=b)", "NUMBER * a",
    "OBJECT.get()", "OBJECT.computed", "sum(LIST)", "(a if NUMBER > 2 else b)")
LINES = (
    "r = r + {0} * 2", "r = r * 0.5 - {0}", "r = r + {0}.relu()", "r = ({0} + {1}) * r",
    "for each in LIST:\n    r = r + each", "for each in items:\n    r = r - each",
    "r = r + ({0} if {0} is {1} else {1})", "{0}.mul_(0.5)", "{0}[0].add_(1)", "r = r + {0}[:1]",
    "r = r + NUMBER", "r = r + sum(table['other'])", "k = {0}\nr = r + k.t().t()",
    "m, n = {0}, {1}\nr = r + m - n", "r = r + [{0}, {1}][1]", "LIST[0] = r", "OBJECT.t = {0}",
    "if {0}.shape == {1}.shape:\n    r = r * 3", "r = r + {{'u': {0}}}['u']",
    "with flambeau.no_grad():\n    r = r + {0} * {1}", "r = r + len(LIST)")
RESULTS = ("r", "r, {0}", "r, {0}[0]", "[r, r]", "{{'r': r, 'k': {0}}}", "{0}", "{0}.view(-1)")
CHANGES = (
    "w.X = {0}", "w.Y = {0}", "w.LIST[0] = {0}", "w.LIST.append({0})", "w.LIST.pop(0)",
    "w.DICT['k'] = {0}", "w.DICT['inner'] = [{0}, {1}]", "w.PAIR = ({0}, [{1}])",
    "w.OBJECT.t = {0}", "w.OBJECT.under.t = {0}", "w.OBJECT.listed.reverse()", "w.NUMBER = 3",
    "w.MODULE.buffer = {0}", "w.MODULE.w = nn.Parameter({0}.detach().clone().float())",
    "w.MODULE.both = ({0}, {1})", "{0}.add_(1)", "{0}.data = {1}.detach().clone()",
    "w.leaf.requires_grad_(not w.leaf.requires_grad)", "w.array[0] = 2", "w.NUMBER = 2.0",
    "w.PARTIAL = partial(helper, c={0})", "w.METHOD = {0}.mul", "w.ITEMS[0] = {0}",
    "w.TABLE['k'] = {0}", "w.TABLE['other'][0] = {0}", "w.pool['x'] = w.x.clone()")


class Holder:
    """An object of a user's."""

    def __init__(self, t: Any, listed: Any = ()) -> None:
        self.t, self.listed = t, [*listed]

    def get(self) -> Any:
        """What it holds."""
        return self.t

    @property
    def computed(self) -> Any:
        """The same, by itself."""
        return self.get()


class Module(nn.Module):
    """A user's module."""

    def __init__(self, w: Any, buffer: Any) -> None:
        super().__init__()
        self.w = nn.Parameter(w)
        self.register_buffer("buffer", buffer)
        self.both = (self.w, self.buffer)

    def forward(self, a: Any) -> Any:
        """A product and a sum."""
        return a * self.w + self.buffer


def helper(a: Any, c: Any = 2) -> Any:
    """A function that a function calls."""
    return a * c


def world(seed: int) -> SimpleNamespace:
    """The tensors, and all that holds them."""
    numbers = np.random.default_rng(seed)

    def drawn() -> Any:
        return numbers.standard_normal((3, 4)).astype("float32")

    w = SimpleNamespace(array=drawn(), NUMBER=2)
    w.x, w.y, w.z, w.first, w.second, w.third = (flambeau.tensor(drawn()) for _ in range(6))
    w.leaf, flat = flambeau.tensor(drawn(), requires_grad=True), flambeau.tensor(drawn())
    w.flat, w.view = flat, flat.view(3, 4)
    w.over, w.under = flambeau.from_numpy(w.array), flambeau.from_numpy(w.array)
    w.integers = flambeau.tensor(numbers.integers(-3, 4, (3, 4)))
    w.pool = {name: getattr(w, name) for name in NAMES}
    w.X, w.Y, w.LIST, w.PAIR = w.x, w.leaf, [w.x, w.z], (w.y, [w.flat])
    w.DICT = {"k": w.y, "inner": [w.x, w.view]}
    w.OBJECT = Holder(w.z, [w.x, w.y])
    w.OBJECT.under = Holder(w.view)
    w.MODULE = Module(w.y.clone(), w.z)
    w.PARTIAL, w.METHOD = partial(helper, c=w.y), w.z.mul
    w.ITEMS, w.TABLE = [w.first, w.second], {"k": w.third, "other": [w.second]}
    return w


class Captured:
    """A function over a world, and what is done to it, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        few = self.random.sample(READS, 6)      # so that two lines often read the same
        pick = lambda: self.random.choice(few)      # noqa: E731
        lines = [self.random.choice(LINES).format(pick(), pick())
                 for _ in range(self.random.randint(2, 5))]
        lines = ["r = a * 1", *lines, "return " + self.random.choice(RESULTS).format(pick())]
        self.source = "def program(a, b, items, table, *rest, **more):\n" + "\n".join(
            "    " + line for each in lines for line in each.split("\n"))
        self.source += "\ndef keyed(*, a, c=X):\n    return a - c\n"
        self.steps = [self._step() for _ in range(5)]

    def _step(self) -> tuple[list[str], list[str], int]:
        """Changes, names of arguments, and how often the function is called with them."""
        names = [f"w.pool['{name}']" for name in NAMES]
        held = [*names, "w.X", "w.LIST[0]", "w.OBJECT.t", "w.MODULE.w", "w.MODULE.buffer"]
        given = [self.random.choice(held) if self.random.random() < 0.06 else
                 f"w.pool['{OWN[k % 3]}']" for k in range(8)]
        changes = [self.random.choice(CHANGES).format(*self.random.choices(held, k=2))
                   for _ in range(self.random.randint(0, 2))]
        return changes, given, self.random.randint(1, 5)

    def function(self, w: SimpleNamespace) -> Any:
        """The function, whose globals are the world's, and whose source everybody finds."""
        name = f"<captured program {self.seed}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        names = vars(w)
        names |= {"flambeau": flambeau, "helper": helper, "__name__": "programs"}
        exec(compile(self.source, name, "exec", dont_inherit=True), names)
        return names["program"]

    def run(self, compiled: Any) -> list[Any]:
        """What each call gives, and leaves behind."""
        w = world(self.seed)
        work, found = compiled(self.function(w)), []
        names = {"w": w, "nn": nn, "partial": partial, "helper": helper}
        for changes, given, times in self.steps:
            for each in changes:
                found.append(tried(partial(exec, each, names)))
            a, b, c, d, e, f, g, h = given
            for text in (f"({a}, {b}, [{c}, {d}], {{'k': {e}, 'other': [{f}]}}, {g})",
                         f"({a}, {b}, w.ITEMS, w.TABLE, {g})"):
                for _ in range(times):
                    found.append(tried(partial(self._called, work, text, h, names)))
                    found.append([told(getattr(w, name), w) for name in (*NAMES, "X", "flat")])
        return found

    @staticmethod
    def _called(work: Any, text: str, more: str, names: dict[str, Any]) -> Any:
        result = work(*eval(text, names), q=eval(more, names))
        first = next((t for t in leaves(result) if t.requires_grad and t.grad_fn), None)
        if first is None:
            return told(result, names["w"])
        first.sum().backward()
        grads = []
        for each in (names["w"].leaf, names["w"].MODULE.w):
            grads.append(None if each.grad is None else told(each.grad, names["w"])[1:4])
            each.grad = None
        return told(result, names["w"]), grads


def tried(work: Any) -> Any:
    """What it gives, or the class of the error."""
    try:
        return work()
    except Exception as error:
        return f"{type(error).__name__}: {error}" if type(error).__name__ == "ReplayError" \
            else type(error).__name__


def leaves(result: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, list | tuple):
        return [t for each in result for t in leaves(each)]
    return [result] if isinstance(result, flambeau.Tensor) else []


def told(result: Any, w: SimpleNamespace) -> Any:
    """A result's structure, values, and which of the world's tensors it is or is a view of."""
    if isinstance(result, dict):
        return {key: told(each, w) for key, each in result.items()}
    if isinstance(result, list | tuple):
        return type(result).__name__, [told(each, w) for each in result]
    if not isinstance(result, flambeau.Tensor):
        return repr(result)
    same = [name for name in NAMES if getattr(w, name) is result or w.pool[name] is result]
    base = [name for name in NAMES if result._base is not None
            and (getattr(w, name) is result._base or w.pool[name] is result._base)]
    return same, base, describe(result)
