"""Layouts that a function does not make are refused, not ignored."""

import pytest

import flambeau

CALLS = {
    "ones": (3,), "full": ((3,), 1.0), "rand": (3,), "randn": (3,), "arange": (3,), "eye": (3,),
    "linspace": (0, 1, 3), "logspace": (0, 1, 3), "randint": (3, (2,)), "randperm": (3,),
    "empty_strided": ((2,), (1,)), "hann_window": (3,), "kaiser_window": (3,)}
LIKE = ("zeros_like", "ones_like", "rand_like", "randn_like", "empty_like")


@pytest.mark.parametrize("name", CALLS)
def test_sparse_layouts_are_refused(name):
    make = getattr(flambeau, name)
    with pytest.raises(NotImplementedError, match=f"{name}.. is not implemented for sparse layout"):
        make(*CALLS[name], layout=flambeau.sparse_coo)
    assert make(*CALLS[name], layout=flambeau.strided).layout == flambeau.strided


@pytest.mark.parametrize("name", LIKE)
def test_sparse_layouts_of_tensors_like_others_are_refused(name):
    make, x = getattr(flambeau, name), flambeau.ones(3)
    with pytest.raises(NotImplementedError, match=f"{name}.. is not implemented for sparse layout"):
        make(x, layout=flambeau.sparse_csr)
    assert make(x, layout=x.layout).shape == x.shape


@pytest.mark.parametrize("name", ["hann", "kaiser", "general_hamming", "gaussian"])
def test_windows_are_strided(name):
    make = getattr(flambeau.signal.windows, name)
    with pytest.raises(ValueError, match="implemented for strided tensors only"):
        make(3, layout=flambeau.sparse_coo)
    assert make(3, layout=flambeau.strided).shape == (3,)


def test_new_methods_refuse_sparse_layouts():
    x = flambeau.ones(2)
    for name, size in (("new_zeros", (2,)), ("new_ones", (2,)), ("new_empty", (2,))):
        with pytest.raises(NotImplementedError, match="sparse layout"):
            getattr(x, name)(size, layout=flambeau.sparse_coo)


@pytest.mark.parametrize("make", [flambeau.zeros, flambeau.ones])
def test_what_is_no_layout_is_refused(make):
    with pytest.raises(TypeError, match="'layout' must be a layout such as flambeau.strided"):
        make(3, layout=3)
    with pytest.raises(TypeError, match="'layout' must be a layout such as flambeau.strided"):
        flambeau.zeros_like(flambeau.ones(3), layout=3)
