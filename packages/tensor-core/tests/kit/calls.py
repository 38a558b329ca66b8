"""Calls of every row that is not pointwise, written once for Flambeau and PyTorch.

``CALLS[key]`` is a list of ``Call``; ``call.run(lib)`` makes the inputs in that library and
calls the operator there, so the same list serves comparisons with PyTorch, with other layouts,
other thread counts, other instruction sets and without NumPy's help.
"""

from __future__ import annotations

import calls_linalg
from call import ALL, FLOATS, NUMBERS, REAL, TWO, Call, nn
from call import call_of as _c
from calls_activations import ACTIVATIONS
from calls_fourier import FOURIER, FOURIER_ELSEWHERE
from calls_images import IMAGES
from calls_margins import MARGINS
from calls_numbers import NUMERIC
from calls_windows import WINDOWS, WINDOWS_ELSEWHERE


def _reduce(name, dtypes, empty=True, **options):
    """Calls of a reduction: everything, one dim, several, kept, nothing to reduce."""
    def one(*args, **kw):
        return lambda lib, x: getattr(x, name)(*args, **kw)

    calls = [_c(one(), (3, 4, 5), d=dtypes, **options), _c(one(1), (3, 4, 5), d=dtypes, **options),
             _c(one(-1, keepdim=True), (2, 3, 67), d=dtypes, **options),
             _c(one(0), (300, 3), d=dtypes, factor=3, **options),
             _c(one(), (), d=dtypes, **options), _c(one(0), (1,), d=dtypes, **options)]
    if empty:
        calls += [_c(one(), (0,), d=dtypes, **options), _c(one(1), (3, 0, 2), d=dtypes, **options)]
    return calls


def _several(name, dtypes):
    return [_c(lambda lib, x: getattr(x, name)((0, -1)), (3, 4, 5), d=dtypes),
            _c(lambda lib, x: getattr(x, name)((0, 1), keepdim=True), (3, 4, 5), d=dtypes)]


INDEX2 = [[0, 2, 1], [2, 2, 0]]
IMAGE, FILTER = (2, 3, 8, 9), (4, 3, 3, 3)

