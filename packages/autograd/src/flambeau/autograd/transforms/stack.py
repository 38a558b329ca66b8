"""The transform levels that a thread is inside, innermost last."""
from __future__ import annotations

from _thread import _local

from flambeau.core import Tensor, _core, is_grad_enabled, ops

__all__ = ["STATE", "Moment", "alias_again", "empty_strided_at_levels", "has_history",
           "has_history_below", "innermost", "is_differentiated", "level_of", "lifted",
           "outlives_level", "plain", "zeros_at_levels"]

level_of = _core.level_of


class _State(_local):
    """What a thread is inside of. ``depth`` levels are visible: a level that is at work on a call
    hides itself and those inside it."""

    def __init__(self) -> None:
        self.levels: list = []
        self.depth = 0
        #: What transforms the functions that run: levels, and variables of reverse mode.
        self.running: list = []
        #: Levels that were not there when the code that runs again ran first.
        self.later: list = []


STATE = _State()


def innermost():
    """The innermost level that is visible, or None."""
    return STATE.levels[STATE.depth - 1] if STATE.depth else None


def is_differentiated() -> bool:
    """Whether what a rule computes will be differentiated: by another backward pass, or by
    forward mode around it. Only then is a formula needed that is exact to the next order."""
    return is_grad_enabled() or bool(STATE.depth) and any(
        level.size is None for level in STATE.levels[:STATE.depth])


def outlives_level() -> bool:
    """Whether a backward pass over what is recorded now may come when the level it is recorded at
    has ended: in the function of vmap or of forward mode, unless one of reverse mode is inside."""
    levels = [level for level in STATE.levels
              if not level.is_block and level not in STATE.later]
    return bool(levels) and (STATE.running[-1:] == levels[-1:]
                             or any(level not in STATE.running for level in levels))


class Moment:
    """The transforms that run now, for code that will run again: as a block it shows those."""

    def __init__(self) -> None:
        self.running = tuple(STATE.running)
        self.levels = tuple(STATE.levels)
        self.before: list[tuple] = []

    def __enter__(self) -> None:
        self.before.append((STATE.running, STATE.later))
        STATE.running = list(self.running)
        STATE.later = [level for level in STATE.levels if level not in self.levels]

    def __exit__(self, *error) -> None:
        STATE.running, STATE.later = self.before.pop()


def lifted(tensor: Tensor) -> Tensor:
    """The tensor as one of the innermost level, so that its history is kept there."""
    level = innermost()
    return tensor if level is None else level.lift(tensor)


def plain(tensor: Tensor) -> Tensor:
    """The tensor below all levels, batches and all."""
    while level_of(tensor):
        tensor = tensor.__dict__["_inner"]
    return tensor


def has_history(tensor: Tensor) -> bool:
    """Whether a tensor, or what it stands for at some level, requires grad."""
    while True:
        if tensor.requires_grad:
            return True
        if not level_of(tensor):
            return False
        tangent = tensor.__dict__.get("_tangent")
        if tangent is not None and has_history(tangent):
            return True
        tensor = tensor.__dict__["_inner"]


def has_history_below(tensor: Tensor) -> bool:
    """The same without the tensor's own level."""
    facts = tensor.__dict__ if level_of(tensor) else {}
    return any(t is not None and has_history(t)
               for t in (facts.get("_inner"), facts.get("_tangent")))


def alias_again(tensor: Tensor) -> Tensor:
    """What ``alias`` is for tensors of a level: the same contents, no history at that level."""
    return tensor.__dict__["_level"].alias(tensor)


def _detached(tensor: Tensor) -> Tensor:
    return tensor.__dict__["_level"].detached(tensor)


def _text(tensor: Tensor) -> str:
    from flambeau.autograd.transforms.texts import text

    return text(tensor)


def zeros_at_levels(shape, like: Tensor) -> Tensor:
    """Zeros of their own for each sample of each level: rules write gradients into them."""
    levels = STATE.levels[:STATE.depth]
    sizes = [level.size for level in levels if level.size is not None]
    whole = ops.full_of((*sizes, *shape), 0, dtype=like.dtype, device=like.device)
    for level in levels:
        whole = level.own(whole)
    return whole


def empty_strided_at_levels(shape, strides, like: Tensor) -> Tensor:
    """The same for memory with strides, not filled."""
    levels = STATE.levels[:STATE.depth]
    sizes = [level.size for level in levels if level.size is not None]
    whole = _empty(sizes, shape, strides, like.dtype, like.device)
    for level in levels:
        whole = level.own(whole)
    return whole


def _empty(sizes, shape, strides, dtype, device) -> Tensor:
    """Memory for batches of these sizes; the strides are those of one sample."""
    if strides is None:
        return ops.empty((*sizes, *shape), dtype=dtype, device=device)
    span = 0 if 0 in shape else 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
    steps: list[int] = []
    for size in reversed(sizes):
        steps.insert(0, span)
        span *= size
    return ops.empty_strided((*sizes, *shape), (*steps, *strides), dtype=dtype, device=device)


def _blank(tensors, shape, strides, dtype, device) -> Tensor:
    """Memory of all levels of the tensors, with room for each sample where one is a batch."""
    levels: dict[int, tuple] = {}
    for tensor in tensors:
        while level_of(tensor):
            facts = tensor.__dict__
            before = levels.get(level_of(tensor), (None, False))[1]
            batched = before or facts.get("_batched", False)
            levels[level_of(tensor)] = facts["_level"], batched
            tensor = facts["_inner"]
    chosen = [levels[number] for number in sorted(levels)]
    whole = _empty([level.size for level, batched in chosen if batched], shape, strides, dtype,
                   device)
    for level, batched in chosen:
        whole = level.blank(whole, batched)
    return whole


_core.set_level_functions(alias_again, _detached, _text, _blank)
