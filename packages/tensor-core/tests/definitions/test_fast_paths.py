"""Where a composite has a fast path in C++ beside its Python function, both say the same, to the
bit: values, dtypes, strides, and the kind and text of errors."""

from __future__ import annotations

import itertools
import warnings

import pytest
from arrays import LAYOUTS, lay_out
from call import ALL, call_of, nn
from calls import CALLS, ELSEWHERE

import flambeau
from flambeau.core import _core, composites
from flambeau.core.opdefs import OPDEFS


def _has_function(symbol):
    try:
        return composites.find(symbol) is not None
    except NotImplementedError:
        return False


PAIRS = [row.key for row in OPDEFS
         if row.category == "composite" and row.call and _has_function(row.symbol)]


_A, _B, _C = [0.5, -1.5, 2.0], [0.25, 0.5, 0.75], [[0.5, -1.5, 2.0], [1.0, 0.0, 3.0]]


def _losses(name):
    """Calls of a loss with reductions of every kind, the flags of PyTorch's first versions too."""
    def loss(*args, **options):
        return call_of(lambda lib, x, y: getattr(nn(lib), name)(x, y, *args, **options),
                       extra=(_A, _B))

    kinds = [loss(reduction=kind) for kind in ("none", "mean", "sum", "median")]
    if name == "huber_loss":
        return [*kinds, loss(delta=0.0), loss(delta=-1.0)]
    old = [loss(average, reduce) for average in (None, True, False, 1)
           for reduce in (None, True, False, "x")]
    return [*kinds, *old]


def _norms(name, *orders):
    options = ({}, {"dim": (0,)}, {"dim": (0, 1)}, {"dim": (1, -1)}, {"dim": (2,)}, {"dim": ()},
               {"keepdim": True}, {"dtype": flambeau.float64}, {"dtype": flambeau.complex64},
               {"out": flambeau.empty(0)})
    return [call_of(lambda lib, x, o=order, k=kw: getattr(lib.linalg, name)(x, o, **k),
                    extra=(_C,))
            for order in orders for kw in options]


def _classes(name, *options):
    return [call_of(lambda lib, x, y, k=kw: getattr(nn(lib), name)(x, y, **k),
                    extra=(_C, target))
            for target in ([2, 0], [0, 7], [-100, 1], [0.5, 0.5, 0.1]) for kw in options]


#: Uncommon arguments, by pair.
RARE = {
    **{name: _losses(name) for name in (
        "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
        "binary_cross_entropy_with_logits")},
    "nll_loss": _classes("nll_loss", {}, {"reduction": "x"}, {"reduce": False},
                         {"size_average": False}, {"ignore_index": 0},
                         {"weight": flambeau.tensor(_B)}),
    "cross_entropy": _classes("cross_entropy", {}, {"label_smoothing": 0.1},
                              {"label_smoothing": 2.0}, {"reduction": "x"}, {"reduce": False},
                              {"weight": flambeau.tensor(_B), "label_smoothing": 0.3},
                              {"ignore_index": 0, "label_smoothing": 0.1}),
    "multi_margin_loss": _classes("multi_margin_loss", {}, {"p": 2}, {"p": 3}, {"margin": -1.0},
                                  {"weight": flambeau.tensor(_B)}, {"reduction": "x"},
                                  {"reduce": False}),
    "linalg_vector_norm": _norms("vector_norm", 2, 0, 1, -1.5, 3.0, float("inf"), -float("inf")),
    "linalg_matrix_norm": _norms("matrix_norm", "fro", "nuc", 2, -2, 1, -1, float("inf"), "x", 3),
    "linalg_norm": _norms("norm", None, 2, 1, "fro", "nuc", float("-inf"), "x"),
    "norm": [call_of(lambda lib, x, a=args: lib.norm(x, *a), extra=(_C,))
             for args in (("fro",), ("nuc",), (None,), (2, 0), (1, (0, 1), True), ("x",), (0,),
                          (float("inf"),), (2, 5), ("nuc", 0))],
    # numbers that do not fit are refused before either path is taken
    "masked_fill": [call_of(lambda lib, x, v=value: x.masked_fill(x > 0, v), extra=(_C,))
                    for value in (1, 2.5, True, 1 + 0j, "x", flambeau.tensor(3),
                                  flambeau.tensor(2.5, dtype=flambeau.float64),
                                  flambeau.ones(1), float("inf"))],
    "embedding": [call_of(lambda lib, i, w, k=kw: nn(lib).embedding(i, w.clone(), **k),
                          extra=([0, 1, 1], _C))
                  for kw in ({}, {"padding_idx": 1}, {"padding_idx": -1}, {"padding_idx": 2},
                             {"max_norm": 1.0}, {"max_norm": 1.0, "norm_type": 1.0},
                             {"sparse": True}, {"scale_grad_by_freq": True})],
    "scaled_dot_product_attention": [
        call_of(lambda lib, q, k=kw: nn(lib).scaled_dot_product_attention(q, q, q, **k),
                extra=([_C, _C],))
        for kw in ({}, {"is_causal": True}, {"scale": 0.3}, {"enable_gqa": True},
                   {"is_causal": True, "attn_mask": flambeau.ones(2, 2)},
                   {"attn_mask": flambeau.ones(2, 2) > 0}, {"attn_mask": flambeau.ones(3, 2)})],
    "interpolate": [
        call_of(lambda lib, x, k=kw: nn(lib).interpolate(x, **k), extra=([[_C[0], _C[1]]],))
        for kw in ({"size": 5}, {"scale_factor": 2}, {"scale_factor": 2.5}, {"size": 0}, {},
                   {"size": 5, "scale_factor": 2}, {"size": (5, 5)}, {"size": 4, "mode": "linear"},
                   {"size": 4, "mode": "bilinear"}, {"size": 4, "mode": "x"},
                   {"scale_factor": (2.0,), "recompute_scale_factor": True},
                   {"size": 4, "mode": "nearest", "align_corners": True},
                   {"size": 2, "mode": "linear", "antialias": True})],
}


