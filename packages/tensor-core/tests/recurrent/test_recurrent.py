"""The kernel of recurrent layers: against NumPy, whatever the sizes, threads and strides."""

import numpy as np
import pytest

import flambeau
from flambeau.core import ops
from flambeau.testing.reference import KERNELS

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
#: Steps, batch, features and units: one row and many, few and many steps, units that fill vectors
#: and strips or not, weights that fit a core's cache or not.
SIZES = [(1, 1, 3, 5), (5, 2, 3, 70), (20, 1, 2, 40), (14, 3, 4, 16), (7, 40, 5, 33),
         (6, 33, 8, 64), (16, 4, 6, 300), (3, 20, 4, 320)]


def layer(mode, sizes, packed=None, projection=0, seed=0):
    """Arguments of ``recurrent`` up to the packed sizes, as arrays."""
    draw = np.random.default_rng(seed)
    steps, batch, features, hidden = sizes
    rows, state = GATES[mode] * hidden, projection or hidden
    shapes = [(sum(packed), features) if packed else (steps, batch, features), (batch, state),
              (batch, hidden), (rows, features), (rows, state), (rows,), (rows,),
              (projection, hidden)]
    made = [draw.standard_normal(shape) * (0.3 if i < 3 else max(hidden, 1) ** -0.5)
            for i, shape in enumerate(shapes)]
    made[2] = made[2] if mode == "lstm" else None
    made[7] = made[7] if projection else None
    return made


def tensors(arrays, dtype=flambeau.float64):
    return [None if a is None else flambeau.tensor(a).to(dtype) for a in arrays]


def close(got, want, tolerance=1e-11):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.numpy(), w, rtol=tolerance, atol=tolerance)


def gradient(arrays, rest, results, grads, needs=7):
    """Arguments of ``recurrent_grad``."""
    x, h, c, w_ih, w_hh, _, _, w_hr = arrays
    result, _, _, gates, cells = results
    return (*grads, x, h, c, w_ih, w_hh, w_hr, *rest, result, gates, cells, needs)


def check(mode, arrays, packed, reverse):
    rest = packed, mode, reverse
    want = KERNELS["recurrent"](*arrays, *rest, True)
    mine = tensors(arrays)
    got = ops.recurrent(*mine, *rest)
    close(got, want)
    draw = np.random.default_rng(9)
    grads = [draw.standard_normal(t.shape) for t in want[:3]]
    grads[2] = grads[2] if mode == "lstm" else None
    want_grads = KERNELS["recurrent_grad"](*gradient(arrays, rest, want, grads))
    close(ops.recurrent_grad(*gradient(mine, rest, got, tensors(grads))), want_grads)


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_layers(mode, reverse, sizes):
    check(mode, layer(mode, sizes), None, reverse)


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("packed", [[1], [3, 3, 2, 1], [20] * 3 + [18, 5, 1], [40] * 4 + [17]],
                         ids=str)
@pytest.mark.parametrize("hidden", [5, 300])
def test_packed_layers(mode, reverse, packed, hidden):
    sizes = len(packed), packed[0], 4, hidden
    check(mode, layer(mode, sizes, packed), packed, reverse)


