"""Calls of every operator with a rule of its own: key -> functions from nothing to (fn, inputs)."""

import samples_linalg
import samples_recurrent
from numbers_for_tests import complexes, reals, whole
from samples_fourier import FOURIER
from samples_images import IMAGES
from samples_special import SPECIAL
from samples_statistics import STATISTICS
from samples_windows import WINDOWS

import flambeau
from flambeau.core import ops

bools = flambeau.tensor


def _mask():
    return bools([[True, False, True], [False, False, True]])


SAMPLES = {
    # ---- arithmetic
    "add": [
        lambda: (lambda a, b: flambeau.add(a, b, alpha=2.5), (reals(2, 3), reals(3, seed=1))),
        lambda: (lambda a, b: a + b, (complexes(2), reals(2))),
        lambda: (lambda a: a + 1.5, (reals(),)),
        lambda: (lambda a, b: a + b, (reals(0, 3), reals(1, 3))),
    ],
    "sub": [
        lambda: (lambda a, b: flambeau.sub(a, b, alpha=2), (reals(2, 1), reals(3, seed=1))),
        lambda: (lambda a, b: a - b, (reals(2, 2), reals(seed=1))),
    ],
    "rsub": [
        lambda: (lambda a, b: flambeau.rsub(a, b, alpha=3), (reals(2, 3), reals(2, 1, seed=1))),
        lambda: (lambda a: 1 - a, (reals(3),)),
    ],
    "mul": [
        lambda: (lambda a, b: a * b, (reals(2, 3), reals(2, 1, seed=1))),
        lambda: (lambda a, b: a * b, (complexes(2, 2), complexes(2, seed=1))),
        lambda: (lambda a, b: a * b, (complexes(2), reals(2, seed=1))),
        lambda: (lambda a: a * -2, (reals(2, 2).t(),)),
    ],
    "div": [
        lambda: (lambda a, b: a / b, (reals(2, 3), reals(3, low=0.5, seed=1))),
        lambda: (lambda a, b: a / b, (complexes(3), complexes(3, seed=1))),
        lambda: (lambda a: 2 / a, (reals(3, low=0.5),)),
    ],
    "neg": [lambda: (lambda a: -a, (reals(2, 3),))],
    "positive": [lambda: (lambda a: +a, (reals(3),))],
    "square": [lambda: (lambda a: a.square(), (reals(3),)),
               lambda: (lambda a: a.square(), (complexes(3),))],
    "addcmul": [
        lambda: (lambda a, b, c: flambeau.addcmul(a, b, c, value=0.5),
                 (reals(2, 3), reals(3, seed=1), reals(2, 1, seed=2))),
    ],
    "addcdiv": [
        lambda: (lambda a, b, c: flambeau.addcdiv(a, b, c, value=0.5),
                 (reals(2, 3), reals(3, seed=1), reals(2, 1, low=0.5, seed=2))),
    ],
    "pow": [
        lambda: (lambda a: a ** 3, (reals(4),)),
        lambda: (lambda a: a ** 2, (reals(2, 2),)),
        lambda: (lambda a: a ** 1, (reals(2),)),
        lambda: (lambda a: a ** 0, (reals(2),)),
        lambda: (lambda a: a ** -1.5, (reals(3, low=0.3),)),
        lambda: (lambda a: 2.0 ** a, (reals(3),)),
        lambda: (lambda a, b: a ** b, (reals(2, 3, low=0.2), reals(3, seed=1))),
        lambda: (lambda a, b: a ** b, (complexes(3), complexes(3, seed=1))),
        lambda: (lambda a, b: a ** b, (complexes(3), reals(3, seed=1))),
        lambda: (lambda a: a ** (1.5 - 0.5j), (complexes(3),)),
        lambda: (lambda a: 2.0 ** a, (complexes(3),)),
    ],
    "abs": [lambda: (lambda a: a.abs(), (reals(2, 3),)),
            lambda: (lambda a: a.abs(), (complexes(3),))],
    "where": [
        lambda: (lambda a, b: flambeau.where(_mask(), a, b), (reals(2, 3), reals(3, seed=1))),
        lambda: (lambda a: flambeau.where(_mask(), a, 0.5), (reals(),)),
    ],
    "maximum": [lambda: (lambda a, b: flambeau.maximum(a, b), (reals(2, 3), reals(3, seed=1)))],
    "minimum": [lambda: (lambda a, b: flambeau.minimum(a, b), (reals(2, 3), reals(3, seed=1)))],
    "conj": [lambda: (lambda a: flambeau.conj(a) * 1j, (complexes(3),)),
             lambda: (lambda a: flambeau.conj(a) * 2, (reals(3),))],
    "real_part": [lambda: (lambda a: ops.real_part(a), (complexes(3),)),
                  lambda: (lambda a: ops.real_part(a), (reals(3),))],
    "relu": [lambda: (lambda a: a.relu(), (reals(2, 3),))],
    "relu_grad": [lambda: (lambda g: ops.relu_grad(g, reals(2, 3, seed=1, grad=False)),
                           (reals(2, 3),))],
    "floor": [lambda: (lambda a: a.floor(), (reals(3),))],
    "ceil": [lambda: (lambda a: a.ceil(), (reals(3),))],
    "trunc": [lambda: (lambda a: a.trunc(), (reals(3),))],
    "round": [lambda: (lambda a: a.round(), (reals(3),))],
    "sign": [lambda: (lambda a: a.sign(), (reals(3),))],
    "trunc_divide": [lambda: (lambda a, b: ops.trunc_divide(a, b),
                              (reals(3), reals(3, low=0.5, seed=1)))],
    # ---- reductions
    "sum": [
        lambda: (lambda a: a.sum(), (reals(2, 3),)),
        lambda: (lambda a: a.sum(1), (reals(2, 3),)),
        lambda: (lambda a: a.sum((0, -1), keepdim=True), (reals(2, 2, 2),)),
        lambda: (lambda a: a.sum(0), (reals(0, 2),)),
        lambda: (lambda a: a.sum(), (reals(),)),
        lambda: (lambda a: a.sum(0), (complexes(2, 2),)),
    ],
    "mean": [
        lambda: (lambda a: a.mean(), (reals(2, 3),)),
        lambda: (lambda a: a.mean((0, 2)), (reals(2, 3, 2),)),
        lambda: (lambda a: a.mean(-1, keepdim=True), (reals(2, 3),)),
    ],
    "var": [
        lambda: (lambda a: a.var(), (reals(2, 3),)),
        lambda: (lambda a: a.var(1, correction=0), (reals(2, 3),)),
        lambda: (lambda a: a.var((0, 2), keepdim=True), (reals(2, 3, 2),)),
    ],
    "logsumexp": [
        lambda: (lambda a: a.logsumexp(1), (reals(2, 3),)),
        lambda: (lambda a: a.logsumexp((0, 1), keepdim=True), (reals(2, 3),)),
        lambda: (lambda a: a.logsumexp(0), (complexes(3, 2),)),
    ],
    "prod": [
        lambda: (lambda a: a.prod(), (reals(3),)),
        lambda: (lambda a: a.prod(1), (reals(2, 3),)),
        lambda: (lambda a: a.prod(0, keepdim=True), (reals(2, 3),)),
        lambda: (lambda a: (a * flambeau.tensor([[0.0, 1.0, 2.0], [0.0, 3.0, 0.0]],
                                                dtype=flambeau.float64)).prod(1), (reals(2, 3),)),
    ],
    "amax": [lambda: (lambda a: a.amax(1), (reals(2, 3),)),
             lambda: (lambda a: a.amax((0, 1), keepdim=True), (reals(2, 3),))],
    "amin": [lambda: (lambda a: a.amin(0), (reals(2, 3),)),
             lambda: (lambda a: a.amin(), (reals(2, 3),))],
    "max.dim": [lambda: (lambda a: a.max(1)[0], (reals(2, 3),)),
                lambda: (lambda a: a.max(0, keepdim=True)[0], (reals(2, 3),)),
                lambda: (lambda a: a.max(0)[0], (reals(),))],
    "min.dim": [lambda: (lambda a: a.min(1)[0], (reals(2, 3),))],
    "sort": [lambda: (lambda a: a.sort(0, descending=True)[0], (reals(3, 2),)),
             lambda: (lambda a: a.sort()[0], (reals(),))],
    "topk": [lambda: (lambda a: a.topk(2, -1)[0], (reals(2, 4),))],
    "cumsum": [lambda: (lambda a: a.cumsum(1), (reals(2, 3),)),
               lambda: (lambda a: a.cumsum(0), (reals(),))],
    "softmax": [lambda: (lambda a: a.softmax(-1), (reals(2, 3),)),
                lambda: (lambda a: a.softmax(0), (reals(2, 3),))],
    "log_softmax": [lambda: (lambda a: a.log_softmax(1), (reals(2, 3),))],
    "softmax_grad": [
        lambda: (lambda g, r: ops.softmax_grad(g, r, 1), (reals(2, 3), reals(2, 3, seed=1))),
    ],
    "log_softmax_grad": [
        lambda: (lambda g, r: ops.log_softmax_grad(g, r, 1), (reals(2, 3), reals(2, 3, seed=1))),
    ],
    # ---- views
    "view": [lambda: (lambda a: a.view(3, -1), (reals(2, 3),))],
    "alias": [lambda: (lambda a: ops.alias(a), (reals(2),))],
    "permute": [lambda: (lambda a: a.permute(2, 0, -2), (reals(2, 3, 4),))],
    "transpose": [lambda: (lambda a: a.transpose(0, -1), (reals(2, 3, 2),))],
    "t": [lambda: (lambda a: a.t(), (reals(2, 3),)), lambda: (lambda a: a.t(), (reals(3),))],
    "squeeze": [lambda: (lambda a: a.squeeze(), (reals(1, 3, 1),)),
                lambda: (lambda a: a.squeeze(0), (reals(1, 3, 1),))],
    "unsqueeze": [lambda: (lambda a: a.unsqueeze(-1), (reals(2, 3),))],
    "expand": [lambda: (lambda a: a.expand(4, 2, 3), (reals(2, 1),))],
    "view_as_real": [lambda: (lambda a: flambeau.view_as_real(a), (complexes(3),))],
    "view_as_complex": [lambda: (lambda a: flambeau.view_as_complex(a), (reals(3, 2),))],
    "select": [lambda: (lambda a: a[1], (reals(2, 3),)),
               lambda: (lambda a: a.select(-1, -2), (reals(2, 3),))],
    "slice": [lambda: (lambda a: a[:, 1:], (reals(2, 3),)),
              lambda: (lambda a: a[1::2], (reals(5, 2),))],
    "unbind": [lambda: (lambda a: a.unbind(), (reals(2, 3),)),
               lambda: (lambda a: a.unbind(-1)[1], (reals(2, 3),))],
    "split": [lambda: (lambda a: a.split(2, 1), (reals(2, 3),)),
              lambda: (lambda a: a.chunk(2)[1], (reals(3, 2),))],
    "split_with_sizes": [lambda: (lambda a: a.split([1, 0, 2], -1), (reals(2, 3),))],
    "narrow": [lambda: (lambda a: a.narrow(1, 1, 2), (reals(2, 4),))],
    "diagonal": [lambda: (lambda a: a.diagonal(), (reals(3, 3),)),
                 lambda: (lambda a: a.diagonal(1, 0, 2), (reals(2, 2, 3),))],
    "unfold": [lambda: (lambda a: a.unfold(0, 3, 1), (reals(5),)),
               lambda: (lambda a: a.unfold(1, 2, 2), (reals(2, 5),))],
    "as_strided": [
        lambda: (lambda a: a.as_strided((2, 2), (1, 2), 1), (reals(6),)),
        lambda: (lambda a: a.as_strided((3, 2), (1, 1)), (reals(4),)),
        lambda: (lambda a: (a * 1).t().as_strided((2, 2), (3, 1), 1), (reals(2, 3),)),
    ],
    # ---- movement
    "clone": [lambda: (lambda a: a.clone(), (reals(2, 3).t(),))],
    "contiguous_copy": [lambda: (lambda a: a.contiguous(), (reals(2, 3).t(),))],
    "cast": [lambda: (lambda a: ops.cast(a, flambeau.complex128), (reals(2),)),
             lambda: (lambda a: ops.cast(a, flambeau.float64), (complexes(2),))],
    "copy": [lambda: (lambda a, b: ops.copy_(a * 1, b), (reals(2, 3), reals(3, seed=1)))],
    "fill": [lambda: (lambda a, b: (a * 1).fill_(b), (reals(2, 3), reals(seed=1))),
             lambda: (lambda a: (a * 1).fill_(2.0) + a, (reals(2),))],
    "flip": [lambda: (lambda a: a.flip(0, 1), (reals(2, 3),))],
    "tril": [lambda: (lambda a: a.tril(), (reals(3, 3),))],
    "triu": [lambda: (lambda a: a.triu(1), (reals(3, 3),))],
    "cat": [
        lambda: (lambda a, b: flambeau.cat([a, b], 1), (reals(2, 1), reals(2, 3, seed=1))),
        lambda: (lambda a: flambeau.cat([a, reals(2, grad=False), a]), (reals(3),)),
    ],
    # ---- indexing
    "index_select": [lambda: (lambda a: a.index_select(1, whole([2, 0, 2])), (reals(2, 3),))],
    "index_add": [
        lambda: (lambda a, b: a.index_add(0, whole([1, 1]), b, alpha=2),
                 (reals(3, 2), reals(2, 2, seed=1))),
    ],
    "gather": [lambda: (lambda a: a.gather(1, whole([[0, 0], [2, 1]])), (reals(2, 3),))],
    "scatter_add": [
        lambda: (lambda a, b: a.scatter_add(1, whole([[0, 0], [2, 1]]), b),
                 (reals(2, 3), reals(2, 2, seed=1))),
        lambda: (lambda a, b: a.scatter_add(0, whole([[1]]), b),
                 (reals(2, 3), reals(2, 2, seed=1))),
    ],
    "scatter.src": [
        lambda: (lambda a, b: a.scatter(1, whole([[0, 2], [2, 1]]), b),
                 (reals(2, 3), reals(2, 2, seed=1))),
    ],
    "scatter.value": [lambda: (lambda a: a.scatter(1, whole([[0], [2]]), 1.5), (reals(2, 3),))],
    "index": [
        lambda: (lambda a: a[whole([0, 1, 0])], (reals(2, 3),)),
        lambda: (lambda a: a[:, whole([0, 2])], (reals(2, 3),)),
        lambda: (lambda a: a[whole([0, 1]), whole([2, 2])], (reals(2, 3),)),
        lambda: (lambda a: a[_mask()], (reals(2, 3),)),
    ],
    "index_put": [
        lambda: (lambda a, b: a.index_put([whole([0, 1, 1])], b, accumulate=True),
                 (reals(2, 3), reals(3, 3, seed=1))),
        lambda: (lambda a, b: a.index_put([whole([0, 1]), whole([1, 1])], b),
                 (reals(2, 3), reals(1, seed=1))),
    ],
    "masked_select": [
        lambda: (lambda a: a.masked_select(_mask()), (reals(2, 3),)),
        lambda: (lambda a: a.masked_select(_mask()), (reals(3),)),
    ],
    # ---- products
    "wide_product": [
        lambda: (lambda a, b: ops.wide_product(a, b), (reals(2, 3), reals(3, 4, seed=1))),
        lambda: (lambda a, b: ops.wide_product(a, b), (reals(3), reals(3, seed=1))),
        lambda: (lambda a, b: ops.wide_product(a, b), (reals(2, 1, 2, 2), reals(2, 2, 1, seed=1))),
    ],
    "matmul": [
        lambda: (lambda a, b: a @ b, (reals(2, 3), reals(3, 4, seed=1))),
        lambda: (lambda a, b: a @ b, (reals(3), reals(3, seed=1))),
        lambda: (lambda a, b: a @ b, (reals(2, 3), reals(3, seed=1))),
        lambda: (lambda a, b: a @ b, (reals(3), reals(3, 2, seed=1))),
        lambda: (lambda a, b: a @ b, (reals(2, 2, 3), reals(3, 2, seed=1))),
        lambda: (lambda a, b: a @ b, (reals(2, 3), reals(2, 3, 2, seed=1))),
        lambda: (lambda a, b: a @ b, (reals(2, 1, 2, 2), reals(2, 2, 1, seed=1))),
        lambda: (lambda a, b: a @ b, (reals(2, 2, 3), reals(3, seed=1))),
        lambda: (lambda a, b: a @ b, (reals(3), reals(2, 3, 2, seed=1))),
        lambda: (lambda a, b: a @ b, (complexes(2, 2), complexes(2, 2, seed=1))),
    ],
    "linear": [
        lambda: (lambda x, w, b: ops.linear(x, w, b),
                 (reals(2, 3), reals(4, 3, seed=1), reals(4, seed=2))),
        lambda: (lambda x, w: ops.linear(x, w), (reals(2, 2, 3), reals(2, 3, seed=1))),
        lambda: (lambda x, w: ops.linear(x, w), (reals(2, 2, 3), reals(3, seed=1))),
        lambda: (lambda x, w: ops.linear(x, w), (reals(3), reals(3, seed=1))),
        lambda: (lambda x, w, b: ops.linear(x, w, b),
                 (reals(3), reals(2, 3, seed=1), reals(2, seed=2))),
    ],
    # ---- networks
    "conv2d": [
        lambda: (lambda x, w, b: ops.conv2d(x, w, b, [1, 2], [1, 0]),
                 (reals(2, 2, 4, 4), reals(3, 2, 3, 2, seed=1), reals(3, seed=2))),
        lambda: (lambda x, w: ops.conv2d(x, w, None, 1, 1, 2, 2),
                 (reals(1, 2, 4, 4), reals(2, 1, 2, 2, seed=1))),
        lambda: (lambda x, w, b: ops.conv2d(x, w, b, 1, 1),
                 (complexes(1, 2, 3, 3), complexes(2, 2, 2, 2, seed=1), complexes(2, seed=2))),
    ],
    "conv2d_input_grad": [
        lambda: (lambda g, w: ops.conv2d_input_grad(g, w, (1, 2, 4, 4), 2, 1),
                 (reals(1, 2, 2, 2), reals(2, 2, 3, 3, seed=1))),
    ],
    "conv2d_weight_grad": [
        lambda: (lambda g, x: ops.conv2d_weight_grad(g, x, (2, 2, 3, 3), 2, 1),
                 (reals(1, 2, 2, 2), reals(1, 2, 4, 4, seed=1))),
    ],
    "max_pool2d_with_indices": [
        lambda: (lambda x: ops.max_pool2d_with_indices(x, 2, 1)[0], (reals(1, 2, 3, 4),)),
        lambda: (lambda x: ops.max_pool2d_with_indices(x, 3, 2, 1)[0], (reals(2, 4, 4),)),
    ],
    "max_pool2d_compact_indices": [
        lambda: (lambda x: ops.max_pool2d_compact_indices(x, 2, 1)[0], (reals(1, 2, 3, 4),)),
        lambda: (lambda x: ops.max_pool2d_compact_indices(x, 3, 2, 1)[0], (reals(2, 17, 16),)),
    ],
    "max_pool2d_values": [
        lambda: (lambda x: ops.max_pool2d_values(x, 3, 2, 1), (reals(2, 4, 4),)),
    ],
    "max_pool2d_grad": [
        lambda: (lambda g: ops.max_pool2d_grad(
            g, ops.max_pool2d_with_indices(reals(1, 2, 3, 3, grad=False), 2, 1)[1],
            (1, 2, 3, 3)), (reals(1, 2, 2, 2),)),
        lambda: (lambda g: ops.max_pool2d_grad(
            g, ops.max_pool2d_compact_indices(reals(1, 2, 3, 3, grad=False), 2, 1)[1],
            (1, 2, 3, 3)), (reals(1, 2, 2, 2),)),
    ],
    "avg_pool2d": [
        lambda: (lambda x: ops.avg_pool2d(x, 2, 1, 1, False, False), (reals(1, 2, 3, 3),)),
    ],
    "avg_pool2d_grad": [
        lambda: (lambda g: ops.avg_pool2d_grad(g, (1, 1, 3, 3), 2, 1), (reals(1, 1, 2, 2),)),
    ],
    "embedding_lookup": [
        lambda: (lambda w: ops.embedding_lookup(w, whole([[0, 2], [2, 2]])), (reals(3, 2),)),
        # With scale_grad_by_freq the result is the derivative only where no row occurs twice.
        lambda: (lambda w: ops.embedding_lookup(w, whole([2, 0]), -1, True), (reals(3, 2),)),
    ],
    "embedding_grad": [
        lambda: (lambda g: ops.embedding_grad(g, whole([0, 2, 2]), 3), (reals(3, 2),)),
        lambda: (lambda g: ops.embedding_grad(g, whole([0, 2, 1]), 3, 2), (reals(3, 2),)),
    ],
    "binary_cross_entropy_terms": [
        lambda: (ops.binary_cross_entropy_terms,
                 (reals(3, low=0.1, high=0.9), reals(3, low=0.1, high=0.9)))],
    "masked_scale": [lambda: (lambda x: ops.masked_scale(x, whole([1, 0, 1]) > 0, 0.7),
                              (reals(2, 3),))],
    "huber_terms": [
        lambda: (lambda x, y: ops.huber_terms(x, y, 0.7), (reals(4), reals(4)))],
    "nll_loss_rows": [
        lambda: (lambda x: ops.nll_loss_rows(x, whole([0, 2, 1]), reals(3, low=0.5, grad=False))[0],
                 (reals(3, 3),)),
        lambda: (lambda x: ops.nll_loss_rows(x, whole([0, -100, 1]), None, 0)[0], (reals(3, 3),)),
    ],
    "nll_loss_grad": [
        lambda: (lambda g: ops.nll_loss_grad(
            g, reals(2, 3, grad=False), whole([0, 2]), None, 2, -100,
            flambeau.tensor(2.0, dtype=flambeau.float64)), (reals(),)),
    ],
    "cross_entropy_rows": [
        lambda: (lambda x: ops.cross_entropy_rows(
            x, whole([0, -100, 1]), reals(3, low=0.5, grad=False), 1, -100, 0.2)[0],
                 (reals(3, 3),)),
        lambda: (lambda x: ops.cross_entropy_rows(x, whole([[0, -100], [2, 1]]), None, 0)[0],
                 (reals(2, 3, 2),)),
        lambda: (lambda x: ops.cross_entropy_rows(x, whole(2), None, 2, -100, 0.1)[0],
                 (reals(3),)),
    ],
    **STATISTICS,
    # ---- normalization and attention
    "native_rms_norm": [
        lambda: (lambda x, w: ops.native_rms_norm(x, 2, w, 1e-2)[0],
                 (reals(2, 3, 2), reals(3, 2))),
        lambda: (lambda x: ops.native_rms_norm(x, 1, None, 1e-2)[0], (reals(4),)),
    ],
    "native_layer_norm": [
        lambda: (lambda x, w, b: ops.native_layer_norm(x, 1, w, b)[0],
                 (reals(2, 4), reals(4, seed=1), reals(4, seed=2))),
        lambda: (lambda x: ops.native_layer_norm(x, 2)[0], (reals(2, 2, 3),)),
    ],
    "native_batch_norm": [
        lambda: (lambda x, w, b: ops.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)[0],
                 (reals(3, 2, 2), reals(2, seed=1), reals(2, seed=2))),
        lambda: (lambda x, w, b: ops.native_batch_norm(
            x, w, b, reals(2, grad=False), reals(2, low=0.5, grad=False), False, 0.1, 1e-5)[0],
                 (reals(3, 2), reals(2, seed=1), reals(2, seed=2))),
    ],
    "attention": [
        lambda: (lambda q, k, v: ops.attention(q, k, v)[0],
                 (reals(1, 2, 3, 2), reals(1, 2, 3, 2, seed=1), reals(1, 2, 3, 2, seed=2))),
        lambda: (lambda q, k, v: ops.attention(q, k, v, None, True, 0.5)[0],
                 (reals(1, 1, 3, 2), reals(1, 1, 3, 2, seed=1), reals(1, 1, 3, 2, seed=2))),
        lambda: (lambda q, m: ops.attention(q, q, q, m)[0],
                 (reals(1, 1, 3, 2), reals(1, 1, 3, 3, seed=1))),
    ],
}
SAMPLES |= SPECIAL | WINDOWS | IMAGES | FOURIER

SAMPLES |= samples_linalg.SAMPLES | samples_recurrent.SAMPLES

#: Rules whose derivatives are reached only through another sample's second derivative: the
#: kernels expect statistics that belong to their input, so their arguments cannot be moved alone.
THROUGH_SECOND_ORDER = {
    "layer_norm_grad": "native_layer_norm",
    "rms_norm_grad": "native_rms_norm",
    "cross_entropy_grad": "cross_entropy_rows",
    "batch_norm_grad": "native_batch_norm",
    "attention_grad": "attention",
    "group_norm_grad": "native_group_norm",
    "grid_sampler_grad": "grid_sampler",
}

#: Rules that say that there is no second derivative, and what they belong to.
ONCE = {"ctc_loss_grad": "ctc_loss_rows"}
