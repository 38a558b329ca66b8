"""A package built from the installed header alone adds operators, a counter and a device."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from building import compile_extension, run_program

from flambeau.core import get_include

SOURCES = Path(__file__).parent / "outoftree" / "flambeau_example"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the package, built."""
    root = tmp_path_factory.mktemp("outoftree")
    package = root / SOURCES.name
    shutil.copytree(SOURCES, package)
    compile_extension(package / "_example.c", package, get_include())
    return root


def output(code: str, folder: Path) -> str:
    """Return what a program prints that has the package."""
    run = run_program(f"import flambeau as fl, flambeau_example as ex\n{code}", folder)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_operator_with_a_derived_derivative(folder):
    # d/dx x*x/(1+|x|) is (2x + x|x|) / (1+|x|)**2: 3/4 at 1, 8/9 at 2, -8/9 at -2.
    code = """
x = fl.tensor([1.0, 2.0, -2.0], requires_grad=True)
y = ex.softsquare(x)
y.sum().backward()
print(y.tolist() == fl.tensor([1 / 2, 4 / 3, 4 / 3]).tolist())
print(max(abs(a - b) for a, b in zip(x.grad.tolist(), [3 / 4, 8 / 9, -8 / 9])) < 1e-6)
"""
    assert output(code, folder).split() == ["True", "True"]


def test_operator_in_c_with_a_rule(folder):
    code = """
a = fl.tensor([1.0, 2.0], requires_grad=True)
b = fl.tensor([3.0, 0.0, 4.0, 0.0, 5.0], requires_grad=True)
y = ex.outer(a, b[::2])
print(y.tolist(), y.grad_fn.name())
(y * fl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
print(a.grad.tolist(), b.grad.tolist())
"""
    assert output(code, folder).splitlines() == [
        "[[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]] ExampleOuterBackward0",
        "[26.0, 62.0] [9.0, 0.0, 12.0, 0.0, 15.0]",
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("fl.ones(2, 2), fl.ones(2)", "ValueError: example_outer(): a and b must have one dim"),
        ("fl.ones(2).double(), fl.ones(2)", "TypeError: example_outer(): a and b must be float32"),
    ],
)
def test_errors_of_the_operator_in_c(folder, arguments, error):
    code = f"import flambeau as fl, flambeau_example as ex\nex.outer({arguments})"
    run = run_program(code, folder)
    assert run.returncode == 1
    assert error in run.stderr


def test_counting_interposer(folder):
    code = """
x = fl.ones(3)
ex.start_counting()
y = x * 2 + 1
z = y.exp()
print(ex.stop_counting())
x + 1
ex.start_counting()
print(ex.stop_counting(), z.tolist() == (fl.ones(3) * 3).exp().tolist())
"""
    assert output(code, folder).split() == ["3", "0", "True"]


def test_device(folder):
    code = """
x = fl.tensor([[1.0, 2.0], [3.0, 4.0]]).to("abacus")
y = (x.transpose(0, 1) * x + 1).neg()
print(y.device.type, y.cpu().tolist())
x.add_(1)
print(x.cpu().tolist())
"""
    assert output(code, folder).splitlines() == [
        "abacus [[-2.0, -7.0], [-7.0, -17.0]]",
        "[[2.0, 3.0], [4.0, 5.0]]",
    ]


def test_gradients_on_the_device(folder):
    code = """
x = fl.tensor([1.0, 2.0]).to("abacus").requires_grad_()
y = x * x * 3
y.backward(fl.tensor([1.0, 10.0]).to("abacus"))
print(x.grad.device.type, x.grad.cpu().tolist())
"""
    assert output(code, folder) == "abacus [6.0, 120.0]"


def test_what_the_device_lacks_is_refused(folder):
    code = "import flambeau as fl, flambeau_example\nfl.ones(2).to('abacus').sin()"
    run = run_program(code, folder)
    assert run.returncode == 1
    assert "NotImplementedError: sin() has no kernel on device 'abacus'" in run.stderr
