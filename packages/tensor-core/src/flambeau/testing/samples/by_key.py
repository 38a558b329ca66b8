"""Sample arguments of definitions whose roles do not say enough: one entry per definition.

Each entry takes a ``Maker`` and gives lists of arguments in the definition's order.
"""
from __future__ import annotations

import numpy as np

from flambeau.testing.samples import fourier, layouts, movement, statistics
from flambeau.testing.samples.images import FLOATING as FLOATING_IMAGES
from flambeau.testing.samples.images import IMAGES
from flambeau.testing.samples.quantized import QUANTIZED
from flambeau.testing.samples.recurrent import FLOATING as FLOATING_RECURRENT
from flambeau.testing.samples.recurrent import RECURRENT
from flambeau.testing.samples.windows import FLOATING_WINDOWS, WINDOWS


def _softmax(m):
    return [(x, d, None) for x in (m.array(3, 5), m.array(5, 3).T, m.array(2, 3, 4))
            for d in (0, -1)]


def _log_softmax_at(m):
    return [(m.array(3, 5), 1, m.index(5, 3)), (m.array(2, 3, 4), -1, m.index(4, 2, 3))]


def _softmax_grad(m):
    return [(m.array(3, 5), m.array(3, 5), d) for d in (0, 1)]


def _matmul(m):
    shapes = [((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)),
              ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 2)), ((0, 4), (4, 3)), ((3, 0), (0, 2))]
    pairs = [(m.array(*a), m.array(*b)) for a, b in shapes]
    return [*pairs, (m.array(4, 3).T, m.array(5, 4).T)]


def _conv(m, grad=""):
    options: list = [(1, 0, 1, 1), (2, 1, 1, 1), ((1, 2), (2, 1), 2, 2)]
    for stride, padding, dilation, groups in options:
        x, w = m.array(2, 4, 8, 9), m.array(6, 4 // groups, 3, 2)
        sizes = [(n + 2 * p - (k - 1) * d - 1) // s + 1 for n, k, s, p, d in zip(
            (8, 9), (3, 2), *(((v, v) if isinstance(v, int) else v)
                              for v in (stride, padding, dilation)), strict=True)]
        g, rest = m.array(2, 6, *sizes), (stride, padding, dilation, groups)
        if grad == "input":
            yield g, w, x.shape, *rest
        elif grad == "weight":
            yield g, x, w.shape, *rest
        else:
            yield x, w, m.array(6), *rest
            yield x[0], w, None, *rest


def _max_pool(m):
    few = m.dtype == "bool" or m.dtype.startswith("uint")
    x = m.array(2, 3, 7, 8) if few else m.distinct(2, 3, 7, 8)
    return [(x, 2, None, 0, 1, False), (x, (3, 2), 2, 1, 1, True), (x[0], 2, 1, 0, 2, False)]


def _avg_pool(m, grad=False):
    options: list = [(2, None, 0, False, True, None), ((3, 2), 2, 1, True, True, None),
                     (3, 2, 1, True, False, None), (2, 2, 0, False, True, 3)]
    for kernel, stride, padding, ceil, include, divisor in options:
        x = m.array(2, 3, 7, 8)
        rest = (kernel, stride, padding, ceil, include, divisor)
        if not grad:
            yield x, *rest
            continue
        pair = (kernel, kernel) if isinstance(kernel, int) else kernel
        count = [(n + 2 * padding - k + ((stride or k) - 1 if ceil else 0)) // (stride or k) + 1
                 for n, k in zip((7, 8), pair, strict=True)]
        count = [c - 1 if ceil and (c - 1) * (stride or 1) >= n + padding else c
                 for c, n in zip(count, (7, 8), strict=True)]
        yield m.array(2, 3, *count), x.shape, *rest


def _positive(m, *shape):
    return np.asarray(np.abs(m.array(*shape)) + np.asarray(0.5).astype(m.numpy_dtype))


def _layer_norm_grad(m):
    return [(m.array(4, 6), m.array(4, 6), m.array(4, 1), _positive(m, 4, 1), w, 1)
            for w in (m.array(6), None)]


def _batch_norm(m):
    x = m.array(4, 3, 2, 2)
    running = m.array(3), _positive(m, 3)
    return [(x, m.array(3), m.array(3), *running, training, 0.1, 1e-5)
            for training in (True, False)] + [(m.array(5, 3), None, None, None, None, True, 0.1,
                                               1e-5)]


