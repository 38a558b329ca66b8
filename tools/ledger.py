"""Count the skipped and expectedly failing tests of a run, against what is announced.

`python ledger.py REPORT.xml` reads pytest's JUnit report. `tools/skips.toml` names, for each
report, how many skips and expected failures are accepted and why; more than that fails, fewer
asks to lower the number, so that it never grows unnoticed.
"""

from __future__ import annotations

import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ANNOUNCED = Path(__file__).with_name("skips.toml")
# Comparisons with PyTorch run in the session that installs it.
NO_ORACLE = "could not import 'torch'"


def left_out(report: Path) -> list[str]:
    """Return one line for each test that did not really run."""
    lines = []
    for case in ElementTree.parse(report).iter("testcase"):
        for skip in case.iter("skipped"):
            reason = skip.get("message", "")
            if NO_ORACLE in reason and not report.stem.startswith("oracle"):
                continue
            kind = skip.get("type", "").removeprefix("pytest.")
            lines.append(f"{kind}: {case.get('classname')}.{case.get('name')}: {reason}")
    return lines


def main() -> int:
    """Compare one report with the announced number."""
    report = Path(sys.argv[1])
    lines = left_out(report)
    announced = tomllib.loads(ANNOUNCED.read_text()).get(report.stem, {"count": 0})["count"]
    if lines:
        print(f"{report.stem}: {len(lines)} skipped or expected to fail", *lines, sep="\n  ")
    if len(lines) > announced:
        print(f"Only {announced} are announced for {report.stem} in tools/skips.toml.")
        return 1
    if len(lines) < announced:
        print(f"tools/skips.toml announces {announced} for {report.stem}; lower it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