CALLS: dict[str, list[Call]] = {
    # ---- complex numbers
    "complex": [_c(lambda lib, a, b: lib.complex(a, b), (3, 4), (3, 4), d=TWO),
                _c(lambda lib, a, b: lib.complex(a, b), (2, 1, 3), (4, 1), d=TWO),
                _c(lambda lib, a, b: lib.complex(a, b), (), (0, 2), d=TWO)],
    "polar": [_c(lambda lib, a, b: lib.polar(a, b), (3, 1), (4,), domain=(0.1, 3.0), d=TWO)],
    "positive": [_c(lambda lib, x: lib.positive(x), d=NUMBERS), _c(lambda lib, x: +x, d=NUMBERS)],
    "resolve_conj": [_c(lambda lib, x: x.conj().resolve_conj(), d=("complex64", "float32"))],
    "resolve_neg": [_c(lambda lib, x: x.resolve_neg(), d=("complex64", "int32"))],
    # ---- reductions
    "sum": _reduce("sum", ALL) + _several("sum", ("float32", "int32", "complex64")) + [
        _c(lambda lib, x: x.sum(0, dtype=lib.float64), d=("float32", "int32", "bool"))],
    "prod": [_c(lambda lib, x: x.prod(1), (3, 67), domain=(0.5, 1.5)),
             _c(lambda lib, x: x.prod(0), (67, 35), domain=(0.5, 1.5)),
             _c(lambda lib, x: x.prod(1), (3, 4), d=NUMBERS),
             _c(lambda lib, x: x.prod(), (3, 4), d=TWO), _c(lambda lib, x: x.prod(), (0,), d=ALL),
             _c(lambda lib, x: x.prod(0, keepdim=True), (3, 0), d=ALL)],
    "mean": _reduce("mean", (*FLOATS, "complex64")) + _several("mean", TWO) + [
        _c(lambda lib, x: x.mean(dtype=lib.float32), d=("int32", "uint8", "bool"))],
    "amax": _reduce("amax", REAL, empty=False) + _several("amax", REAL),
    "amin": _reduce("amin", REAL, empty=False) + _several("amin", REAL),
    "any": _reduce("any", ALL) + [_c(lambda lib, x: (x > 9).any(0), d=TWO)],
    "all": _reduce("all", ALL) + [_c(lambda lib, x: (x > -9).all(0), d=TWO)],
    "argmax": [_c(lambda lib, x: x.argmax(), (3, 77), d=TWO),
               _c(lambda lib, x: x.argmax(1), (3, 77, 2), d=TWO),
               _c(lambda lib, x: x.argmax(-1, keepdim=True), (3, 7), d=TWO),
               _c(lambda lib, x: x.argmax(), (), d=TWO)],
    "argmin": [_c(lambda lib, x: x.argmin(), (3, 77), d=TWO),
               _c(lambda lib, x: x.argmin(0), (77, 3), d=TWO)],
    "max.dim": [_c(lambda lib, x: tuple(x.max(1)), (3, 77), d=TWO),
                _c(lambda lib, x: tuple(x.max(0, keepdim=True)), (77, 3), d=TWO),
                _c(lambda lib, x: x.max(1)[0], (3, 77), d=REAL)],
    "min.dim": [_c(lambda lib, x: tuple(x.min(1)), (3, 77), d=TWO),
                _c(lambda lib, x: x.min(0)[0], (77, 3), d=REAL)],
    "var": [_c(lambda lib, x: x.var(1), (3, 67)), _c(lambda lib, x: x.var(0), (67, 35)),
            _c(lambda lib, x: (x + 1000).var(), (300,), d=("float64",)),
            _c(lambda lib, x: x.var(), (40,), d=FLOATS), _c(lambda lib, x: x.var(1), d=FLOATS),
            _c(lambda lib, x: x.var((0, 2), correction=0, keepdim=True), d=TWO),
            _c(lambda lib, x: x.var(1, correction=0), (3, 1), d=TWO)],
    "std": [_c(lambda lib, x: x.std(0), d=TWO), _c(lambda lib, x: x.std(correction=2), d=TWO)],
    "logsumexp": [_c(lambda lib, x: x.logsumexp(1), (3, 67)),
                  _c(lambda lib, x: x.logsumexp(0), (67, 3)),
                  _c(lambda lib, x: x.logsumexp(1), d=(*FLOATS, "complex64", "complex128")),
                  _c(lambda lib, x: lib.logsumexp(x * 300, (0, 2), True), d=TWO),
                  _c(lambda lib, x: x.log().logsumexp(0), (4, 2), domain=(0, 0), d=TWO)],
    "cumsum": [_c(lambda lib, x: x.cumsum(-1), (3, 67), d=NUMBERS),
               _c(lambda lib, x: x.cumsum(0), (67, 5)), _c(lambda lib, x: x.cumsum(0), (3, 1100)),
               _c(lambda lib, x: x.cumsum(0), d=NUMBERS), _c(lambda lib, x: x.cumsum(-1), d=TWO),
               _c(lambda lib, x: x.cumsum(0), (), d=TWO),
               _c(lambda lib, x: x.cumsum(1, dtype=lib.float64), d=("bool", "int32", "float32"))],
    "softmax": [_c(lambda lib, x: x.softmax(-1), (3, 67), d=FLOATS),
                _c(lambda lib, x: x.softmax(0), (67, 35)), _c(lambda lib, x: x.softmax(1), (2, 1)),
                _c(lambda lib, x: x.softmax(-1), d=FLOATS), _c(lambda lib, x: x.softmax(0), d=TWO),
                _c(lambda lib, x: lib.softmax(x * 200, 1), d=TWO),
                _c(lambda lib, x: x.softmax(1, dtype=lib.float64), d=("int32", "float32"))],
    "log_softmax": [_c(lambda lib, x: x.log_softmax(-1), (3, 67), d=FLOATS),
                    _c(lambda lib, x: x.log_softmax(0), (67, 35)),
                    _c(lambda lib, x: x.log_softmax(-1), d=FLOATS),
                    _c(lambda lib, x: x.log_softmax(0), d=TWO)],
    # ---- views
    "view": [_c(lambda lib, x: x.clone().contiguous().view(5, 12), d=ALL),
             _c(lambda lib, x: x.contiguous().view(-1, 2), d=TWO),
             _c(lambda lib, x: x.view(0, 3), (3, 0), d=TWO)],
    "as_strided": [_c(lambda lib, x: x.contiguous().clone().as_strided((2, 3), (1, 2), 4), d=ALL)],
    "permute": [_c(lambda lib, x: x.permute(2, 0, 1), d=ALL),
                _c(lambda lib, x: lib.permute(x, (1, -1, 0)), d=TWO)],
    "transpose": [_c(lambda lib, x: x.transpose(0, -1), d=ALL),
                  _c(lambda lib, x: x.swapaxes(0, 1), d=TWO)],
    "t": [_c(lambda lib, x: x.t(), (3, 4), d=ALL), _c(lambda lib, x: x.t(), (3,), d=TWO)],
    "expand": [_c(lambda lib, x: x.expand(3, 4, 5), (4, 1), d=ALL),
               _c(lambda lib, x: x.expand(2, -1), (4,), d=TWO)],
    "squeeze": [_c(lambda lib, x: x.squeeze(), (1, 3, 1), d=ALL),
                _c(lambda lib, x: x.squeeze(0), (1, 3, 1), d=TWO),
                _c(lambda lib, x: x.squeeze((0, 2)), (1, 3, 1), d=TWO)],
    "unsqueeze": [_c(lambda lib, x: x.unsqueeze(-1), d=ALL),
                  _c(lambda lib, x: x.unsqueeze(0), (), d=TWO)],
    "select": [_c(lambda lib, x: x.select(1, -2), d=ALL), _c(lambda lib, x: x[1], d=TWO)],
    "slice": [_c(lambda lib, x: x[:, 1:-1, ::2], d=ALL), _c(lambda lib, x: x[5:], d=TWO)],
    "narrow": [_c(lambda lib, x: x.narrow(1, 1, 2), d=ALL)],
    "diagonal": [_c(lambda lib, x: x.diagonal(), (4, 5), d=ALL),
                 _c(lambda lib, x: x.diagonal(-1, 0, 2), d=TWO)],
    "unfold": [_c(lambda lib, x: x.unfold(1, 2, 1), d=ALL)],
    "view_as_real": [_c(lambda lib, x: lib.view_as_real(x), d=("complex64",))],
    "view_as_complex": [_c(lambda lib, x: lib.view_as_complex(x.contiguous().clone()), (3, 2),
                           d=("float32", "float64"))],
    # ---- comparisons of whole tensors
    "equal": [_c(lambda lib, x, y: lib.equal(x, y), (3, 4), (3, 4), d=ALL),
              _c(lambda lib, x: lib.equal(x, x.clone()), d=ALL),
              _c(lambda lib, x: lib.equal(x, x[:1]))],
    "isclose": [_c(lambda lib, x: lib.isclose(x, x * (1 + 2e-5), rtol=1e-5, atol=3e-5)),
                _c(lambda lib, x: lib.isclose(x / 0, x / 0 + lib.log(x), equal_nan=True), (9,))],
    "allclose": [_c(lambda lib, x: lib.allclose(x, x * (1 + 1e-6))),
                 _c(lambda lib, x: lib.allclose(x, x * 1.01))],
    # ---- joining and indexing
    "cat": [_c(lambda lib, a, b: lib.cat([a, b], 1), (2, 3), (2, 4), d=ALL),
            _c(lambda lib, a, b: lib.cat([a, b]), (0,), (2, 4), d=TWO),
            _c(lambda lib, a: lib.cat([a, a.int()], -1), (2, 3), d=TWO)],
    "stack": [_c(lambda lib, a, b: lib.stack([a, b], 1), (2, 3), (2, 3), d=ALL),
              _c(lambda lib, a: lib.stack([a, a], -1), (), d=TWO)],
    "split": [_c(lambda lib, x: x.split(2, 1), (3, 5), d=ALL),
              _c(lambda lib, x: x.split([1, 4], 1), (3, 5), d=TWO),
              _c(lambda lib, x: x.split(7), (3, 5), d=TWO)],
    "chunk": [_c(lambda lib, x: x.chunk(3, 1), (3, 7), d=ALL)],
    "unbind": [_c(lambda lib, x: x.unbind(1), d=ALL)],
    "index_select": [_c(lambda lib, x, i: x.index_select(1, i), (3, 4), extra=([3, 0, 3],), d=ALL)],
    "index_add": [_c(lambda lib, x, s, i: x.index_add(0, i, s), (4, 3), (3, 3), d=NUMBERS,
                     extra=([3, 0, 3],)),
                  _c(lambda lib, x, s, i: x.index_add(0, i, s, alpha=2), (4, 3), (3, 3),
                     extra=([3, 0, 3],))],
    "gather": [_c(lambda lib, x, i: x.gather(0, i), (3, 4), extra=(INDEX2,), d=ALL),
               _c(lambda lib, x, i: lib.gather(x, 1, i), (3, 4), extra=(INDEX2,))],
    "gather.sparse_grad": [_c(lambda lib, x, i: lib.gather(x, 1, i, sparse_grad=False), (3, 4),
                              extra=(INDEX2,))],
    "scatter_add": [_c(lambda lib, x, s, i: x.scatter_add(0, i, s), (3, 4), (2, 3),
                       extra=(INDEX2,), d=NUMBERS)],
    "scatter.src": [_c(lambda lib, x, s, i: x.scatter(1, i, s), (3, 4), (2, 3),
                       extra=([[0, 2, 1], [2, 3, 0]],), d=ALL)],
    "scatter.value": [_c(lambda lib, x, i: x.scatter(1, i, 2), (3, 4), extra=(INDEX2,), d=ALL)],
    "index": [_c(lambda lib, x, i: x[i], (3, 4), extra=([2, 0, -1],), d=ALL),
              _c(lambda lib, x, i: x[:, i], (3, 4), extra=(INDEX2,)),
              _c(lambda lib, x, i: x[i, :, i], (3, 4, 3), extra=([1, 2],))],
    "index_put": [_c(lambda lib, x, v, i: x.index_put((i,), v), (4, 3), (2, 3), extra=([3, 1],),
                     d=ALL),
                  _c(lambda lib, x, v, i: x.index_put((i,), v, accumulate=True), (4, 3), (2, 3),
                     extra=([3, 3],), d=NUMBERS)],
    "masked_select": [_c(lambda lib, x: x[x > 0], (3, 700), d=("int32", "float32")),
                      _c(lambda lib, x, m: x.masked_select(m), (2, 3), d=ALL,
                         extra=([[True, False, True], [False, False, True]],)),
                      _c(lambda lib, x, m: x[m], (2, 3), extra=([True, False],))],
    "nonzero": [_c(lambda lib, x: x.nonzero(), (3, 700), d=("bool", "int32")),
                _c(lambda lib, x: x.nonzero(), (3, 4), d=ALL),
                _c(lambda lib, x: x.nonzero(), (), d=TWO)],
    "flip": [_c(lambda lib, x: x.flip(1), (3, 67), d=ALL),
             _c(lambda lib, x: x.flip(0), d=ALL), _c(lambda lib, x: x.flip((0, -1)), d=TWO)],
    "sort": [_c(lambda lib, x: tuple(x.sort()), (3, 40), d=TWO),
             _c(lambda lib, x: tuple(x.sort(0, descending=True)), (40, 3), d=TWO),
             _c(lambda lib, x: tuple(x.sort(dim=-1, stable=True)), (3, 40), d=REAL)],
    "argsort": [_c(lambda lib, x: x.argsort(), (3, 40), d=TWO),
                _c(lambda lib, x: x.argsort(0, True), (9, 3), d=TWO)],
    "topk": [_c(lambda lib, x: tuple(x.topk(3)), (3, 40), d=TWO),
             _c(lambda lib, x: tuple(x.topk(2, 0, False)), (9, 3), d=TWO)],
    "tril": [_c(lambda lib, x: x.tril(3), (67, 70), d=TWO),
             _c(lambda lib, x: x.tril(), (4, 5), d=ALL), _c(lambda lib, x: x.tril(-1), d=TWO)],
    "triu": [_c(lambda lib, x: x.triu(), (4, 5), d=ALL), _c(lambda lib, x: x.triu(2), d=TWO)],
    "one_hot": [_c(lambda lib, i: nn(lib).one_hot(i.abs(), 9), (3, 2), d=("int64",)),
                _c(lambda lib, i: nn(lib).one_hot(i.abs()), (3, 2), d=("int64",))],
    # ---- products
    "matmul": [_c(lambda lib, a, b: a @ b, (7, 5), (5, 3), d=(*FLOATS, "int32", "int64",
                                                             "complex64")),
               _c(lambda lib, a, b: a @ b, (2, 1, 7, 5), (3, 5, 3)),
               _c(lambda lib, a, b: a @ b, (5,), (5,)), _c(lambda lib, a, b: a @ b, (4, 5), (5,)),
               _c(lambda lib, a, b: a @ b, (5,), (2, 5, 3)),
               _c(lambda lib, a, b: a @ b, (3, 0), (0, 2)),
               _c(lambda lib, a, b: a.t() @ b, (65, 33), (65, 70), factor=2)],
    "bmm": [_c(lambda lib, a, b: a.bmm(b), (2, 4, 5), (2, 5, 3))],
    "mv": [_c(lambda lib, a, b: a.mv(b), (4, 5), (5,))],
    "dot": [_c(lambda lib, a, b: a.dot(b), (5,), (5,))],
    "outer": [_c(lambda lib, a, b: a.outer(b), (5,), (3,))],
    "addmm": [_c(lambda lib, c, a, b: c.addmm(a, b, beta=0.5, alpha=2), (3,), (4, 5), (5, 3))],
    "linear": [_c(lambda lib, x, w, b: nn(lib).linear(x, w, b), (2, 4, 5), (3, 5), (3,)),
               _c(lambda lib, x, w: nn(lib).linear(x, w), (5,), (3, 5))],
    # ---- networks
    "conv2d": [_c(lambda lib, x, w, b: lib.conv2d(x, w, b), IMAGE, FILTER, (4,), factor=2),
               _c(lambda lib, x, w: nn(lib).conv2d(x, w, None, 2, 1), IMAGE, FILTER, factor=2),
               _c(lambda lib, x, w: nn(lib).conv2d(x, w, None, (1, 2), (2, 0), (2, 1)), IMAGE,
                  FILTER, factor=2),
               _c(lambda lib, x, w: nn(lib).conv2d(x, w, groups=3), IMAGE, (6, 1, 2, 2)),
               _c(lambda lib, x, w: nn(lib).conv2d(x, w), IMAGE, (4, 3, 1, 1)),
               _c(lambda lib, x, w, b: nn(lib).conv2d(x, w, b, 2, 1), IMAGE, FILTER, (4,),
                  d=("bfloat16", "float16", "complex64", "complex128"), factor=4),
               _c(lambda lib, x, w: nn(lib).conv2d(x, w, groups=3), IMAGE, (6, 1, 2, 2),
                  d=("complex64", "complex128"))],
    "max_pool2d": [_c(lambda lib, x: nn(lib).max_pool2d(x, 2), IMAGE, d=FLOATS),
                   _c(lambda lib, x: nn(lib).max_pool2d(x, (3, 2), 1, 1), IMAGE),
                   _c(lambda lib, x: nn(lib).max_pool2d(x, 3, 2, 0, 1, True), IMAGE),
                   _c(lambda lib, x: tuple(nn(lib).max_pool2d(x, 2, return_indices=True)),
                      (3, 8, 9))],
    "avg_pool2d": [_c(lambda lib, x: nn(lib).avg_pool2d(x, 2), IMAGE),
                   _c(lambda lib, x: nn(lib).avg_pool2d(x, 3, 2, 1, True), IMAGE),
                   _c(lambda lib, x: nn(lib).avg_pool2d(x, 3, 2, 1, False, False), IMAGE)],
    "layer_norm": [_c(lambda lib, x: nn(lib).layer_norm(x, (67,)), (5, 67), d=FLOATS, factor=2),
                   _c(lambda lib, x: nn(lib).layer_norm(x, (5,)), d=FLOATS),
                   _c(lambda lib, x, w, b: nn(lib).layer_norm(x, (4, 5), w, b, 1e-3), (3, 4, 5),
                      (4, 5), (4, 5))],
    "batch_norm": [_c(lambda lib, x, m, v, w, b: nn(lib).batch_norm(x, m, v.abs() + 1, w, b), IMAGE,
                      (3,), (3,), (3,), (3,)),
                   _c(lambda lib, x: nn(lib).batch_norm(x, None, None, training=True), IMAGE),
                   _c(lambda lib, x: nn(lib).batch_norm(x, None, None, training=True), (6, 3))],
    "embedding": [
        _c(lambda lib, w, i: nn(lib).embedding(i, w), (4, 3), extra=(INDEX2,), d=FLOATS),
        _c(lambda lib, w, i: (lambda table: (nn(lib).embedding(i, table, max_norm=2.5), table))(
            w.clone()), (4, 3), extra=(INDEX2,)),
        _c(lambda lib, w, i: nn(lib).embedding(i, w.contiguous(), max_norm=1.5, norm_type=1.0),
           (4, 3), extra=(INDEX2,))],
    "nll_loss": [_c(lambda lib, x, i: nn(lib).nll_loss(x, i), (3, 4), extra=([0, 3, 1],)),
                 _c(lambda lib, x, w, i: nn(lib).nll_loss(x, i, w.abs(), ignore_index=3,
                                                          reduction="sum"), (3, 4), (4,),
                    extra=([0, 3, 1],)),
                 _c(lambda lib, x, i: nn(lib).nll_loss(x, i, reduction="none"), (2, 4, 3),
                    extra=([[0, 3, 1], [1, 1, 2]],))],
    "cross_entropy": [
        _c(lambda lib, x, i: nn(lib).cross_entropy(x, i), (3, 4), extra=([0, 3, 1],), d=FLOATS),
        _c(lambda lib, x, i: nn(lib).cross_entropy(x, i, label_smoothing=0.1), (3, 4),
           extra=([0, 3, 1],)),
        _c(lambda lib, x, w, i: nn(lib).cross_entropy(x, i, w.abs(), label_smoothing=0.1), (3, 4),
           (4,), extra=([0, 3, 1],)),
        _c(lambda lib, x, t: nn(lib).cross_entropy(x, t.softmax(1)), (3, 4), (3, 4))],
    "mse_loss": [_c(lambda lib, x, y: nn(lib).mse_loss(x, y), (3, 4), (3, 4)),
                 _c(lambda lib, x, y: nn(lib).mse_loss(x, y, reduction="none"), (3, 4), (3, 4)),
                 _c(lambda lib, x, y, w: nn(lib).mse_loss(x, y, weight=w), (3, 4), (3, 4),
                    (3, 4))],
    "l1_loss": [_c(lambda lib, x, y: nn(lib).l1_loss(x, y, reduction="sum"), (3, 4), (3, 4)),
                _c(lambda lib, x, y, w: nn(lib).l1_loss(x, y, weight=w), (3, 4), (3, 4), (3, 4))],
    "binary_cross_entropy_with_logits": [
        _c(lambda lib, x, y: nn(lib).binary_cross_entropy_with_logits(x * 9, y), (3, 4), (3, 4),
           domain=(0, 1)),
        _c(lambda lib, x, y, w, p: nn(lib).binary_cross_entropy_with_logits(
            x, y, w, pos_weight=p), (3, 4), (3, 4), (3, 4), (4,), domain=(0, 1))],
    "binary_cross_entropy": [
        _c(lambda lib, x, y: nn(lib).binary_cross_entropy(x, y), (3, 4), (3, 4), domain=(0, 1)),
        _c(lambda lib, x, y: nn(lib).binary_cross_entropy(x.round(), y, reduction="none"), (3, 4),
           (3, 4), domain=(0, 1)),
        _c(lambda lib, x, y, w: nn(lib).binary_cross_entropy(x, y, w, reduction="sum"), (3, 4),
           (3, 4), (4,), domain=(0, 1))],
    "smooth_l1_loss": [
        _c(lambda lib, x, y: nn(lib).smooth_l1_loss(x, y), (3, 4), (3, 4)),
        _c(lambda lib, x, y: nn(lib).smooth_l1_loss(x, y, reduction="sum", beta=2.5), (3, 4),
           (3, 4)),
        _c(lambda lib, x, y: nn(lib).smooth_l1_loss(x, y, reduction="none", beta=0.0), (3, 4),
           (3, 4))],
    "huber_loss": [
        _c(lambda lib, x, y: nn(lib).huber_loss(x, y), (3, 4), (3, 4)),
        _c(lambda lib, x, y: nn(lib).huber_loss(x, y, "none", 2.5), (3, 4), (3, 4)),
        _c(lambda lib, x, y, w: nn(lib).huber_loss(x, y, "sum", 0.5, w), (3, 4), (3, 4),
           (3, 4))],
    "scaled_dot_product_attention": [
        _c(lambda lib, q, k, v: nn(lib).scaled_dot_product_attention(q, k, v), (2, 2, 7, 8),
           (2, 2, 9, 8), (2, 2, 9, 8)),
        _c(lambda lib, q, k, v: nn(lib).scaled_dot_product_attention(q, k, v, is_causal=True),
           (2, 2, 70, 8), (2, 2, 70, 8), (2, 2, 70, 8)),
        _c(lambda lib, q, k, v, m: nn(lib).scaled_dot_product_attention(q, k, v, m, scale=0.3),
           (2, 2, 7, 8), (2, 2, 9, 8), (2, 2, 9, 8), (7, 9)),
        _c(lambda lib, q, k, v: nn(lib).scaled_dot_product_attention(q, k, v, enable_gqa=True),
           (2, 4, 7, 8), (2, 2, 9, 8), (2, 2, 9, 8))],
    "dropout": [_c(lambda lib, x: nn(lib).dropout(x, 0.5, False))],
    "gelu": [_c(lambda lib, x: nn(lib).gelu(x), d=FLOATS),
             _c(lambda lib, x: nn(lib).gelu(x, approximate="tanh"))],
    # ---- shapes and copies
    "reshape": [_c(lambda lib, x: x.reshape(5, -1), d=ALL),
                _c(lambda lib, x: lib.reshape(x, (12, 5)), d=TWO)],
    "flatten": [_c(lambda lib, x: x.flatten(), d=ALL), _c(lambda lib, x: x.flatten(1), d=TWO),
                _c(lambda lib, x: x.flatten(), (), d=TWO)],
    "unflatten": [_c(lambda lib, x: x.unflatten(1, (2, -1)), (3, 8), d=ALL)],
    "expand_as": [_c(lambda lib, a, b: a.expand_as(b), (4, 1), (3, 4, 5), d=ALL)],
    "view_as": [_c(lambda lib, a, b: a.contiguous().view_as(b), (12,), (3, 4), d=ALL)],
    "reshape_as": [_c(lambda lib, a, b: a.reshape_as(b), (12,), (3, 4), d=ALL)],
    "contiguous": [_c(lambda lib, x: x.t().contiguous(), (3, 4), d=ALL)],
    "movedim": [_c(lambda lib, x: x.movedim(0, -1), d=ALL),
                _c(lambda lib, x: x.movedim((0, 1), (2, 0)), d=TWO)],
    "repeat": [_c(lambda lib, x: x.repeat(2, 1, 3), (3, 4), d=ALL)],
    "masked_fill": [_c(lambda lib, x, m: x.masked_fill(m, 2), (2, 3), d=ALL,
                       extra=([True, False, True],))],
    "clamp": [_c(lambda lib, x: x.clamp(-1, 2), d=("int32", *FLOATS)),
              _c(lambda lib, x: x.clamp(max=0.5), d=FLOATS),
              _c(lambda lib, x, a, b: x.clamp(a, b), (3, 4), (4,), (1,), d=TWO)],
    "div.mode": [_c(lambda lib, a, b: lib.div(a, b, rounding_mode="floor"), (3, 4), (3, 4),
                    domain=(0.4, 9.0), d=FLOATS),
                 _c(lambda lib, a, b: lib.div(a, b, rounding_mode="trunc"), (3, 4), (3, 4),
                    domain=(0.4, 9.0), d=TWO)],
    "max": [_c(lambda lib, x: x.max(), d=REAL)],
    "min": [_c(lambda lib, x: x.min(), d=REAL)],
    "max.other": [_c(lambda lib, a, b: lib.max(a, b), (3, 4), (4,), d=REAL)],
    "min.other": [_c(lambda lib, a, b: lib.min(a, b), (3, 4), (4,), d=REAL)],
    "clone": [_c(lambda lib, x: x.clone(), d=ALL)],
    "cast": [_c(lambda lib, x, t=t: x.to(getattr(lib, t)), (3, 4), d=REAL, domain=(0.0, 9.0))
             for t in ALL],
    "copy": [_c(lambda lib, x, y: x.copy_(y), (3, 4), (4,), d=ALL),
             _c(lambda lib, x, y: x.copy_(y.t().double()), (3, 4), (4, 3))],
    "fill": [_c(lambda lib, x: x.fill_(3), d=ALL), _c(lambda lib, x: lib.fill(x, 2), (3,), d=TWO)],
    "empty_like": [_c(lambda lib, x: lib.empty_like(x).fill_(1), d=ALL)],
    "zeros_like": [_c(lambda lib, x: lib.zeros_like(x), d=ALL)],
    "ones_like": [_c(lambda lib, x: lib.ones_like(x, dtype=lib.int32), d=ALL)],
    "full_like": [_c(lambda lib, x: lib.full_like(x, 3), d=ALL)],
    "linspace": [_c(lambda lib, x: lib.linspace(-1, 2, 7)),
                 _c(lambda lib, x: lib.linspace(0, 1, 1, dtype=lib.float64)),
                 _c(lambda lib, x: lib.linspace(0, 1, 0))],
    "arange_of": [_c(lambda lib, x: lib.arange(5)), _c(lambda lib, x: lib.arange(0.5, 3, 0.4)),
                  _c(lambda lib, x: lib.arange(5, -4, -3)),
                  _c(lambda lib, x: lib.arange(1, 7, 2, dtype=lib.bfloat16))],
    "full_of": [_c(lambda lib, x: lib.full((2, 3), 1.5)), _c(lambda lib, x: lib.full((2,), 7)),
                _c(lambda lib, x: lib.full((2,), True)), _c(lambda lib, x: lib.zeros(2, 0)),
                _c(lambda lib, x: lib.ones((2, 3), dtype=lib.int32))],
    "filled_like": [_c(lambda lib, x: lib.ones_like(x, dtype=lib.bfloat16), d=ALL),
                    _c(lambda lib, x: lib.full_like(x.t(), -0.0), (3, 4))],
    "eye_of": [_c(lambda lib, x: lib.eye(3)), _c(lambda lib, x: lib.eye(2, 4, dtype=lib.int64))],
    "empty": [_c(lambda lib, x: lib.empty(2, 3).fill_(0))],
    "empty_strided": [_c(lambda lib, x: lib.empty_strided((2, 3), (1, 2)).fill_(0))],
}
#: Rows computed by LAPACK or as products.
LINALG = calls_linalg.calls(_c)
CALLS |= LINALG