@pytest.mark.parametrize("packed", [None, [20, 20, 7, 2]], ids=str)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("hidden", [6, 300])
def test_projections(packed, reverse, hidden):
    check("lstm", layer("lstm", (4, 20, 3, hidden), packed, hidden // 2), packed, reverse)


@pytest.mark.parametrize("mode", GATES)
def test_single_precision(mode):
    arrays = layer(mode, (12, 20, 16, 64))
    want = KERNELS["recurrent"](*arrays, None, mode, False, True)
    close(ops.recurrent(*tensors(arrays, flambeau.float32), None, mode), want, 2e-6)


@pytest.mark.parametrize("sizes", [(20, 40, 8, 64), (10, 1, 5, 300), (6, 33, 7, 320)], ids=str)
@pytest.mark.parametrize("mode", ["lstm", "gru", "tanh"])
def test_any_number_of_threads_gives_the_same_bits(mode, sizes):
    mine = tensors(layer(mode, sizes), flambeau.float32)
    before, found = flambeau.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            flambeau.set_num_threads(threads)
            got = ops.recurrent(*mine, None, mode)
            grads = (flambeau.ones_like(got[0]), None, None)
            back = ops.recurrent_grad(*gradient(mine, (None, mode, False), got, grads))
            found.append([t.numpy() for t in (*got, *back)])
    finally:
        flambeau.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_strides_and_what_is_not_kept():
    arrays = layer("lstm", (4, 3, 5, 6))
    plain = tensors(arrays)
    strided = [None if t is None else flambeau.stack([t, t], -1).select(-1, 1) for t in plain]
    for a, b in zip(ops.recurrent(*strided), ops.recurrent(*plain), strict=True):
        assert flambeau.equal(a, b)
    got = ops.recurrent(*plain, None, "lstm", False, False)
    for a, b in zip(got[:3], ops.recurrent(*plain)[:3], strict=True):
        assert flambeau.equal(a, b)
    assert got[3].numel() == got[4].numel() == 0


def test_no_sequences():
    arrays = layer("lstm", (4, 0, 5, 6))
    results = ops.recurrent(*tensors(arrays))
    assert [tuple(t.shape) for t in results] == [(4, 0, 6), (0, 6), (0, 6), (0, 24), (0, 6)]
    mine = tensors(arrays)
    grads = ops.recurrent_grad(*gradient(mine, (None, "lstm", False), results, (None,) * 3))
    assert grads[3].shape == (24, 5)
    assert not grads[3].any()


@pytest.mark.parametrize("mode", ["tanh", "relu", "gru", "lstm"])
def test_no_hidden_units(mode):
    arrays = layer(mode, (4, 3, 5, 0))
    results = ops.recurrent(*tensors(arrays), None, mode)
    assert results[0].shape == (4, 3, 0)
    assert results[1].shape == (3, 0)
    rest = None, mode, False
    grads = ops.recurrent_grad(*gradient(tensors(arrays), rest, results, (None,) * 3))
    assert grads[0].shape == (4, 3, 5)
    assert not grads[0].any()


def test_extreme_sums():
    """Saturated gates: no overflow becomes NaN, and a small state stays accurate."""
    x = flambeau.tensor([[[1e30], [-1e30], [1e-20], [float("nan")]]])
    one = flambeau.ones(1, 1)
    y = ops.recurrent(x, flambeau.zeros(4, 1), None, one, one, None, None, mode="tanh")[0]
    assert y[0, :, 0].tolist()[:2] == [1.0, -1.0]
    assert abs(y[0, 2, 0].item() / 1e-20 - 1) < 1e-6
    assert y[0, 3, 0].isnan()
    gates = flambeau.ones(4, 1)
    h = ops.recurrent(x, flambeau.zeros(4, 1), flambeau.ones(4, 1), gates, gates, None, None)[1]
    np.testing.assert_allclose(h[:2, 0].numpy(), [np.tanh(2.0), 0.0], rtol=1e-6)


X, H, W = (2, 3, 4), (3, 5), (20, 4)


def call(x=X, h=H, c=H, w_ih=W, w_hh=(20, 5), b=None, w_hr=None, sizes=None, mode="lstm", **dtypes):
    shapes = {"x": x, "h": h, "c": c, "w_ih": w_ih, "w_hh": w_hh, "b": b, "w_hr": w_hr}
    made = {k: None if s is None else flambeau.zeros(s, dtype=dtypes.get(f"d{k}"))
            for k, s in shapes.items()}
    return ops.recurrent(made["x"], made["h"], made["c"], made["w_ih"], made["w_hh"], made["b"],
                         made["b"], made["w_hr"], sizes, mode)


MISTAKES = {
    "mode": ({"mode": "mgu"}, ValueError, 'not "mgu"'),
    "input dims": ({"x": (3, 4)}, RuntimeError, r"input must be \[steps, batch, features\]"),
    "no steps": ({"x": (0, 3, 4)}, RuntimeError, "at least one step"),
    "batch": ({"x": (2, 2, 4)}, RuntimeError, "the batch of hx"),
    "no cell": ({"c": None}, RuntimeError, "needs cx"),
    "cell of gru": ({"mode": "gru", "w_ih": (15, 4), "w_hh": (15, 5)}, RuntimeError,
                    "are for mode"),
    "cell": ({"c": (3, 6)}, RuntimeError, r"expected cx of shape \[3, 5\], got \[3, 6\]"),
    "weight_ih": ({"w_ih": (20, 3)}, RuntimeError, "expected weight_ih of shape"),
    "weight_hh": ({"w_hh": (15, 5)}, RuntimeError, "expected weight_hh of shape"),
    "weight_hh dims": ({"w_hh": (20,)}, RuntimeError, "expected weight_hh of shape"),
    "bias": ({"b": (19,)}, RuntimeError, r"expected bias_ih of shape \[20\]"),
    "projection": ({"w_hr": (4, 5)}, RuntimeError, "expected weight_hr of shape"),
    "projection dims": ({"w_hr": (5,)}, RuntimeError, "expected weight_hr of shape"),
    "dtype": ({"dh": flambeau.float64}, RuntimeError, "hx is float64"),
    "integers": ({"dx": flambeau.int64}, RuntimeError, "must be floating"),
    "packed dims": ({"sizes": [3, 3]}, RuntimeError, "features] when packed"),
    "sum": ({"x": (6, 4), "sizes": [3, 2]}, RuntimeError, "add up to 5"),
    "too many": ({"x": (4, 4), "sizes": [3, 3]}, RuntimeError, r"batch_sizes\[1\] is 3"),
    "growing": ({"x": (6, 4), "sizes": [3, 1, 2]}, RuntimeError, r"batch_sizes\[2\] is 2"),
    "first": ({"x": (6, 4), "sizes": [2, 2, 2]}, RuntimeError, r"batch_sizes\[0\] is 2"),
    "zero": ({"x": (3, 4), "sizes": [3, 0]}, RuntimeError, r"batch_sizes\[1\] is 0"),
    "no sizes": ({"x": (0, 4), "sizes": []}, RuntimeError, "batch_sizes is empty"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(mistake):
    options, error, text = mistake
    with pytest.raises(error, match=text):
        call(**options)


def test_mistakes_in_gradients():
    mine = tensors(layer("lstm", (4, 3, 5, 6)))
    results = ops.recurrent(*mine)
    rest = None, "lstm", False
    wrong = flambeau.zeros(4, 3, 7, dtype=flambeau.float64)
    with pytest.raises(RuntimeError, match="grad"):
        ops.recurrent_grad(*gradient(mine, rest, results, (wrong, None, None)))
    with pytest.raises(RuntimeError, match="result"):
        ops.recurrent_grad(*gradient(mine, rest, (wrong, *results[1:]), (None,) * 3))
    with pytest.raises(RuntimeError, match="gates"):
        kept = results[:3] + (results[3][:3], results[4])
        ops.recurrent_grad(*gradient(mine, rest, kept, (None,) * 3))
    with pytest.raises(RuntimeError, match="cells is float32; it must be what recurrent"):
        kept = results[:4] + (results[4].float(),)
        ops.recurrent_grad(*gradient(mine, rest, kept, (None,) * 3))


@pytest.mark.parametrize("mode", ["lstm", "gru"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("packed", [None, [40] * 80 + [30] * 30 + [7] * 30])
def test_large_layers_go_in_pieces(mode, reverse, packed):
    """More rows than are computed at once, with gates kept and without."""
    arrays = layer(mode, (140, 40, 3, 80), packed)
    check(mode, arrays, packed, reverse)
    mine, rest = tensors(arrays), (packed, mode, reverse)
    for a, b in zip(ops.recurrent(*mine, *rest, True)[:3], ops.recurrent(*mine, *rest, False)[:3],
                    strict=True):
        assert flambeau.equal(a, b)


def test_pieces_and_projections():
    arrays = layer("lstm", (140, 40, 3, 80), None, 20)
    check("lstm", arrays, None, False)
    check("lstm", arrays, None, True)
