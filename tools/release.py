"""Release trains: which versions of the packages go out together, and what was tested.

`releases/YYYY.MM.toml` records one train: for every package its version, the commit it was
built from and the hash of its wheel, and the interface version of the core. Versions are
static in each package's pyproject; a train only writes down what they are.

    python tools/release.py plan            what changed since the last train
    python tools/release.py write 2026.12   record the wheels in dist/ as a train
    python tools/release.py check FILE      verify a train against the history and dist/
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from inventory import DIST, ROOT, Package, read_packages

RELEASES = ROOT / "releases"
HEADER = "packages/tensor-core/src/flambeau/core/include/flambeau/abi.h"
# Kind of change fragment -> which number of 0.MINOR.PATCH it moves.
MINOR_KINDS = {"breaking", "feature"}


def git(*words: str) -> str:
    """Return what a git command prints."""
    run = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return run.stdout.strip()


def latest_train() -> dict[str, Any] | None:
    """Return the newest train, or None before the first."""
    files = sorted(RELEASES.glob("*.toml"))
    return tomllib.loads(files[-1].read_text()) if files else None


def abi_version(header: str) -> list[int]:
    """Read the interface version, [major, minor], from the text of abi.h."""
    return [
        int(re.search(rf"#define FL_ABI_{part} (\d+)", header)[1])  # type: ignore[index]
        for part in ("MAJOR", "MINOR")
    ]


def fragments(package: Package) -> dict[str, int]:
    """Count a package's change fragments by kind."""
    counts: dict[str, int] = {}
    for path in (package.folder / "changes").glob("*.*.md"):
        kind = path.name.split(".")[-2]
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def next_version(released: str, kinds: set[str]) -> str:
    """Return the version that changes of these kinds ask for."""
    major, minor, patch = map(int, released.split("."))
    if kinds & MINOR_KINDS:
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}"


def plan() -> int:
    """Print, for each package, what a train made now would hold."""
    train = latest_train() or {"package": []}
    released = {entry["name"]: entry for entry in train["package"]}
    for package in read_packages():
        counts = fragments(package)
        listing = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) or "no fragments"
        entry = released.get(package.distribution)
        if entry is None:
            print(f"{package.distribution}: first release, {package.version} ({listing})")
            continue
        path = str(package.folder.relative_to(ROOT))
        commits = git("rev-list", "--count", f"{entry['commit']}..HEAD", "--", path)
        if commits == "0":
            print(f"{package.distribution}: unchanged, stays {entry['version']}")
            continue
        wanted = next_version(entry["version"], set(counts))
        state = "" if package.version == wanted else f", pyproject says {package.version}"
        print(f"{package.distribution}: {commits} commits, {wanted} ({listing}{state})")
    return 0


def write(month: str) -> int:
    """Record the committed state and the wheels in dist/ as a train."""
    if git("status", "--porcelain"):
        print("Commit first: a train names the commit its wheels were built from.")
        return 1
    commit = git("rev-parse", "HEAD")
    lines = [f"abi = {abi_version((ROOT / HEADER).read_text())}", "tested = []", ""]
    for package in read_packages():
        digest = hashlib.sha256(package.wheel().read_bytes()).hexdigest()
        fields = {
            "name": package.distribution,
            "version": package.version,
            "commit": commit,
            "wheel": package.wheel().name,
            "sha256": digest,
        }
        lines += ["[[package]]", *(f'{key} = "{value}"' for key, value in fields.items()), ""]
    target = RELEASES / f"{month}.toml"
    RELEASES.mkdir(exist_ok=True)
    target.write_text("\n".join(lines))
    print(f"{target}: list in `tested` the combinations that were tested, then `check` it")
    return 0


def faults(train: dict[str, Any]) -> list[str]:
    """Return what is wrong with a train, one line each."""
    found = []
    versions = {entry["name"]: entry["version"] for entry in train["package"]}
    folders = {package.distribution: package.name for package in read_packages()}
    if missing := sorted(folders.keys() - versions.keys()):
        found.append(f"packages that the train does not name: {', '.join(missing)}")
    for entry in train["package"]:
        name, commit = entry["name"], entry["commit"]
        if name not in folders:
            found.append(f"{name}: there is no such package")
            continue
        try:
            text = git("show", f"{commit}:packages/{folders[name]}/pyproject.toml")
        except subprocess.CalledProcessError:
            found.append(f"{name}: commit {commit} is unknown or lacks the package")
            continue
        found += metadata_faults(entry, tomllib.loads(text)["project"], versions)
        if name == "flambeau-tensor-core":
            abi = abi_version(git("show", f"{commit}:{HEADER}"))
            if abi != train["abi"]:
                found.append(f"abi is {train['abi']} in the train, {abi} in abi.h")
    return found


def metadata_faults(
    entry: dict[str, str], project: dict[str, Any], versions: dict[str, str]
) -> list[str]:
    """Compare one entry with the package's metadata and with the wheel, if it is at hand."""
    from packaging.requirements import Requirement

    name, found = entry["name"], []
    if project["version"] != entry["version"]:
        found.append(f"{name}: train says {entry['version']}, pyproject {project['version']}")
    for text in project["dependencies"]:
        need = Requirement(text)
        if need.name in versions and versions[need.name] not in need.specifier:
            found.append(f"{name}: needs {text}, but the train has {versions[need.name]}")
    wheel = DIST / entry["wheel"]
    if wheel.exists() and hashlib.sha256(wheel.read_bytes()).hexdigest() != entry["sha256"]:
        found.append(f"{name}: dist/{wheel.name} has another hash")
    return found


def check(path: str) -> int:
    """Print a train's faults; return 1 when there are any."""
    found = faults(tomllib.loads(Path(path).read_text()))
    print("\n".join(found) or f"{path} is consistent")
    return 1 if found else 0


def main() -> int:
    """Run the command that the command line names."""
    match sys.argv[1:]:
        case ["plan"]:
            return plan()
        case ["write", month]:
            return write(month)
        case ["check", path]:
            return check(path)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