def _batch_norm_grad(m):
    return [(m.array(4, 3, 2), m.array(4, 3, 2), w, m.array(3), _positive(m, 3), t)
            for w in (m.array(3), None) for t in (True, False)]


def _rms_norm_grad(m):
    """Gradients from the outputs that belong to the inputs."""
    for shape, axes, weight in (((4, 6), 1, (6,)), ((2, 3, 4), 2, None)):
        x = m.array(*shape)
        squares = np.square(x.astype(np.float64)).mean(tuple(range(-axes, 0)), keepdims=True)
        rstd = (1 / np.sqrt(squares + 1e-2)).astype(m.numpy_dtype)
        yield m.array(*shape), x, rstd, weight and m.array(*weight), axes, 1e-2


def _nll(m):
    x, target = m.array(5, 4), m.index(4, 5)
    target[1] = -100
    return [(x, target, w, r, -100) for w in (None, _positive(m, 4)) for r in (0, 1, 2)]


def _nll_grad(m):
    for x, target, weight, reduction, ignore in _nll(m):
        grad = m.array(5) if reduction == 0 else m.array()
        yield grad, x, target, weight, reduction, ignore, _positive(m)


def _cross_entropy(m):
    dense, many = m.array(5, 4), m.array(2, 3, 2)
    target, pairs = m.index(4, 5), m.index(3, 2, 2)
    target[1] = -100
    for reduction, weight, smoothing in ((0, None, 0.0), (1, 4, 0.0), (1, None, 0.2), (2, 4, 0.3)):
        yield dense, target, weight and _positive(m, weight), reduction, -100, smoothing
    yield many, pairs, None, 0, 1, 0.1
    yield m.array(4), m.index(4), None, 1, -100, 0.0


def _cross_entropy_grad(m):
    for x, target, weight, reduction, ignore, smoothing in _cross_entropy(m):
        dim = min(x.ndim - 1, 1)
        high = np.asarray(x.max(dim))
        logs = np.asarray(np.log(np.exp(x - np.expand_dims(high, dim)).sum(dim)))
        grad = m.array(*target.shape) if reduction == 0 else m.array()
        yield (x, grad, target, weight, reduction, ignore, smoothing, _positive(m),
               high, logs.astype(m.numpy_dtype))


def _attention(m):
    q, k, v = m.array(2, 2, 5, 4), m.array(2, 2, 6, 4), m.array(2, 2, 6, 3)
    mask = m.mask(5, 6)
    mask[:, 0] = True
    return [(q, k, v, None, False, None), (q, k, v, None, True, 0.3), (q, k, v, mask, False, None),
            (q, k, v, m.array(5, 6), False, None)]


def _attention_grad(m):
    """Gradients from the outputs that belong to the inputs."""
    for q, k, v, mask, causal, scale in _attention(m):
        if m.dtype in ("float32", "float64"):
            from flambeau.testing.reference import KERNELS

            result, total = KERNELS["attention"](q, k, v, mask, causal, scale)
            yield (m.array(*result.shape), q, k, v, mask, causal, scale,
                   result.astype(m.dtype), total.astype(m.dtype))


def _indexed(m):
    x = m.array(4, 5, 3)
    return x, [(m.index(4, 6), None, None), (None, m.index(5, 2, 3)),
               (m.index(4, 3), m.index(5, 3)),
               (m.index(4, 2, 1), None, m.index(3, 2))]


def _index_put(m):
    x, all_positions = _indexed(m)
    results = [(6, 5, 3), (4, 2, 3, 3), (3, 3), (2, 2, 5)]
    for positions, shape in zip(all_positions[:3], results[:3], strict=True):
        yield x, positions, m.array(*shape), True
    distinct = np.array([2, 0, 3])
    yield x, (distinct, None), m.array(3, 5, 3), False
    yield x, (distinct,), m.array(1), False


def _scatter(m):
    index = np.argsort(m.rng.random((3, 5)), axis=1)[:, :4]
    return [(m.array(3, 5), 1, index, m.array(3, 4)), (m.array(3, 5).T.copy().T, -1, index[:2],
                                                        m.array(2, 4))]


def _sorting(m, *rest):
    if m.dtype == "bool" or m.dtype.startswith(("uint", "complex")):
        return [(m.array(3, 8), -1, *r) for r in rest]
    return [(m.distinct(3, 8), d, *r) for d in (0, -1) for r in rest]


