"""Layers, attention and gradients of nested tensors, against their samples one by one."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import nested, nn
from flambeau.nn import functional as F

LENGTHS = (3, 1, 5)


def leaves(features=4):
    flambeau.manual_seed(0)
    return [flambeau.randn(n, features, requires_grad=True) for n in LENGTHS]


def compare(layer, parts=None, layout=flambeau.jagged):
    """Results and gradients of a function of a nested tensor, and of its samples."""
    parts = parts or leaves()
    x = nested.as_nested_tensor(parts, layout=layout)
    result, expected = layer(x), [layer(p) for p in parts]
    assert result.is_nested and result.layout is layout
    weights = [flambeau.randn(*e.shape) for e in expected]
    total = sum((r * w).sum() for r, w in zip(result.unbind(), weights, strict=True))
    ours = flambeau.autograd.grad(total, parts)
    total = sum((e * w).sum() for e, w in zip(expected, weights, strict=True))
    theirs = flambeau.autograd.grad(total, parts)
    for a, b in zip((*result.unbind(), *ours), (*expected, *theirs), strict=True):
        flambeau.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


LAYERS = [nn.Linear(4, 3), nn.LayerNorm(4), nn.RMSNorm(4), nn.GELU(), nn.ReLU(), nn.SiLU(),
          nn.Tanh(), nn.Sigmoid(), nn.Softmax(-1), nn.GLU(-1), nn.Dropout(0.5).eval(),
          nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), nn.LogSoftmax(-1)]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_layers(layer):
    compare(layer)


@pytest.mark.parametrize("layer", [nn.Linear(4, 3), nn.LayerNorm(4), nn.ReLU(), nn.Softmax(-1)],
                         ids=lambda layer: type(layer).__name__)
def test_layers_of_the_strided_layout(layer):
    compare(layer, layout=flambeau.strided)


@pytest.mark.parametrize("call", [
    lambda x: x.softmax(-2), lambda x: x * x + 1, lambda x: x.unflatten(-1, (2, 2)).flatten(-2),
    lambda x: x[..., 1:3], lambda x: x.sum(-1), lambda x: x @ flambeau.ones(4, 2)], ids=range(6))
def test_gradients(call):
    compare(call)


@pytest.mark.parametrize("is_causal", (False, True))
def test_attention_stays_inside_samples(is_causal):
    projection = nn.Linear(4, 12)

    def attention(x):
        q, k, v = projection(x).chunk(3, -1)
        q, k, v = (y.unflatten(-1, (2, 2)).transpose(-3, -2) for y in (q, k, v))
        result = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        return result.transpose(-3, -2).flatten(-2)

    compare(attention)
    with pytest.raises(RuntimeError, match="attn_mask is not supported"):
        x = nested.as_nested_tensor(leaves(), layout=flambeau.jagged).unsqueeze(1)
        F.scaled_dot_product_attention(x, x, x, attn_mask=flambeau.ones(3, 3))


def test_embedding_and_dropout():
    table = nn.Embedding(10, 4)
    words = [flambeau.tensor([1, 2, 3]), flambeau.tensor([7])]
    x = table(nested.nested_tensor(words, layout=flambeau.jagged))
    assert [part.shape for part in x.unbind()] == [(3, 4), (1, 4)]
    x.sum().backward()
    assert table.weight.grad.sum(1).tolist() == [0, 4, 4, 4, 0, 0, 0, 4, 0, 0]
    dropped = F.dropout(flambeau.ones_like(x.detach()), 0.5)
    assert set(dropped.values().flatten().tolist()) == {0.0, 2.0}


def test_leaves_have_nested_gradients():
    x = nested.nested_tensor([[1.0, 2.0], [3.0]], layout=flambeau.jagged, requires_grad=True)
    assert x.requires_grad and x.is_leaf and x.grad is None
    seen = []
    x.register_hook(lambda g: seen.append(g.values().tolist()))
    y = (x * x).sum(1)
    y.backward(flambeau.tensor([1.0, 2.0]))
    assert x.grad.is_nested and x.grad.values().tolist() == [2.0, 4.0, 12.0]
    assert seen == [[2.0, 4.0, 12.0]]
    (x * 3).backward(flambeau.ones_like(x))
    assert x.grad.values().tolist() == [5.0, 7.0, 15.0]
    assert not (x * 2).detach().requires_grad and (x * 2).grad_fn is not None
    with flambeau.no_grad():
        assert not (x * 2).requires_grad
    assert "requires_grad=True" in repr(x) and "grad_fn=<MulBackward0>" in repr(x * 2)


def test_padding_has_no_gradient():
    parts = leaves(2)
    padded = nested.as_nested_tensor(parts, layout=flambeau.jagged).to_padded_tensor(9.0)
    padded.square().sum().backward()
    for part in parts:
        assert part.grad.equal(2 * part.detach())
