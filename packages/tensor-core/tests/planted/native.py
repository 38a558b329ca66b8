"""Plants faults in compiled sources: ``python tests/planted/native.py BUILD``.

BUILD is a finished CMake build folder (Ninja) of this source tree. For each fault one changed
copy of a source is compiled with that build's own command and linked with its other objects
into a copy of the package; the build folder and the sources stay as they are. Exits with 1 when
a fault stays unseen. A second argument chooses the faults whose names contain it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "src" / "flambeau"
NATIVE = PACKAGE / "core" / "native"


@dataclass(frozen=True)
class Fault:
    """One changed text in one source, and the test files that must find it."""

    name: str
    source: str
    old: str
    new: str
    tests: str
    target: str = ""


FAULTS = [
    Fault("missing version bump (general path)", "dispatch/generic.cpp",
          "fl_count_write(op, targets[i]);", "(void)op;", "test_writes.py"),
    Fault("missing version bump (fast path)", "pointwise/fast.cpp",
          "fl_count_write(op, result);", "(void)op;", "test_writes.py"),
    Fault("wrong dtype of int8 and uint8", "dispatch/promote.cpp", "if (bits[s] > bits[u])",
          "if (bits[s] >= bits[u])", "test_promotion_oracle.py"),
    Fault("wrong stride of a slice with a step", "shape/views.cpp",
          "s->strides[d] = fl_wrapping_mul(t->strides[d], step);",
          "s->strides[d] = t->strides[d];",
          "test_views.py"),
    Fault("read-only flag ignored", "dispatch/write.cpp", "if (t->flags & FL_READONLY)",
          "if (t->flags & FL_READONLY && t->numel > 100)", "test_writes.py"),
    Fault("expanded targets accepted", "dispatch/write.cpp",
          "if (self_overlap(t) && op->index != FL_OP_fill)",
          "if (self_overlap(t) && t->numel > 100)", "test_writes.py"),
    Fault("partial overlap not copied", "dispatch/write.cpp",
          "if (x && may_meet(op, t, x, i) && overlap(t, x)) {",
          "if (x && may_meet(op, t, x, i) && overlap(t, x) && t->numel > 100) {", "test_writes.py"),
    Fault("triangle one column off", "shape/triangle.cpp", "clamp(in[1].i, -rows - 1, cols)",
          "clamp(in[1].i + 1, -rows - 1, cols)", "test_operators_oracle.py"),
    Fault("running sum carried from the wrong lane (v4)", "reduce/kernels/scan.cpp",
          "(Places){7, 7, 7, 7, 7, 7, 7, 7}", "(Places){6, 6, 6, 6, 6, 6, 6, 6}",
          "test_operators_oracle.py", "kernels_v4"),
]


def _run(command, **options):
    done = subprocess.run(command, text=True, capture_output=True, check=False, **options)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout


def _compile(build: Path, fault: Fault, scratch: Path) -> tuple[str, Path]:
    """Compile the changed source; returns the object it stands for, and the new one."""
    entries = json.loads(_run(["ninja", "-t", "compdb"], cwd=build))
    source = NATIVE / fault.source
    entry = next(e for e in entries if e["file"] == str(source) and fault.target in e["output"])
    text = source.read_text()
    if text.count(fault.old) != 1:
        raise RuntimeError(f"{fault.source} has {text.count(fault.old)} times {fault.old!r}")
    changed, made = scratch / source.name, scratch / "changed.o"
    changed.write_text(text.replace(fault.old, fault.new))
    words = shlex.split(entry["command"])
    words[words.index("-c") + 1] = str(changed)
    words[words.index("-o") + 1] = str(made)
    _run([*words, f"-iquote{source.parent}"], cwd=build)
    return entry["output"], made


def _link(build: Path, old: str, made: Path, target: Path) -> None:
    commands = _run(["ninja", "-t", "commands", "-s", _library(build)], cwd=build)
    steps = [step for line in commands.splitlines() for step in line.split(" && ")]
    words = shlex.split(next(step for step in reversed(steps) if " -shared " in step))
    if old not in words:
        raise RuntimeError(f"{old} is not linked into the module")
    words[words.index(old)] = str(made)
    words[words.index("-o") + 1] = str(target)
    _run(words, cwd=build)


def _library(build: Path) -> str:
    targets = _run(["ninja", "-t", "targets", "all"], cwd=build)
    return re.search(r"^(\S*/_core\.\S*\.so): CXX", targets, re.M).group(1)


def found_by(build: Path, fault: Fault, scratch: Path) -> list[str]:
    """Names of the tests that fail with the fault compiled in."""
    tree = scratch / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(PACKAGE, tree / "flambeau", ignore=shutil.ignore_patterns("native"))
    old, made = _compile(build, fault, scratch)
    _link(build, old, made, next((tree / "flambeau" / "core").glob("_core.*.so")))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow",
               *(str(next(TESTS.rglob(name))) for name in fault.tests.split())]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tree)}, text=True,
                          capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout + done.stderr)
    return re.findall(r"^FAILED .*?(test_\w+\.py::[^ ]+)", done.stdout, re.M)


def main(build: str, name: str = "") -> int:
    unseen = 0
    with tempfile.TemporaryDirectory() as scratch:
        for fault in (f for f in FAULTS if name in f.name):
            names = found_by(Path(build).resolve(), fault, Path(scratch))
            unseen += not names
            print(f"{fault.name}: {len(names)} tests red, first {names[0] if names else 'NONE'}",
                  flush=True)
    return int(unseen > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
