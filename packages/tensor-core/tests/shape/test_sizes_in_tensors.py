"""Tensors of one integer where sizes, dimensions and lengths are given."""
import pytest

import flambeau
from flambeau import tensor

TWO, THREE = tensor(2), tensor(3)


@pytest.mark.parametrize(("made", "shape"), [
    (lambda x: x.view(TWO, -1), [2, 3]), (lambda x: x.view(-1, TWO), [3, 2]),
    (lambda x: x.view(TWO, THREE), [2, 3]), (lambda x: x.view(tensor(6)), [6]),
    (lambda x: x.view((TWO, 3)), [2, 3]), (lambda x: x.view(tensor([6])), [6]),
    (lambda x: x.reshape(THREE, 2), [3, 2]), (lambda x: x.repeat(TWO, 1), [2, 6]),
    (lambda x: x.tile(1, TWO), [1, 12]), (lambda x: x.view(1, 6).expand(TWO, -1), [2, 6]),
    (lambda x: x.view(1, 2, 3).permute(TWO, 0, 1), [3, 1, 2]),
    (lambda x: x.view(2, 3).flip(tensor(1), 0), [2, 3]),
    (lambda x: x.split(TWO)[0], [2]), (lambda x: x.split(tensor([2]))[-1], [2]),
    (lambda x: x.split(tensor([1, 5]))[1], [5]), (lambda x: x.clone().resize_(TWO, 2), [2, 2]),
    (lambda x: x.clone().resize_(THREE), [3]), (lambda x: x.narrow(0, THREE, TWO), [2])])
def test_a_size_in_a_tensor(made, shape):
    assert list(made(flambeau.arange(6.0)).shape) == shape


@pytest.mark.parametrize("size", [tensor(2.0), tensor(True), tensor([2, 3])])
def test_other_tensors_are_no_sizes(size):
    with pytest.raises(TypeError):
        flambeau.arange(6.0).view(1, size)


def test_copies_of_pieces_go_where_they_are_wanted():
    x, a, b = flambeau.arange(5.0), flambeau.zeros(3), flambeau.zeros(2)
    flambeau.split_copy(x, 3, out=(a, b))
    assert a.tolist() == [0, 1, 2]
    assert b.tolist() == [3, 4]
    rows = [flambeau.zeros(2), flambeau.zeros(2)]
    flambeau.unbind_copy(x[:4].view(2, 2), out=rows)
    assert rows[1].tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="expected an out= argument of size 2"):
        flambeau.split_with_sizes_copy(x, [2, 3], out=[a])


def test_cuts_in_a_matrix_are_refused():
    x = flambeau.arange(6.0)
    assert [len(p) for p in x.tensor_split(tensor([1, 4]))] == [1, 3, 2]
    with pytest.raises(RuntimeError, match="but got a tensor with 2 dims"):
        x.tensor_split(tensor([[1]]))
