"""Kernels of our own give what the CPU gives, over views, long rows, NaN and nothing at all, and
the same bits in every order of threads."""
from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import check, moved, random, repeated, results, views

import flambeau as fl
from flambeau.core import _core
from flambeau.cuda import source

# ---- rows ----------------------------------------------------------------------------------------
SIZES = [(3, 7), (2, 1500), (40, 33), (4, 3, 5), (0, 4), (1,), (70, 9)]


@pytest.mark.parametrize("key", ["sum", "amax", "argmin", "var", "logsumexp", "any"])
@pytest.mark.parametrize("shape", SIZES)
def test_reductions(simulated, key, shape):
    rest = {"var": (None, False), "logsumexp": (False,)}.get(key, (False,))
    for x in views(*shape, nan=key in ("sum", "amax", "argmin")):
        for dim in (0, len(shape) - 1):
            if x.shape[dim] or key not in ("amax", "argmin"):
                check(simulated, key, [x, dim if key == "argmin" else (dim,), *rest])
        if x.numel() and key != "argmin":
            check(simulated, key, [x, (), *rest])


def test_parts_of_long_rows_are_joined(simulated):
    x = random(70_001)
    check(simulated, "sum", [x, (), False, None], 1e-3)
    check(simulated, "argmax", [x, None, False])
    assert simulated.launches("sum", "float32", "sum_join_block_float32")
    check(simulated, "sum", [random(3000, 40), (0,), False, None], 1e-4)
    assert simulated.launches("sum", "float32", "sum_join_thread_float32")


@pytest.mark.parametrize("key", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", SIZES)
def test_softmax_and_its_gradient(simulated, key, shape):
    for x in views(*shape):
        for dim in (0, len(shape) - 1):
            check(simulated, key, [x, dim, None])
            result = _core.call(key, [x, dim, None])
            check(simulated, f"{key}_grad", [random(*shape, seed=1), result, dim])


def test_softmax_of_infinities(simulated):
    rows = fl.tensor([[float("-inf")] * 3, [1.0, float("-inf"), 2.0], [float("inf"), 0.0, 1.0],
                      [float("nan"), 0.0, 1.0]])
    for key in ("softmax", "log_softmax"):
        check(simulated, key, [rows, 1, None])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (4, 1200), (1, 1)])
def test_layer_norm_and_its_gradient(simulated, shape, dtype):
    tolerance = 3e-2 if dtype in ("float16", "bfloat16") else 1e-4
    for x in views(*shape, dtype=dtype):
        weight, bias = (random(shape[-1], dtype=dtype, seed=s) for s in (1, 2))
        args = [x, 1, weight, bias, 1e-2]
        check(simulated, "native_layer_norm", args, tolerance)
        _, mean, rstd = _core.call("native_layer_norm", args)
        check(simulated, "layer_norm_grad",
               [random(*shape, dtype=dtype, seed=3), x, mean, rstd, weight, 1], 2 * tolerance)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(3, 4), (2, 6, 5), (2, 4, 3, 700)])
def test_batch_and_group_norm(simulated, shape, training):
    channels = shape[1]
    for x in views(*shape):
        weight, bias, mean = (random(channels, seed=s) for s in (1, 2, 3))
        var = random(channels, seed=4).abs() + 0.5
        check(simulated, "native_batch_norm",
               [x, weight, bias, mean, var, training, 0.0, 1e-2], 1e-4)
        got = [t.to("cudasim") for t in (mean, var)]
        _core.call("native_batch_norm", [x.to("cudasim"), None, None, *got, True, 0.3, 1e-2])
        want = [mean.clone(), var.clone()]
        _core.call("native_batch_norm", [x, None, None, *want, True, 0.3, 1e-2])
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g.cpu().numpy(), w.numpy(), rtol=1e-4)
        grad = random(*shape, seed=5)
        check(simulated, "batch_norm_grad", [grad, x, weight, mean, var, training], 1e-3)
        check(simulated, "native_group_norm", [x, weight, bias, 2, 1e-2], 1e-4)
        _, mean, rstd = _core.call("native_group_norm", [x, weight, bias, 2, 1e-2])
        check(simulated, "group_norm_grad", [grad, x, weight, mean, rstd, 2], 1e-3)


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_negative_log_likelihood(simulated, reduction):
    for shape in ((5, 4), (2, 4, 3), (4,)):
        x = random(*shape)
        target = fl.from_numpy(np.random.default_rng(1).integers(
            0, 4, (shape[0], *shape[2:]) if len(shape) > 1 else ()))
        weight = random(4, seed=2).abs()
        for w in (weight, None):
            args = [x, target, w, reduction, 1]
            check(simulated, "nll_loss_rows", args)
            loss, total = _core.call("nll_loss_rows", args)
            check(simulated, "nll_loss_grad", [random(*loss.shape, seed=3), *args, total])


