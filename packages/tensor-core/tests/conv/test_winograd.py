"""Winograd's convolution: as near as direct sums, nothing spreads, and sizes alone choose it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flambeau
from flambeau.backends import cpu
from flambeau.core import ops

F32 = np.float32


@pytest.fixture(autouse=True)
def as_before():
    before = flambeau.get_num_threads()
    yield
    flambeau.set_num_threads(before)
    cpu.allow_winograd = True


def directly(call, *arguments):
    cpu.allow_winograd = False
    try:
        return call(*arguments)
    finally:
        cpu.allow_winograd = True


def operands(rng, n, c, o, h, w):
    x, weight = rng.standard_normal((n, c, h, w)), rng.standard_normal((o, c, 3, 3))
    return x.astype(F32), weight.astype(F32), rng.standard_normal(o).astype(F32)


def summed(x, weight, bias, padding):
    """The convolution in float64, and the sums of absolute values."""
    pad = ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x.astype(np.float64), pad), (3, 3), (2, 3))
    with np.errstate(invalid="ignore"):
        found = np.einsum("nchwyx,ocyx->nohw", windows, weight.astype(np.float64), optimize=True)
        most = np.einsum("nchwyx,ocyx->nohw", np.abs(windows), np.abs(weight.astype(np.float64)),
                         optimize=True)
    b = np.zeros(len(weight)) if bias is None else bias.astype(np.float64)
    return found + b[:, None, None], most + np.abs(b)[:, None, None]


def run(x, weight, bias=None, padding=(1, 1)):
    tensors = [None if a is None else flambeau.tensor(a) for a in (x, weight, bias)]
    return ops.conv2d(*tensors, 1, padding).numpy()


def same(one, other):
    assert one.shape == other.shape
    np.testing.assert_array_equal(one.view("i4"), other.view("i4"))


SIZES = st.fixed_dictionaries({
    "n": st.integers(1, 9), "c": st.sampled_from([16, 17, 31, 48, 65, 128, 130, 300]),
    "o": st.sampled_from([16, 19, 40, 57]), "h": st.integers(1, 20), "w": st.integers(1, 70),
    "padding": st.tuples(st.integers(0, 3), st.integers(0, 3)), "threads": st.integers(1, 4),
    "bias": st.booleans(), "seed": st.integers(0, 99)})


@given(SIZES)
def test_any_sizes_are_right(sizes):
    n, c, o, h, w = (sizes[k] for k in "ncohw")
    h, w = max(h, 3 - 2 * sizes["padding"][0]), max(w, 3 - 2 * sizes["padding"][1])
    flambeau.set_num_threads(sizes["threads"])
    x, weight, bias = operands(np.random.default_rng(sizes["seed"]), n, c, o, h, w)
    bias = bias if sizes["bias"] else None
    found = run(x, weight, bias, sizes["padding"])
    exact, most = summed(x, weight, bias, sizes["padding"])
    assert (np.abs(found - exact) <= most * 2.0**-20).all()


@given(SIZES)
def test_integers_are_exact(sizes):
    n, c, o, h, w = (sizes[k] for k in "ncohw")
    rng = np.random.default_rng(sizes["seed"])
    x = rng.integers(-8, 9, (n, c, h, w)).astype(F32)
    weight = rng.integers(-8, 9, (o, c, 3, 3)).astype(F32)
    padding = tuple(max(1, p) for p in sizes["padding"])
    np.testing.assert_array_equal(run(x, weight, None, padding),
                                  summed(x, weight, None, padding)[0])


@given(SIZES)
def test_gradients_of_the_input_are_right(sizes):
    n, c, o, h, w = (sizes[k] for k in "ncohw")
    padding = tuple(max(1, p) for p in sizes["padding"])
    x, weight, _ = operands(np.random.default_rng(sizes["seed"]), n, c, o, h, w)
    size = (n, o, h + 2 * padding[0] - 2, w + 2 * padding[1] - 2)
    g = np.random.default_rng(1).standard_normal(size).astype(F32)
    arguments = flambeau.tensor(g), flambeau.tensor(weight), x.shape, 1, padding
    found = ops.conv2d_input_grad(*arguments).numpy()
    wide = [a.double() if i < 2 else a for i, a in enumerate(arguments)]
    exact = ops.conv2d_input_grad(*wide).numpy()
    most = ops.conv2d_input_grad(*(a.abs() if i < 2 else a for i, a in enumerate(wide))).numpy()
    assert (np.abs(found - exact) <= most * 2.0**-20).all()


SHAPES = [(1, 16, 16, 7, 7), (2, 48, 40, 7, 9), (3, 64, 33, 4, 4), (1, 150, 20, 3, 40),
          (2, 20, 64, 33, 65), (20, 32, 16, 8, 8)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_used_and_can_be_switched_off(shape):
    x, weight, bias = operands(np.random.default_rng(0), *shape)
    found, direct = run(x, weight, bias), directly(run, x, weight, bias)
    is_built = flambeau.core.isa_level() != "v2"        # which has direct sums alone
    assert (found != direct).any() == is_built
    exact, most = summed(x, weight, bias, (1, 1))
    assert (np.abs(direct - exact) <= most * 2.0**-19).all()
    same(run(x, weight, bias), found)


def test_errors_are_no_larger_than_those_of_direct_sums():
    for c in (64, 256):
        for mean in (0, 3):
            x, weight, _ = operands(np.random.default_rng(c), 2, c, c, 14, 14)
            x += F32(mean)
            exact, _ = summed(x, weight, None, (1, 1))
            errors = [np.sqrt(np.mean((y - exact) ** 2))
                      for y in (run(x, weight), directly(run, x, weight))]
            assert errors[0] < 1.5 * errors[1]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_threads_and_layouts_change_no_bit(shape):
    x, weight, bias = operands(np.random.default_rng(1), *shape)
    found = []
    for threads in (1, 2, 3, 16):
        flambeau.set_num_threads(threads)
        found.append(run(x, weight, bias))
    tensors = [flambeau.tensor(a) for a in (x, weight, bias)]
    last = [t.to(memory_format=flambeau.channels_last) for t in tensors[:2]]
    found.append(ops.conv2d(*last, tensors[2], 1, 1).contiguous().numpy())
    wide = flambeau.tensor(np.repeat(x, 2, axis=3))[..., ::2]
    found.append(ops.conv2d(wide, tensors[1], tensors[2], 1, 1).numpy())
    out = flambeau.empty(x.shape[3], x.shape[2], len(weight), len(x)).permute(3, 2, 1, 0)
    ops.conv2d(*tensors, 1, 1, out=out)
    found.append(out.contiguous().numpy())
    for other in found[1:]:
        same(found[0], other)


@pytest.mark.parametrize("shape", [(9, 40, 24, 7, 7), (5, 64, 33, 7, 11), (3, 20, 16, 1, 80),
                                   (3, 33, 20, 31, 33), (8, 150, 40, 14, 7), (6, 300, 70, 9, 9)],
                         ids=str)
def test_images_of_48_pixels_have_the_bits_of_one_alone(shape):
    x, weight, bias = operands(np.random.default_rng(2), *shape)
    together = run(x, weight, bias)
    for i in range(len(x)):
        same(run(x[i:i + 1], weight, bias)[0], together[i])
    some = run(x, weight[:16], bias[:16])
    same(some, np.ascontiguousarray(together[:, :16]))


SPECIAL = [np.nan, np.inf, -np.inf, F32(3e38)]


@pytest.mark.parametrize("shape", [*SHAPES, (1, 64, 64, 28, 57)], ids=str)
@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("where", ["input", "weight", "bias"])
def test_what_is_not_finite_does_not_spread(shape, special, where):
    rng = np.random.default_rng(3)
    x, weight, bias = operands(rng, *shape)
    clean = run(x, weight, bias)
    target = {"input": x, "weight": weight, "bias": bias}[where].reshape(-1)
    at = rng.integers(0, len(target), 2)
    target[at] = special
    with np.errstate(invalid="ignore", over="ignore"):
        exact, _ = summed(x, weight, bias, (1, 1))
        exact = exact.astype(F32)
    direct = directly(run, x, weight, bias)
    for threads in (1, 3):
        flambeau.set_num_threads(threads)
        found = run(x, weight, bias)
        if special == F32(3e38):        # which direct sums may overflow by as well, on the way
            assert (np.isfinite(found) >= np.isfinite(direct)).all()
        else:
            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(direct))
        seen = ~np.isfinite(found)
        np.testing.assert_array_equal(found[seen], direct[seen])
        if where == "input":
            others = np.delete(np.arange(len(x)), at // x[0].size)
            same(found[others], clean[others])
        if where != "weight" or special != F32(3e38):
            np.testing.assert_allclose(found[~seen], exact[~seen], rtol=1e-3, atol=1e-3)


def test_sums_that_overflow_only_on_the_way_are_finite():
    x, weight, _ = operands(np.random.default_rng(4), 1, 16, 16, 12, 12)
    x[:] = F32(1.5e38)
    x[0, :, ::2] *= -1
    weight[:] = F32(2.0**-20)
    found, direct = run(x, weight), directly(run, x, weight)
    assert np.isfinite(direct).all()
    same(found, direct)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("special", [1e4, 1e9, 1e30])
def test_one_large_element_spoils_no_pixel_that_does_not_see_it(shape, special):
    rng = np.random.default_rng(8)
    x, weight, bias = operands(rng, *shape)
    clean = run(x, weight, bias)
    image = rng.integers(0, len(x))
    x[image].reshape(-1)[rng.integers(0, x[image].size)] = special
    found = run(x, weight, bias)
    exact, most = summed(x, weight, bias, (1, 1))
    if x[image].size > 2000:
        assert (np.abs(found - exact) <= most * 2.0**-18).all()
    same(np.delete(found, image, 0), np.delete(clean, image, 0))


@pytest.mark.parametrize("size", [1, 5, 16, 37, 4096])
@pytest.mark.parametrize("where", [0, -1])
def test_zeros_beside_one_element_stay_zeros(size, where):
    x = np.zeros((1, 16, 16, 16 * size), F32)
    x.reshape(-1)[where] = 3.0
    _, weight, _ = operands(np.random.default_rng(9), 1, 16, 16, 1, 1)
    assert (run(x, weight) != 0).sum() == 16 * 4


def test_a_bias_is_added_to_each_pixel_once():
    x, weight, bias = operands(np.random.default_rng(5), 2, 16, 30, 9, 9)
    expected = np.broadcast_to(bias[:, None, None], (2, 30, 9, 9))
    np.testing.assert_array_equal(run(x * 0, weight, bias), expected)


@pytest.mark.parametrize("dtype", [flambeau.float64, flambeau.bfloat16, flambeau.complex64])
def test_other_dtypes_stay_as_they_were(dtype):
    x, weight, _ = operands(np.random.default_rng(6), 2, 32, 32, 8, 8)
    tensors = [flambeau.tensor(a).to(dtype) for a in (x, weight)]
    found = ops.conv2d(*tensors, None, 1, 1)
    other = directly(lambda: ops.conv2d(*tensors, None, 1, 1))
    if dtype is flambeau.float64:
        assert (found == other).all()
        return
    # these are computed by float32
    np.testing.assert_allclose(found.to(flambeau.complex128).numpy(),
                               other.to(flambeau.complex128).numpy(), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("settings", [
    (2, 1, 1, 1), (1, 1, 2, 1), ((1, 2), 1, 1, 1), (1, 1, 1, 2)], ids=str)
def test_other_windows_stay_as_they_were(settings):
    x, weight, bias = operands(np.random.default_rng(7), 2, 32, 32, 12, 12)
    weight = weight[:, :32 // settings[3]]
    tensors = [flambeau.tensor(a) for a in (x, weight, bias)]
    same(ops.conv2d(*tensors, *settings).numpy(),
         directly(lambda: ops.conv2d(*tensors, *settings).numpy()))


def test_no_images_and_no_pixels():
    weight = flambeau.randn(16, 16, 3, 3)
    assert ops.conv2d(flambeau.randn(0, 16, 9, 9), weight, None, 1, 1).shape == (0, 16, 9, 9)
    assert ops.conv2d_input_grad(flambeau.randn(0, 16, 9, 9), weight, (0, 16, 9, 9), 1, 1).shape \
        == (0, 16, 9, 9)


def test_scratch_is_small():
    flambeau.set_num_threads(2)
    x, weight = flambeau.randn(16, 64, 56, 56), flambeau.randn(64, 64, 3, 3)
    result = ops.conv2d(x, weight, None, 1, 1)
    before = flambeau.core.memory_stats()["live_bytes"]
    flambeau.core.reset_peak_memory_stats()
    ops.conv2d(x, weight, None, 1, 1, out=result)
    assert flambeau.core.memory_stats()["peak_live_bytes"] - before < 4e6


@pytest.mark.parametrize("value", [1, "no", None])
def test_the_switch_is_true_or_false(value):
    with pytest.raises(TypeError, match="allow_winograd is True or False, got"):
        cpu.allow_winograd = value
    assert cpu.allow_winograd is True
