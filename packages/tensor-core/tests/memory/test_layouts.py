"""Memory formats and the layout: objects of their own kinds, which print as names do."""
from __future__ import annotations

import copy
import pickle

import pytest

import flambeau

FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


@pytest.mark.parametrize("name", FORMATS)
def test_formats_print_as_their_names(name):
    value = getattr(flambeau, name)
    assert type(value) is flambeau.memory_format
    assert repr(value) == str(value) == f"{value}" == f"flambeau.{name}"
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    assert type(pickle.loads(pickle.dumps(value))) is flambeau.memory_format
    assert value == name


@pytest.mark.oracle
@pytest.mark.parametrize("name", (*FORMATS, "strided"))
def test_names_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    assert repr(getattr(flambeau, name)).replace("flambeau", "torch") == repr(getattr(torch, name))


def test_every_tensor_is_strided():
    assert flambeau.ones(2).layout is flambeau.strided
    assert isinstance(flambeau.strided, flambeau.layout)
    assert repr(flambeau.strided) == "flambeau.strided"
    assert flambeau.zeros(2, layout=flambeau.strided).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("given", (flambeau.channels_last, "channels_last"))
def test_formats_and_their_plain_words_are_taken(given):
    x = flambeau.ones(2, 3, 4, 5)
    for y in (x.to(memory_format=given), x.contiguous(memory_format=given),
              x.clone(memory_format=given), flambeau.empty_like(x, memory_format=given)):
        assert y.stride() == (60, 1, 15, 3)
        assert y.is_contiguous(memory_format=given)
    assert x.is_contiguous(memory_format=flambeau.contiguous_format)
