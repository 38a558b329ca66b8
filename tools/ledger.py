"""Count the skipped and expectedly failing tests of a run, against what is announced.

`python ledger.py REPORT.xml` reads pytest's JUnit report. `tools/skips.toml` names, for each
report, how many skips and expected failures are accepted and why; more than that fails, fewer
asks to lower the number, so that it never grows unnoticed. Reasons that begin with "needs" are
about the machine at hand: they are shown, and not counted.
"""

from __future__ import annotations

import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ANNOUNCED = Path(__file__).with_name("skips.toml")
# Comparisons with PyTorch run in the session that installs it.
NO_ORACLE = ("could not import 'torch'", "PyTorch is not installed")


def left_out(report: Path) -> tuple[list[str], list[str]]:
    """Return a line for each test that did not really run: those that count, and those for want
    of something on this machine."""
    counted: list[str] = []
    wanting: list[str] = []
    for case in ElementTree.parse(report).iter("testcase"):
        for skip in case.iter("skipped"):
            reason = skip.get("message", "")
            text = f"{reason} {skip.text}"  # a skipped module has its reason in the text
            if any(words in text for words in NO_ORACLE) and not report.stem.startswith("oracle"):
                continue
            kind = skip.get("type", "").removeprefix("pytest.")
            lines = wanting if reason.startswith("needs ") else counted
            lines.append(f"{kind}: {case.get('classname')}.{case.get('name')}: {reason}")
    return counted, wanting


def main() -> int:
    """Compare one report with the announced number."""
    report = Path(sys.argv[1])
    lines, wanting = left_out(report)
    announced = tomllib.loads(ANNOUNCED.read_text()).get(report.stem, {"count": 0})["count"]
    if lines:
        print(f"{report.stem}: {len(lines)} skipped or expected to fail", *lines, sep="\n  ")
    if wanting:
        print(f"{report.stem}: {len(wanting)} not on this machine", *wanting, sep="\n  ")
    if len(lines) > announced:
        print(f"Only {announced} are announced for {report.stem} in tools/skips.toml.")
        return 1
    if len(lines) < announced:
        print(f"tools/skips.toml announces {announced} for {report.stem}; lower it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
