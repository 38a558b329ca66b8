"""The same family names on every floor, and no flat folder that nobody can survey."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from flambeau.core.opdefs.families import FAMILIES

ROOT = Path(__file__).parents[1]
CORE = ROOT / "packages" / "tensor-core" / "src" / "flambeau" / "core"
RULES = ROOT / "packages" / "autograd" / "src" / "flambeau" / "autograd" / "rules"
MOST_FILES = 34

#: Floor -> what else lies there, beside files and folders named by families.
FLOORS = {
    CORE / "opdefs" / "families": set(),
    CORE / "native": {"common", "deferral", "dispatch", "overrides", "replay", "runtime",
                      "standalone"},
    CORE / "composites": {"conversions", "functions", "methods", "refusals", "tensor_queries"},
    RULES: set(),
}
#: Families without operators of the floor: those made of others, or of formulas alone.
WITHOUT = {"native": set(), "families": set(), "composites": set(), "rules": {"sort"}}


def rooms(floor: Path) -> set[str]:
    """Names of the files and folders of a floor, without those that are private to it."""
    found = {path.stem.partition(".")[0] for path in floor.iterdir()
             if path.suffix in ("", ".py") and not path.name.startswith((".", "_"))}
    return found


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.name)
def test_each_floor_has_the_rooms_of_all(floor):
    assert rooms(floor) == set(FAMILIES) - WITHOUT[floor.name] | FLOORS[floor]


def test_kernels_lie_with_their_operators():
    strays = [path for path in CORE.glob("native/**/*.cpp")
              if len(path.relative_to(CORE / "native").parts) not in (2, 3)]
    assert not strays
    folders = {path.parent.name for path in CORE.glob("native/*/*/*")}
    assert folders == {"kernels"}


def test_no_folder_is_too_large_to_survey():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    folders = Counter(str(Path(name).parent) for name in listing.stdout.splitlines())
    large = {folder: count for folder, count in folders.items()
             if count > MOST_FILES and not folder.endswith("/changes")}
    assert not large


def test_the_map_names_every_folder():
    page = (ROOT / "docs" / "guide" / "layout.md").read_text()
    folders = [path.name for path in CORE.iterdir()
               if path.is_dir() and list(path.glob("**/*.*")) and path.name != "__pycache__"]
    assert [name for name in folders if f"`{name}/" not in page] == []
    assert [name for name in FAMILIES if f"`{name}`" not in page] == []


def public_types(text):
    """The types that a C++ file defines outside of its anonymous namespaces."""
    shared = re.sub(r"(?ms)^namespace \{$.*?^\} +// namespace$", "", text)
    return re.findall(r"^(?:template <.+> )?(?:struct|class|enum|union) (\w+)[^;{]*\{", shared,
                      re.MULTILINE)


def test_no_two_types_of_the_native_code_have_one_name():
    """A linker joins the functions of two such types, and one of them runs over the other's."""
    homes = {}
    for path in (CORE / "native").glob("**/*.*"):
        for name in public_types(path.read_text()) if path.suffix in (".h", ".cpp") else ():
            homes.setdefault(name, set()).add(path.name)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
