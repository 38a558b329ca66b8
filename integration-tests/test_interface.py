"""Consumers built from frozen headers work with the current core; other majors are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from building import compile_extension, run_program

HERE = Path(__file__).parent
SOURCE = HERE / "interface" / "_consumer.c"
ABI = HERE.parent / "packages" / "tensor-core" / "abi"
FROZEN = sorted(ABI.glob("*/abi.h"))

# Softmax of equal numbers is 1/2 each: the weighed sum of [a, a] is a, its gradient 1/2 each.
PROGRAM = """
import flambeau as fl, flambeau.autograd, _consumer
x = fl.tensor([[3.0, 3.0], [5.0, 5.0]], requires_grad=True)
y = _consumer.weigh(x)
y.backward()
print(y.item(), x.grad.tolist(), _consumer.describe(x))
"""
RESULT = "8.0 [[0.5, 0.5], [0.5, 0.5]] (2, 4, 11, 3.0)"


def build(header: str, folder: Path) -> Path:
    """Build the consumer against the text of a header; returns the folder it is in."""
    include = folder / "include" / "flambeau"
    include.mkdir(parents=True)
    (include / "abi.h").write_text(header)
    compile_extension(SOURCE, folder, str(include.parent))
    return folder


def with_version(header: str, part: str, number: int) -> str:
    """Return a header that states another major or minor version."""
    text, changed = re.subn(rf"(#define FL_ABI_{part}) \d+", rf"\1 {number}", header)
    assert changed == 1
    return text


def test_there_is_a_frozen_header():
    assert FROZEN


@pytest.mark.parametrize("header", FROZEN, ids=lambda path: path.parent.name)
def test_old_consumers_work(header, tmp_path):
    run = run_program(PROGRAM, build(header.read_text(), tmp_path))
    assert run.stdout.strip() == RESULT, run.stderr


@pytest.mark.parametrize(
    ("part", "number", "wanted"),
    [("MAJOR", 2, "2."), ("MAJOR", 0, "0."), ("MINOR", 99, "1.99")],
    ids=["newer major", "older major", "newer minor"],
)
def test_other_versions_are_refused(part, number, wanted, tmp_path):
    header = with_version(FROZEN[-1].read_text(), part, number)
    run = run_program("import _consumer", build(header, tmp_path))
    assert run.returncode == 1
    assert f"ImportError: built for Flambeau interface {wanted}" in run.stderr
    assert "the installed flambeau-tensor-core provides 1." in run.stderr
    assert "pip install --upgrade flambeau-tensor-core" in run.stderr
