"""What tensors of transforms print: what they stand for, level by level."""
from __future__ import annotations

import textwrap
from typing import Any

from flambeau.autograd._engine import record_of
from flambeau.autograd.transforms.stack import STATE, level_of
from flambeau.core import Tensor, printing

__all__ = ["text"]


def text(tensor: Tensor) -> str:
    """The text of ``repr(tensor)``, of a tensor of a level or one that requires grad."""
    return _shown(tensor, len(STATE.running), False)


def _shown(tensor, count: int, is_tracked: bool) -> str:
    """The text as the first ``count`` transforms see it; ``is_tracked`` says whether one inside of
    them differentiates by it, so that its history is theirs."""
    for number in range(count, 0, -1):
        transform = STATE.running[number - 1]
        if hasattr(transform, "tensors"):       # variables of reverse mode
            if _leads_to(tensor, transform.tensors):
                return _wrapped("GradTrackingTensor", f"lvl={number}",
                                _shown(tensor, number - 1, True))
        elif level_of(tensor) and tensor.__dict__["_level"] is transform:
            return _of_level(tensor, number, is_tracked)
    if level_of(tensor):
        return _of_block(tensor)
    return printing.tensor_text(tensor.detach() if is_tracked else tensor)


def _of_level(tensor, number: int, is_tracked: bool) -> str:
    facts = tensor.__dict__
    inner, is_batch = facts["_inner"], facts.get("_batched")
    if is_batch is None:
        return _wrapped("GradTrackingTensor", f"lvl={number}",
                        _shown(inner, number - 1, is_tracked))
    if not is_batch:
        return _shown(inner, number - 1, is_tracked)
    index = facts.get("_batch_dim", 0)
    if index:
        STATE.depth, before = facts["_level"].number - 1, STATE.depth
        try:
            inner = inner.movedim(0, index)
        finally:
            STATE.depth = before
    return _wrapped("BatchedTensor", f"lvl={number}, bdim={index}",
                    _shown(inner, number - 1, is_tracked))


def _of_block(tensor) -> str:
    """A dual of forward_ad, or what is left of a transform that has ended."""
    level = tensor.__dict__["_level"]
    if level.is_block:
        return level.text(tensor)
    title = "GradTrackingTensor" if level.size is None else "BatchedTensor"
    return _wrapped(title, "lvl=-1", text(tensor.__dict__["_inner"]))


def _wrapped(title: str, facts: str, value: str) -> str:
    return f"{title}({facts}, value=\n{textwrap.indent(value, '    ')}\n)"


def _leads_to(tensor, variables) -> bool:
    """Whether a tensor depends on one of some variables."""
    if not tensor.requires_grad:
        return False
    wanted = {id(record_of(v)) for v in variables if v.requires_grad}
    waiting: list[Any] = [record_of(tensor)]
    seen: set[int] = set()
    while waiting:
        record = waiting.pop()
        if id(record) in wanted:
            return True
        if record is not None and id(record) not in seen:
            seen.add(id(record))
            waiting.extend([following for following, _ in record.next_functions])
    return False
