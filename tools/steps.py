"""The steps that several nox sessions share."""

from __future__ import annotations

import io
import subprocess
import tarfile
import time
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nox
from inventory import ROOT, Package, fingerprint, read_packages

REPORTS = ROOT / "build" / "reports"
ASAN_OPTIONS = (
    "detect_leaks=0",  # Python itself never frees everything
    "allocator_may_return_null=1",  # a huge size is an error to raise, not a fault
    "max_allocation_size_mb=4096",
)
PACKAGES = read_packages()
BY_NAME = {package.name: package for package in PACKAGES}
ROOT_PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")


def group(name: str) -> tuple[str, ...]:
    """Return the requirements of a dependency group of the root pyproject."""
    return nox.project.dependency_groups(ROOT_PROJECT, name)


def pin(distribution: str, wheel: Path) -> str:
    """Return the line of a constraints file that allows this wheel and no other."""
    return f"{distribution} @ {wheel.as_uri()}\n"


def build_wheels(
    session: nox.Session,
    packages: Collection[Package],
    dist: Path,
    *options: str,
    siblings: Collection[Package] = (),
    isolated: bool = True,
) -> None:
    """Build sdist and wheel of each package, and say how long it took and how big it is.

    Args:
        session: a session with `build` installed.
        packages: in the order of their dependencies.
        dist: where sdists and wheels go.
        options: more words for `python -m build`.
        siblings: packages that are needed to build these, and have their wheels in dist/.
        isolated: build each in an environment with what it declares and nothing else, as pip
            does; else in the session's, which has their build tools: that saves making two
            environments per package.
    """
    if not isolated:
        options = ("--no-isolation", "--skip-dependency-check", *options)
    dist.mkdir(parents=True, exist_ok=True)

    def build_lane(number: int, lane: list[Package]) -> None:
        pins = Path(session.create_tmp()) / f"siblings-{number}.txt"
        pins.write_text("".join(pin(each.distribution, each.wheel()) for each in siblings))
        for package in lane:
            headers = () if isolated else header_options(package, packages)
            build_wheel(session, package, dist, pins, *options, *headers)
            with pins.open("a") as file:
                file.write(pin(package.distribution, package.wheel(dist)))

    with ThreadPoolExecutor() as threads:
        lanes = split_lanes(packages, isolated)
        for result in [threads.submit(build_lane, *each) for each in enumerate(lanes)]:
            result.result()


def split_lanes(packages: Collection[Package], isolated: bool) -> list[list[Package]]:
    """Split packages into lists that can be built beside each other, each in its order.

    Isolated builds need the wheels of those whose headers they use; the others find the headers
    in the sources, so that a package waits for none and no core of the machine is idle.
    """
    needed = {name for package in packages for name in package.build_requires}
    compiled = [each for each in packages if each.build_requires or each.distribution in needed]
    pure = [each for each in packages if each not in compiled]
    return [compiled, pure] if isolated else [*([each] for each in compiled), pure]


def header_options(package: Package, packages: Collection[Package]) -> tuple[str, ...]:
    """Return options that say where the headers lie that a package is built against."""
    folders = [
        folder
        for each in packages
        if each.distribution in package.build_requires
        for folder in each.folder.glob("src/flambeau/*/include")
    ]
    return tuple(f"--config-setting=cmake.define.FLAMBEAU_INCLUDE={each}" for each in folders)


def build_wheel(
    session: nox.Session, package: Package, dist: Path, pins: Path, *options: str
) -> None:
    """Build one package, unless its wheel in `dist` was made from the same sources."""
    stem = package.distribution.replace("-", "_")
    stamp = dist / f"{stem}.sources"
    sources = fingerprint(package, PACKAGES)
    if stamp.exists() and stamp.read_text() == sources and list(dist.glob(f"{stem}-*.whl")):
        session.log(f"{package.name}: unchanged")
        return
    for old in dist.glob(f"{stem}[-.]*"):
        old.unlink()
    start = time.perf_counter()
    # A sibling that a build needs is the wheel built just before, and no published one.
    session.run(
        *("python", "-m", "build", "--outdir", str(dist), *options, str(package.folder)),
        env={"PIP_CONSTRAINT": str(pins)},
        silent=True,
    )
    seconds = time.perf_counter() - start
    stamp.write_text(sources)
    size = package.wheel(dist).stat().st_size / 1e6
    session.log(f"{package.name}: built in {seconds:.1f} s, wheel of {size:.2f} MB")


