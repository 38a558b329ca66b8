"""Nested tensors: jagged ones against their samples, one by one, and strided ones."""

from __future__ import annotations

import copy
import pickle

import pytest

import flambeau
from flambeau import nested

LENGTHS = (3, 1, 0, 5)


def samples(*behind, before=()):
    flambeau.manual_seed(1)
    return [flambeau.randn(*before, n, *behind) for n in LENGTHS]


def jagged(parts, at=1):
    return nested.nested_tensor(parts, layout=flambeau.jagged) if at == 1 else \
        nested.nested_tensor([p.transpose(0, at - 1) for p in parts],
                             layout=flambeau.jagged).transpose(1, at)


def same(result, expected):
    """Whether a nested tensor has these samples."""
    assert result.is_nested and len(result) == len(expected)
    for ours, theirs in zip(result.unbind(), expected, strict=True):
        assert ours.shape == theirs.shape and ours.dtype is theirs.dtype
        flambeau.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_what_it_is():
    parts = [flambeau.arange(6.0).reshape(2, 3), flambeau.arange(9.0).reshape(3, 3)]
    x = jagged(parts)
    assert isinstance(x, flambeau.Tensor) and x.layout is flambeau.jagged
    assert x.offsets().tolist() == [0, 2, 5] and x.lengths() is None
    assert x.values().shape == (5, 3) and x.values().data_ptr() == x.data_ptr()
    assert (x.size(0), x.size(2), x.dim(), x.numel(), len(x)) == (2, 3, 3, 15, 2)
    assert x.size(1) == x.shape[1] == jagged(parts).size(1) != jagged(parts[1:]).size(1)
    assert x.is_contiguous() and not x.requires_grad and x.dtype is flambeau.float32
    assert repr(x).startswith("NestedTensor(size=(2, j")
    assert repr(x).endswith(", 3), offsets=tensor([0, 2, 5]), contiguous=True)")
    for call in (lambda: int(x.size(1)), lambda: x.tolist(), lambda: x.numpy()):
        with pytest.raises((TypeError, RuntimeError)):
            call()
    same(copy.deepcopy(x), parts)
    same(pickle.loads(pickle.dumps(x)), parts)
    same(nested.as_nested_tensor(flambeau.ones(2, 3, 4), layout=flambeau.jagged),
         [flambeau.ones(3, 4)] * 2)


@pytest.mark.parametrize("call", [
    lambda x: x + 1, lambda x: 1 - x, lambda x: x * x, lambda x: -x, lambda x: x.exp(),
    lambda x: x > 0, lambda x: x ** 2, lambda x: x / 3, lambda x: abs(x), lambda x: x.clamp(0, 1),
    lambda x: x.double(), lambda x: x.to(flambeau.bfloat16), lambda x: flambeau.relu(x),
    lambda x: flambeau.where(x > 0, x, 0.0), lambda x: x.masked_fill(x > 0, 2.0),
    lambda x: flambeau.zeros_like(x), lambda x: x.clone().add_(1), lambda x: x[..., 1:],
    lambda x: x.softmax(-1), lambda x: x.sum(-1), lambda x: x.sum(-1, keepdim=True),
    lambda x: x.amax(-1), lambda x: x @ flambeau.ones(4, 2), lambda x: x[..., 0],
    lambda x: x.unflatten(-1, (2, 2)), lambda x: x.unsqueeze(-1), lambda x: x + flambeau.arange(4),
    lambda x: flambeau.cat([x, x], -1), lambda x: flambeau.stack([x, x], -1),
    lambda x: x.log_softmax(-1), lambda x: x.contiguous(), lambda x: x.argmax(-1),
], ids=range(32))
@pytest.mark.parametrize("at", (1, 2))
def test_calls_are_those_of_every_sample(call, at):
    parts = samples(2, 4) if at == 1 else [p.transpose(0, 1) for p in samples(2, 4)]
    x = nested.nested_tensor([p.transpose(0, at - 1) for p in parts], layout=flambeau.jagged)
    x = x if at == 1 else x.transpose(1, 2)
    same(call(x), [call(p) for p in parts])


@pytest.mark.parametrize("name", ("sum", "mean", "amax", "amin", "var", "logsumexp", "prod"))
@pytest.mark.parametrize("keepdim", (False, True))
def test_reductions_of_samples(name, keepdim):
    parts = [p for p in samples(4) if len(p) > 1]
    x = jagged(parts)
    func = getattr(flambeau, name)
    result = func(x, 1, keepdim=keepdim)
    assert not result.is_nested
    flambeau.testing.assert_close(
        result, flambeau.stack([func(p, 0, keepdim=keepdim) for p in parts]))
    if name not in ("logsumexp", "prod"):
        whole = func(x, (0, 1), keepdim=keepdim)
        expected = func(flambeau.cat(parts), 0, keepdim=keepdim)
        flambeau.testing.assert_close(whole, expected.unsqueeze(0) if keepdim else expected)
        flambeau.testing.assert_close(func(x), func(flambeau.cat(parts)))
    with pytest.raises(RuntimeError, match="reducing along the batch dimension"):
        func(x, 0)


