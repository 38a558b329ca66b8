"""Refuse a link in which two ISA levels define the same weak function.

The linker keeps one copy of a weak function (an inline function, a template instance). When the
copy it keeps was compiled for a newer level, older CPUs meet instructions they do not have.
Called with: NM LEVEL OBJECT... LEVEL OBJECT..., where a level is a word without a slash.
"""

from __future__ import annotations

import re
import subprocess
import sys

# `name TYPE value size` of nm's posix format; demangled names hold spaces. Weak data (V, u)
# holds no instructions.
WEAK_LINE = re.compile(r"^(.+) W [0-9a-f]+ ?[0-9a-f]*$", re.MULTILINE)


def objects_by_level(words: list[str]) -> dict[str, list[str]]:
    """Group object paths under the level word that precedes them."""
    groups: dict[str, list[str]] = {}
    level = ""
    for word in words:
        if word.endswith(".o"):
            groups[level].append(word)
        else:
            level = word
            groups[level] = []
    return groups


def weak_symbols(nm: str, objects: list[str]) -> set[str]:
    """Names of the weak functions that these objects define."""
    if not objects:
        return set()
    command = [nm, "--defined-only", "--demangle", "--format=posix", *objects]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {found[1] for found in WEAK_LINE.finditer(listing)}


def main() -> int:
    """Print the clashes and return 1 when there are any."""
    nm, *words = sys.argv[1:]
    owner: dict[str, str] = {}
    clashes = []
    for level, objects in objects_by_level(words).items():
        for symbol in weak_symbols(nm, objects):
            other = owner.setdefault(symbol, level)
            if other != level:
                clashes.append(f"  {symbol} ({other}, {level})")
    if not clashes:
        return 0
    print("Weak functions defined at more than one ISA level:", *sorted(clashes), sep="\n")
    print("Put them in a namespace named by FL_ISA, or make them static.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