CALLS |= ACTIVATIONS | NUMERIC | WINDOWS | MARGINS | IMAGES | FOURIER

#: Rows without a call here, and the test that covers each.
ELSEWHERE = calls_linalg.ELSEWHERE | {
    "softmax_grad": "autograd's gradcheck", "log_softmax_grad": "autograd's gradcheck",
    "conv2d_input_grad": "autograd's gradcheck", "conv2d_weight_grad": "autograd's gradcheck",
    "max_pool2d_with_indices": "max_pool2d", "max_pool2d_values": "max_pool2d",
    "max_pool2d_compact_indices": "max_pool2d",
    "max_pool2d_grad": "autograd's gradcheck",
    "avg_pool2d_grad": "autograd's gradcheck", "native_layer_norm": "layer_norm",
    "layer_norm_grad": "autograd's gradcheck", "native_batch_norm": "batch_norm",
    "batch_norm_grad": "autograd's gradcheck", "embedding_lookup": "embedding",
    "embedding_grad": "autograd's gradcheck", "nll_loss_rows": "nll_loss",
    "log_softmax_at": "cross_entropy",
    "native_rms_norm": "test_rms_norm_rows.py", "rms_norm_grad": "test_rms_norm_rows.py",
    "cross_entropy_rows": "test_cross_entropy_rows.py",
    "cross_entropy_grad": "test_cross_entropy_rows.py",
    "amp_unscale": "test_unscale.py",
    "one_hot_rows": "one_hot",
    "native_group_norm": "group_norm", "group_norm_grad": "autograd's gradcheck",
    "resample": "interpolate", "resample_grad": "autograd's gradcheck",
    "embedding_bag_rows": "embedding_bag", "grid_sampler": "grid_sample",
    "grid_sampler_grad": "autograd's gradcheck", "ctc_loss_rows": "ctc_loss",
    "ctc_loss_grad": "autograd's gradcheck",
    "nll_loss_grad": "autograd's gradcheck", "attention": "scaled_dot_product_attention",
    "attention_grad": "autograd's gradcheck", "alias": "test_views.py (detach)",
    "contiguous_copy": "contiguous", "to_device": "test_backends.py",
    "random_uniform": "test_random.py", "random_normal": "test_random.py",
    "random_integers": "test_random.py", "random_bernoulli": "test_random.py",
    "random_permutation": "test_random.py", "random_distribution": "test_mersenne.py",
    "rand_like": "test_random.py",
    "randn_like": "test_random.py",
    "bernoulli": "test_distributions.py", "bernoulli.p": "test_distributions.py",
    "standard_gamma": "test_gammas.py", "standard_gamma_grad": "test_gammas.py",
    "sample_dirichlet": "test_gammas.py", "dirichlet_grad": "test_gammas.py",
    "poisson": "test_distributions.py", "binomial": "test_distributions.py",
    "multinomial": "test_distributions.py", "normal": "test_distributions.py",
    "normal.std": "test_distributions.py", "normal.size": "test_distributions.py",
    "exponential": "test_distributions.py", "cauchy": "test_distributions.py",
    "log_normal": "test_distributions.py", "geometric": "test_distributions.py",
    "dropout1d": "test_distributions.py", "dropout2d": "test_distributions.py",
    "dropout3d": "test_distributions.py", "alpha_dropout": "test_distributions.py",
    "feature_alpha_dropout": "test_distributions.py",
}

import calls_movement  # noqa: E402  (it needs the names above)

CALLS |= calls_movement.CALLS
ELSEWHERE |= calls_movement.ELSEWHERE
from calls_recurrent import RECURRENT, RECURRENT_ELSEWHERE  # noqa: E402  (it needs Call)
from calls_statistics import STATISTICS, STATISTICS_ELSEWHERE  # noqa: E402

CALLS |= STATISTICS | RECURRENT
ELSEWHERE |= STATISTICS_ELSEWHERE | RECURRENT_ELSEWHERE
ELSEWHERE |= WINDOWS_ELSEWHERE | FOURIER_ELSEWHERE
