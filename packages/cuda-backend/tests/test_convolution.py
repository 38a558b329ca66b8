"""Convolutions on tiles, in three orders of threads, against the CPU."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.cuda import nvrtc, source, tiles
from flambeau.cuda.simulation import ORDERS

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "float64": 1e-11}
#: Shapes of input and weight; stride, padding, dilation, groups.
CASES = {
    "one": ((1, 1, 5, 5), (1, 1, 3, 3), 1, 0, 1, 1),
    "wide": ((2, 5, 9, 8), (7, 5, 3, 2), (2, 1), (1, 2), (1, 2), 1),
    "groups": ((2, 6, 6, 5), (9, 2, 3, 3), 2, 1, 1, 3),
    "depthwise": ((1, 4, 7, 7), (8, 1, 3, 3), 1, 1, 2, 4),
    "many": ((1, 70, 3, 4), (66, 70, 1, 1), 1, 0, 1, 1),
    "space": ((2, 3, 4, 5, 4), (4, 3, 2, 3, 1), (1, 2, 1), (1, 0, 2), 1, 1),
    "no_batch": ((3, 6, 6), (2, 3, 3, 3), 1, 1, 1, 1),
}


def draw(shape, dtype, seed):
    values = np.random.default_rng(seed).standard_normal(shape)
    return fl.from_numpy(values).to(getattr(fl, dtype))


def on_device(x, spread: bool):
    """The tensor on the device; spread, with its elements apart and its dimensions exchanged."""
    x = x.to("cudasim")
    if not spread:
        return x
    return fl.stack([x, x], -1).transpose(0, 1).contiguous().transpose(0, 1)[..., 1]


def close(got, want, dtype):
    assert got.shape == want.shape and got.dtype == want.dtype
    scale = max(1.0, float(want.abs().max()))
    assert float((got.cpu() - want).abs().max()) <= TOLERANCE[dtype] * scale


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", ORDERS)
def test_convolutions_and_their_gradients(simulated, dtype, case, order):
    if order != "forward" and (case not in ("wide", "groups") or dtype == "float64"):
        return
    x_shape, w_shape, *rest = CASES[case]
    n, spread = len(w_shape) - 2, case == "wide"
    x, w, bias = (draw(s, dtype, i) for i, s in enumerate((x_shape, w_shape, w_shape[:1])))
    simulated.set_order(order, 3)
    try:
        for given in (bias, None):
            want = _core.call(f"conv{n}d", (x, w, given, *rest))
            got = _core.call(f"conv{n}d", (on_device(x, spread), on_device(w, spread),
                                           None if given is None else given.to("cudasim"), *rest))
            close(got, want, dtype)
        slope = draw(tuple(want.shape), dtype, 7)
        for key, left, right, size in (("input", slope, w, x_shape), ("weight", slope, x, w_shape)):
            want = _core.call(f"conv{n}d_{key}_grad", (left, right, size, *rest))
            there = (on_device(t, spread) for t in (left, right))
            got = _core.call(f"conv{n}d_{key}_grad", (*there, size, *rest))
            close(got, want, dtype)
    finally:
        simulated.set_order("forward")


def test_empty_batches_and_channels_that_are_not_there(simulated):
    for x_shape, w_shape in (((0, 3, 4, 4), (2, 3, 3, 3)), ((2, 0, 4, 4), (3, 0, 2, 2))):
        x, w = fl.zeros(x_shape), fl.zeros(w_shape)
        bias = fl.arange(float(w_shape[0]))
        want = fl.conv2d(x, w, bias)
        assert fl.equal(fl.conv2d(x.to("cudasim"), w.to("cudasim"), bias.to("cudasim")).cpu(), want)


def test_tensor_cores_compute_half_types_and_float32_where_tf32_is_allowed(simulated):
    x, w = (draw(s, "float32", 0).to("cudasim") for s in ((1, 8, 6, 6), (4, 8, 3, 3)))
    before, name = fl.get_float32_matmul_precision(), "conv_cores_0_float32"
    exact = fl.conv2d(x, w).cpu()
    count = simulated.launches("tiles_conv0", "float32", name)
    try:
        fl.set_float32_matmul_precision("high")
        rounded = fl.conv2d(x, w).cpu()
    finally:
        fl.set_float32_matmul_precision(before)
    assert simulated.launches("tiles_conv0", "float32", name) == count + 1
    assert 1e-5 < float((rounded - exact).abs().max()) < 0.1


@pytest.mark.parametrize(("planted", "instead"), [
    ("there[d] >= c.x_size[d]", "there[d] > c.x_size[d]"),
    ("        __syncthreads();\n        fl_multiply_tiles", "        fl_multiply_tiles")])
def test_faults_are_seen(simulated, tmp_path, planted, instead):
    """A border one too far, and a barrier that is missing."""
    module = tiles.module("tiles_conv0", "float16")
    assert planted in module.text
    from flambeau.cuda.simulation.building import build
    from flambeau.cuda.simulation.device import shimmed

    wrong = source.Module(module.text.replace(planted, instead), module.kernels)
    library = build("wrong", shimmed(wrong), tmp_path)
    x, w = draw((1, 20, 5, 5), "float16", 0), draw((4, 20, 3, 3), "float16", 1)
    out = fl.empty(1, 4, 5, 5, dtype=fl.float16, device="cudasim")
    there = [t.to("cudasim") for t in (x, w)]
    call = tiles._Call(*there, out, None, (1, 1, 1, 1))
    want = fl.conv2d(x, w, padding=1)
    seen = False
    for order in ORDERS[:2]:
        simulated.set_order(order)
        try:
            simulated.run_kernel(library, "conv_cores_0_float16", call.packed(), call.grid(0),
                                 (tiles.THREADS,))
            seen |= not bool(((out.cpu() - want).abs() < 0.05).all())
        except RuntimeError:
            seen = True
        finally:
            simulated.set_order("forward")
    assert seen


@pytest.mark.parametrize("architecture", ["compute_80", "compute_90"])
def test_nvrtc_makes_instructions_of_tensor_cores(architecture):
    library = nvrtc.library()
    if library is None:
        pytest.skip("needs NVRTC: pip install flambeau-cuda-backend[test]")
    for dtype, instruction in (("float16", "f32.f16.f16"), ("bfloat16", "f32.bf16.bf16"),
                               ("float32", "f32.tf32.tf32")):
        text = tiles.module("tiles_conv0", dtype).text
        assert nvrtc.compile_ptx(library, text, architecture).count(instruction) >= 16
