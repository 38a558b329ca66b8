"""The generated CUDA C runs, by g++ under a shim, and passes the backend contract."""
from __future__ import annotations

import io

import numpy as np
import pytest

import flambeau
from flambeau.cuda import source
from flambeau.cuda.arrays.compositions import KERNELS
from flambeau.cuda.coverage import ways
from flambeau.cuda.kernels import program_of
from flambeau.testing.backend import report, run_contract
from flambeau.testing.contract_operators import opdefs_to_check
from flambeau.testing.convert import results_of
from flambeau.testing.samples import samples


@pytest.fixture(scope="module")
def outcomes(simulated):
    return run_contract("cudasim")


def test_contract(outcomes):
    text = io.StringIO()
    assert report(outcomes, text) == 0, text.getvalue()


def test_every_kernel_computes_all_dtypes(outcomes):
    """What has no kernel here and no decomposition is missing, and needs no list. What is made of
    others lacks the dtypes that they lack."""
    kernels = {opdef.key for opdef in opdefs_to_check() if program_of(opdef.key)} | set(KERNELS)
    computed = {opdef.key for opdef in opdefs_to_check()
                if opdef.category == "pointwise" or opdef.key in kernels}
    missing = {o.name for o in outcomes if o.missing}
    assert not missing & computed
    made = {opdef.key for opdef in opdefs_to_check() if opdef.decomposes} - kernels
    assert all(o.passed for o in outcomes if o.name in made) and len(made) > 25
    assert len(computed) > 170
    listed = {key for key, way in ways().items() if way == "missing"}
    assert missing - made <= listed


def test_all_pointwise_and_reduction_kernels_ran(outcomes, simulated):
    for key in ("add", "where", "exp", "gelu_exact__d_self"):
        name = source.kernel_name(source.find_opdef(key), "f32")
        for where in ("near", "far"):
            assert simulated.launches(source.group_of(key), "f32", f"{name}_{where}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "int32"])
def test_pointwise_rows_equal_the_cpu_to_the_bit(simulated, dtype):
    compared = 0
    for opdef in opdefs_to_check():
        for args, _ in samples(opdef, dtype) if opdef.category == "pointwise" else ():
            for (got, _), (want, _) in zip(results_of(opdef.key, args, "cudasim", dtype),
                                           results_of(opdef.key, args, "cpu", dtype), strict=True):
                same = np.array_equal(got, want, equal_nan=got.dtype.kind in "fc")
                assert same, f"{opdef.key} of {[np.shape(a) for a in args]}"
                compared += 1
    assert compared > 100


def test_large_reduction_joins_its_parts(simulated):
    values = np.random.default_rng(0).standard_normal(300_001)
    x = flambeau.from_numpy(values).to("cudasim")
    np.testing.assert_allclose(x.sum().item(), values.sum(), rtol=1e-10)
    np.testing.assert_allclose(x.var().item(), values.var(ddof=1), rtol=1e-10)
    assert x.argmax().item() == values.argmax()
    assert simulated.launches("sum", "float64", "sum_join_block_float64")


def test_numbers_past_int64_and_half_precision(simulated):
    x = flambeau.tensor([1.0, 65504.0, 1e-7, 3e-5, float("nan"), -0.1]).to("cudasim")
    want = np.array([1.0, 65504.0, 1e-7, 3e-5, np.nan, -0.1], "float32").astype("float16")
    got = x.to(flambeau.float16).cpu().numpy()
    np.testing.assert_array_equal(got, want)


def test_a_row_registered_at_run_time(simulated):
    axpy = flambeau.core.register_op("cudasim_axpy(Operand x, Operand y, *, Scalar a=1)",
                                     float="a * x + y")
    x = flambeau.arange(4.0).to("cudasim")
    assert axpy(x, x, a=2).cpu().tolist() == [0.0, 3.0, 6.0, 9.0]
