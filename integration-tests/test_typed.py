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

CLIENT = Path(__file__).parent / "typed" / "client.py"


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
    """A folder with the program, and what tools need to know of packages that are apart."""
    shutil.copy(CLIENT, tmp_path)
    if len(flambeau.__path__) > 1:
        (tmp_path / "mypy.ini").write_text(
            f"[mypy]\nmypy_path = {site}\n[mypy-flambeau.*]\nfollow_imports = silent\n")
    return tmp_path


def test_mypy_accepts_the_program(folder):
    done = run("mypy", "--strict", "client.py", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright_accepts_the_program(site, folder):
    settings = {"include": ["client.py"], "extraPaths": [str(site)]}
    settings |= {"typeCheckingMode": "standard"}    # pyright's own default
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = run("basedpyright", "--level", "error", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_sees_mistakes(folder):
    mistakes = {
        "flambeau.zeros('2')": "arg-type", "flambeau.ones(2).no_such_method()": "attr-defined",
        "F.conv2d(flambeau.ones(2))": "call-overload", "nn.Linear(2)": "call-arg",
        "flambeau.no_such_function(1)": "attr-defined"}
    lines = ["import flambeau, flambeau.nn.functional as F", "from flambeau import nn", *mistakes]
    (folder / "client.py").write_text("\n".join(lines) + "\n")
    done = run("mypy", "--strict", "client.py", cwd=folder)
    found = re.findall(r"client.py:(\d+): error: .*\[(.+)\]", done.stdout)
    assert found == [(str(i), kind) for i, kind in enumerate(mistakes.values(), 3)], done.stdout


def test_the_program_runs(tmp_path):
    code = "import client, pathlib; assert client.main(pathlib.Path('.').resolve()) > 0.9"
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
])
def test_editors_complete_names(site, text, names):
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(str(site), added_sys_path=[str(site)])
    found = {each.name for each in jedi.Script(text, project=project).complete()}
    assert sorted(set(names) - found) == []


def test_an_operator_is_defined_once(site):
    """``grep "def conv2d("`` leads to the definition that editors show."""
    files = [*site.joinpath("flambeau").rglob("*.py"), *site.joinpath("flambeau").rglob("*.pyi")]
    found = [file.name for file in files
             if re.search(r"^\s*def conv2d\(", file.read_text(), re.MULTILINE)]
    assert found == ["ops.pyi"]
