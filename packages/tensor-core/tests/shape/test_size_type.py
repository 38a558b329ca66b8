"""flambeau.Size: a tuple whose slices and sums are sizes."""

import copy
import pickle

import pytest

import flambeau

SIZE = flambeau.zeros(2, 3, 4).shape


@pytest.mark.parametrize(("made", "wanted"), [
    (SIZE[1:], (3, 4)), (SIZE[::-1], (4, 3, 2)), (SIZE[:0], ()), (SIZE + (1,), (2, 3, 4, 1)),
    (SIZE + [1], (2, 3, 4, 1)), ((1,) + SIZE, (1, 2, 3, 4)), ([1] + SIZE, (1, 2, 3, 4)),
    (SIZE + SIZE[:1], (2, 3, 4, 2)), (flambeau.Size([5]) + SIZE[1:], (5, 3, 4)),
    (SIZE[1:] * 2, (3, 4, 3, 4)), (2 * SIZE[1:], (3, 4, 3, 4)), (SIZE * 0, ()),
    (pickle.loads(pickle.dumps(SIZE)), (2, 3, 4)), (copy.deepcopy(SIZE), (2, 3, 4)),
])
def test_slices_sums_and_copies_are_sizes(made, wanted):
    assert type(made) is flambeau.Size
    assert made == wanted
    assert made.numel() == flambeau.zeros(wanted).numel()


def test_items_are_those_of_a_tuple():
    assert [SIZE[i] for i in (0, 1, 2, -1, -3, True)] == [2, 3, 4, 4, 2, 3]
    assert isinstance(SIZE, tuple)
    assert hash(SIZE) == hash((2, 3, 4))


@pytest.mark.parametrize("index", [3, -4, 2**70, -(2**70)])
def test_items_beyond_the_end(index):
    with pytest.raises(IndexError):
        SIZE[index]


@pytest.mark.parametrize("index", ["a", 1.0, None])
def test_indices_that_are_none(index):
    with pytest.raises(TypeError):
        SIZE[index]


def test_sums_with_what_is_no_sequence():
    with pytest.raises(TypeError):
        SIZE + 5
    with pytest.raises(TypeError):
        5 + SIZE
