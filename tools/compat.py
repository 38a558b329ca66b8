"""Old and new packages together: which combinations a release promises, and how to test them.

For every package of the newest train: its released build among new siblings, with the tests
it was released with; and each new sibling that depends on it, with today's tests. Combinations
that the declared ranges exclude are no promise, and are left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nox
import release
import steps
from inventory import DIST, ROOT, Package, closure
from packaging.requirements import Requirement

RELEASED = ROOT / ".nox" / "released"


@dataclass(frozen=True)
class Case:
    """One released package among new ones, and the package whose tests are run."""

    old: Package  # its folder is today's; its version is the released one
    commit: str
    tested: Package

    @property
    def title(self) -> str:
        """The combination in words."""
        return f"{self.old.distribution} {self.old.version} with new siblings"


def allows(package: Package, old: Package) -> bool:
    """Say whether a package's declared ranges admit the released version of another."""
    project = tomllib.loads((package.folder / "pyproject.toml").read_text())["project"]
    needs = [Requirement(text) for text in project["dependencies"]]
    return all(old.version in need.specifier for need in needs if need.name == old.distribution)


def cases(packages: list[Package]) -> Iterator[Case]:
    """Yield the combinations of the newest train; none before the first release."""
    train = release.latest_train() or {"package": []}
    by_name = {package.distribution: package for package in packages}
    for entry in train["package"]:
        old = replace(by_name[entry["name"]], version=entry["version"])
        for tested in packages:
            if old.distribution in tested.requires and allows(tested, old):
                yield Case(old, entry["commit"], tested)
        yield Case(old, entry["commit"], by_name[entry["name"]])


def released_folder(case: Case) -> Path:
    """Return the released package's sources, exported once."""
    target = RELEASED / case.commit
    folder = target / "packages" / case.old.name
    if not folder.exists():
        steps.export(case.commit, f"packages/{case.old.name}", target)
    return folder


def run_case(session: nox.Session, case: Case, packages: list[Package]) -> None:
    """Build the released wheel if need be, install the combination and run the tests."""
    session.log(f"{case.title}: tests of {case.tested.name}")
    folder = released_folder(case)
    dist = RELEASED / case.commit / "dist"
    siblings = [package for package in packages if package.distribution in case.old.requires]
    steps.build_wheels(session, [replace(case.old, folder=folder)], dist, siblings=siblings)
    wheels = [
        package.wheel(dist if package.distribution == case.old.distribution else DIST)
        for package in closure(case.tested, packages)
    ]
    steps.install_wheels(session, wheels, *steps.group("test"), *case.tested.test_requires)
    session.run("pip", "check", silent=True)
    is_old = case.tested.distribution == case.old.distribution
    tests = (folder if is_old else case.tested.folder) / "tests"
    report = f"compat-{case.old.name}-{case.tested.name}"
    steps.run_pytest(session, tests, report, "-m", "not oracle and not slow")
