"""Every operator with samples is written and computed by onnxruntime, or refused with a reason."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.core.opdefs import OPDEFS
from flambeau.testing.samples import samples

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

#: dtype -> how many samples of each operator.
TRIED = {"float32": 6, "int64": 3, "bool": 2}

#: Operators that may be refused: see "What is refused" in docs/guide/onnx.md.
LINALG = """lu_permutation linalg_det_lu linalg_lu_factor_ex linalg_lu_factor linalg_lu lu
    linalg_solve_lu linalg_qr qr geqrf
    linalg_householder_product ormqr linalg_lstsq_by linalg_ldl_factor_ex linalg_ldl_solve
    linalg_eigh eigh_values linalg_eig eig_values linalg_svd svd_values linalg_tensorinv
    linalg_svdvals svd linalg_matrix_rank linalg_pinv pinv_svd
    pinverse linalg_cond matrix_exp"""
SPECIAL = """lgamma digamma trigamma igamma igammac zeta i0 i0e i1 i1e modified_bessel_k0
    modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 bessel_j0 bessel_j1
    bessel_y0 bessel_y1 spherical_bessel_j0 airy_ai erfcx ndtri log_ndtr mvlgamma multigammaln"""
BITS = "frexp nextafter_wide nextafter_narrow gcd lcm view.dtype view_as_complex"
VALUES = "histc check_probabilities bincount_of histogram_of repeat_indices row_order"
OTHERS = """amp_unscale as_strided csr_product sampled_product matrix_exp fractional_indices
    pad_by_grad standard_gamma_grad dirichlet_grad diag diagflat diagonal_copy linalg_diagonal
    trace corrcoef"""
REFUSED = {*LINALG.split(), *SPECIAL.split(), *BITS.split(), *VALUES.split(), *OTHERS.split()}
#: Of float32, all samples of other operators are written, but for these.
PARTLY = {"adaptive_mean", "adaptive_max", "avg_pool2d", "col2im", "index", "index_put",
          "max_pool2d_with_indices", "max_pool2d_compact_indices", "max_pool2d_values",
          "embedding_bag_rows", "recurrent", "softsign", "softsign_of", "tanhshrink", "conv2d",
          "conv3d", "resample", "median.dim", "native_batch_norm",
          "ctc_loss_rows", "pdist", "pdist_euclidean", "scatter_reduce"}
WORDS = ("chebyshev", "hermite", "laguerre", "legendre", "_grad", "fft")
#: Other digits: ties have no order of their own; sorted inputs stay sorted only here.
LOOSE = {"kthvalue", "mode", "median.dim", "nanmedian.dim", "topk", "sort", "argsort", "msort"}


def tensors_of(value, found):
    if isinstance(value, np.ndarray):
        found.append(fl.from_numpy(np.array(np.ascontiguousarray(value).reshape(value.shape))))
    elif isinstance(value, list | tuple):
        for each in value:
            tensors_of(each, found)


def filled(value, tensors):
    if isinstance(value, np.ndarray):
        return next(tensors)
    if isinstance(value, list | tuple):
        return tuple(filled(each, tensors) for each in value)
    named = isinstance(value, str) and value.startswith("dtype:")
    return getattr(fl, value[6:]) if named else value


def calls(opdef):
    for dtype, count in TRIED.items():
        for args, named in itertools.islice(samples(opdef, dtype), count):
            rest = [named.get(p.name, None if p.default is ... else p.default)
                    for p in opdef.params[len(args):]]
            yield dtype, [*args, *rest]


def program_of(opdef, args):
    """The recorded call and its tensors; None where the call is none, or has no graph."""
    found: list = []
    tensors_of(args, found)
    if not found or any(t.is_complex() for t in found):
        return None

    def call(*given):
        tensors = iter(given)
        return _core.call(opdef.key, [filled(each, tensors) for each in args])

    try:
        call(*(t.clone() for t in found))
        return fl.jit.trace(call, tuple(found) if len(found) > 1 else found[0]), found
    except (TypeError, ValueError, RuntimeError, NotImplementedError, IndexError):
        return None


def flat(result):
    return [each for part in result for each in flat(part)] if isinstance(result, Sequence) else [
        result]


def compare(key, program, found):
    written = fl.onnx.export(program)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(written.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    wanted = flat(program(*(t.clone() for t in found)))
    made = session.run(None, {each.name: t.numpy() for each, t in zip(
        session.get_inputs(), found, strict=True)})
    for a, b in list(zip(made, wanted, strict=True))[:1 if key in LOOSE else None]:
        assert a.shape == tuple(b.shape) and a.dtype == b.numpy().dtype
        # Rounding errors of a transform are those of its greatest result.
        size = max(1.0, float(b.abs().max())) if "fft" in key else 1.0
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-5, atol=1e-5 * size)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opdef", [
    each for each in OPDEFS if not each.random and not each.key.startswith((
        "empty", "dropout", "rand"))], ids=lambda opdef: opdef.key)
def test_an_operator_in_onnxruntime(opdef):
    refusable = opdef.key in REFUSED or any(word in opdef.key for word in WORDS)
    for dtype, args in calls(opdef):
        made = program_of(opdef, args)
        if made is None or any(0 in t.shape for t in made[1]):
            continue
        kinds = {value.dtype for value in made[0].graph.outputs}
        if not kinds or "bfloat16" in kinds:
            continue
        try:
            compare(opdef.key, *made)
        except fl.onnx.ExportError:
            if not refusable and dtype == "float32" and opdef.key not in PARTLY:
                raise
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
            assert dtype != "float32"       # onnxruntime has it for floats only