def _topk(m):
    few = m.dtype == "bool" or m.dtype.startswith(("uint", "complex"))
    x = m.array(3, 8) if few else m.distinct(3, 8)
    return [(x, 3, -1, True, True), (x, 2, 0, False, True)]


def _whole(m):
    return [(m.array(3, 5), m.array(5))] if "int" in m.dtype else []


def _moderate(m, *shape):
    """Between 1/2 and 4."""
    return np.asarray(0.5 + np.abs(m.array(*shape))).astype(m.numpy_dtype)


def _views(*rest):
    return lambda m: [(m.array(2, 3, 4), *r) for r in rest]


def _random(*rest):
    return lambda m: [(np.zeros(shape, m.numpy_dtype), *rest) for shape in ((3, 5), (0,), (5003,))]


_POLYNOMIALS = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_")
                for kind in "tuvw"] + ["hermite_polynomial_h", "hermite_polynomial_he",
                                       "laguerre_polynomial_l", "legendre_polynomial_p"]

#: Definitions that only take real floating tensors; the internal ones among them do not check it.
FLOATING = set((
    "log_softmax_at softmax_grad log_softmax_grad conv2d_input_grad conv2d_weight_grad "
    "avg_pool2d_grad "
    "native_layer_norm layer_norm_grad native_batch_norm batch_norm_grad nll_loss_rows "
    "nll_loss_grad native_rms_norm rms_norm_grad "
    "cross_entropy_rows cross_entropy_grad attention attention_grad "
    "max_pool2d_grad embedding_grad frexp zeta igamma "
    "igammac").split()) | FLOATING_WINDOWS | FLOATING_IMAGES | FLOATING_RECURRENT
FLOATING |= {"amp_unscale", "cdist_of", *_POLYNOMIALS}