def test_softmax_over_samples():
    parts = samples(2)
    same(jagged(parts).softmax(1), [p.softmax(0) for p in parts])
    with pytest.raises(RuntimeError, match="batch dimension"):
        jagged(parts).softmax(0)


def test_dense_tensors_broadcast_over_samples():
    parts = samples(4)
    x = jagged(parts)
    each = flambeau.randn(4, 1, 4)
    same(x + each, [p + e for p, e in zip(parts, each, strict=True)])
    padded = flambeau.randn(4, 5, 4)
    same(x * padded, [p * q[:len(p)] for p, q in zip(parts, padded, strict=True)])
    same(flambeau.randn(1, 1, 4) * 0 + x, parts)
    for wrong in (flambeau.ones(3, 1, 4), flambeau.ones(4, 2, 4), flambeau.ones(1, 4, 1, 4)):
        with pytest.raises(RuntimeError, match="does not broadcast"):
            x + wrong
    with pytest.raises(RuntimeError, match="have lengths"):
        x + jagged(parts[::-1])


def test_products():
    parts, others = samples(4), samples(4)
    x, y, square = jagged(parts), jagged(others), flambeau.randn(4, 4, 2)
    same(x @ square, [p @ q for p, q in zip(parts, square, strict=True)])
    result = x.transpose(1, 2) @ y
    assert not result.is_nested
    flambeau.testing.assert_close(
        result, flambeau.stack([p.t() @ q for p, q in zip(parts, others, strict=True)]))
    with pytest.raises(RuntimeError, match="ragged in two dimensions"):
        x @ y.transpose(1, 2)


def test_shapes():
    parts = samples(6)
    x = jagged(parts)
    for split in (x.view(4, -1, 2, 3), x.view(4, x.size(1), 2, 3), x.reshape(-1, x.size(1), 2, -1)):
        same(split, [p.view(len(p), 2, 3) for p in parts])
    heads = x.unflatten(-1, (2, 3)).transpose(1, 2)
    same(heads, [p.view(len(p), 2, 3).transpose(0, 1) for p in parts])
    same(heads.transpose(1, 2).flatten(2), parts)
    same(heads.permute(0, 3, 2, 1), [p.view(len(p), 2, 3).permute(2, 0, 1) for p in parts])
    same(x[1:3], parts[1:3])
    same(x[:, 1:], [p[1:] for p in parts])
    same(flambeau.cat([x, x]), parts * 2)
    assert x[3].equal(parts[3]) and x[3, 2].equal(parts[3][2])
    for piece, k in zip(x.chunk(3, -1), range(3), strict=True):
        same(piece, [p[:, 2 * k:2 * k + 2] for p in parts])
    assert jagged(parts[:2])[:, 0].equal(flambeau.stack([p[0] for p in parts[:2]]))
    for call in (lambda: x.transpose(0, 1), lambda: x.flatten(), lambda: x.view(2, -1, 6),
                 lambda: x.select(1, 0), lambda: x.sort(), lambda: x[:, flambeau.tensor([0])]):
        with pytest.raises((ValueError, RuntimeError, NotImplementedError)):
            call()


def test_dimensions_and_samples_that_are_not_there_are_refused():
    x = nested.nested_tensor([flambeau.ones(2, 3), flambeau.ones(4, 3)], layout=flambeau.jagged)
    for call in (lambda: x.transpose(1, 5), lambda: x.permute(0, 1, 5), lambda: x.select(3, 0),
                 lambda: x.narrow(3, 0, 1), lambda: x.narrow(0, 1, 2), lambda: x.chunk(2, 3)):
        with pytest.raises(IndexError):
            call()
    assert [tuple(part.shape) for part in x.narrow(0, -1, 1).unbind()] == [(4, 3)]


def test_padding():
    parts = samples(2)
    x = jagged(parts)
    padded = x.to_padded_tensor(-1.0)
    assert padded.shape == (4, 5, 2)
    for row, part in zip(padded, parts, strict=True):
        assert row[:len(part)].equal(part) and (row[len(part):] == -1).all()
    assert nested.to_padded_tensor(x, 0.0, (4, 7, 2)).shape == (4, 7, 2)
    with pytest.raises(RuntimeError, match="smaller than the longest"):
        x.to_padded_tensor(0.0, (4, 3, 2))


