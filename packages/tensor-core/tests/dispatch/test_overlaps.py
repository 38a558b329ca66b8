"""Tensors that a call reads and writes at once: what is refused, and what is computed apart."""
import pytest

import flambeau
from flambeau import tensor

SHARED = "some elements of the input tensor and the written-to tensor refer to a single memory"


def numbers(n=6):
    return flambeau.arange(float(n))


# ---- an input in the memory written to

REFUSED = {
    "copy_": lambda x: x[1:].copy_(x[:-1]),
    "copy_ of the transpose": lambda x: x[:4].view(2, 2).copy_(x[:4].view(2, 2).t()),
    "setitem": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "add_": lambda x: x[1:].add_(x[:-1]),
    "iadd": lambda x: x[1:].__iadd__(x[:-1]),
    "exp": lambda x: flambeau.exp(x[:-1], out=x[1:]),
    "lerp": lambda x: flambeau.lerp(x[:2], x[2:4], x[3:5], out=x[4:6]),
    "addcmul_": lambda x: x[:3].addcmul_(x[1:4], x[3:]),
    "cumsum": lambda x: flambeau.cumsum(x[:-1], 0, out=x[1:]),
    "cat": lambda x: flambeau.cat([x[:3], x[2:4]], out=x[1:]),
    "index_add_": lambda x: x.index_add_(0, tensor([2, 1, 0]), x[:3]),
    "index_copy_": lambda x: x.index_copy_(0, tensor([2, 1, 0]), x[:3]),
    "index_put_": lambda x: x.index_put_((tensor([2, 1, 0]),), x[:3]),
    "index_select": lambda x: flambeau.index_select(x, 0, tensor([2, 1]), out=x[:2]),
    "put_": lambda x: x.put_(tensor(2), x[0]),
    "scatter_": lambda x: x.scatter_(0, tensor([2, 1, 0]), x[:3]),
    "gather": lambda x: flambeau.gather(x, 0, tensor([2, 1]), out=x[1:3]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_inputs_in_part_of_the_memory_written_to(name):
    x = numbers()
    with pytest.raises(RuntimeError, match=SHARED):
        REFUSED[name](x)
    assert x.tolist() == numbers().tolist()


@pytest.mark.parametrize("write", [
    lambda i: i.scatter_(0, i, i.clone()), lambda i: i.scatter_(0, i.clone(), i),
    lambda i: i.index_add_(0, i, i.clone()), lambda i: i.index_copy_(0, i.clone(), i),
    lambda i: i.index_fill_(0, i, 0), lambda i: i.index_put_((i,), i.clone()),
    lambda i: i.put_(i.clone(), i), lambda i: flambeau.take(numbers().long(), i, out=i)])
def test_an_index_that_is_written_to(write):
    index = tensor([2, 1, 0])
    with pytest.raises(RuntimeError, match=SHARED):
        write(index)
    assert index.tolist() == [2, 1, 0]


def test_the_same_memory_in_the_same_order():
    x = numbers()
    flambeau.add(x, x.view(6), out=x[:])
    assert x.tolist() == [0, 2, 4, 6, 8, 10]
    x.copy_(x[:])
    x.clamp_(min=x.view(6))
    assert x.tolist() == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize(("write", "expected"), [
    (lambda x: x[::2].add_(x[1::2]), [1, 1, 5, 3, 9, 5]),           # memory with gaps
    (lambda x: x[::2].copy_(x[:3]), [0, 1, 1, 3, 2, 5]),
    (lambda x: flambeau.softmax(x[:2] * 0 + x[1:3] * 0, 0, out=x[1:3]), [0, 0.5, 0.5, 3, 4, 5]),
    (lambda x: flambeau.mv(x[:4].view(2, 2), x[4:], out=x[3:5]), [0, 1, 2, 5, 23, 5]),
    (lambda x: flambeau.amax(x.view(3, 2), 1, out=x[1:4]), [0, 1, 3, 5, 4, 5])])
def test_what_is_computed_apart(write, expected):
    x = numbers()
    write(x)
    assert x.tolist() == expected


# ---- expanded tensors, written to through an index

INDEX = tensor([2, 1, 0])
MASK = tensor([True, False, True, True, False, False])


@pytest.mark.parametrize(("write", "expected"), [
    (lambda x: x.index_fill_(0, INDEX, 1.5), 1.5),
    (lambda x: x.index_fill_(0, tensor([-1]), tensor(2.0)), 2),
    (lambda x: x.index_put_((INDEX,), tensor([1.0, 2, 3])), 3),
    (lambda x: x.index_put_((INDEX,), tensor([1.0, 2, 3]), accumulate=True), 6),
    (lambda x: x.__setitem__(INDEX, tensor([1.0, 2, 3])), 3),
    (lambda x: x.__setitem__(MASK, 5), 5),
    (lambda x: x.masked_fill_(MASK, 1.0), 1),
    (lambda x: x.masked_fill_(MASK, tensor(4.0)), 4)])
def test_expanded_tensors(write, expected):
    base = flambeau.zeros(1)
    x = base.expand(6)
    with pytest.warns(UserWarning, match="on expanded tensors is deprecated"):
        write(x)
    assert base.item() == expected


def test_expanded_rows():
    base = flambeau.zeros(3)
    x = base.expand(2, 3)
    with pytest.warns(UserWarning, match="index_put_ on expanded tensors"):
        x[:, tensor([2, 0])] = tensor([[1.0, 2], [3, 4]])
    assert base.tolist() == [4, 0, 3]
    windows = flambeau.zeros(4).unfold(0, 3, 1)         # in steps of 1, which says nothing
    windows.masked_fill_(flambeau.eye(3)[:2] > 0, 1)
    assert windows.tolist() == [[1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("write", [
    lambda x: x.put_(INDEX, numbers(3)), lambda x: x.scatter_(0, INDEX, 1.0),
    lambda x: x.index_add_(0, INDEX, numbers(3)), lambda x: x.masked_scatter_(MASK, numbers(3))])
def test_other_writes_to_expanded_tensors_are_refused(write):
    with pytest.raises(RuntimeError, match="more than one element"):
        write(flambeau.zeros(1).expand(6))


def test_an_element_that_is_written_to_itself():
    x = numbers(1)
    x[:] = x[0]
    x.copy_(x.view(()))
    assert x.tolist() == [0]