BY_KEY = {
    "cumsum": lambda m: [(m.array(3, 5), d, None) for d in (0, 1)] + [(m.array(0, 3), 0, None)],
    "softmax": _softmax, "log_softmax": _softmax,
    "log_softmax_at": _log_softmax_at,
    "softmax_grad": _softmax_grad, "log_softmax_grad": _softmax_grad,
    "matmul": _matmul, "wide_product": _matmul,
    "linear": lambda m: [(m.array(3, 4), m.array(5, 4), b) for b in (m.array(5), None)]
    + [(m.array(2, 3, 4), m.array(5, 4), None)],
    "conv2d": _conv,
    "conv2d_input_grad": lambda m: _conv(m, "input"),
    "conv2d_weight_grad": lambda m: _conv(m, "weight"),
    "max_pool2d_with_indices": _max_pool,
    "max_pool2d_compact_indices": _max_pool,
    "max_pool2d_values": _max_pool,
    "max_pool2d_grad": lambda m: [(m.array(2, 3, 2, 2), m.index(20, 2, 3, 2, 2), (2, 3, 4, 5))],
    "avg_pool2d": _avg_pool,
    "avg_pool2d_grad": lambda m: _avg_pool(m, True),
    "native_layer_norm": lambda m: [(m.array(4, 6), 1, m.array(6), m.array(6), 1e-5),
                                    (m.array(2, 3, 4), 2, None, None, 1e-5)],
    "layer_norm_grad": _layer_norm_grad,
    "native_rms_norm": lambda m: [(m.array(4, 6), 1, m.array(6), 1e-5),
                                  (m.array(2, 3, 4), 2, None, 1e-2)],
    "rms_norm_grad": _rms_norm_grad,
    "native_batch_norm": _batch_norm,
    "batch_norm_grad": _batch_norm_grad,
    "amp_unscale": lambda m: [(m.array(3, 5), 0.5), (m.array(0, 2), 2.0), (m.array(), 0.25)],
    "embedding_lookup": lambda m: [(m.array(7, 3), m.index(7, 2, 4), -1)],
    "embedding_grad": lambda m: [(m.array(2, 4, 3), m.index(7, 2, 4), 7, p) for p in (-1, 2)],
    "nll_loss_rows": _nll, "nll_loss_grad": _nll_grad,
    "cross_entropy_rows": _cross_entropy, "cross_entropy_grad": _cross_entropy_grad,
    "attention": _attention, "attention_grad": _attention_grad,
    "cat": lambda m: [((m.array(2, 3), m.array(4, 3)), 0), ((m.array(2, 3), m.array(1, 2).T), -1)],
    "index_select": lambda m: [(m.array(4, 5), d, m.index(4, 3)) for d in (0, 1)],
    "index_add": lambda m: [(m.array(4, 5), 0, m.index(4, 6), m.array(6, 5), 2)],
    "gather": lambda m: [(m.array(4, 5), 1, m.index(5, 4, 2)), (m.array(4, 5).T, 0,
                                                                m.index(5, 3, 2))],
    "scatter_add": lambda m: [(m.array(4, 5), 1, m.index(5, 3, 4), m.array(4, 5))],
    "scatter.src": _scatter,
    "scatter.value": lambda m: [(m.array(4, 5), 1, m.index(5, 3, 4), 1)],
    "index": lambda m: [(_indexed(m)[0], positions) for positions in _indexed(m)[1]],
    "index_put": _index_put,
    "masked_select": lambda m: [(m.array(3, 5), m.mask(3, 5)), (m.array(3, 5), m.mask(5))],
    "frexp": lambda m: [(x,) for x in layouts(m)],
    "gcd": _whole, "lcm": _whole,
    **{name: lambda m: [(m.array(3, 5), np.arange(5).astype(m.numpy_dtype))]
       for name in _POLYNOMIALS},
    "zeta": lambda m: [(_moderate(m, 3, 5) + 1, _moderate(m, 5))],
    "igamma": lambda m: [(_moderate(m, 3, 5), _moderate(m, 5))],
    "igammac": lambda m: [(_moderate(m, 3, 5), _moderate(m, 5))],
    "nonzero": lambda m: [(m.array(3, 5),)],
    "flip": lambda m: [(m.array(3, 5), dims) for dims in ((0,), (0, 1))],
    "sort": lambda m: _sorting(m, (False, True), (True, True)),
    "topk": _topk,
    "cdist_of": lambda m: [(m.array(2, 4, 3), m.array(2, 5, 3), p) for p in (1.0, 2.0, np.inf)]
    + [(m.array(1, 4, 3), m.array(1, 0, 3), 1.0)],
    "tril": lambda m: [(m.array(4, 5), d) for d in (-1, 0, 2)] + [(m.array(2, 5, 4), 0)],
    "triu": lambda m: [(m.array(4, 5), d) for d in (-1, 0, 2)] + [(m.array(2, 5, 4), 0)],
    "one_hot_rows": lambda m: [(m.index(4, 5), 4)] if m.dtype == "int64" else [],
    "cast": lambda m: [(x, f"dtype:{d}") for x in layouts(m) for d in
                       ("bool", "int32", "int64", "bfloat16", "float32", "float64")],
    "copy": lambda m: [(m.array(3, 5), m.array(3, 5)), (m.array(3, 5), m.array(5)),
                       (m.array(5, 3).T, m.array(3, 5))],
    "fill": lambda m: [(m.array(3, 5), 1), (m.array(6, 4)[::2], True)],
    "to_device": lambda m: [],
    "view": _views(((6, 4),), ((2, -1),)),
    "as_strided": _views(((2, 2), (1, 3), 2)),
    "permute": _views(((2, 0, 1),)),
    "transpose": _views((0, 2)),
    "t": lambda m: [(m.array(2, 3),)],
    "expand": lambda m: [(m.array(1, 3), (4, 3))],
    "squeeze": lambda m: [(m.array(1, 3, 1), d) for d in (None, 0, 2)],
    "unsqueeze": _views((1,), (-1,)),
    "select": _views((1, 2), (-1, -1)),
    "slice": _views((1, 1, 3, 1), (2, None, None, 2)),
    "narrow": _views((2, 1, 2)),
    "diagonal": _views((0, 0, 1), (1, 1, 2)),
    "unfold": _views((2, 2, 1)),
    "view_as_real": lambda m: [(m.array(3, 2),)] if m.dtype.startswith("complex") else [],
    "view_as_complex": lambda m: [(m.array(3, 2),)] if m.dtype in ("float32", "float64") else [],
    "random_uniform": _random(-1.0, 2.0), "random_normal": _random(1.0, 2.0),
    "random_integers": _random(-3, 9), "random_bernoulli": _random(0.3),
    "random_permutation": lambda m: [], "random_distribution": lambda m: [],
    "native_dropout": lambda m: [(m.array(*s), 0.25, 4 / 3) for s in ((3, 5), (0,), (5003,))],
    **WINDOWS,
}
BY_KEY |= fourier.BY_KEY
BY_KEY |= movement.BY_KEY
BY_KEY |= statistics.BY_KEY
BY_KEY |= IMAGES | RECURRENT | QUANTIZED
