"""``flambeau.testing.assert_close``: what it lets pass, and what it says of the rest."""

import pytest

import flambeau
from flambeau.testing import assert_close


def test_tolerances_follow_from_the_dtype():
    one = flambeau.ones(3)
    assert_close(one + 1e-6, one)
    with pytest.raises(AssertionError, match="3 of 3 elements differ"):
        assert_close(one.double() + 1e-6, one.double())
    with pytest.raises(AssertionError, match="1 of 1"):
        assert_close(flambeau.tensor(2), flambeau.tensor(3))


def test_the_first_difference_is_shown():
    with pytest.raises(AssertionError, match=r"first at \(1, 0\): got 5.0, expected 3.0"):
        assert_close(flambeau.tensor([[1.0], [5.0]]), flambeau.tensor([[1.0], [3.0]]))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (flambeau.ones(2, dtype=flambeau.float64), "dtype"),
        (flambeau.ones(3), "shape"),
        (flambeau.tensor([1.0, float("nan")]), "1 of 2"),
        ("text", "only tensors"),
    ],
)
def test_what_differs_is_named(other, said):
    with pytest.raises(AssertionError, match=said):
        assert_close(flambeau.ones(2), other)


def test_checks_can_be_left_out():
    assert_close(flambeau.ones(2), flambeau.ones(2, dtype=flambeau.int64), check_dtype=False)
    square = flambeau.ones(2, 2)
    assert_close(square, flambeau.ones(4, 2)[::2])
    with pytest.raises(AssertionError, match="stride"):
        assert_close(flambeau.ones(2, 3), flambeau.ones(3, 2).t(), check_stride=True)


def test_nan_is_close_to_nan_only_when_asked():
    nan = flambeau.tensor([float("nan"), float("inf")])
    with pytest.raises(AssertionError):
        assert_close(nan, nan)
    assert_close(nan, nan, equal_nan=True)


def test_none_is_only_none():
    assert_close({"a": None}, {"a": None})
    with pytest.raises(AssertionError, match="only tensors"):
        assert_close(None, flambeau.ones(1))


def test_nests_are_walked():
    assert_close(
        {"a": [1, 2.0], "b": (flambeau.ones(1),)}, {"a": [1, 2.0], "b": (flambeau.ones(1),)}
    )
    with pytest.raises(AssertionError, match=r"at \['a'\]\[1\]"):
        assert_close({"a": [1, 2.0]}, {"a": [1, 2.5]})
    with pytest.raises(AssertionError, match="keys"):
        assert_close({"a": 1}, {"b": 1})
    with pytest.raises(AssertionError, match="2 items, expected 1"):
        assert_close([1, 2], [1])


def test_both_tolerances_or_none():
    with pytest.raises(ValueError, match="together"):
        assert_close(1.0, 1.0, rtol=0.1)
    assert_close(1.0, 1.05, rtol=0.1, atol=0.0)


def test_the_message_can_be_replaced():
    with pytest.raises(AssertionError, match="^mine: 1 of 1"):
        assert_close(1, 2, msg=lambda text: f"mine: {text}")
    with pytest.raises(AssertionError, match="^plain$"):
        assert_close(1, 2, msg="plain")


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_tolerances_are_those_of_pytorch(dtype):
    torch = pytest.importorskip("torch")
    from torch.testing._comparison import default_tolerances

    from flambeau.testing.closeness import _TOLERANCES

    assert default_tolerances(getattr(torch, dtype)) == _TOLERANCES[dtype]
