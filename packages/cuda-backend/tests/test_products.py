"""Products by cuBLAS, as the simulation has it: layouts, batches and dtypes against the CPU."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.cuda.arrays import products
from flambeau.cuda.arrays.lapack import lapack_of

TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12,
             "complex64": 1e-5, "complex128": 1e-12}


def draw(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * generator.standard_normal(shape)
    return fl.from_numpy(values).to(getattr(fl, dtype))


def close(got, want, dtype):
    assert got.shape == want.shape and got.dtype == want.dtype
    assert fl.allclose(got.cpu(), want, rtol=TOLERANCE[dtype], atol=4 * TOLERANCE[dtype])


@pytest.fixture
def calls(simulated, monkeypatch):
    """Sizes and batches of the calls that reach cuBLAS."""
    found, library = [], lapack_of(np).cublas
    real = library.gemmStridedBatchedEx

    def recorded(*arguments):
        found.append(arguments[3:6] + (arguments[20], arguments[21]))
        return real(*arguments)

    monkeypatch.setattr(library, "gemmStridedBatchedEx", recorded)
    return found


SHAPES = [((4, 3), (3, 5)), ((3,), (3,)), ((4, 3), (3,)), ((3,), (3, 5)), ((2, 4, 3), (2, 3, 5)),
          ((2, 4, 3), (3, 5)), ((4, 3), (2, 3, 5)), ((2, 1, 4, 3), (5, 3, 2)), ((1, 3), (3, 1)),
          ((2, 3), (4, 3, 1)), ((2, 1, 3), (3, 5)), ((2, 4, 3), (3,)), ((3,), (2, 3, 4)),
          ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0, 2, 3), (3, 4))]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_shapes_and_dtypes(simulated, dtype, left, right):
    a, b = draw(left, dtype), draw(right, dtype, 1)
    close(a.to("cudasim") @ b.to("cudasim"), a @ b, dtype)


VIEWS = {"plain": lambda x: x, "transposed": lambda x: x.mT.contiguous().mT,
         "padded": lambda x: fl.cat([x, x], -1)[..., :x.shape[-1]],
         "spread": lambda x: fl.stack([x, x], -1)[..., 0],
         "flipped": lambda x: x.flip(-1).flip(-1),
         "repeated": lambda x: x[..., :1, :].expand(x.shape),
         "batch_last": lambda x: x.movedim(0, -1).contiguous().movedim(-1, 0)}


@pytest.mark.parametrize("left", VIEWS)
@pytest.mark.parametrize("right", VIEWS)
def test_views_without_copies(calls, left, right):
    a, b = (VIEWS[name](draw(shape, "float64", seed).to("cudasim"))
            for name, shape, seed in ((left, (2, 4, 3), 0), (right, (2, 3, 5), 1)))
    close(a @ b, a.cpu() @ b.cpu(), "float64")
    out = fl.zeros(2, 5, 4, dtype=fl.float64, device="cudasim").mT
    close(fl.matmul(a, b, out=out), a.cpu() @ b.cpu(), "float64")
    assert {c[3] for c in calls} == {2} and len(calls) == 2


def test_one_matrix_for_all_is_one_product_of_all_rows(calls):
    x, w = draw((2, 5, 4, 3), "float32"), draw((6, 3), "float32", 1)
    got = _core.call("linear", [x.to("cudasim"), w.to("cudasim"), None])
    close(got, x @ w.t(), "float32")
    assert [c[:4] for c in calls] == [(6, 40, 3, 1)]


def test_float32_is_rounded_to_tf32_where_that_is_allowed(calls):
    a, b = draw((8, 64), "float32"), draw((64, 8), "float32", 1)
    x, y = a.to("cudasim"), b.to("cudasim")
    exact = (x @ y).cpu()
    before = fl.get_float32_matmul_precision()
    try:
        fl.set_float32_matmul_precision("high")
        rounded = (x @ y).cpu()
    finally:
        fl.set_float32_matmul_precision(before)
    assert [c[4] for c in calls] == [products.COMPUTE_32F, products.COMPUTE_32F_TF32]
    assert 1e-4 < (rounded - exact).abs().max().item() < 0.05


def test_half_types_are_summed_in_float32(simulated):
    ones = fl.ones(1, 4096, dtype=fl.float16, device="cudasim")
    assert (ones @ ones.t()).item() == 4096          # in float16 sums end at 2048


def test_integers_and_mixed_devices(calls):
    a = fl.arange(12).reshape(3, 4)
    assert (a.to("cudasim") @ a.to("cudasim").t()).cpu().tolist() == (a @ a.t()).tolist()
    assert not calls
