"""What the results of two libraries say beside each other, as a table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

COMPARED = 10    # losses, from the first
WARM = 2         # steps that are not timed
Pair = dict[str, list[dict[str, Any]]]


def title(repository: str, path: str, arguments: tuple[str, ...]) -> str:
    """The name of a row."""
    return " ".join([f"{repository}/{path}", *arguments])


def works(found: dict[str, Any]) -> bool:
    """Say whether a program trained: losses were computed, and nothing was raised."""
    return found["error"] is None and len(found["losses"]) > 0


def rate(runs: list[dict[str, Any]]) -> float:
    """Steps a second, of the fastest run; 0 where there were too few."""
    spans = [(len(run["times"]) - WARM, run["times"][-1] - run["times"][WARM - 1])
             for run in runs if len(run["times"]) > WARM + 1]
    return max((count / seconds for count, seconds in spans), default=0.0)


def distance(ours: list[float], theirs: list[float]) -> float:
    """The largest difference of two losses, relative to the larger or to one."""
    pairs = list(zip(ours, theirs, strict=False))[:COMPARED]
    return max((_apart(a, b) for a, b in pairs), default=math.inf)


def _apart(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return 0.0 if math.isnan(a) and math.isnan(b) else math.inf
    return 0.0 if a == b else abs(a - b) / max(abs(a), abs(b), 1.0)


def cells(name: str, pair: Pair) -> list[str]:
    """The columns of a row: program, runs, steps a second of both, ratio, difference of losses."""
    ours, theirs = pair["flambeau"][0], pair["pytorch"][0]
    if not works(theirs):
        return [name, "neither" if not works(ours) else "Flambeau alone", "", "", "", ""]
    if not works(ours):
        return [name, "PyTorch alone", "", "", "", ""]
    speeds = rate(pair["flambeau"]), rate(pair["pytorch"])
    ratio = f"{speeds[0] / speeds[1]:.2f}" if all(speeds) else ""
    shown = [f"{speed:.3g}" if speed else "" for speed in speeds]
    return [name, "both", *shown, ratio, f"{distance(ours['losses'], theirs['losses']):.0e}"]


def row(name: str, pair: Pair) -> str:
    """A row of the table, with what was raised where one of the two failed."""
    found = cells(name, pair)
    errors = {side: runs[0]["error"] for side, runs in pair.items() if not works(runs[0])}
    return " | ".join(found) + (f"  {errors}" if errors else "")


def summary(known: dict[str, Pair]) -> str:
    """How many programs work with PyTorch, and of them with Flambeau."""
    right = [pair for pair in known.values() if works(pair["pytorch"][0])]
    good = [pair for pair in right if works(pair["flambeau"][0])]
    return f"{len(good)} of {len(right)} programs that PyTorch runs; {len(known)} were tried"


def fill(page: Path, known: dict[str, Pair]) -> None:
    """Put the rows into a page, under its table's head."""
    lines = ["| " + " | ".join(cells(name, pair)) + " |" for name, pair in known.items()
             if works(pair["pytorch"][0])]
    text = page.read_text()
    start = text.index("\n", text.index("|---|")) + 1
    end = text.find("\n\n", start)
    page.write_text(text[:start] + "\n".join(lines) + (text[end:] if end > 0 else "\n"))
