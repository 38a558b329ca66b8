"""Where each buffer lies in the arena: memory that is no longer read is used again."""

from __future__ import annotations

from flambeau.jit.ahead.unit import ALIGNMENT, Buffer, Step


def plan(steps: list[Step], status: Buffer) -> int:
    """Give every buffer of the arena its offset; the bytes of all.

    The largest buffer first, each in the smallest gap between those that live at the same time.

    Args:
        steps: what a run does.
        status: a buffer that lives from the beginning to the end, at offset 0.
    """
    lives: dict[Buffer, list[int]] = {}
    for number, step in enumerate(steps):
        for place in step.operands:
            if place.buffer.kind == "arena":
                lives.setdefault(place.buffer, [number, number])[1] = number
    lives[status] = [0, len(steps)]
    placed: list[Buffer] = [status]
    for buffer in sorted(lives, key=lambda each: -each.bytes):
        if buffer is status:
            continue
        first, last = lives[buffer]
        others = sorted((each for each in placed
                         if lives[each][0] <= last and first <= lives[each][1]),
                        key=lambda each: each.offset)
        buffer.offset = _gap(others, buffer.bytes)
        placed.append(buffer)
    return _rounded(max(each.offset + each.bytes for each in placed))


def plan_state(buffers: list[Buffer]) -> int:
    """Give every buffer of the state its offset, one behind the other; the bytes of all."""
    end = 0
    for buffer in buffers:
        buffer.offset = end
        end += _rounded(buffer.bytes)
    return end


def _gap(others: list[Buffer], size: int) -> int:
    """The beginning of the smallest gap that holds so many bytes, or the end of all."""
    end, best = 0, None
    for each in others:
        room = each.offset - end
        if room >= size and (best is None or room < best[0]):
            best = (room, end)
        end = max(end, _rounded(each.offset + each.bytes))
    return end if best is None else best[1]


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
