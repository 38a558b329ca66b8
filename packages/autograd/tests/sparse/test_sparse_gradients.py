"""Gradients through sparse tensors: those of the same computation with dense ones, masked."""
import copy

import numpy
import pytest

import flambeau
from flambeau import autograd

RNG = numpy.random.default_rng(5)
AT = flambeau.from_numpy(RNG.integers(0, 4, (2, 7)))
DENSE = flambeau.from_numpy(RNG.normal(size=(4, 4)))
OTHER = flambeau.from_numpy(RNG.normal(size=(4, 3)))

CALLS = {
    "to_dense": lambda s, d, o: s.to_dense() * d,
    "mm": lambda s, d, o: (s @ o) ** 2,
    "dense @ sparse": lambda s, d, o: (o.t() @ s) ** 2,
    "addmm": lambda s, d, o: flambeau.sparse.addmm(o, s, o, beta=2, alpha=3) ** 2,
    "mv": lambda s, d, o: s.mv(o[:, 0]) ** 2,
    "add": lambda s, d, o: (s + s * 2).to_dense() * d,
    "add to dense": lambda s, d, o: (d + s) * d,
    "mul": lambda s, d, o: (s * s).to_dense() * d,
    "mul by dense": lambda s, d, o: (s * d).to_dense() * d,
    "sin": lambda s, d, o: s.sin().to_dense() * d,
    "sum": lambda s, d, o: s.sum() * d,
    "sum of a dimension": lambda s, d, o: s.sum(1).to_dense() * d[0],
    "transpose": lambda s, d, o: s.t().to_dense() * d,
    "select": lambda s, d, o: s[1].to_dense() * d[0],
    "index_select": lambda s, d, o: s.index_select(0, AT[0]).to_dense() @ o,
    "cat": lambda s, d, o: flambeau.cat([s, s]).to_dense() ** 2,
    "sparse @ sparse": lambda s, d, o: (s @ s.t()).to_dense() ** 2,
    "csr": lambda s, d, o: (s.coalesce().to_sparse_csr() @ o) ** 2,
    "in place": lambda s, d, o: (s * 1).mul_(s).to_dense() * d,
}
DENSELY = {
    "sum of a dimension": lambda s, d, o: s.sum(1) * d[0],
    "select": lambda s, d, o: s[1] * d[0],
    "index_select": lambda s, d, o: s.index_select(0, AT[0]) @ o,
    "cat": lambda s, d, o: flambeau.cat([s, s]) ** 2,
    "sparse @ sparse": lambda s, d, o: (s @ s.t()) ** 2,
    "csr": lambda s, d, o: (s @ o) ** 2,
    "addmm": lambda s, d, o: flambeau.addmm(o, s, o, beta=2, alpha=3) ** 2,
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_values_and_of_dense_operands(name):
    values = flambeau.from_numpy(RNG.normal(size=7)).requires_grad_()
    results = []
    for call in (CALLS[name], DENSELY.get(name, CALLS[name])):
        dense, other = DENSE.clone().requires_grad_(), OTHER.clone().requires_grad_()
        s = flambeau.sparse_coo_tensor(AT, values, (4, 4))
        if call is not CALLS[name] or len(results) == 1:
            s = flambeau.zeros(16, dtype=flambeau.float64).index_add(
                0, AT[0] * 4 + AT[1], values).view(4, 4)
        loss = call(s, dense, other).sum()
        results.append(autograd.grad(loss, (values, dense, other), allow_unused=True))
    for mine, theirs in zip(*results, strict=True):
        if theirs is None:
            assert mine is None or not mine.any()
        else:
            numpy.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=1e-12)


def test_sparse_mm_gives_a_leaf_a_sparse_gradient_once_for_each_index():
    s = flambeau.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0], (2, 2),
                                   requires_grad=True)
    flambeau.sparse.mm(s, flambeau.tensor([[1.0], [2.0]])).sum().backward()
    assert s.grad.layout == flambeau.sparse_coo
    assert s.grad.to_dense().tolist() == [[0, 2], [1, 0]]
    flambeau.sparse.mm(s, flambeau.tensor([[1.0], [2.0]])).sum().backward()
    assert s.grad.to_dense().tolist() == [[0, 4], [2, 0]]


def test_compressed_leaf():
    s = flambeau.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr().requires_grad_()
    flambeau.sparse.mm(s, flambeau.tensor([[1.0], [2.0]])).sum().backward()
    assert s.grad.layout == flambeau.sparse_csr
    assert s.grad.values().tolist() == [2, 1]


