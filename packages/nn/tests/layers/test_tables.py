"""Embeddings, bags of them, bilinear maps and the adaptive softmax."""

import numpy as np
import pytest
from modules_kit import (
    Given,
    against_torch,
    check_invariants,
    close,
    copy_state,
    ours,
    refuses,
    row,
)

import flambeau
from flambeau import nn


def indices(count, *shape):
    return Given(lambda rng: rng.integers(0, count, shape))


def listed(*values):
    return Given(lambda rng: np.array(values))


def factors(*shape):
    return Given(lambda rng: rng.standard_normal(shape), grad=True)


NONE = Given(lambda rng: None)
FLAT = [listed(0, 5, 2, 2, 4, 1), listed(0, 2, 2, 5)]
LAST = [listed(0, 5, 2, 2, 4, 1), listed(0, 2, 2, 6)]
OFTEN = [listed(0, 5, 2, 5, 4, 5), listed(0, 2, 2, 5)]  # PyTorch's counts go wrong after these
MODES = ("sum", "mean", "max")

ROWS = [
    row("Bilinear", 3, 4, 5, inputs=[[(2, 3), (2, 4)], [(3,), (4,)], [(2, 6, 3), (2, 6, 4)]]),
    row("Bilinear", 3, 1, 2, bias=False, inputs=[[(2, 3), (2, 1)]]),
    row("Identity", 54, unused_argument1=0.1, inputs=[(2, 3)]),
    row("Embedding", 6, 3, inputs=[indices(6, 2, 5), indices(6)]),
    row("Embedding", 6, 3, padding_idx=-2, inputs=[indices(6, 7), indices(6, 0)]),
    row("Embedding", 6, 3, max_norm=1.0, norm_type=1.5, inputs=[indices(6, 4)], smooth=False),
    row("Embedding", 6, 3, 1, None, 2.0, True, inputs=[indices(6, 9)], smooth=False),
    *(row("EmbeddingBag", 6, 3, mode=m, inputs=[indices(6, 2, 4)]) for m in MODES),
    *(row("EmbeddingBag", 6, 3, mode=m, inputs=[FLAT]) for m in MODES),
    *(row("EmbeddingBag", 6, 3, mode=m, padding_idx=2, inputs=[FLAT]) for m in MODES),
    *(row("EmbeddingBag", 6, 3, mode=m, include_last_offset=True, inputs=[LAST]) for m in MODES),
    row("EmbeddingBag", 6, 3, 1.0, 1.5, inputs=[FLAT], smooth=False),
    row("EmbeddingBag", 6, 3, scale_grad_by_freq=True, inputs=[OFTEN], smooth=False),
    row("EmbeddingBag", 6, 3, mode="sum", inputs=[[*FLAT, factors(6)]]),
    row(
        "EmbeddingBag",
        6,
        3,
        mode="sum",
        padding_idx=-1,
        inputs=[[indices(6, 3, 2), NONE, factors(3, 2)]],
    ),
]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_against_torch(row, dtype):
    against_torch(row, dtype)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_invariants(row):
    check_invariants(row)


TABLE = np.array([[1.0, 2.0], [3.0, -4.0], [0.5, 0.25], [-6.0, 8.0]])


def test_bags_by_hand():
    x, starts = flambeau.tensor([3, 0, 1, 1]), flambeau.tensor([0, 1, 1, 4])
    bags = [TABLE[[3]], TABLE[:0], TABLE[[0, 1, 1]], TABLE[:0]]
    for mode, reduce in (("sum", np.sum), ("mean", np.mean), ("max", np.max)):
        layer = nn.EmbeddingBag.from_pretrained(flambeau.tensor(TABLE), mode=mode)
        expected = [reduce(bag, axis=0) if len(bag) else np.zeros(2) for bag in bags]
        np.testing.assert_allclose(layer(x, starts).numpy(), expected)
        assert not layer.weight.requires_grad
    layer = nn.EmbeddingBag.from_pretrained(flambeau.tensor(TABLE), False, mode="sum")
    scale = flambeau.tensor([1.0, 2.0, -1.0, 3.0], dtype=flambeau.float64, requires_grad=True)
    out = layer(x, starts[:1], per_sample_weights=scale)
    np.testing.assert_allclose(out.detach().numpy(), [TABLE[3] + 2 * TABLE[0] + 2 * TABLE[1]])
    out.sum().backward()
    assert scale.grad.tolist() == [2.0, 3.0, -1.0, -1.0]
    assert layer.weight.grad.tolist() == [[2, 2], [2, 2], [0, 0], [1, 1]]