def test_a_target_outside_of_the_classes_is_an_error(simulated):
    x, target = random(3, 4).to("cudasim"), fl.tensor([0, 4, 1]).to("cudasim")
    with pytest.raises(RuntimeError, match="target 4 is out of bounds for 4 classes"):
        _core.call("nll_loss_rows", [x, target, None, 1, -100])


# ---- scans ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
@pytest.mark.parametrize("shape", SIZES)
def test_scans(simulated, key, shape):
    more = [None] if key in ("cumsum", "cumprod") else []
    for x in views(*shape, nan=key.startswith("cumm")):
        for dim in (0, len(shape) - 1):
            check(simulated, key, [x, dim, *more], 1e-3 if key == "cumsum" else 1e-4)


def test_scans_in_a_wider_dtype_and_in_place(simulated):
    x = random(5, 1100) + 1e4
    check(simulated, "cumsum", [x, 1, fl.float64], 1e-12)
    check(simulated, "cumsum", [random(3, 50, dtype="int8"), 1, None], 0)
    y = x.to("cudasim")
    y.cumsum_(1)
    np.testing.assert_allclose(y.cpu().numpy(), x.cumsum(1).numpy(), rtol=1e-4)


# ---- order ---------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(3, 7), (1, 2500), (40, 33), (4, 3, 5), (0, 4), (1,)])
@pytest.mark.parametrize("down", [False, True])
def test_sort_and_topk(simulated, shape, down):
    for x in (*views(*shape, nan=True), repeated(*shape), repeated(*shape, dtype="uint64"),
              random(*shape, dtype="float16")):
        for dim in (0, len(shape) - 1):
            check(simulated, "sort", [x, dim, down, True], 0)
            if x.shape[dim]:
                check(simulated, "topk", [x, min(3, x.shape[dim]), dim, down, True], 0)


@pytest.mark.parametrize("shape", [(3, 7), (2, 1500), (4, 3, 5), (1,)])
def test_ranks(simulated, shape):
    """Of equal values any may be the one; the kernels take the first."""
    for x in (*list(views(*shape))[:3], random(*shape, nan=True), repeated(*shape)):
        for dim in (0, len(shape) - 1):
            for key, args in (("kthvalue", [x, 1, dim, False]), ("median.dim", [x, dim, True]),
                              ("nanmedian.dim", [x, dim, False])):
                values, indices = _core.call(key, list(map(moved, args)))
                np.testing.assert_array_equal(values.cpu().numpy(), results(key, args)[0].numpy())
                at = indices if key == "median.dim" else indices.unsqueeze(dim)
                np.testing.assert_array_equal(x.gather(dim, at.cpu()).reshape(-1).numpy(),
                                              values.cpu().reshape(-1).numpy())


def test_searching(simulated):
    edges = fl.tensor([-1.0, 0.0, 0.0, 2.0, float("nan")])
    x = fl.tensor([[-2.0, -0.0, 1.0], [2.0, float("nan"), float("inf")]])
    for right in (False, True):
        check(simulated, "searchsorted", [edges[:4], x, False, right, None, None])
        check(simulated, "bucketize", [x, edges[:4], True, right])
    rows, order = random(3, 40).sort(1)
    check(simulated, "searchsorted", [rows, random(3, 5, seed=1), False, False, "right", None])
    mixed = random(3, 40)
    check(simulated, "searchsorted", [mixed, rows, False, False, None, mixed.argsort(1)])


# ---- by index ---------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16", "complex64"])
def test_adding_by_index(simulated, dtype):
    tolerance = 3e-2 if dtype == "bfloat16" else 1e-5
    index = fl.from_numpy(np.random.default_rng(0).integers(0, 4, 1300))
    check(simulated, "index_add", [random(4, 3, dtype=dtype), 0, index,
                                    random(1300, 3, dtype=dtype), 1], 50 * tolerance)
    x = random(5, 6, dtype=dtype).t()
    check(simulated, "index_add", [x, 1, fl.tensor([0, 4, 0, 3]), random(6, 4, dtype=dtype), 2],
           tolerance)
    where = fl.from_numpy(np.random.default_rng(1).integers(0, 5, (4, 3)))
    check(simulated, "scatter_add", [x, 1, where, random(6, 4, dtype=dtype, seed=2)], tolerance)
    if dtype in ("float32", "bfloat16"):
        grad = random(7, 2, 3, dtype=dtype)
        check(simulated, "embedding_grad", [grad, repeated(7, 2).abs(), 9, 2], tolerance)


