"""Find words that the glossary of CONTRIBUTING.md replaces by the standard ones.

    python3 tools/words.py

The glossary's table is the one list: what its last column quotes in backquotes may not occur in
the sources, neither in code nor in prose. Words in capitals are constants; the others are found in
any case. History, frozen headers and the adapter of PyTorch's tests are not read.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from inventory import ROOT

#: Files that are read, and those that are not.
SOURCES = ("*.py", "*.pyi", "*.in", "*.pyx", "*.pxi", "*.pxd", "*.cpp", "*.h", "*.cuh", "*.md")
OUTSIDE = re.compile(
    r"CHANGELOG|/changes/|/abi/|/abi\.h$|^releases/|^CONTRIBUTING\.md$|test_words\.py$|torch_suite/"
)


class Entry(NamedTuple):
    """A word that is not written, and what stands for it."""

    pattern: re.Pattern[str]
    standard: str


def glossary(text: str) -> list[Entry]:
    """Read the table of the section "Words": what its last column quotes is not written."""
    section = text.partition("\n## Words\n")[2].partition("\n## ")[0]
    entries = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 2:
            for word in re.findall(r"`([^`]+)`", cells[1]):
                entries.append(Entry(_pattern(word), cells[0]))
    return entries


def _pattern(word: str) -> re.Pattern[str]:
    spaced = re.escape(word).replace(r"\ ", r"\s+")
    return re.compile(rf"\b{spaced}\b", 0 if word.isupper() else re.IGNORECASE)


def found(name: str, text: str, entries: list[Entry]) -> Iterator[str]:
    """Yield the lines of a file that hold a word of the glossary, with the standard one."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, standard in entries:
            if match := pattern.search(line):
                yield f"{name}:{number}: {match.group()!r}: write {standard}"


def sources() -> Iterator[Path]:
    """Yield the files of the repository that are read."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *SOURCES], cwd=ROOT, capture_output=True, check=True
    )
    for name in listed.stdout.decode().split("\0"):
        if name and not OUTSIDE.search(name) and (ROOT / name).exists():
            yield ROOT / name


def main() -> int:
    """Print what was found; the exit status says whether there was anything."""
    entries = glossary((ROOT / "CONTRIBUTING.md").read_text())
    lines = [
        line
        for path in sources()
        for line in found(str(path.relative_to(ROOT)), path.read_text(), entries)
    ]
    print("\n".join(lines) or f"no word of the {len(entries)} that the glossary replaces")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
