"""The namespace table: what is absent names the package that has it, however it is asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import flambeau
from flambeau import rooms


@pytest.fixture
def absent_room(monkeypatch):
    """A room and a name in it that no installed package has."""
    monkeypatch.setitem(rooms.ROOMS, "attic", "flambeau-attic")
    monkeypatch.setitem(rooms.ROOMS, "utils.attic", "flambeau-attic")
    monkeypatch.setitem(rooms.NAMES, "sweep", "attic")
    return "is in flambeau-attic: pip install flambeau-attic"


@pytest.fixture
def present_room(monkeypatch, tmp_path):
    """A room that another folder on the path adds to the namespace."""
    (tmp_path / "cellar.py").write_text("def barrel(): return 42\n")
    monkeypatch.setitem(rooms.ROOMS, "cellar", "flambeau-cellar")
    monkeypatch.setitem(rooms.NAMES, "barrel", "cellar")
    monkeypatch.setattr(flambeau, "__path__", [*flambeau.__path__, str(tmp_path)])
    yield tmp_path
    sys.modules.pop("flambeau.cellar", None)
    for name in ("cellar", "barrel"):
        vars(flambeau).pop(name, None)


def test_absent_room_as_attribute(absent_room):
    with pytest.raises(ModuleNotFoundError) as error:
        flambeau.attic  # noqa: B018
    assert str(error.value) == f"flambeau.attic {absent_room}"
    assert error.value.name == "flambeau.attic"


def test_absent_room_as_import(absent_room):
    with pytest.raises(ModuleNotFoundError) as error:
        importlib.import_module("flambeau.attic")
    assert str(error.value) == f"flambeau.attic {absent_room}"


def test_absent_room_below_as_import_names_the_room(absent_room):
    with pytest.raises(ModuleNotFoundError, match="^flambeau.attic is in flambeau-attic"):
        importlib.import_module("flambeau.attic.trunk")


def test_absent_room_of_utils(absent_room):
    import flambeau.utils

    with pytest.raises(ModuleNotFoundError) as error:
        flambeau.utils.attic  # noqa: B018
    assert str(error.value) == f"flambeau.utils.attic {absent_room}"
    with pytest.raises(ModuleNotFoundError, match="^flambeau.utils.attic is in"):
        importlib.import_module("flambeau.utils.attic")


def test_absent_name_says_what_was_asked_for(absent_room):
    with pytest.raises(ModuleNotFoundError) as error:
        flambeau.sweep  # noqa: B018
    assert str(error.value) == f"flambeau.sweep {absent_room}"


def test_present_room_and_name(present_room):
    assert flambeau.barrel() == 42
    assert "barrel" in vars(flambeau), "the second access should not come back here"
    assert flambeau.cellar.barrel is flambeau.barrel
    assert rooms.installed("cellar")


def test_broken_room_tells_its_own_error(present_room):
    (present_room / "cellar.py").write_text("import no_such_dependency\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        flambeau.cellar  # noqa: B018


def test_installed_is_false_for_an_absent_room(absent_room):
    assert not rooms.installed("attic")


@pytest.mark.parametrize(
    ("name", "instead"),
    [("utils.model_zoo", "hub"), ("utils.cpp_extension", "op"), ("utils.bottleneck", "prof")],
)
def test_modules_that_are_not_made_say_what_to_use(name, instead):
    with pytest.raises(
        ModuleNotFoundError, match=f"^No module named 'flambeau.{name}'; .*{instead}"
    ):
        importlib.import_module(f"flambeau.{name}")


def test_other_names_are_left_alone():
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        flambeau.no_such_name  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="^No module named 'flambeau.no_such_name'$"):
        importlib.import_module("flambeau.no_such_name")
    with pytest.raises(ModuleNotFoundError, match="^No module named 'no_such_name'$"):
        importlib.import_module("no_such_name")
    assert not hasattr(flambeau, "no_such_name")


def test_unknown_name_is_refused():
    with pytest.raises(ValueError, match="'nnn' is neither a room nor a name"):
        rooms.enter("nnn")


def test_finder_is_last_and_once():
    rooms.explain_absent_rooms()
    assert sys.meta_path[-1] is rooms._AbsentRooms
    assert sys.meta_path.count(rooms._AbsentRooms) == 1


def test_every_name_is_filled_in_from_a_room():
    assert set(rooms.NAMES.values()) <= set(rooms.ROOMS)


def test_importing_the_core_imports_no_room_and_no_numpy():
    code = "import sys; old = set(sys.modules); import flambeau; print(*set(sys.modules) - old)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(run.stdout.split())
    assert not loaded & {f"flambeau.{room}" for room in rooms.ROOMS}
    assert not loaded & {"numpy", "scipy_openblas32", "cupy", "llvmlite", "subprocess"}
