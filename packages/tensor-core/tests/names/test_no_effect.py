"""Names that change nothing: each row of the table is what it says, and none misleads."""
from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import warnings
from contextlib import AbstractContextManager

import pytest

import flambeau
from flambeau.core.compat import modules
from flambeau.core.compat.table import HOMES

ROWS = [(home, row) for home in HOMES for row in home.rows if row.is_public]
IDS = [modules.public_name(home.name, row) for home, row in ROWS]
CALLS = [(home, row) for home, row in ROWS if not row.is_variable]
WARNING = [(home, row) for home, row in ROWS if row.asks]
HERE = ("backends.", "core.", "cpu", "multiprocessing")


def _names(home):
    """The functions of a module, and what stands in their examples."""
    model = type("Model", (), {"named_parameters": None})()
    return {**modules.functions(home.name), "model": model}


@pytest.fixture(autouse=True)
def _as_before():
    states = {name: dict(state) for name, state in modules._STATES.items()}
    yield
    for name, state in modules._STATES.items():
        state.clear()
        state.update(states[name])
    modules._told.clear()


@pytest.mark.parametrize(("home", "row"), ROWS, ids=IDS)
def test_the_module_has_the_name(home, row):
    if not home.name.startswith(HERE):
        return
    module = importlib.import_module(f"flambeau.{home.name}")
    found = getattr(module, row.name)
    if row.is_variable:
        assert type(found) is type(row.result)
        setattr(module, row.name, found)
        return
    assert str(inspect.signature(found)).replace("'", "") == row.signature.replace('"', "")
    assert found.__doc__.startswith(row.here[0].upper() + row.here[1:])
    assert row.name in module.__all__


@pytest.mark.parametrize(("home", "row"), CALLS, ids=[modules.public_name(h.name, r)
                                                      for h, r in CALLS])
def test_the_call_gives_what_its_type_says(home, row):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(row.example or f"{row.name}()", _names(home))
    type_name = row.signature.rpartition("-> ")[2]
    if type_name.startswith("AbstractContextManager"):
        with result:
            return
    kinds = {"bool": bool, "int": int, "str": str, "None": type(None), "list[str]": list,
             "set[str]": set}
    assert isinstance(result, kinds.get(type_name, object))
    assert not isinstance(result, AbstractContextManager)


@pytest.mark.parametrize(("home", "row"), WARNING, ids=[modules.public_name(h.name, r)
                                                        for h, r in WARNING])
def test_what_has_an_effect_in_pytorch_warns_once(home, row):
    def ask():
        if row.is_variable:
            name, _, value = row.example.partition(" = ")
            setattr(importlib.import_module(f"flambeau.{home.name}"), name, eval(value))
        else:
            eval(row.example, _names(home))

    with pytest.warns(UserWarning, match="has no effect here") as caught:
        ask()
    assert row.instead in str(caught[0].message)
    assert caught[0].filename in (__file__, "<string>")
    ask()           # warnings are errors


def test_programs_that_set_what_holds_anyway_hear_nothing():
    flambeau.backends.cudnn.benchmark = True
    flambeau.backends.cudnn.deterministic = True
    flambeau.backends.cuda.matmul.allow_tf32 = True
    flambeau.set_float32_matmul_precision("high")
    flambeau.multiprocessing.set_sharing_strategy("file_system")
    assert flambeau.set_flush_denormal(False)
    assert flambeau.backends.cudnn.benchmark
    assert flambeau.get_float32_matmul_precision() == "high"


def test_settings_of_attention_hold_for_a_block():
    cuda = flambeau.backends.cuda
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled()
        assert cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled()


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'benchmrk'"):
        flambeau.backends.cudnn.benchmrk    # noqa: B018


def test_importing_the_library_does_not_read_the_table():
    code = "import flambeau, sys; assert 'flambeau.core.compat.table' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
