"""What the house consists of, read from the packages' own metadata.

Folders, distribution names, versions and the arrows between packages are written once, in
`packages/*/pyproject.toml`; every tool asks here.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


@dataclass(frozen=True)
class Package:
    """One package of the house."""

    folder: Path
    distribution: str
    version: str
    requires: tuple[str, ...]  # distributions of the house that it depends on
    build_requires: tuple[str, ...]  # those whose headers it is built against
    build_tools: tuple[str, ...]  # what else its build needs
    test_requires: tuple[str, ...]  # what its tests need besides pytest: its extra `test`

    @property
    def name(self) -> str:
        """Name of its folder, such as `tensor-core`."""
        return self.folder.name

    def wheel(self, dist: Path = DIST) -> Path:
        """Return its only wheel in a folder."""
        wheels = list(dist.glob(f"{self.distribution.replace('-', '_')}-*.whl"))
        if len(wheels) != 1:
            raise FileNotFoundError(
                f"{dist} holds {len(wheels)} wheels of {self.distribution}, expected one: "
                "run `nox -s build`"
            )
        return wheels[0]


def read_package(folder: Path) -> Package:
    """Read one package's metadata."""
    metadata = tomllib.loads((folder / "pyproject.toml").read_text())
    project = metadata["project"]
    requires = siblings(project["dependencies"])
    build_needs = metadata["build-system"]["requires"]
    build_requires = siblings(build_needs)
    build_tools = tuple(need for need in build_needs if not siblings([need]))
    test_requires = tuple(project.get("optional-dependencies", {}).get("test", ()))
    name, version = project["name"], project["version"]
    return Package(folder, name, version, requires, build_requires, build_tools, test_requires)


def siblings(requirements: list[str]) -> tuple[str, ...]:
    """Return the distributions of the house that a list of requirements names."""
    names = [re.split(r"[<>=!~;\[ ]", entry)[0] for entry in requirements]
    return tuple(name for name in names if name.startswith("flambeau-"))


def read_packages(folder: Path = ROOT / "packages") -> list[Package]:
    """Return all packages, each after those it depends on."""
    waiting = [read_package(path.parent) for path in sorted(folder.glob("*/pyproject.toml"))]
    ordered: list[Package] = []
    while waiting:
        placed = {package.distribution for package in ordered}
        ready = [package for package in waiting if placed.issuperset(package.requires)]
        if not ready:
            stuck = ", ".join(package.name for package in waiting)
            raise ValueError(f"packages that depend on each other in a circle: {stuck}")
        ordered += ready
        waiting = [package for package in waiting if package not in ready]
    return ordered


def closure(package: Package, packages: list[Package]) -> list[Package]:
    """Return a package and all it depends on, dependencies first."""
    wanted = {package.distribution}
    for candidate in reversed(packages):
        if candidate.distribution in wanted:
            wanted.update(candidate.requires)
    return [candidate for candidate in packages if candidate.distribution in wanted]


def dependency_closed_sets(packages: list[Package]) -> Iterator[list[Package]]:
    """Yield every set of packages that one can have installed without a broken dependency."""
    for size in range(1, len(packages) + 1):
        for chosen in itertools.combinations(packages, size):
            names = {package.distribution for package in chosen}
            if all(names.issuperset(package.requires) for package in chosen):
                yield list(chosen)


def fingerprint(package: Package, packages: list[Package]) -> str:
    """Return a hash of all that a package is built from."""
    headers = [
        each.folder / "src" for each in packages if each.distribution in package.build_requires
    ]
    digest = hashlib.sha256()
    for path in source_files(package.folder):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    for folder in headers:
        for path in sorted(folder.rglob("include/**/*.h")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def source_files(folder: Path) -> list[Path]:
    """Return the files of a folder that git tracks or would track, without tests."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    names = {name for name in listing.stdout.split("\0") if name and not name.startswith("tests/")}
    return [folder / name for name in sorted(names) if (folder / name).is_file()]
