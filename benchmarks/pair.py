"""Flambeau and PyTorch side by side: prints ratios, and writes a page with the table.

    python pair.py [--filter training] [--rounds 3] [--page docs/benchmarks.md]

Processes of the two alternate, so that a busy machine disturbs both alike, and the best time of
each workload is kept. A ratio is PyTorch's time over ours: above 1 we are faster.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
PEER, OURS = "torch", "flambeau"
Figures = dict[str, float | str]


@dataclass(frozen=True)
class Line:
    """One workload in both frameworks, in seconds; an error text where it failed."""

    title: str
    peer: float | str
    ours: float | str

    @property
    def ratio(self) -> float | None:
        """PyTorch's time over ours, or None where one of them failed."""
        if isinstance(self.peer, str) or isinstance(self.ours, str):
            return None
        return self.peer / self.ours

    def cells(self) -> list[str]:
        """The line as a row of a table."""
        times = [value if isinstance(value, str) else milliseconds(value) for value in
                 (self.peer, self.ours)]
        return [self.title, *times, "" if self.ratio is None else f"{self.ratio:.2f}"]


def milliseconds(seconds: float) -> str:
    """Return a time with three digits."""
    return f"{seconds * 1e3:.3g} ms"


def measure(module: str, prefix: str) -> Figures:
    """Time one framework in a process of its own."""
    command = [sys.executable, str(HERE / "run.py"), module, prefix]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def keep_best(best: Figures, new: Figures) -> None:
    """Update the best figures with those of another round."""
    for title, value in new.items():
        old = best.setdefault(title, value)
        if isinstance(value, float) and (isinstance(old, str) or value < old):
            best[title] = value


def compare(prefix: str, rounds: int) -> list[Line]:
    """Alternate the two frameworks and return the lines."""
    best: dict[str, Figures] = {PEER: {}, OURS: {}}
    for _ in range(rounds):
        for module, figures in best.items():
            keep_best(figures, measure(module, prefix))
    return [Line(title, peer, best[OURS][title]) for title, peer in best[PEER].items()]


def group_means(lines: list[Line]) -> dict[str, float]:
    """Return the geometric mean of each group's ratios."""
    ratios = defaultdict(list)
    for line in lines:
        if line.ratio is not None:
            ratios[line.title.split(".")[0]].append(line.ratio)
    return {group: math.exp(sum(map(math.log, r)) / len(r)) for group, r in ratios.items()}


def page(lines: list[Line]) -> str:
    """Return the Markdown page."""
    rows = [["workload", "PyTorch", "Flambeau", "ratio"], ["---", "---:", "---:", "---:"]]
    rows += [line.cells() for line in lines]
    means = [["group", "mean ratio"], ["---", "---:"]]
    means += [[group, f"{mean:.2f}"] for group, mean in group_means(lines).items()]
    versions = f"PyTorch {version('torch')}, Flambeau {version('flambeau-tensor-core')}"
    return "\n".join([
        "# Side by side with PyTorch",
        "",
        "Written by `nox -s bench`. A ratio is PyTorch's time over Flambeau's: above 1 Flambeau",
        "is faster. Best of several alternating runs.",
        "",
        f"{versions}, Python {platform.python_version()}, {cpu()}, {os.cpu_count()} cores.",
        "",
        *table(means),
        "",
        *table(rows),
        "",
    ])


def table(rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in rows]


def cpu() -> str:
    """Return the processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> int:
    """Measure, print, and write the page; return 1 when a workload failed in Flambeau."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="only workloads that begin so")
    parser.add_argument("--rounds", type=int, default=3, help="how often the two alternate")
    parser.add_argument("--page", type=Path, help="file to write the table to")
    options = parser.parse_args()
    lines = compare(options.filter, options.rounds)
    for line in lines:
        title, peer, ours, ratio = line.cells()
        print(f"{title:26} {peer:>12} {ours:>12} {ratio:>7}")
    for group, mean in group_means(lines).items():
        print(f"mean of {group:18} {mean:7.2f}")
    if options.page:
        options.page.write_text(page(lines))
    return 1 if any(isinstance(line.ours, str) for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
