"""Functions that PyTorch keeps beside modules and methods: flat names, questions."""
from __future__ import annotations

import numpy
import pytest

import flambeau

torch = pytest.importorskip("torch")


def _both(call, *arrays):
    """What a call gives in both libraries, as arrays."""
    ours = call(flambeau, *[flambeau.tensor(a) for a in arrays])
    theirs = call(torch, *[torch.tensor(a) for a in arrays])
    if not isinstance(theirs, (tuple, list)):
        ours, theirs = (ours,), (theirs,)
    assert len(ours) == len(theirs)
    return [(a.numpy(), b.numpy()) for a, b in zip(ours, theirs, strict=True)]


def _draw(*shape):
    return numpy.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


_SIGNS = numpy.array([1, -1, 1], "float32")
_STATISTICS = (_draw(3), _draw(3), _draw(3), numpy.abs(_draw(3)))
CALLS = {
    "adaptive_max_pool1d": (lambda lib, x: lib.adaptive_max_pool1d(x, 4), _draw(2, 3, 7)),
    "max_pool1d_with_indices": (lambda lib, x: lib.max_pool1d_with_indices(x, 2), _draw(2, 3, 7)),
    "batch_norm": (lambda lib, x, w, b, m, v: lib.batch_norm(x, w, b, m, v, False, 0.1, 1e-5, True),
                   _draw(4, 3), *_STATISTICS),
    "instance_norm": (
        lambda lib, x, w, b, m, v: lib.instance_norm(x, w, b, m, v, True, 0.1, 1e-5, True),
        _draw(2, 3, 5), *_STATISTICS),
    "embedding": (lambda lib, w, i: lib.embedding(w, i, 1), _draw(5, 2), numpy.array([[0, 4]])),
    "grid_sampler": (lambda lib, x, g: lib.grid_sampler(x, g, 0, 1, False), _draw(1, 2, 4, 5),
                     _draw(1, 3, 3, 2)),
    "dropout": (lambda lib, x: lib.dropout(x, 0.5, False), _draw(3)),
    "dropout_": (lambda lib, x: lib.dropout_(x, 1.0, True), _draw(3)),
    "feature_dropout": (lambda lib, x: lib.feature_dropout(x, 1.0, True), _draw(2, 3, 2)),
    "feature_dropout_": (lambda lib, x: lib.feature_dropout_(x, 1.0, True), _draw(2, 3, 2)),
    "binary_cross_entropy_with_logits": (
        lambda lib, x, y, w, p: lib.binary_cross_entropy_with_logits(x, y, w, p, 2),
        _draw(3), numpy.abs(_SIGNS), _draw(3), numpy.abs(_draw(3))),
    "cosine_embedding_loss": (lambda lib, a, b, y: lib.cosine_embedding_loss(a, b, y, 0.1, 0),
                              _draw(3, 2), _draw(2, 3).T.copy(), _SIGNS),
    "ctc_loss": (lambda lib, x, y, a, b: lib.ctc_loss(x.log_softmax(2), y, a, b, 0, 1),
                 _draw(6, 1, 4), numpy.array([[1, 2, 2]]), numpy.array([6]), numpy.array([3])),
    "hinge_embedding_loss": (lambda lib, x, y: lib.hinge_embedding_loss(x, y, 0.5, 1), _draw(3),
                             _SIGNS),
    "kl_div": (lambda lib, x, y: lib.kl_div(x, y, 0, log_target=True), _draw(3), _SIGNS),
    "margin_ranking_loss": (lambda lib, a, b, y: lib.margin_ranking_loss(a, b, y, 0.5, 2),
                            _draw(3), _draw(2, 3)[0], _SIGNS),
    "poisson_nll_loss": (lambda lib, x, y: lib.poisson_nll_loss(x, y, True, False, 1e-8, 1),
                         _draw(3), numpy.abs(_SIGNS)),
    "triplet_margin_loss": (lambda lib, a, b, c: lib.triplet_margin_loss(a, b, c, 1.0, 2, 1e-6,
                                                                         True, 0),
                            _draw(3, 2), _draw(2, 3).T.copy(), _draw(1, 6).reshape(3, 2)),
    "real": (lambda lib, x: lib.real(x), _draw(3) + 1j),
    "imag": (lambda lib, x: lib.imag(x), _draw(3) + 1j),
    "detach": (lambda lib, x: lib.detach(x), _draw(3)),
    "zero_": (lambda lib, x: lib.zero_(x), _draw(3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_in_pytorch(name):
    call, *arrays = CALLS[name]
    for ours, theirs in _both(call, *arrays):
        assert ours.dtype == theirs.dtype
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ("bool", "uint8", "int32", "float32", "complex64"))
def test_questions(dtype):
    for name in ("is_complex", "is_floating_point", "is_signed", "is_conj", "is_neg",
                 "is_inference", "numel"):
        ours = flambeau.ones(2, dtype=getattr(flambeau, dtype))
        theirs = torch.ones(2, dtype=getattr(torch, dtype))
        assert getattr(flambeau, name)(ours) == getattr(torch, name)(theirs), name
    assert ours.is_signed() == theirs.is_signed()
    with pytest.raises(TypeError, match=r"numel\(\): argument 'input' must be Tensor, not list"):
        flambeau.numel([1])


def test_nonzero_and_device_are_asked():
    assert flambeau.is_nonzero(flambeau.tensor([2]))
    assert flambeau.get_device(flambeau.ones(1)) == -1


def test_views_and_shapes_are_compared():
    x, y = flambeau.ones(2, 3), flambeau.ones(2, 3)
    assert flambeau.is_same_size(x, y)
    assert not x.is_same_size(y.t())
    assert x.is_set_to(x.view(2, 3))
    assert not x.is_set_to(y)
    assert not x.is_set_to(x.view(3, 2))
    assert not x.is_set_to(x[1:])


@pytest.mark.parametrize("shape", ((3, 3), (2, 4), (7, 3), (8, 2), (3, 3, 3), (0, 3), (4, 0)))
@pytest.mark.parametrize("wrap", (False, True))
def test_fill_diagonal(shape, wrap):
    ours, theirs = flambeau.zeros(*shape), torch.zeros(*shape)
    assert ours.fill_diagonal_(2, wrap=wrap).tolist() == theirs.fill_diagonal_(2, wrap).tolist()
    strided, there = flambeau.zeros(9, 9)[1:, ::2], torch.zeros(9, 9)[1:, ::2]
    assert strided.fill_diagonal_(2, wrap).tolist() == there.fill_diagonal_(2, wrap).tolist()


def test_fill_diagonal_refuses_unequal_sides():
    with pytest.raises(RuntimeError, match="must be of equal length"):
        flambeau.zeros(2, 3, 2).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="larger than 1"):
        flambeau.zeros(2).fill_diagonal_(1)


@pytest.mark.parametrize(("shape", "match"), (
    ((2, -1), "negative values"), ((2, 0), "zeros"), ((2.5,), "int")))
def test_unravel_index_refuses_wrong_shapes(shape, match):
    with pytest.raises((ValueError, TypeError), match=match):
        flambeau.unravel_index(flambeau.tensor([1]), shape)


def test_reductions_are_numbers():
    x = flambeau.ones(2)
    with pytest.raises(ValueError, match=r"0 \(none\), 1 \(mean\) or 2 \(sum\), got 'mean'"):
        flambeau.kl_div(x, x, "mean")