COLUMN, ROW = flambeau.tensor([[1.0], [2.0]]), flambeau.tensor([[1.0, 2.0]])
WHOLE = {       # PyTorch's gradients of a leaf that stores the elements (0, 1) and (1, 0)
    "mm": (lambda s: s @ COLUMN, [[1, 2], [1, 2]]),
    "mv": (lambda s: s.mv(COLUMN[:, 0]), [[1, 2], [1, 2]]),
    "dense @ sparse": (lambda s: ROW @ s, [[1, 1], [2, 2]]),
    "addmm": (lambda s: flambeau.addmm(COLUMN, s, COLUMN, alpha=3), [[3, 6], [3, 6]]),
    "sum": (lambda s: s.sum(), [[1, 1], [1, 1]]),
    "sparse @ sparse": (lambda s: (s @ s.t()).to_dense(), [[0, 4], [6, 0]]),
    "times 3": (lambda s: (s * 3).to_dense(masked_grad=False), [[3, 3], [3, 3]]),
    "by 4": (lambda s: (s / 4).to_dense(masked_grad=False), [[.25, .25], [.25, .25]]),
    "times dense": (lambda s: (s * (ROW + COLUMN)).to_dense(masked_grad=False), [[2, 3], [3, 4]]),
    "neg": (lambda s: (-s).to_dense(masked_grad=False), [[-1, -1], [-1, -1]]),
    "t": (lambda s: s.t().to_dense(masked_grad=False) * ROW, [[1, 1], [2, 2]]),
    "double": (lambda s: s.double().to_dense(masked_grad=False), [[1, 1], [1, 1]]),
    "to_dense": (lambda s: s.to_dense(masked_grad=False), [[1, 1], [1, 1]]),
    "masked to_dense": (lambda s: s.to_dense(), [[0, 1], [1, 0]]),
    "sparse.sum": (lambda s: flambeau.sparse.sum(s), [[0, 1], [1, 0]]),
    "sparse.addmm": (lambda s: flambeau.sparse.addmm(COLUMN, s, COLUMN), [[0, 2], [1, 0]]),
}


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_bsc"])
@pytest.mark.parametrize("name", WHOLE)
def test_linear_functions_give_a_leaf_all_of_the_gradient(name, layout):
    call, expected = WHOLE[name]
    blocks = {"blocksize": (1, 1)} if layout == "sparse_bsc" else {}
    s = flambeau.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse(
        layout=getattr(flambeau, layout), **blocks).requires_grad_()
    call(s).sum().backward()
    assert s.grad.to_dense().tolist() == expected


def test_graph_convolution_with_gradients_of_edges_and_features():
    edges = flambeau.tensor([[0, 1, 2, 2], [1, 2, 0, 0]])
    weights = flambeau.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    x = flambeau.tensor([[1.0], [10.0], [100.0]], requires_grad=True)
    out = flambeau.sparse_coo_tensor(edges, weights, (3, 3)) @ x
    assert out.tolist() == [[10], [200], [7]]
    out.sum().backward()
    assert weights.grad.tolist() == [10, 100, 1, 1] and x.grad.tolist() == [[7], [1], [2]]


def test_second_derivatives():
    values = flambeau.from_numpy(RNG.normal(size=7)).requires_grad_()
    other = OTHER.clone().requires_grad_()

    def squares(v, o):
        return ((flambeau.sparse_coo_tensor(AT, v, (4, 4)) @ o) ** 2).sum()

    assert autograd.gradcheck(squares, (values, other))
    assert autograd.gradgradcheck(squares, (values, other))


def test_hooks_and_kept_gradients_are_sparse():
    values = flambeau.ones(2, requires_grad=True)
    s = flambeau.sparse_coo_tensor([[0, 1]], values, (3,))
    seen = []
    s.retain_grad()
    s.register_hook(lambda g: seen.append(g.layout) or g * 2)
    (s.to_dense() * 3).sum().backward()
    assert seen == [flambeau.sparse_coo] and values.grad.tolist() == [6, 6]
    assert s.grad.to_dense().tolist() == [6, 6, 0]


def test_dense_and_sparse_gradients_add_up():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    weight = flambeau.ones(3, 2, requires_grad=True)
    rows = flambeau.nn.functional.embedding(flambeau.tensor([1, 1]), weight, sparse=True)
    rows.sum().backward()
    assert weight.grad.is_sparse and weight.grad._nnz() == 2
    (weight * 2).sum().backward()
    assert not weight.grad.is_sparse
    assert weight.grad.tolist() == [[2, 2], [4, 4], [2, 2]]
    rows = flambeau.nn.functional.embedding(flambeau.tensor([0]), weight, sparse=True)
    (rows.sum() + weight.sum()).backward()
    assert weight.grad.tolist() == [[4, 4], [5, 5], [3, 3]]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_dense_gradient_adds_to_a_sparse_one(create_graph):
    x = flambeau.tensor([1.5, 1.5]).requires_grad_()
    x.grad = flambeau.sparse_coo_tensor(flambeau.tensor([[1, 1]]), flambeau.tensor([1.0, 1.0]))
    (x * x).sum().backward(create_graph=create_graph)
    assert not x.grad.is_sparse and x.grad.tolist() == [3, 5]
    if create_graph:
        x.grad.sum().backward()
        assert x.grad.tolist() == [5, 7]


def test_values_that_were_written_to_are_noticed():
    x = flambeau.ones(2, 1, requires_grad=True) * 1
    out = flambeau.eye(2).to_sparse().requires_grad_() @ x
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_leaf_is_not_written_to_and_transforms_refuse_what_they_lack():
    s = flambeau.eye(2).to_sparse().requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        s.mul_(2)
    with flambeau.no_grad():
        s.mul_(2)
    assert copy.deepcopy(s).requires_grad and s.to_dense().tolist() == [[2, 0], [0, 2]]
    x, t = flambeau.ones(2, 1), flambeau.ones(2, 1)
    out, tangent = flambeau.func.jvp(lambda x: s.detach() @ x, (x,), (t,))
    assert out.tolist() == tangent.tolist() == [[2], [2]]
    with pytest.raises(NotImplementedError, match="transform"):
        flambeau.func.vmap(lambda row: flambeau.sparse_coo_tensor([[0]], row, (2,)).to_dense())(x)