def install_wheels(session: nox.Session, wheels: Iterable[Path], *others: str) -> None:
    """Install wheels of ours by path, with what they declare, and other requirements."""
    paths = [str(wheel) for wheel in wheels]
    names = [package.distribution for package in PACKAGES]
    # pip keeps an installed wheel of the same version, even when the file has changed.
    session.run("pip", "uninstall", "--yes", "--quiet", "--quiet", *names, silent=True)
    session.install(*paths, *others)


def install_all(session: nox.Session, group_name: str, *others: str) -> None:
    """Install all packages, a dependency group and other requirements."""
    wheels = [package.wheel() for package in PACKAGES]
    install_wheels(session, wheels, *group(group_name), *others)


def test_needs(packages: Collection[Package] = PACKAGES) -> list[str]:
    """Return what the tests of these packages need besides pytest."""
    return [need for package in packages for need in package.test_requires]


def install_editable(session: nox.Session, package: Package, builds: Path) -> None:
    """Install a package so that its sources are what is imported; compiled ones are built anew.

    Compilers run on what changed since the last time, with kernels for this processor alone.
    """
    words = ["--no-build-isolation", "--editable", str(package.folder)]
    if not any("scikit-build" in tool for tool in package.build_tools):
        stem = package.distribution.replace("-", "_")
        if not list(Path(session.virtualenv.location).rglob(f"{stem}-*.dist-info")):
            session.install(*words)
        return
    options = {"build-dir": builds / package.name, "cmake.define.FLAMBEAU_ISA": "native"}
    settings = [f"--config-setting={key}={value}" for key, value in options.items()]
    session.install(*words, *settings, *header_options(package, PACKAGES))


#: Tests of a folder side by side, in as many processes as there are cores; more than four would
#: want more memory than a small machine has.
BESIDE = ("-n", "auto", "--maxprocesses", "4", "--dist", "worksteal")


def run_pytest(session: nox.Session, tests: Path, report: str, *options: str) -> None:
    """Run tests outside the source tree, and compare what they skip with what is announced."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    xml = REPORTS / f"{report}.xml"
    xml.unlink(missing_ok=True)
    with session.chdir(session.create_tmp()):
        session.run(
            *("python", "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-c", str(ROOT / "pyproject.toml"), f"--junitxml={xml}", *BESIDE, *options),
            str(tests),
            *session.posargs,
            success_codes=[0, 5],  # 5: no test was selected, which the report shows
        )
    session.run("python", str(ROOT / "tools" / "ledger.py"), str(xml))


def run_suites(session: nox.Session, suites: dict[str, Path], *options: str) -> None:
    """Run the tests of several folders by report name, all of them even when one fails."""
    failed = []
    for report, tests in suites.items():
        try:
            run_pytest(session, tests, report, *options)
        except nox.command.CommandFailed:
            failed.append(report)
    if failed:
        session.error(f"failed: {', '.join(failed)}")


def export(commit: str, path: str, target: Path) -> Path:
    """Unpack a folder as it was at a commit, and return it."""
    archive = subprocess.run(
        ["git", "archive", commit, path], check=True, capture_output=True, cwd=ROOT
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(target, filter="data")
    return target / path


def sanitizer_environment() -> dict[str, str]:
    """Return the variables under which a sanitized build runs in an ordinary Python."""
    command = ["g++", "-print-file-name=libasan.so"]
    library = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": ":".join(ASAN_OPTIONS),
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "FLAMBEAU_ALLOC": "plain",
    }