def _changed(x):
    """An input in other layouts, and tensors that it may not be exchanged for."""
    for layout in LAYOUTS:
        yield lay_out(x, layout)
    if x.ndim:
        yield x[:0]
        yield x[..., :1]
        yield x.flatten()
    yield x.unsqueeze(0)
    if x.ndim in (4, 5):
        yield x.contiguous(memory_format=flambeau.channels_last if x.ndim == 4 else
                           flambeau.channels_last_3d)
    yield x.double() if x.dtype is not flambeau.float64 else x.float()
    yield x.cfloat()
    if x.is_floating_point():
        yield x * flambeau.nan
        yield x * flambeau.inf
    else:
        yield x.int()
        yield x.byte()
        yield x != 0


def _variations(inputs):
    """The inputs of a call, one of them changed, all of them, and as they are."""
    yield inputs
    for i, x in enumerate(inputs):
        for other in _changed(x):
            yield [*inputs[:i], other, *inputs[i + 1:]]
    if len(inputs) > 1:
        yield from map(list, zip(*map(_changed, inputs), strict=False))


def _facts(value):
    """What two results have to agree in."""
    if isinstance(value, (tuple, list)):
        return type(value), [_facts(each) for each in value]
    if not isinstance(value, flambeau.Tensor):
        return type(value), repr(value)
    return (value.dtype, tuple(value.shape), value.stride(), value.storage_offset(),
            bytes(value.contiguous().view(-1).view(
                flambeau.uint8).tolist()) if value.numel() else b"")


def _outcome(call, inputs):
    try:
        return _facts(call.function(flambeau, *inputs))
    except Exception as error:   # of whatever kind: the other path has to raise the same
        return type(error), str(error)


def _without_fast_path(key, call, inputs):
    _core._take_fast_path(key, False)
    try:
        return _outcome(call, inputs)
    finally:
        _core._take_fast_path(key, True)


def _tensors(call):
    return [flambeau.tensor(each) for each in call.extra]


def _cases(key):
    """Calls with the same inputs twice: some write to them."""
    for call in CALLS.get(key) or CALLS[ELSEWHERE[key]]:
        for dtype in ALL:
            yield from zip(itertools.repeat(call), _variations(call.inputs(flambeau, dtype)),
                           _variations(call.inputs(flambeau, dtype)))
    for call in RARE[key]:
        yield from zip(itertools.repeat(call), _variations(_tensors(call)),
                       _variations(_tensors(call)))


@pytest.mark.parametrize("key", PAIRS)
def test_fast_path_agrees_with_the_function(key):
    for call, inputs, again in _cases(key):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast, function = _outcome(call, inputs), _without_fast_path(key, call, again)
        assert fast == function, [(x.dtype, x.shape, x.stride()) for x in inputs]
