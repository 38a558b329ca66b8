"""What ``help`` says of operators: every parameter, the result, the errors."""

from __future__ import annotations

import re

import pytest

import flambeau
from flambeau.core import _core, operator_docs

NAMES = sorted(name for name in dir(flambeau)
               if type(getattr(flambeau, name)).__name__ == "Operator")


def section(text, title):
    """The lines under a title, by what stands before their colon."""
    found = re.search(rf"^{title}:\n((?:    .*\n?)+)", text, re.M)
    lines = found[1].splitlines() if found else []
    return dict(line.strip().split(": ", 1) for line in lines if ": " in line)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_of_every_form_is_named(name):
    operator = getattr(flambeau, name)
    told = section(operator.__doc__, "Args")
    wanted = {p for key in operator.keys for p in _core.find_op(key).params}
    assert set(told) == wanted
    assert all(text.endswith(".") and "?" not in text for text in told.values())
    assert "TypeError" in section(operator.__doc__, "Raises")


def test_texts():
    told = section(flambeau.sum.__doc__, "Args")
    assert told["dim"] == "int or ints or None: dimensions; negative ones count from the last."
    assert told["keepdim"] == "bool: whether the dimensions that are reduced stay, with size 1."
    assert section(flambeau.add.__doc__, "Args")["other"] == (
        "Tensor or number, broadcast with the others.")
    assert section(flambeau.fft.fft.__doc__, "Args")["norm"].startswith('str or None: "backward"')
    assert "A named tuple (values, indices)." in flambeau.max.__doc__
    assert "integers and bool give the default float dtype" in flambeau.exp.__doc__
    assert "``self``, which is written to." in flambeau.exp_.__doc__
    assert "shares memory with ``self``" in flambeau.diagonal.__doc__


def test_parameters_say_whether_none_will_do():
    parameters = {p.name: p for p in _core.find_op("sum").parameters}
    assert parameters["dim"].optional
    assert not parameters["keepdim"].optional
    assert operator_docs.errors(_core.find_op("exp")) == [
        ("TypeError", "An argument is of another kind.")]
