"""Attention of half types in one kernel, in three orders of threads, against the CPU."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.cuda import nvrtc, source, tiles
from flambeau.cuda.simulation import ORDERS
from flambeau.cuda.simulation.building import build
from flambeau.cuda.simulation.device import shimmed
from flambeau.cuda.tiles import attention

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2}


def draw(shape, dtype, seed):
    values = np.random.default_rng(seed).standard_normal(shape)
    return fl.from_numpy(values).to(getattr(fl, dtype))


def operands(batch, queries, keys, size, value_size, dtype):
    shapes = ((queries, size), (keys, size), (keys, value_size))
    return [draw((*batch, *shape), dtype, i) for i, shape in enumerate(shapes)]


def compare(backend, dtype, given, mask=None, causal=False, scale=None, spread=False):
    size = next(n for n in attention.SIZES if max(given[0].shape[-1], given[2].shape[-1]) <= n)
    name = f"attention_{size}_{dtype}"
    count = backend.launches(f"tiles_attention{size}", dtype, name)
    there = [t.to("cudasim") for t in given]
    if spread:
        there = [fl.stack([t, t], -1).mT.contiguous().mT[..., 0] for t in there]
    got = _core.call("attention", (*there, None if mask is None else mask.to("cudasim"), causal,
                                   scale))
    assert backend.launches(f"tiles_attention{size}", dtype, name) == count + 1
    wide = mask.float() if mask is not None and mask.is_floating_point() else mask
    want = _core.call("attention", (*(t.float() for t in given), wide, causal, scale))
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        np.testing.assert_allclose(g.cpu().float().numpy(), w.numpy(), TOLERANCE[dtype],
                                   TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("size", [8, 32, 50, 128, 200, 256])
def test_sizes_of_heads(simulated, dtype, size):
    compare(simulated, dtype, operands((2,), 5, 37, size, size, dtype))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (70, 33), (20, 96)])
def test_masks_and_orders(simulated, dtype, order, queries, keys):
    simulated.set_order(order, 5)
    given = operands((2, 3), queries, keys, 16, 24, dtype)
    takes_part = draw((queries, keys), "float32", 9) > 0
    takes_part[0] = False           # a query without keys
    try:
        compare(simulated, dtype, given, spread=True)
        compare(simulated, dtype, given, causal=True, scale=0.7)
        compare(simulated, dtype, given, mask=takes_part)
        compare(simulated, dtype, given, mask=draw((3, 1, keys), dtype, 9))
    finally:
        simulated.set_order("forward")


def test_other_calls_are_made_of_other_operators(simulated):
    for given in (operands((), 3, 0, 8, 8, "float16"), operands((), 3, 4, 300, 8, "float16"),
                  operands((2,), 3, 4, 8, 8, "float32")):
        got = _core.call("attention", (*(t.to("cudasim") for t in given), None, False, None))
        want = _core.call("attention", (*given, None, False, None))
        values = [x[0].cpu().float().numpy() for x in (got, want)]
        np.testing.assert_allclose(*values, 5e-3, 5e-3)


@pytest.mark.parametrize(("planted", "instead"), [
    ("sums[j][r] *= scales[r / 2];", ""),
    ("c.keys, c.size);\n        __syncthreads();", "c.keys, c.size);")])
def test_faults_are_seen(simulated, tmp_path, planted, instead):
    """Sums that are not scaled down, and keys that are read before all are there."""
    module = tiles.module("tiles_attention32", "float16")
    assert planted in module.text
    wrong = source.Module(module.text.replace(planted, instead), module.kernels)
    library = build("wrong", shimmed(wrong), tmp_path)
    given = operands((), 64, 96, 16, 16, "float16")
    want = _core.call("attention", (*given, None, False, None))[0]
    there = [t.to("cudasim") for t in given]
    result = fl.empty(64, 16, dtype=fl.float16, device="cudasim")
    total = fl.empty(64, device="cudasim")
    argument = attention.packed(*there, None, False, 0.25, result, total)
    seen = False
    for order in ORDERS[:2]:
        simulated.set_order(order)
        try:
            simulated.run_kernel(library, "attention_32_float16", argument, (1,), (128,))
        finally:
            simulated.set_order("forward")
        seen |= not bool(((result.cpu() - want).abs() < 0.02).all())
    assert seen


@pytest.mark.parametrize("architecture", ["compute_80", "compute_90"])
def test_nvrtc_makes_instructions_of_tensor_cores(architecture):
    library = nvrtc.library()
    if library is None:
        pytest.skip("needs NVRTC: pip install flambeau-cuda-backend[test]")
    text = tiles.module("tiles_attention64", "bfloat16").text
    assert nvrtc.compile_ptx(library, text, architecture).count("f32.bf16.bf16") >= 32
