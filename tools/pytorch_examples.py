"""Runs the examples in PyTorch's docstrings with Flambeau and with PyTorch, and compares them.

`python tools/pytorch_examples.py FLAMBEAU PYTORCH [FOLDER]`: the Pythons of two environments, one
with Flambeau under the name `torch`, one with PyTorch. What each gives is left in FOLDER. Examples
that PyTorch itself does not run are not counted; addresses, names of graph nodes and the last
digits of numbers may differ.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

RUNNER = Path(__file__).resolve().parent / "pytorch_example_runner.py"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
TOLERANCE = 2e-4

#: What an example wrote, and the error that it ended with, if any.
Outcome = tuple[str, str | None]


def run(python: list[str], examples: Path, results: Path) -> dict[int, list[Outcome] | None]:
    """What the examples of each docstring give; None where the process ended in one."""
    count = len(json.loads(examples.read_text()))
    results.unlink(missing_ok=True)
    found: dict[int, list[Outcome] | None] = {}
    begin = 0
    while begin < count:
        subprocess.run([*python, str(RUNNER), "run", str(examples), str(results), str(begin)],
                       check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for line in results.read_text().splitlines():
            record = json.loads(line)
            found[record["number"]] = record.get("outcomes")
        if max(found, default=-1) < begin:
            raise RuntimeError(f"{python} cannot run {RUNNER}")
        begin = max(found) + 1
    return found


def plain(text: str) -> str:
    """A text without addresses, names of graph nodes and the layout of lines."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return " ".join(re.sub(r"grad_fn=<[^>]*>", "grad_fn=<>", text).split())


def alike(ours: str, theirs: str) -> bool:
    """Say whether two texts are the same but for the last digits of their numbers."""
    ours, theirs = plain(ours), plain(theirs)
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(map(float, NUMBER.findall(ours)), map(float, NUMBER.findall(theirs)), strict=True)
    return all(abs(a - b) <= TOLERANCE * max(1, abs(b)) for a, b in pairs)


def judged(ours: Outcome, theirs: Outcome) -> str:
    """How an example went."""
    if theirs[1] is not None:
        return "not run by PyTorch" if ours[1] is not None else "run here alone"
    if ours[1] is not None:
        return "fails"
    return "equal" if alike(ours[0], theirs[0]) else "differs"


def compare(examples: list[Any], ours: dict[int, Any], theirs: dict[int, Any]) -> Counter[str]:
    """Count how examples went, and print those that went wrong, of each docstring the first."""
    counts: Counter[str] = Counter()
    for number, (name, lines) in enumerate(examples):
        if theirs.get(number) is None:
            continue
        if ours.get(number) is None:
            print(f"{name}: the process ended")
            counts["fails"] += 1
            continue
        for line, mine, expected in zip(lines, ours[number], theirs[number], strict=True):
            verdict = judged(mine, expected)
            counts[verdict] += 1
            if verdict in ("fails", "differs"):
                said = mine[1] or f"{plain(mine[0])[:200]}\n    PyTorch: {plain(expected[0])[:200]}"
                print(f"{name}: {line.strip()[:100]}\n    {said}")
            if verdict not in ("equal", "not run by PyTorch"):
                break
    return counts


def main() -> None:
    """Read the command line."""
    flambeau, pytorch, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(rest[0]) if rest else Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        examples = folder / "examples.json"
        subprocess.run([pytorch, str(RUNNER), "collect", str(examples)], check=True)
        theirs = run([pytorch], examples, folder / "pytorch.jsonl")
        ours = run([flambeau, "-m", "flambeau.as_torch"], examples, folder / "flambeau.jsonl")
        counts = compare(json.loads(examples.read_text()), ours, theirs)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))


if __name__ == "__main__":
    main()
