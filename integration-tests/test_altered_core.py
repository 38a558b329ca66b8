"""What was built against one core computes the same on a core whose table has changed since.

A core is built from a copy of the sources with a new first row, and with an optional parameter
more in two rows that have derivatives. A consumer of the frozen header and the installed
autograd, both built against the core as it is, must give the same bits on it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from building import compile_extension, run_program

HERE = Path(__file__).parent
CORE = HERE.parent / "packages" / "tensor-core"
FAMILIES = Path("src/flambeau/core/opdefs/families")

FIRST_ROW = '''"""A row that was not there before."""
from flambeau.core.opdefs.make import pointwise

OPDEFS = (pointwise("a_row_before_all_others(Tensor self)", float="self + 1", doc="One more."),)
'''
#: file -> what to replace, once, by what.
CHANGES = {
    "cmake/generate.cmake": [
        ("GENERATED_KERNEL_NAMES\n", "GENERATED_KERNEL_NAMES pw_first.cpp\n"),
    ],
    FAMILIES / "__init__.py": [
        ("NAMES = (", 'NAMES = ("first", '),
    ],
    FAMILIES / "reduce.py": [
        ('"softmax(Tensor self, Dim dim, DType? dtype=None)"',
         '"softmax(Tensor self, Dim dim, DType? dtype=None, *, Bool halved=False)"'),
    ],
    FAMILIES / "pointwise/arithmetic.py": [
        ('"mul(Operand self, Operand other)"', '"mul(Operand self, Operand other, *, Scalar c=1)"'),
    ],
}

# A small network, a consumer of the interface in its loss, two steps of an optimizer.
PROGRAM = """
import flambeau as fl, flambeau.nn.functional as F, _consumer
from flambeau import nn, optim
from flambeau.core import _core, ops

fl.manual_seed(1)
x = fl.randn(8, 1, 6, 6)
net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.GELU(), nn.Flatten(), nn.LayerNorm(48), nn.Linear(48, 5))
step = optim.AdamW(net.parameters(), lr=0.01)
for _ in range(2):
    step.zero_grad()
    scores = net(x)
    weights = ops.softmax(scores, 1)
    loss = (weights * scores * scores).mean() + _consumer.weigh(scores) * 0.5
    loss.backward()
    step.step()
    print(loss.item().hex())
    for value in net.parameters():
        print([number.hex() for number in value.grad.reshape(-1).tolist()])
        print([number.hex() for number in value.reshape(-1).tolist()])
print(type(weights.grad_fn).__name__, type((weights * 2).grad_fn).__name__)
"""
WHAT_CHANGED = """
import flambeau as fl
from flambeau.core import _core, ops
print(_core.__file__)
print("a_row_before_all_others" in _core.op_keys())
print(ops.softmax(fl.zeros(2), 0, halved=True).tolist(), fl.mul(fl.ones(1), 3, c=2).tolist())
print(fl.a_row_before_all_others(fl.zeros(1)).tolist())
"""


def alter(sources: Path) -> None:
    """Insert the row and the parameters."""
    (sources / FAMILIES / "first.py").write_text(FIRST_ROW)
    for name, changes in CHANGES.items():
        path = sources / name
        text = path.read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{name} no longer has {old!r} once: adapt CHANGES"
            text = text.replace(old, new)
        path.write_text(text)


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    """A folder into which the altered core is installed."""
    sources = tmp_path_factory.mktemp("sources") / "tensor-core"
    shutil.copytree(CORE, sources, ignore=shutil.ignore_patterns("*.so", "build", "__pycache__"))
    alter(sources)
    folder = tmp_path_factory.mktemp("altered")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder)]
    command = [sys.executable, "-m", "pip", "install", "-q", *options, str(sources)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def consumer(tmp_path_factory):
    """A folder with the consumer, built against the latest frozen header."""
    folder = tmp_path_factory.mktemp("consumer")
    header = sorted((CORE / "abi").glob("*/abi.h"))[-1]
    (folder / "include" / "flambeau").mkdir(parents=True)
    shutil.copy(header, folder / "include" / "flambeau")
    compile_extension(HERE / "interface" / "_consumer.c", folder, str(folder / "include"))
    return folder


@pytest.mark.slow
def test_the_table_has_changed(altered):
    run = run_program(WHAT_CHANGED, altered)
    file, first, values, added = run.stdout.splitlines() or [run.stderr] * 4
    assert Path(file).is_relative_to(altered)
    assert first == "True"
    assert values == "[0.5, 0.5] [3.0]"
    assert added == "[1.0]"


@pytest.mark.slow
def test_gradients_are_the_same_bits(altered, consumer):
    before = run_program(PROGRAM, consumer)
    after = run_program(PROGRAM, altered, consumer)
    assert before.returncode == 0, before.stderr
    assert after.returncode == 0, after.stderr
    assert len(before.stdout.splitlines()) == 2 * (1 + 2 * 6) + 1
    assert before.stdout == after.stdout