def test_a_sparse_gradient_keeps_its_indices_and_values():
    table = nn.Embedding(5, 2, sparse=True)
    indices, g = flambeau.tensor([3, 1]), flambeau.ones(2, 2)
    table(indices).backward(g)
    indices[0], g[0] = 4, 7.0
    table(indices).backward(flambeau.ones(2, 2))
    assert table.weight.grad._indices().tolist() == [[3, 1, 4, 1]]
    assert table.weight.grad._values().tolist() == [[1.0, 1.0]] * 4


def test_padding_is_in_no_bag():
    table = flambeau.tensor(TABLE)
    layer = nn.EmbeddingBag.from_pretrained(table, freeze=False, padding_idx=1)
    out = layer(flambeau.tensor([[0, 1, 1], [1, 1, 1]]))
    assert out.tolist() == [[1.0, 2.0], [0.0, 0.0]]
    out.sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]
    fresh = nn.EmbeddingBag(4, 2, padding_idx=-1)
    assert fresh.padding_idx == 3
    assert fresh.weight[3].tolist() == [0.0, 0.0]


def test_long_rows_are_shortened_in_the_table():
    table = flambeau.tensor(TABLE)
    layer = nn.EmbeddingBag.from_pretrained(table, max_norm=5.0, mode="sum")
    layer(flambeau.tensor([[1, 3]]))
    lengths = np.linalg.norm(layer.weight.numpy(), axis=1)
    np.testing.assert_allclose(lengths, [5**0.5, 5, 0.3125**0.5, 5], rtol=1e-6)
    made = nn.Embedding.from_pretrained(table, True, None, 2.0, 1.0, True)
    assert (made.max_norm, made.norm_type, made.scale_grad_by_freq) == (2.0, 1.0, True)


def test_the_scale_of_a_bilinear_map():
    x, y = TABLE[:, :1], TABLE
    layer = nn.Bilinear(1, 2, 3, dtype=flambeau.float64)
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    out = layer(flambeau.tensor(x), flambeau.tensor(y)).detach().numpy()
    np.testing.assert_allclose(out, np.einsum("ni,kij,nj->nk", x, w, y) + b)
    big = nn.Bilinear(16, 40, 20)
    assert 0.24 < big.weight.abs().max().item() <= 0.25
    assert big.bias.abs().max().item() <= 0.25


def adaptive(package, **options):
    return package.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10, 15], div_value=2.0, **options)


def test_adaptive_probabilities_sum_to_one():
    layer = adaptive(flambeau, dtype=flambeau.float64)
    x = flambeau.randn(6, 8, dtype=flambeau.float64)
    log_p = layer.log_prob(x)
    np.testing.assert_allclose(log_p.exp().sum(1).detach().numpy(), np.ones(6))
    target = flambeau.tensor([0, 19, 10, 4, 3, 14])
    out = layer(x, target)
    chosen = log_p.gather(1, target.unsqueeze(1)).squeeze(1)
    np.testing.assert_allclose(out.output.detach().numpy(), chosen.detach().numpy())
    assert out.loss.item() == pytest.approx(-chosen.mean().item())
    assert layer.predict(x).tolist() == log_p.argmax(1).tolist()
    single = layer(x[1], target[1])
    assert single.output.item() == pytest.approx(chosen[1].item())
    before = layer.head.weight.clone()
    layer.reset_parameters()
    assert not flambeau.equal(layer.head.weight, before)


