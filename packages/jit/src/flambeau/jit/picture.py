"""Events as a picture: a box for each, one below the other, and arrows for memory beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.jit.explaining import Event

_LINE_HEIGHT, _BOX_WIDTH, _LEFT, _GAP = 16, 560, 20, 22
_LANE_WIDTH, _LANES = 12, 16
_STYLE = ("text{font:12px monospace;fill:#222}.loop{fill:#dceefb;stroke:#3a7ca5}"
          ".call{fill:#f4f1ea;stroke:#999}.memory{fill:none;stroke:#c06014;stroke-width:1.2}")


def draw(events: Sequence[Event]) -> str:
    """The picture as SVG."""
    tops: list[tuple[int, int]] = []
    boxes: list[str] = []
    top = _GAP
    for event in events:
        lines = list(_lines(event))
        height = _LINE_HEIGHT * len(lines) + 10
        tops.append((top, top + height))
        boxes += _box(event, lines, top, height)
        top += height + _GAP
    arrows = [_arrow(number, tops[start], tops[end])
              for number, (start, end) in enumerate(dependences(events))]
    width = _LEFT + _BOX_WIDTH + (_LANES + 2) * _LANE_WIDTH
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}">'
            f'<style>{_STYLE}</style><defs><marker id="tip" markerWidth="8" markerHeight="8" '
            'refX="7" refY="3" orient="auto"><path d="M0,0 L7,3 L0,6 z" fill="#c06014"/></marker>'
            f'</defs>{"".join(boxes)}{"".join(arrows)}</svg>')


def dependences(events: Sequence[Event]) -> list[tuple[int, int]]:
    """Pairs of events: the second reads or overwrites memory that the first wrote last."""
    last: dict[int, int] = {}
    found: dict[tuple[int, int], None] = {}
    for number, event in enumerate(events):
        for storage in sorted(event.reads | event.writes):
            if storage in last:
                found[last[storage], number] = None
        last.update(dict.fromkeys(event.writes, number))
    return list(found)


def _lines(event: Event) -> Iterator[str]:
    took = f"{event.seconds * 1e3:.3g} ms"
    if event.is_loop:
        yield f"loops: {took}, call by call {event.alone * 1e3:.3g} ms"
        yield from event.lines
    else:
        yield f"{event.title}: {took}"


def _box(event: Event, lines: Sequence[str], top: int, height: int) -> Iterator[str]:
    kind = "loop" if event.is_loop else "call"
    yield (f'<rect class="{kind}" x="{_LEFT}" y="{top}" width="{_BOX_WIDTH}" height="{height}" '
           f'rx="4"><title>{escape(event.where)}</title></rect>')
    most = _BOX_WIDTH // 8
    for number, line in enumerate(lines, 1):
        text = line if len(line) <= most else f"{line[: most - 1]}…"
        yield f'<text x="{_LEFT + 8}" y="{top + _LINE_HEIGHT * number}">{escape(text)}</text>'


def _arrow(number: int, start: tuple[int, int], end: tuple[int, int]) -> str:
    right = _LEFT + _BOX_WIDTH
    lane = right + (number % _LANES + 1) * _LANE_WIDTH
    begin, to = start[1] - 5, end[0] + 5
    return (f'<path class="memory" marker-end="url(#tip)" '
            f'd="M{right},{begin} H{lane} V{to} H{right}"/>')
