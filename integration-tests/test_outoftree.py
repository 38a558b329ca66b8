"""A package built from the installed header alone adds operators, a counter and a device."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from building import run_program

SOURCES = Path(__file__).parent / "outoftree"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder into which pip has installed the package."""
    sources = tmp_path_factory.mktemp("sources") / "package"
    shutil.copytree(SOURCES, sources)
    return install(sources, tmp_path_factory.mktemp("site"))


def install(sources: Path, folder: Path) -> Path:
    """Build a package against what is installed here, and install it into a folder."""
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder)]
    command = [sys.executable, "-m", "pip", "install", "-q", *options, str(sources)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


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
        ("fl.ones(2, 2), fl.ones(2)", "ArgumentError: example_outer(): a and b must have one dim"),
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


ENTRY = """
import sys
import flambeau as fl
x = fl.tensor([1.0]).to("abacus")
print(x.device.type, (x * 3).cpu().tolist(), "flambeau_example" in sys.modules)
"""


def test_the_device_is_found_by_its_entry_point(folder):
    run = run_program(ENTRY, folder)
    assert run.stdout.strip() == "abacus [3.0] True", run.stderr


def test_entry_points_can_be_switched_off(folder):
    run = run_program(ENTRY, folder, FLAMBEAU_BACKENDS="cuda")
    assert run.returncode == 1
    assert "as device type, got 'abacus'" in run.stderr


def test_an_entry_point_that_registers_nothing_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "site")
    (entries,) = (tmp_path / "site").glob("*.dist-info/entry_points.txt")
    entries.write_text("[flambeau.backends]\nabacus = flambeau_example.nothing\n")
    (tmp_path / "site" / "flambeau_example" / "nothing.py").touch()
    (tmp_path / "site" / "flambeau_example" / "__init__.py").write_text("")
    run = run_program(ENTRY, tmp_path / "site")
    assert run.returncode == 1
    assert "the backend of device type 'abacus' (flambeau_example.nothing) did not load: its " \
        "import did not register a device of this name" in run.stderr


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