@pytest.mark.oracle
@pytest.mark.parametrize("bias", [False, True])
def test_adaptive_against_torch(bias):
    torch = pytest.importorskip("torch")
    mine, theirs = adaptive(flambeau, head_bias=bias), adaptive(torch, head_bias=bias)
    assert repr(mine) == repr(theirs)
    copy_state(mine, theirs)
    x = torch.randn(7, 8, requires_grad=True)
    target = torch.tensor([0, 3, 19, 10, 4, 14, 4])
    given = ours(x).requires_grad_()
    out, expected = mine(given, ours(target)), theirs(x, target)
    close(out.output, expected.output)
    close(out.loss, expected.loss)
    out.loss.backward()
    expected.loss.backward()
    close(given.grad, x.grad)
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        close(a.grad, b.grad)
    close(mine.log_prob(given), theirs.log_prob(x))
    assert mine.predict(given).tolist() == theirs.predict(x).tolist()
    close(mine(given[0], ours(target[0])).output, theirs(x[0], target[0]).output)


def test_errors():
    with pytest.raises(ValueError, match="max mode does not support sparse"):
        nn.EmbeddingBag(4, 2, sparse=True, mode="max")(flambeau.tensor([[0]]))
    with pytest.raises(AssertionError, match="not a row of a table of 4 rows"):
        nn.EmbeddingBag(4, 2, padding_idx=4)
    with pytest.raises(ValueError, match=r"shape \(2, 4\).* are \(4, 2\)"):
        nn.EmbeddingBag(4, 2, _weight=flambeau.zeros(2, 4))
    with pytest.raises(ValueError, match="two dimensions"):
        nn.EmbeddingBag.from_pretrained(flambeau.zeros(4))
    with pytest.raises(ValueError, match="'average'"):
        nn.EmbeddingBag(4, 2, mode="average")
    with pytest.raises(ValueError, match="in1_features is greater than 0"):
        nn.Bilinear(0, 2, 3)
    for cutoffs in ([], [5, 4], [0, 3], [20], [3, 3], [2.5]):
        with pytest.raises(ValueError, match="ascending"):
            nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs)
    layer = adaptive(flambeau)
    with pytest.raises(RuntimeError, match="from 0 to n_classes - 1 = 19, not from 3 to 20"):
        layer(flambeau.zeros(2, 8), flambeau.tensor([3, 20]))
    with pytest.raises(RuntimeError, match="as many targets"):
        layer(flambeau.zeros(2, 8), flambeau.tensor([3]))
    with pytest.raises(RuntimeError, match=r"got \(2, 8\) and \(2, 1\)"):
        layer(flambeau.zeros(2, 8), flambeau.tensor([[3], [4]]))


@pytest.mark.oracle
def test_errors_of_the_same_type():
    def bag(package, *arguments, **options):
        return package.nn.EmbeddingBag(4, 2, **options)(*arguments)

    refuses(lambda p: bag(p, p.tensor([0, 1])), ValueError, "offsets")
    refuses(lambda p: bag(p, p.tensor([[0, 1]]), p.tensor([0])), ValueError, "offsets")
    refuses(
        lambda p: bag(p, p.tensor([[0, 1]]), None, p.ones(1, 2)), NotImplementedError, "mode='sum'"
    )
    refuses(lambda p: p.nn.Embedding(4, 2)(p.tensor([4])), IndexError, "4")
    refuses(lambda p: p.nn.Bilinear(2, 3, 4)(p.ones(5, 2), p.ones(5, 2)), RuntimeError, "bilinear")


@pytest.mark.parametrize(("options", "offsets", "last"), [
    ({}, [0, 3, 3], 0.0), ({"padding_idx": 6}, [0, 3, 3], 7.0), ({}, [0, 3, 4], 7.0),
    ({"mode": "max"}, [0, 3, 3], 7.0), ({"dtype": flambeau.float64}, [0, 3, 3], 7.0)])
def test_last_offsets_before_the_end(options, offsets, last):
    """PyTorch reads them in its quick path only; elsewhere the last bag reaches the end."""
    bags = nn.EmbeddingBag(10, 1, include_last_offset=True, **options)
    with flambeau.no_grad():
        bags.weight.copy_(flambeau.arange(4.0, 14.0).unsqueeze(1))
    found = bags(flambeau.tensor([0, 1, 2, 3]), flambeau.tensor(offsets))
    assert found[1].item() == last
