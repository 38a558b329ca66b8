"""Types hold for users: a typed program passes mypy and pyright, and editors complete names."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.optim import lr_scheduler
from flambeau.utils import data

TYPED = Path(__file__).parent / "typed"
CLIENT = TYPED / "client.py"
PROGRAMS = ("client.py", "transforms.py", "names.py")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder above ``flambeau``; one with links where packages are installed apart."""
    folders = [Path(folder) for folder in flambeau.__path__]
    if len(folders) == 1:
        return folders[0].parent
    merged = tmp_path_factory.mktemp("site")
    for folder in folders:
        shutil.copytree(folder, merged / "flambeau", copy_function=os.symlink, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__"))
    return merged


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A tool of this environment, on the client program."""
    return subprocess.run([sys.executable, "-m", *command], cwd=cwd, text=True,
                          capture_output=True)


@pytest.fixture
def folder(site, tmp_path) -> Path:
    """A folder with the programs, and what tools need to know of packages that are apart."""
    for program in PROGRAMS:
        shutil.copy(TYPED / program, tmp_path)
    if len(flambeau.__path__) > 1:
        (tmp_path / "mypy.ini").write_text(
            f"[mypy]\nmypy_path = {site}\n[mypy-flambeau.*]\nfollow_imports = silent\n")
    return tmp_path


def test_mypy_accepts_the_programs(folder):
    done = run("mypy", "--strict", *PROGRAMS, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright_accepts_the_programs(site, folder):
    settings = {"include": list(PROGRAMS), "extraPaths": [str(site)]}
    settings |= {"typeCheckingMode": "standard"}    # pyright's own default
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = run("basedpyright", "--level", "error", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_sees_mistakes(folder):
    mistakes = {
        "flambeau.zeros('2')": "arg-type", "flambeau.ones(2).no_such_method()": "attr-defined",
        "F.conv2d(flambeau.ones(2))": "call-overload", "nn.Linear(2)": "call-arg",
        "flambeau.no_such_function(1)": "attr-defined",
        "func.vmap(F.relu, no=1)": "call-arg", "func.jvp(f, flambeau.ones(2))": "call-overload",
        "func.vmap(f)('x')": "arg-type", "flambeau.compile(f)(1)": "arg-type",
        "func.vjp(f, flambeau.ones(2))[2]": "misc"}
    lines = ["import flambeau, flambeau.nn.functional as F", "from flambeau import func, nn",
             "def f(x: flambeau.Tensor) -> flambeau.Tensor: return x", *mistakes]
    (folder / "client.py").write_text("\n".join(lines) + "\n")
    done = run("mypy", "--strict", "client.py", cwd=folder)
    found = re.findall(r"client.py:(\d+): error: .*\[(.+)\]", done.stdout)
    assert found == [(str(i), kind) for i, kind in enumerate(mistakes.values(), 4)], done.stdout


@pytest.mark.parametrize("code", [
    "import client, pathlib; assert client.main(pathlib.Path('.').resolve()) > 0.9",
    "import transforms; transforms.main()", "import names; names.main()"])
def test_the_program_runs(tmp_path, code):
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True,
                          capture_output=True, env={**os.environ,
                                                    "PYTHONPATH": os.pathsep.join(
                                                        [str(CLIENT.parent), *sys.path])})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("text", "names"), [
    ("import flambeau\nflambeau.", flambeau.__all__),
    ("import flambeau.nn.functional as F\nF.", F.__all__),
    ("import flambeau\nflambeau.zeros(2).", ("exp", "add_", "shape", "backward", "numpy")),
    ("from flambeau import nn\nnn.", ("Linear", "Conv2d", "Module", "functional")),
    ("import flambeau\nflambeau.optim.", ("SGD", "Adam", "lr_scheduler")),
    ("import flambeau\nflambeau.func.", flambeau.func.__all__),
    ("from flambeau import func\nfunc.", flambeau.func.__all__),
    ("from flambeau import nn\nnn.", nn.__all__),
    ("import flambeau\nflambeau.autograd.functional.", ("jacobian", "hessian", "vjp", "hvp")),
    ("from flambeau.optim import lr_scheduler\nlr_scheduler.", lr_scheduler.__all__),
    ("from flambeau.utils import data\ndata.", data.__all__),
    ("from flambeau import jit\njit.", ("trace", "compile", "Program", "script", "ignore")),
    ("import flambeau\nflambeau.linalg.", flambeau.linalg.__all__),
    ("import flambeau\nflambeau.special.", flambeau.special.__all__),
    ("import flambeau.array_api as xp\nxp.", ("add", "exp", "float32", "fft")),
    ("from flambeau import backends\nbackends.cudnn.", ("benchmark", "flags", "version")),
    ("import flambeau\nflambeau.zeros(2).max(0).", ("values", "indices")),
])
def test_editors_complete_names(site, text, names):
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(str(site), sys_path=[str(site)])
    found = {each.name for each in jedi.Script(text, project=project).complete()}
    assert sorted(set(names) - found) == []


def test_an_operator_is_defined_once(site):
    """``grep "def conv2d("`` leads to the definition that editors show."""
    files = [*site.joinpath("flambeau").rglob("*.py"), *site.joinpath("flambeau").rglob("*.pyi")]
    found = [file.name for file in files
             if re.search(r"^\s*def conv2d\(", file.read_text(), re.MULTILINE)]
    assert found == ["ops.pyi"]