@pytest.mark.parametrize("dtype", ["float32", "bool", "int16", "complex128"])
def test_reading_and_writing_by_index(simulated, dtype):
    for x in views(4, 5, 6):
        x = x > 0 if dtype == "bool" else x.to(getattr(fl, dtype))
        where = repeated(3, 2, 6).abs().clamp(0, 3)
        check(simulated, "gather", [x, 1, where])
        check(simulated, "index_select", [x, 2, fl.tensor([5, 0, 3, 0])])
        check(simulated, "flip", [x, [0, -1]])
        check(simulated, "constant_pad_nd", [x, [1, -2, 0, 3], 1])
        check(simulated, "triu", [x, 1])
        check(simulated, "cat", [[x, x[:, :, :0], x[:, :, 1:3]], 2])
        target = x.clone()
        unique = fl.tensor([[[1, 3, 0]]]).expand(2, 2, 3)
        check(simulated, "scatter.src", [target, 2, unique, _moved_like(target)])
        check(simulated, "scatter.value", [target, 2, unique, 1])
        i, j = fl.tensor([[0, 3], [-1, 1]]), fl.tensor([2, 4])
        for indices in ([i], [None, j], [i, j], [None, i, j], [i, None, j], [None, None, j]):
            check(simulated, "index", [x, indices])
            values = _core.call("index", [x, indices])
            check(simulated, "index_put", [target, indices, values, False])
            check(simulated, "index_put", [target, indices, values.reshape(-1)[0], False])


def _moved_like(x):
    return x.flip(0).clone()


def test_writing_in_place_touches_nothing_else(simulated):
    x = random(50, 40).to("cudasim")
    copying = source.group_of("identity"), "f32", "k_identity_f32_near"
    before, copies = x.cpu(), simulated.launches(*copying)
    x.index_put_([fl.tensor([3, 7]).to("cudasim")], fl.tensor(2.0).to("cudasim"))
    x.index_add_(0, fl.tensor([1, 1]).to("cudasim"), fl.ones(2, 40).to("cudasim"))
    before[[3, 7]] = 2.0
    before[1] += 2
    np.testing.assert_allclose(x.cpu().numpy(), before.numpy(), rtol=1e-6)
    assert simulated.launches(*copying) == copies


@pytest.mark.parametrize("call", [
    lambda x, i: x.index_select(0, i), lambda x, i: x.gather(0, i.reshape(1, 1)),
    lambda x, i: x[i], lambda x, i: _core.call("embedding_lookup", [x, i, -1, False]),
    lambda x, i: x.index_add(0, i, x[:1])])
def test_an_index_out_of_bounds_is_an_error(simulated, call):
    with pytest.raises(RuntimeError, match="index 4 is out of bounds"):
        call(random(4, 4).to("cudasim"), fl.tensor([4]).to("cudasim"))


# ---- pictures ---------------------------------------------------------------------------------
@pytest.mark.parametrize("window", [([2], None, [0], [1], False),
                                    ([3, 2], [2, 1], [1, 1], [1, 2], True)])
def test_pooling(simulated, window):
    kernel, stride, padding, dilation, ceil = window
    for x in (*views(2, 3, 7, 9, nan=True), random(3, 8, 6)):
        args = [x, kernel, stride, padding, dilation, ceil]
        check(simulated, "max_pool2d_with_indices", args)
        values, indices = _core.call("max_pool2d_with_indices", args)
        check(simulated, "max_pool2d_grad", [random(*values.shape), indices, list(x.shape)])
        for count in (True, False):
            rest = [kernel, stride, padding, ceil, count, None]
            check(simulated, "avg_pool2d", [x, *rest])
            mean = _core.call("avg_pool2d", [x, *rest])
            check(simulated, "avg_pool2d_grad", [random(*mean.shape), list(x.shape), *rest])
        check(simulated, "adaptive_mean", [x, x.ndim - 1, 4])
        check(simulated, "adaptive_max", [x, x.ndim - 2, 3])
        check(simulated, "adaptive_mean_grad", [x, x.ndim - 1, 23])


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area", "linear", "cubic",
                                  "smooth-linear", "smooth-cubic", "smooth-lanczos"])
