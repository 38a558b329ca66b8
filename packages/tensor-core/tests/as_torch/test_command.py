"""``python -m flambeau.as_torch`` reads its command line as Python does: both are compared."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile

import pytest

PYTHON = [sys.executable]
ALIAS = [sys.executable, "-m", "flambeau.as_torch"]
ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

SHOW = """
import sys
names = {name: str(value).partition(" at 0x")[0] for name, value in vars().items()}
del names["sys"]
print(sorted(names.items()), sys.argv, sys.path[0], sys.modules["__main__"].__name__)
"""


def run(command, folder, program=""):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder,
                          input=program, env=ENVIRONMENT)
    errors = [line for line in done.stderr.splitlines() if "<frozen runpy>" not in line]
    return done.returncode, done.stdout, errors


def same(arguments, folder, program=""):
    """What both answer: exit status, standard output, standard error."""
    theirs = run([*PYTHON, *arguments], folder, program)
    assert run([*ALIAS, *arguments], folder, program) == theirs
    return theirs


@pytest.fixture
def folder(tmp_path):
    for name in ("program.py", "package/__main__.py", "package/module.py", "empty/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SHOW if "empty" not in name else "")
    with zipfile.ZipFile(tmp_path / "archive.pyz", "w") as archive:
        archive.writestr("__main__.py", SHOW)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.py").symlink_to(tmp_path / "program.py")
    return tmp_path


@pytest.mark.parametrize("arguments", [
    ["program.py", "-c", "x"], ["./program.py"], ["elsewhere/link.py", "1"],
    ["package", "--flag"], ["archive.pyz", "1"],
    ["-m", "program", "-m", "y"], ["-mprogram", "1"], ["-m", "package", "1"],
    ["-m", "package.module"], ["-c", SHOW, "-1"], ["-c" + SHOW, "a b"], ["-", "1", "-"], []],
    ids=str)
def test_programs_see_the_same(arguments, folder):
    status, output, errors = same(arguments, folder, SHOW)
    assert status == 0 and "__main__" in output and not errors


@pytest.mark.parametrize("arguments", [
    ["absent.py"], ["-m", "absent"], ["-m", "empty"], ["-m", "empty.absent"], ["elsewhere"],
    ["-m", "absent.module"]], ids=str)
def test_what_is_not_there_is_refused_alike(arguments, folder):
    assert same(arguments, folder)[0] in (1, 2)


@pytest.mark.parametrize("arguments", [["-c"], ["-m"], ["--absent"]], ids=str)
def test_command_lines_without_meaning_are_refused(arguments, folder):
    (ours, _, errors), (theirs, _, said) = (run([*how, *arguments], folder)
                                            for how in (ALIAS, PYTHON))
    assert ours == theirs == 2 and errors[0] == said[0] and "usage" in errors[1]


@pytest.mark.parametrize("program", [
    "def f():\n    return 1 / 0\nf()", "x = (", "import sys; sys.exit(7)",
    "import sys; sys.exit('so')", "raise SystemExit", "import absent",
    "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('b') from e",
    "import sys; sys.excepthook = lambda kind, value, tb: print(kind, tb.tb_lineno)\n1 / 0",
    "raise ExceptionGroup('many', [ValueError(1), KeyError(2)])"])
@pytest.mark.parametrize("how", ["file", "-c", "-"])
def test_errors_and_exits_are_reported_alike(how, program, folder):
    (folder / "failing.py").write_text(program)
    arguments = {"file": ["failing.py"], "-c": ["-c", program], "-": ["-"]}[how]
    status, _, errors = same(arguments, folder, program)
    assert not any("as_torch" in line for line in errors)
    assert status or program == "raise SystemExit"


def test_an_error_of_a_module_shows_its_lines_alone(folder):
    (folder / "failing.py").write_text("1 / 0")
    status, _, errors = same(["-m", "failing"], folder)
    assert status == 1 and len(errors) in (4, 5)


def test_an_interrupt_ends_the_process_by_its_signal(folder):
    status, _, errors = same(["-c", "raise KeyboardInterrupt"], folder)
    assert status == -signal.SIGINT and errors[-1] == "KeyboardInterrupt"


def test_the_last_error_is_the_programs(folder):
    program = ("import atexit, sys\n"
               "atexit.register(lambda: print(sys.last_traceback.tb_lineno, sys.last_value))\n"
               "1 / 0")
    assert same(["-c", program], folder)[1] == "3 division by zero\n"


def test_what_is_read_from_standard_input_has_the_alias(folder):
    assert run([*ALIAS, "-"], folder, "import torch; print('flambeau' in torch.__version__)")[1] \
        == "True\n"


def test_the_usage_is_printed_on_demand(folder):
    status, output, _ = run([*ALIAS, "--help"], folder)
    assert status == 0 and output.startswith("usage: ")
