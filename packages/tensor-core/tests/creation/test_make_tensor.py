"""Random tensors for tests: intervals, layouts, and what is refused."""
from __future__ import annotations

import pytest

import flambeau
from flambeau.testing import make_tensor

WHOLE = (("bool", 0, 2), ("uint8", 0, 10), ("int8", -9, 10), ("int16", -9, 10), ("int64", -9, 10))


@pytest.mark.parametrize(("name", "low", "high"), WHOLE)
def test_whole_numbers_fill_their_interval(name, low, high):
    flambeau.manual_seed(0)
    x = make_tensor(40, 50, dtype=getattr(flambeau, name))
    assert x.dtype is getattr(flambeau, name)
    assert sorted(set(x.flatten().tolist())) == list(range(low, high))


@pytest.mark.parametrize("name", ("float16", "bfloat16", "float32", "float64", "complex64",
                                  "complex128"))
def test_floating_values_fill_their_interval(name):
    flambeau.manual_seed(0)
    x = make_tensor((60, 70), dtype=getattr(flambeau, name))
    parts = flambeau.view_as_real(x) if x.is_complex() else x
    assert x.dtype is getattr(flambeau, name)
    assert -9 <= parts.min() < -8.9
    assert 8.9 < parts.max() <= 9


def test_limits_are_moved_into_the_range_of_the_dtype():
    x = make_tensor(200, dtype=flambeau.uint8, low=-50, high=3)
    assert set(x.tolist()) == {0, 1, 2}
    assert make_tensor(9, dtype=flambeau.float16, low=1e6, high=1e9).tolist() == [65504.0] * 9
    wide = make_tensor(9, dtype=flambeau.float64, low=-float("inf"), high=float("inf"))
    assert wide.isfinite().all()


def test_layouts():
    gaps = make_tensor(3, 4, dtype=flambeau.float32, noncontiguous=True)
    assert gaps.shape == (3, 4)
    assert not gaps.is_contiguous()
    last = make_tensor(2, 3, 4, 5, dtype=flambeau.float32, memory_format=flambeau.channels_last)
    assert last.stride() == (60, 1, 15, 3)
    assert make_tensor((), dtype=flambeau.int64).shape == ()
    assert make_tensor(0, 2, dtype=flambeau.int64, noncontiguous=True).shape == (0, 2)
    assert make_tensor([2], dtype=flambeau.float32, device="meta").device.type == "meta"


def test_without_zeros():
    assert set(make_tensor(99, dtype=flambeau.bool, exclude_zero=True).tolist()) == {True}
    x = make_tensor(300, dtype=flambeau.int64, low=0, high=2, exclude_zero=True)
    assert set(x.tolist()) == {1}


@pytest.mark.parametrize(("kind", "given"), (
    (ValueError, {"low": 3, "high": 2}), (ValueError, {"low": float("nan")}),
    (ValueError, {"low": 5, "high": 5}), (RuntimeError, {"requires_grad": True}),
    (ValueError, {"noncontiguous": True, "memory_format": flambeau.contiguous_format})))
def test_mistakes_are_refused(kind, given):
    with pytest.raises(kind, match="make_tensor"):
        make_tensor(2, dtype=flambeau.int64, **given)


def test_gradients():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert make_tensor(2, dtype=flambeau.float32, requires_grad=True).requires_grad