@pytest.mark.parametrize("align", [False, True])
def test_resampling(simulated, mode, align):
    if align and mode not in ("linear", "cubic"):
        return
    for size, to in (((5, 7), (11, 3)), ((6, 1), (2, 4)), ((9,), (4,)), ((3, 4, 5), (5, 2, 9))):
        if len(size) != 2 and mode.endswith("cubic") or len(size) == 3 and "smooth" in mode:
            continue
        for x in views(2, 2, *size):
            for scales in (None, [t / s + 0.1 for s, t in zip(size, to, strict=True)]):
                if scales and mode == "area":
                    continue
                check(simulated, "resample", [x, list(to), mode, align, scales], 1e-4)
                check(simulated, "resample_grad", [random(2, 2, *to), list(size), mode, align,
                                                    scales], 1e-4)


@pytest.mark.parametrize("mode", ["linear", "cubic", "smooth-linear", "smooth-cubic",
                                  "smooth-lanczos"])
@pytest.mark.parametrize("align", [False, True])
def test_resampling_by_weights_of_bytes(simulated, mode, align):
    """Weights of sixteen bits, one for what an edge repeats: sums of a few are exact."""
    exact = 1e-6 if "smooth" in mode else 0.0
    for size, to in (((5, 7), (11, 3)), ((6, 1), (2, 4)), ((40, 270), (9, 130)), ((5, 5), (1, 1))):
        x = random(2, 3, *size, dtype="int64").remainder(256).float()
        kind = f"bytes-{mode}"
        for sizes, tolerance in (((size[0], to[1]), exact), ((to[0], size[1]), exact), (to, 1e-5)):
            check(simulated, "resample", [x, list(sizes), kind, align, None], tolerance)
        check(simulated, "resample", [x, list(to), mode, align, None], 1e-4)
        for name in (mode, kind):
            grad = random(2, 3, *to)
            check(simulated, "resample_grad", [grad, list(size), name, align, None], 1e-4)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("border", [0, 1, 2])
def test_grids(simulated, mode, border):
    for x, places in ((random(2, 3, 4, 5), (6, 3)), (random(1, 2, 3, 4, 3), (2, 2, 5))):
        if mode == 2 and x.ndim == 5:
            continue
        grid = random(x.shape[0], *places, x.ndim - 2, seed=1)
        for align in (False, True):
            check(simulated, "grid_sampler", [x, grid, mode, border, align], 1e-4)
            grad = random(*x.shape[:2], *places, seed=2)
            check(simulated, "grid_sampler_grad", [grad, x, grid, mode, border, align], 1e-3)


def test_group_norm_of_no_samples(simulated):
    """Its gradients by weight and bias are zeros; sizes once came from a quotient by none."""
    x, rows = fl.zeros(0, 4, 3, device=simulated.name), fl.zeros(0, 2, device=simulated.name)
    weight = fl.ones(4, device=simulated.name)
    by_input, by_weight, by_bias = _core.call("group_norm_grad", [x, x, weight, rows, rows, 2])
    assert by_input.shape == x.shape
    assert by_weight.cpu().tolist() == by_bias.cpu().tolist() == [0.0] * 4


def test_truth_is_added_by_index(simulated):
    index = fl.tensor([0, 0], device=simulated.name)
    for shape in ((), (2,)):
        x = fl.zeros(*shape, dtype=fl.bool, device=simulated.name)
        source = fl.tensor([False, True], device=simulated.name)
        assert x.index_add(0, index, source).cpu().reshape(-1).tolist()[0] is True


def test_numbers_are_searched_for(simulated):
    edges = fl.tensor([1.0, 2.0, 3.0], device=simulated.name)
    assert fl.bucketize(2.5, edges).item() == fl.searchsorted(edges, 2.5).item() == 2


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint64", "uint8"])
@pytest.mark.parametrize("k", [1, 5, 1000, 1100, 2400])
def test_first_entries_of_long_rows(simulated, dtype, k):
    """Found without an order of all, ties by their index, in every order of threads."""
    x = repeated(3, 5000, high=2000, dtype="float64").abs().to(getattr(fl, dtype))
    few = repeated(2, 5000, high=2).abs().to(x.dtype)          # hardly anything but ties
    for values in (x, few, x.t().contiguous().t()):
        if x.is_floating_point():
            values = values.clone()
            values[:, ::1000] = float("nan")
            values[:, 7] = -float("inf")
        for down in (True, False):
            want = values.sort(1, descending=down, stable=True)
            for order in ("forward", "reversed", "shuffled"):
                simulated.set_order(order)
                got = values.to("cudasim").topk(k, 1, down)
                np.testing.assert_array_equal(got.indices.cpu().numpy(),
                                              want.indices[:, :k].numpy())
                np.testing.assert_array_equal(got.values.cpu().double().numpy(),
                                              want.values[:, :k].double().numpy())
    simulated.set_order("forward")
