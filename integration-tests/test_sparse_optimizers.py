"""Optimizers on sparse gradients: rows that were not looked up stay as they are."""

import pytest

import flambeau
from flambeau import nn, optim


def table(sparse=True):
    start = flambeau.arange(8.0).view(4, 2) / 4
    return nn.Embedding(4, 2, sparse=sparse, _weight=start)


def trained(module, optimizer):
    for step in range(3):
        optimizer.zero_grad()
        (module(flambeau.tensor([1, 1, step])) ** 2).sum().backward()
        optimizer.step()
    return module.weight.detach()


@pytest.mark.parametrize(
    "name, options",
    [("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True}),
     ("SGD", {"maximize": True}), ("Adagrad", {}), ("Adagrad", {"lr_decay": 0.1})],
)  # fmt: skip
def test_as_with_dense_gradients(name, options):
    ends = []
    for sparse in (True, False):
        module = table(sparse)
        made = getattr(optim, name)(module.parameters(), lr=0.1, **options)
        ends.append(trained(module, made))
        assert module.weight.grad.is_sparse == sparse
    assert flambeau.allclose(*ends)


def test_sparse_adam_is_adam_where_there_are_gradients():
    module, other = table(), table(sparse=False)
    for m, kind in ((module, optim.SparseAdam), (other, optim.Adam)):
        optimizer = kind(m.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (m(flambeau.tensor([1, 1, 2])) ** 2).sum().backward()
            optimizer.step()
    assert flambeau.allclose(module.weight, other.weight)
    assert module.weight[0].tolist() == [0, 0.25]


def test_bags():
    bags = nn.EmbeddingBag(4, 2, sparse=True, padding_idx=3, _weight=flambeau.ones(4, 2))
    bags(flambeau.tensor([[1, 3], [1, 2]])).sum().backward()
    assert bags.weight.grad.is_sparse
    assert bags.weight.grad.to_dense().tolist() == [[0, 0], [1.5, 1.5], [0.5, 0.5], [0, 0]]


def test_what_needs_dense_gradients_says_what_to_use():
    module = table()
    module(flambeau.tensor([0])).sum().backward()
    with pytest.raises(RuntimeError, match="Adam does not support sparse.*SparseAdam"):
        optim.Adam(module.parameters()).step()
    with pytest.raises(RuntimeError, match="weight_decay"):
        optim.SGD(module.parameters(), lr=0.1, weight_decay=0.1).step()
    dense = table(sparse=False)
    dense(flambeau.tensor([0])).sum().backward()
    with pytest.raises(RuntimeError, match="dense gradients.*Adam"):
        optim.SparseAdam(dense.parameters()).step()
    with pytest.raises(ValueError, match="Invalid learning rate"):
        optim.SparseAdam([flambeau.ones(1)], lr=0.0)
