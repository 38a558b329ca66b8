"""The figures of past runs as a Markdown table: `python -m tools.torch_suite.table FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .report import percent

COLUMNS = ("run", "fails in PyTorch too", "out of scope", "in scope", "passed", "failed")


def table(folder: Path) -> str:
    """Return the table of the JSON files in a folder, one row a test file, with the sum."""
    runs = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    rows = [(run["file"], run["counts"]) for run in runs]
    rows.append(("all", {name: sum(count[name] for _, count in rows) for name in COLUMNS}))
    lines = ["| file | " + " | ".join(COLUMNS) + " | of what is in scope | of what is run |",
             "|---|" + "---:|" * (len(COLUMNS) + 2)]
    for file, count in rows:
        cells = [str(count[name]) for name in COLUMNS]
        cells += [percent(count["passed"], count[of]) for of in ("in scope", "run")]
        lines.append(f"| {file} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
