"""What converted code calls for control flow: Python where Python decides, else a recorded body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import flambeau
from flambeau.jit import bridge
from flambeau.jit.recording.active import current
from flambeau.jit.recording.recorder import Recorder
from flambeau.jit.recording.regions import Region, branch, loop, quiet, refuse
from flambeau.jit.scripted.calls import call
from flambeau.jit.scripted.merge import (
    Undefined,
    chosen,
    kind_of,
    tensor_of,
)
from flambeau.jit.scripted.numbers import augmented, is_number, item, note_numbers
from flambeau.jit.scripted.trees import leaves, rebuilt, shape_of, shown

State = tuple[Any, ...]
Names = tuple[str, ...]
#: Names that the conversion made, whose values nobody reads where they were not set.
MADE = "_fl_"
slice = slice     # for indices that are written with colons


def get(read: Callable[[], Any], name: str) -> Any:
    """A variable, which may have no value."""
    try:
        return read()
    except NameError:
        return Undefined(name)


def decided_by(test: Any) -> Recorder | None:
    """What records the branches on a condition; ``None`` where Python decides."""
    if not bridge.is_tensor(test):
        return None
    recorder = current()
    if recorder is not None and test.numel() != 1:
        raise refuse(f"a condition of shape {list(test.shape)} is neither true nor false; write "
                     "any() or all()")
    return recorder


# ---- branches ----

def choose(test: Any, then: Callable[..., State], orelse: Callable[..., State], names: Names,
           state: State, sets: str = "") -> State:
    """``if``: both bodies take the variables and give their new values.

    Args:
        test: the condition.
        then: the body where it holds.
        orelse: the body where it does not.
        names: the variables.
        state: their values.
        sets: an attribute that a body sets, which a program cannot do.
    """
    recorder = decided_by(test)
    if recorder is None:
        return then(*state) if test else orelse(*state)
    if sets:
        raise refuse(f"{sets} is set in a branch that a tensor's value decides, which a program "
                     "cannot do; use a variable, and set it behind the branch")
    regions = Region(recorder), Region(recorder)
    found = []
    for region, body in zip(regions, (then, orelse), strict=True):
        with region:
            found.append(body(*state))
    return _merged(recorder, test, regions, found, names)


def _merged(recorder: Recorder, test: Any, regions: Sequence[Region], found: list[State],
            names: Names) -> State:
    sides = [list(each) for each in found]
    for i, name in enumerate(names):
        for one, other, region in ((0, 1, regions[0]), (1, 0, regions[1])):
            if name.startswith(MADE) and isinstance(sides[one][i], Undefined):
                with region:
                    sides[one][i] = _zeros(recorder, sides[other][i])
        if any(isinstance(side[i], Undefined) for side in sides):
            sides[0][i] = sides[1][i] = Undefined(name)
        elif shape_of(sides[0][i]) != shape_of(sides[1][i]):
            raise refuse(f"{name!r} is built differently in the two branches: "
                         f"{shown(sides[0][i])} and {shown(sides[1][i])}")
    flat = [[(name, leaf) for name, tree in zip(names, side, strict=True) for leaf in leaves(tree)]
            for side in sides]
    with quiet(recorder):
        kinds = [kind_of(one, other, name, "where the condition holds")
                 for (name, one), (_, other) in zip(*flat, strict=True)]
    for region, side in zip(regions, flat, strict=True):
        with region:
            region.give([tensor_of(leaf, kind)
                         for (_, leaf), kind in zip(side, kinds, strict=True) if kind])
    results = iter(branch(recorder, test, regions))
    new = [next(results) if kind else chosen(one, other)
           for (_, one), (_, other), kind in zip(*flat, kinds, strict=True)]
    note_numbers(recorder, [made for (_, one), (_, other), made in zip(*flat, new, strict=True)
                            if is_number(recorder, one) and is_number(recorder, other)])
    return tuple(rebuilt(tree, new) for tree in sides[0])


def _zeros(recorder: Recorder, tree: Any) -> Any:
    """Values of the same types, which nobody reads."""
    new = list(leaves(tree))
    for i, leaf in enumerate(new):
        if bridge.is_tensor(leaf):
            with quiet(recorder):
                shape, dtype, device = list(leaf.shape), leaf.dtype, leaf.device
            new[i] = flambeau.zeros(shape, dtype=dtype, device=device)
    return rebuilt(tree, new)


# ---- conditions ----

def either(test: Any, one: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """``one if test else other``."""
    return choose(test, lambda: (one(),), lambda: (other(),), ("the value",), ())[0]


def both(first: Any, second: Callable[[], Any]) -> Any:
    """``first and second``, as a condition."""
    return choose(first, lambda: (truth(second()),), lambda: (False,), ("the condition",), ())[0]


def any_of(first: Any, second: Callable[[], Any]) -> Any:
    """``first or second``, as a condition."""
    return choose(first, lambda: (True,), lambda: (truth(second()),), ("the condition",), ())[0]


def chain(left: Any, *pairs: tuple[Callable[[Any, Any], Any], Callable[[], Any]]) -> Any:
    """``left < a < b``: comparisons with what to compare with, each read when it is its turn."""
    (compare, read), *rest = pairs
    right = read()
    test = compare(left, right)
    return both(test, lambda: chain(right, *rest)) if rest else test


def opposite(value: Any) -> Any:
    """``not value``."""
    return not value if decided_by(value) is None else ~truth(value)


def last_of(first: Any, second: Callable[[], Any]) -> Any:
    """``first and second``, as a value."""
    return choose(first, lambda: (second(),), lambda: (first,), ("the value",), ())[0]


def first_of(first: Any, second: Callable[[], Any]) -> Any:
    """``first or second``, as a value."""
    return choose(first, lambda: (first,), lambda: (second(),), ("the value",), ())[0]


def truth(value: Any) -> Any:
    """A condition as a bool, or a tensor of one."""
    if decided_by(value) is None:
        return bool(value)
    value = value.bool()
    return value.reshape(()) if value.dim() else value


# ---- loops ----

class TensorRange(NamedTuple):
    """``range`` up to a number that a tensor holds."""

    start: Any
    stop: Any
    step: int


def counted(*args: Any) -> Any:
    """``range``."""
    if all(decided_by(arg) is None for arg in args):
        return range(*args)
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    if bridge.is_tensor(step):
        raise refuse("the step of range() is a tensor, which a program cannot hold")
    return TensorRange(start, stop, step)


def repeat(holds: Callable[..., Any], step: Callable[..., State], names: Names,
           state: State, sets: str = "") -> State:
    """``while``: both bodies take the variables; the step gives their new values."""
    while True:
        recorder, test = current(), None
        if recorder is None:
            test = holds(*state)
        else:
            with Region(recorder):      # what it records is recorded again, or Python decided
                test = holds(*state)
                test = test if decided_by(test) is not None else bool(test)
        if recorder is not None and bridge.is_tensor(test):
            if sets:
                raise refuse(f"{sets} is set in a loop that a tensor's value ends, which a program "
                             "cannot do; use a variable, and set it behind the loop")
            return _recorded(recorder, holds, step, names, state)
        if not test:
            return state
        state = step(*state)


def _recorded(recorder: Recorder, holds: Callable[..., Any], step: Callable[..., State],
              names: Names, state: State) -> State:
    """A loop: what its step changes is carried, numbers as tensors."""
    trees = list(state)
    kinds: list[str | None] = [None] * sum(len(leaves(tree)) for tree in trees)
    requires = [False] * len(kinds)
    while True:
        flat = [(name, leaf) for name, tree in zip(names, trees, strict=True)
                for leaf in leaves(tree)]
        with quiet(recorder):
            kinds = [bridge.dtype_name(leaf.dtype) if bridge.is_tensor(leaf) else kind
                     for (_, leaf), kind in zip(flat, kinds, strict=True)]
            starts = [tensor_of(leaf, kind) for (_, leaf), kind in zip(flat, kinds, strict=True)
                      if kind]
            requires = [grad or (bridge.is_tensor(leaf) and leaf.requires_grad)
                        for (_, leaf), grad in zip(flat, requires, strict=True)]
        test, body = Region(recorder), Region(recorder)
        with test:
            test.give([truth(holds(*_stand_ins(test, trees, starts, kinds, requires)))])
        with body:
            given = _stand_ins(body, trees, starts, kinds, requires)
            after = list(step(*given))
        if _started(recorder, trees, after, names):
            kinds = [None] * sum(len(leaves(tree)) for tree in trees)
            requires = [False] * len(kinds)
            continue
        with quiet(recorder):
            found, grads = _kinds(given, after, names, kinds)
        grads = [one or other for one, other in zip(requires, grads, strict=True)]
        if (found, grads) == (kinds, requires):
            break
        kinds, requires = found, grads
    ends = [leaf for tree in after for leaf in leaves(tree)]
    with body:
        body.give([tensor_of(leaf, kind) for leaf, kind in zip(ends, kinds, strict=True) if kind])
    starts = [tensor_of(leaf, kind).contiguous()
              for (_, leaf), kind in zip(flat, kinds, strict=True) if kind]
    results = iter(loop(recorder, starts, (test, body)))
    new = [next(results) if kind else leaf for (_, leaf), kind in zip(flat, kinds, strict=True)]
    note_numbers(recorder, [made for (_, leaf), made in zip(flat, new, strict=True)
                            if is_number(recorder, leaf)])
    return tuple(rebuilt(tree, new) for tree in trees)


def _stand_ins(region: Region, trees: list[Any], starts: list[Any], kinds: Sequence[str | None],
               requires: Sequence[bool]) -> list[Any]:
    left = iter(starts)
    every = [leaf for tree in trees for leaf in leaves(tree)]
    new = [region.stand_in(next(left), grad) if kind else leaf
           for leaf, kind, grad in zip(every, kinds, requires, strict=True)]
    recorder = region.recorder
    note_numbers(recorder, [made for made, leaf in zip(new, every, strict=True)
                            if is_number(recorder, leaf)])
    return [rebuilt(tree, new) for tree in trees]


def _started(recorder: Recorder, trees: list[Any], after: list[Any], names: Names) -> bool:
    """Give what the conversion made its first values; whether there were any.

    Variables that the loop gives their first value are its own: nothing is carried.
    """
    changed = False
    for i, (tree, end, name) in enumerate(zip(trees, after, names, strict=True)):
        if isinstance(tree, Undefined) and not isinstance(end, Undefined):
            if name.startswith(MADE):
                trees[i], changed = _zeros(recorder, end), True
            else:
                after[i] = tree
        elif shape_of(tree) != shape_of(after[i]):
            raise refuse(f"{name!r} is built differently after a step of the loop: "
                         f"{shown(tree)} and {shown(end)}; a program needs one type")
    return changed


def _kinds(given: list[Any], after: list[Any], names: Names,
           kinds: Sequence[str | None]) -> tuple[list[str | None], list[bool]]:
    """Which leaves must be tensors, and which of them have history after a step."""
    found: list[str | None] = []
    grads = []
    for name, tree, end in zip(names, given, after, strict=True):
        for one, other in zip(leaves(tree), leaves(end), strict=True):
            kind = kind_of(one, other, name, "before the loop's step")
            found.append(kind or kinds[len(found)])
            grads.append(bridge.is_tensor(other) and other.requires_grad)
    return found, grads


def each(items: Iterable[Any] | TensorRange, body: Callable[..., State], names: Names,
         state: State, stop: int = -1, sets: str = "") -> State:
    """``for``: the body takes an item and the variables.

    Args:
        items: what is iterated.
        body: gives the variables' new values.
        names: the variables.
        state: their values.
        stop: the number of the variable that says whether to break; negative: there is none.
        sets: an attribute that the body sets.
    """
    if isinstance(items, TensorRange):
        return _each_number(items, body, names, state, stop, sets)
    for one in items:
        state = body(one, *state)
        if stop >= 0 and state[stop] is True:
            break
    return state


def _each_number(items: TensorRange, body: Callable[..., State], names: Names, state: State,
                 stop: int, sets: str) -> State:
    def holds(now: Any, *state: Any) -> Any:
        goes_on = now < items.stop if items.step > 0 else now > items.stop
        return both(opposite(state[stop]), lambda: goes_on) if stop >= 0 else goes_on

    def step(now: Any, *state: Any) -> State:
        return (now + items.step, *body(now, *state))

    start, recorder = items.start, current()
    if bridge.is_tensor(start) and recorder is not None:
        start = start.clone()
        note_numbers(recorder, [start])
    return repeat(holds, step, ("the counter", *names), (start, *state), sets)[1:]


__all__ = ["MADE", "any_of", "augmented", "both", "call", "chain", "choose", "counted", "each",
           "either", "first_of", "get", "item", "last_of", "opposite", "repeat", "slice", "truth"]
