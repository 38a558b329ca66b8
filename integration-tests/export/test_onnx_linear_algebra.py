"""Decompositions of small matrices, written as steps of elimination: onnxruntime's numbers."""

import numpy as np
import pytest

import flambeau as fl

onnx = pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
la = fl.linalg


def positive(x):
    return x @ x.mT + 2 * fl.eye(x.shape[-2])


CASES = {
    "inverse": (lambda x: la.inv(x), (4, 4)),
    "inverse of one number": (lambda x: la.inv(x), (1, 1)),
    "powers": (lambda x: (la.matrix_power(x, -2), la.matrix_power(x, 3)), (3, 3)),
    "systems": (lambda x: (la.solve(x, x.flip(-1)), la.solve(x, x[..., 0]),
                           la.solve(x, x.flip(-1), left=False), la.solve(x, x[:1])), (5, 5)),
    "factors": (lambda x: (*la.lu_factor(x), *la.lu(x)[1:]), (4, 4)),
    "determinants": (lambda x: (*la.slogdet(x), la.det(x)), (5, 5)),
    "Cholesky": (lambda x: (la.cholesky(positive(x)), la.cholesky(positive(x), upper=True),
                            fl.cholesky_solve(x, la.cholesky(positive(x))),
                            fl.cholesky_inverse(la.cholesky(positive(x)))), (4, 4)),
    "triangles": (lambda x: (la.solve_triangular(positive(x), x, upper=True),
                             la.solve_triangular(positive(x), x, upper=False),
                             la.solve_triangular(positive(x), x, upper=False, left=False),
                             la.solve_triangular(x / 9, x, upper=True, unitriangular=True)),
                  (4, 4)),
    "QR": (lambda x: (*la.qr(x), *la.qr(x.mT), *la.qr(x, mode="complete")), (5, 3)),
    "QR of a square": (lambda x: la.qr(x), (4, 4)),
    "many steps": (lambda x: la.inv(positive(x)), (32, 32)),
    "norms": (lambda x: (la.matrix_norm(x), la.vector_norm(x, 3), la.matrix_norm(x, 1)), (3, 4)),
}


@pytest.mark.filterwarnings("ignore:.*known to be right for batch from 2 on")
@pytest.mark.parametrize("name", CASES)
def test_numbers_for_several_batches(name):
    function, shape = CASES[name]
    written = fl.onnx.export(function, fl.randn(2, *shape), input_names=["x"],
                             dynamic_axes={"x": {0: "batch"}})
    session = onnxruntime.InferenceSession(written.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    for n in (2, 1, 5):
        x = fl.randn(n, *shape, dtype=fl.float64).float()
        wanted = function(x)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        found = session.run(None, {"x": x.numpy()})
        for a, b in zip(found, wanted, strict=True):
            assert a.shape == tuple(b.shape) and a.dtype == b.numpy().dtype
            size = max(1.0, float(b.abs().max()))
            np.testing.assert_allclose(a, b.numpy(), rtol=2e-3, atol=2e-4 * size)


def test_rows_are_exchanged():
    """Without exchanges these divide by 0."""
    x = fl.tensor([[[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [4.0, -3.0, 8.0]]])
    for function in (la.inv, lambda x: la.slogdet(x)[1], lambda x: la.lu_factor(x)[1]):
        written = fl.onnx.export(function, x)
        session = onnxruntime.InferenceSession(written.SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        found, = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        np.testing.assert_allclose(found, function(x).numpy(), rtol=1e-5, atol=1e-5)


def test_what_is_refused():
    with pytest.raises(fl.onnx.ExportError, match="up to 32 rows"):
        fl.onnx.export(la.inv, fl.eye(33))
    with pytest.raises(fl.onnx.ExportError, match="linalg_eigh"):
        fl.onnx.export(lambda x: la.eigh(x)[0], fl.eye(3))