def test_parts_of_a_dense_tensor():
    x = flambeau.arange(20.0).reshape(2, 5, 2)
    start, length = flambeau.tensor([0, 1]), flambeau.tensor([2, 3])
    parts = [x[0, :2], x[1, 1:4]]
    view = nested.narrow(x, 1, start, length, layout=flambeau.jagged)
    same(view, parts)
    same(view + 1, [p + 1 for p in parts])
    same(view.contiguous(), parts)
    assert view.data_ptr() == x.data_ptr() and not view.is_contiguous()
    assert view.offsets().tolist() == [0, 6, 9] and view.lengths().tolist() == [2, 3]
    assert view.sum(1).tolist() == [p.sum(0).tolist() for p in parts]
    assert view.sum().item() == sum(p.sum().item() for p in parts)
    assert view.transpose(1, 2).sum().item() == view.sum().item()
    same(nested.narrow(x, 1, start, length), parts)
    same(nested.masked_select(x, x[..., 0] > 4), [x[0, 3:], x[1]])
    same(nested.nested_tensor_from_jagged(x[0], lengths=flambeau.tensor([4, 1])),
         [x[0, :4], x[0, 4:]])
    for call in (lambda: nested.narrow(x, 2, 0, 1), lambda: nested.narrow(x, 1, 4, length),
                 lambda: nested.nested_tensor_from_jagged(x[0]),
                 lambda: nested.nested_tensor_from_jagged(x[0], flambeau.tensor([0, 9])),
                 lambda: nested.nested_tensor([], layout=flambeau.jagged),
                 lambda: nested.nested_tensor([flambeau.ones(1, 2), flambeau.ones(2, 1)],
                                              layout=flambeau.jagged)):
        with pytest.raises(RuntimeError):
            call()


def test_writes_reach_the_values():
    parts = samples(2)
    x = jagged(parts)
    x += 1
    x.mul_(2)
    same(x, [(p + 1) * 2 for p in parts])
    y = flambeau.empty_like(x).copy_(x)
    assert flambeau.equal(x, y) and (x == y).all() and not flambeau.equal(x, jagged(parts))
    x.values().zero_()
    assert x.sum() == 0


@pytest.mark.parametrize("call", [
    lambda x: x + 1, lambda x: x * x, lambda x: x.relu(), lambda x: x.softmax(-1),
    lambda x: x.transpose(-1, -2), lambda x: x.double(), lambda x: x @ flambeau.ones(3, 2),
    lambda x: x.sum(-1, keepdim=True), lambda x: x.clone(), lambda x: x[..., 1:]], ids=range(10))
def test_the_strided_layout_runs_sample_by_sample(call):
    parts = [flambeau.randn(2, 3), flambeau.randn(4, 3)]
    same(call(nested.nested_tensor(parts)), [call(p) for p in parts])


def test_the_strided_layout():
    parts = [flambeau.arange(6.0).reshape(2, 3), flambeau.arange(8.0).reshape(4, 2)]
    x = nested.nested_tensor(parts)
    assert x.is_nested and x.layout is flambeau.strided and x.size(0) == 2 and x.dim() == 3
    with pytest.raises(RuntimeError, match="irregular"):
        x.size(1)
    with pytest.raises(RuntimeError, match="no shape"):
        _ = x.shape
    assert x.to_padded_tensor(0.0).shape == (2, 4, 3)
    assert x.to_padded_tensor(0.0)[1, :, 2].tolist() == [0.0] * 4
    assert x[1].equal(parts[1]) and x._nested_tensor_size().tolist() == [[2, 3], [4, 2]]
    same(pickle.loads(pickle.dumps(x)), parts)
    assert repr(x) == ("nested_tensor([\n  tensor([[0., 1., 2.],\n          [3., 4., 5.]]),\n"
                       "  tensor([[0., 1.],\n          [2., 3.],\n          [4., 5.],\n"
                       "          [6., 7.]])\n])")
    with pytest.raises(NotImplementedError):
        x.sort()


@pytest.mark.oracle
def test_pytorch_prints_and_computes_the_same():
    torch = pytest.importorskip("torch")
    lists = [[[1.0, 2.0], [3.0, 5.0]], [[0.0, 1.0]]]
    theirs = torch.nested.nested_tensor([torch.tensor(x) for x in lists], layout=torch.jagged)
    ours = nested.nested_tensor([flambeau.tensor(x) for x in lists], layout=flambeau.jagged)
    for call in (lambda x: x.sum(1), lambda x: x.mean((0, 1)), lambda x: x.softmax(1).values(),
                 lambda x: x.transpose(1, 2).values(), lambda x: x.unsqueeze(1).values(),
                 lambda x: (x @ x.sum(1).unsqueeze(-1)).values(), lambda x: x.to_padded_tensor(7.0),
                 lambda x: x.max(1)[1], lambda x: x.unflatten(-1, (2, 1)).values()):
        flambeau.testing.assert_close(call(ours), flambeau.tensor(call(theirs).tolist()))
