"""graph.allow_mutation_on_saved_tensors: gradients are those of the values that were saved."""
import pytest

import flambeau
from flambeau.autograd.graph import allow_mutation_on_saved_tensors


def _leaf(*numbers):
    return flambeau.tensor(numbers, requires_grad=True)


@pytest.mark.parametrize("write", [
    lambda y: y.zero_(), lambda y: y.mul_(3), lambda y: y.sin_(), lambda y: y.fill_(7),
    lambda y: y.__setitem__(0, 9.0), lambda y: y[:1].add_(5), lambda y: y.view(-1).exp_(),
    lambda y: y.copy_(flambeau.ones(2))])
def test_a_saved_input_is_written_to(write):
    x = _leaf(1.0, 2.0)
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        loss = (y**2).sum()
        write(y)
        loss.backward()
    assert x.grad.tolist() == [2, 4]


def test_a_saved_result_is_written_to():
    x = _leaf(0.0, 0.0)
    with allow_mutation_on_saved_tensors():
        y = x.exp()
        loss = y.sum()
        y.detach().mul_(100)
        loss.backward()
    assert x.grad.tolist() == [1, 1]


def test_each_time_of_saving_has_its_own_values():
    x = _leaf(1.0, 2.0)
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        first = (y**2).sum()
        y.mul_(3)
        second = (y**2).sum()
        y.zero_()
        (first + second).backward()
    assert x.grad.tolist() == [20, 40]


def test_writes_without_recording():
    w = _leaf(3.0)
    x = _leaf(2.0)
    with allow_mutation_on_saved_tensors():
        loss = w * x
        with flambeau.no_grad():
            w.sub_(1)
        loss.backward()
    assert (w.grad.item(), x.grad.item()) == (2, 3)


def test_second_order():
    x = _leaf(2.0)
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        loss = (y**3).sum()
        y.zero_()
        (first,) = flambeau.autograd.grad(loss, x, create_graph=True)
        (second,) = flambeau.autograd.grad(first, x)
    assert (first.item(), second.item()) == (12, 12)


def test_backward_belongs_into_the_block():
    x = _leaf(1.0, 2.0)
    with allow_mutation_on_saved_tensors() as block:
        inside = (x.clone()**2).sum()
        block.clear()
        with pytest.raises(AssertionError, match="move backward"):
            inside.backward()
        loss = (x.clone()**2).sum()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors'"):
        loss.backward()


def test_outside_of_the_block_writes_are_refused_again():
    x = _leaf(1.0, 2.0)
    with allow_mutation_on_saved_tensors():
        pass
    y = x.clone()
    loss = (y**2).sum()
    y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_blocks_do_not_nest():
    with allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="cannot be nested"), \
                allow_mutation_on_saved_tensors():
            pass
        x = _leaf(1.0, 2.0)             # the outer block goes on
        y = x.clone()
        loss = (y**2).sum()
        y.zero_()
        loss.backward()
    assert x.grad.tolist() == [2, 4]
    with allow_mutation_on_saved_tensors():
        pass


def test_copies_are_shared_and_given_up_with_their_nodes():
    with allow_mutation_on_saved_tensors() as block:
        a = _leaf(1.0, 2.0).clone()
        first, second = a**2, a**2
        assert (len(block.tid_to_weakhandle), len(block.cloned)) == (1, 0)
        a.sin_()
        assert len(block.cloned) == 1
        later = a**2
        a.sin_()
        assert len(block.cloned) == 2
        del first, second
        assert len(block.cloned) == 1
        later.sum().backward()
        assert len(block.cloned) == 0
