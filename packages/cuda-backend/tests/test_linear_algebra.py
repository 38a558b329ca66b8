"""Linear algebra and Fourier transforms on the simulated device, against the CPU.

Where a decomposition is not unique, what it must satisfy is compared instead."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl
from flambeau.cuda.arrays import lapack
from flambeau.linalg import LinAlgError

DTYPES = ("float32", "float64", "complex64", "complex128")
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-10, "complex128": 1e-10}
BATCHES = ((), (1,), (3,), (2, 2), (0,))


def draw(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(shape)
    if dtype.startswith("c"):
        values = values + 1j * generator.standard_normal(shape)
    return fl.from_numpy(values.astype(dtype))


def positive(shape, dtype):
    a = draw(shape, dtype)
    return a @ a.mH + 3 * fl.eye(shape[-1], dtype=a.dtype)


def strided(a):
    """The same values on the device, with the columns of the memory far apart."""
    wide = fl.stack([a, a * 0 + 7], -1).to("cudasim")
    return wide[..., 0]


def same(got, want, dtype):
    for g, w in zip(*(x if isinstance(x, (tuple, list)) else (x,) for x in (got, want)),
                    strict=True):
        assert g.device.type == "cudasim" and g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(g.cpu().numpy(), w.numpy(), rtol=TOLERANCE[dtype],
                                   atol=TOLERANCE[dtype])


UNIQUE = {
    "lu_factor": (lambda a: fl.linalg.lu_factor_ex(a), "general"),
    "lu_unpack": (lambda a: fl.linalg.lu(a), "general"),
    "inv": (lambda a: fl.linalg.inv_ex(a), "square"),
    "det": (lambda a: fl.linalg.det(a), "square"),
    "slogdet": (lambda a: fl.linalg.slogdet(a), "square"),
    "cholesky": (lambda a: fl.linalg.cholesky_ex(a), "positive"),
    "cholesky_upper": (lambda a: fl.linalg.cholesky_ex(a, upper=True), "positive"),
    "geqrf": (lambda a: fl.geqrf(a), "general"),
    "householder": (lambda a: fl.linalg.householder_product(*fl.geqrf(a)), "tall"),
    "qr": (lambda a: fl.linalg.qr(a), "general"),
    "qr_complete": (lambda a: fl.linalg.qr(a, "complete"), "general"),
    "qr_r": (lambda a: fl.linalg.qr(a, "r"), "general"),
    "eigvalsh": (lambda a: fl.linalg.eigvalsh(a), "positive"),
    "eigvalsh_u": (lambda a: fl.linalg.eigvalsh(a, "u"), "positive"),
    "svdvals": (lambda a: fl.linalg.svdvals(a), "general"),
    "pinv": (lambda a: fl.linalg.pinv(a), "general"),
    "pinv_hermitian": (lambda a: fl.linalg.pinv(a, hermitian=True), "positive"),
    "matrix_rank": (lambda a: fl.linalg.matrix_rank(a), "general"),
    "matrix_exp": (lambda a: fl.linalg.matrix_exp(a * 0.3), "square"),
    "matrix_exp_scaled": (lambda a: fl.linalg.matrix_exp(a * 4).log(), "positive"),
}
SHAPES = {"general": ((4, 4), (5, 3), (3, 5)), "square": ((4, 4), (1, 1), (0, 0)),
          "positive": ((4, 4),), "tall": ((5, 3), (4, 4), (3, 0))}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNIQUE)
def test_what_is_unique_equals_the_cpu(simulated, name, dtype):
    function, kind = UNIQUE[name]
    if name == "matrix_exp_scaled" and dtype in ("complex64", "complex128", "float32"):
        return      # logarithms of large numbers
    for shape in SHAPES[kind]:
        for batch in BATCHES:
            a = (positive if kind == "positive" else draw)((*batch, *shape), dtype)
            want = function(a)
            same(function(a.to("cudasim")), want, dtype)
            same(function(strided(a)), want, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("a", "b"), [((3, 3), (3, 2)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 2)),
                                      ((2, 1, 3, 3), (4, 3, 1)), ((1, 3, 3), (2, 3, 1)),
                                      ((3, 3), (3, 0)), ((0, 3, 3), (3, 2)), ((3, 3), (3,))])
def test_systems(simulated, dtype, a, b):
    a, b = draw(a, dtype), draw(b, dtype, 1)
    on = [x.to("cudasim") for x in (a, b)]
    same(fl.linalg.solve(*on), fl.linalg.solve(a, b), dtype)
    if b.ndim == 1:
        return
    same(fl.linalg.solve(on[0], on[1].mT, left=False), fl.linalg.solve(a, b.mT, left=False), dtype)
    for upper in (True, False):
        for unit in (True, False):
            facts = {"upper": upper, "unitriangular": unit}
            same(fl.linalg.solve_triangular(*on, **facts),
                 fl.linalg.solve_triangular(a, b, **facts), dtype)
            same(fl.linalg.solve_triangular(on[0], on[1].mT, left=False, **facts),
                 fl.linalg.solve_triangular(a, b.mT, left=False, **facts), dtype)
    factors = fl.linalg.lu_factor(a)
    there = fl.linalg.lu_factor(on[0])
    for adjoint in (True, False):
        same(fl.linalg.lu_solve(*there, on[1], adjoint=adjoint),
             fl.linalg.lu_solve(*factors, b, adjoint=adjoint), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_reflectors_of_which_some_do_nothing(simulated, dtype, batch):
    a = draw((*batch, 5, 3), dtype)
    a[..., 1:, 0] = 0
    factors, tau = fl.geqrf(a)
    if a.numel() and not dtype.startswith("c"):
        assert (tau[..., 0] == 0).all()
    for left in (True, False):
        for transpose in (True, False):
            c = draw((*batch, 5, 2) if left else (*batch, 2, 5), dtype, 2)
            want = fl.ormqr(factors, tau, c, left, transpose)
            same(fl.ormqr(*(x.to("cudasim") for x in (factors, tau, c)), left, transpose), want,
                 dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_vectors_satisfy_their_equations(simulated, dtype, batch):
    a = draw((*batch, 4, 4), dtype)
    hermitian = a + a.mH
    values, vectors = (x.cpu() for x in fl.linalg.eigh(hermitian.to("cudasim")))
    close = {"rtol": 1e-3, "atol": 10 * TOLERANCE[dtype]}
    fl.testing.assert_close(hermitian @ vectors, vectors * values[..., None, :], **close)
    values, vectors = (x.cpu() for x in fl.linalg.eig(a.to("cudasim")))
    fl.testing.assert_close(a.to(vectors.dtype) @ vectors, vectors * values[..., None, :], **close)
    for shape in ((4, 3), (3, 4)):
        x = draw((*batch, *shape), dtype)
        for full in (True, False):
            u, s, vh = (t.cpu() for t in fl.linalg.svd(x.to("cudasim"), full))
            want = fl.linalg.svd(x, full)
            assert [t.shape for t in (u, s, vh)] == [t.shape for t in want]
            fl.testing.assert_close(u[..., :3] * s[..., None, :] @ vh[..., :3, :], x, **close)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize(("a", "b"), [((5, 3), (5, 2)), ((3, 5), (3, 2)), ((2, 5, 3), (2, 5, 1)),
                                      ((2, 3, 3), (2, 3)), ((0, 5, 3), (0, 5, 2)), ((5, 3), (5,))])
def test_least_squares(simulated, dtype, driver, a, b):
    a, b = draw(a, dtype), draw(b, dtype, 1)
    want = fl.linalg.lstsq(a, b, driver=driver)
    same(fl.linalg.lstsq(a.to("cudasim"), b.to("cudasim"), driver=driver), want, dtype)


def test_errors_are_those_of_the_cpu(simulated):
    nan = fl.full((2, 3, 3), float("nan"))
    negative = fl.eye(3).expand(2, 3, 3).clone()
    negative[1] *= -1
    singular = fl.eye(3).expand(2, 3, 3).clone()
    singular[1, 2] = 0
    tall = draw((2, 4, 3), "float32")
    tall[1, :, 2] = 0
    for function, a in ((fl.linalg.cholesky, negative), (fl.linalg.inv, singular),
                        (fl.linalg.eigh, nan), (fl.linalg.eigvals, nan), (fl.linalg.svd, nan),
                        (fl.linalg.inv, singular[1]), (fl.linalg.eigh, nan[0]),
                        (lambda x: fl.linalg.solve(x, x), singular),
                        (lambda x: fl.linalg.lu_factor_ex(x, check_errors=True), singular),
                        (lambda x: fl.linalg.lstsq(x, x, driver="gels"), tall),
                        (lambda x: fl.linalg.lstsq(x, x), nan)):
        with pytest.raises(RuntimeError) as wanted:
            function(a)
        with pytest.raises(RuntimeError) as found:
            function(a.to("cudasim"))
        assert str(found.value) == str(wanted.value)
        assert isinstance(found.value, LinAlgError) == isinstance(wanted.value, LinAlgError)


def test_failures_are_told_without_errors(simulated):
    a = fl.eye(3).expand(2, 3, 3).clone()
    a[1, 1] = 0
    for function in (fl.linalg.inv_ex, fl.linalg.cholesky_ex, fl.linalg.lu_factor_ex):
        assert function(a.to("cudasim")).info.cpu().tolist() == function(a).info.tolist() == [0, 2]


@pytest.mark.parametrize("p", [1.0, 2.0, float("inf"), 3.0])
def test_distances(simulated, p, monkeypatch):
    from flambeau.cuda.arrays import decompositions

    monkeypatch.setattr(decompositions, "_MOST", 40)    # some rows at a time
    for a, b in (((5, 3), (4, 3)), ((2, 5, 3), (2, 4, 3)), ((0, 3), (4, 3)), ((5, 0), (4, 0))):
        a, b = draw(a, "float64"), draw(b, "float64", 1)
        same(fl.cdist(a.to("cudasim"), b.to("cudasim"), p), fl.cdist(a, b, p), "float64")
        if a.ndim == 2:
            same(fl.pdist(a.to("cudasim"), p), fl.pdist(a, p), "float64")


# ---- Fourier transforms --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("norm", ["forward", "backward", "ortho"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms(simulated, dtype, norm, name):
    if dtype.startswith("c") and name in ("rfft", "ihfft"):
        return
    for shape in ((6,), (3, 5), (2, 1, 4), (0, 4)):
        a = draw(shape, dtype)
        for n in (None, 3, 8):
            call = getattr(fl.fft, name)
            same(call(a.to("cudasim"), n, norm=norm), call(a, n, norm=norm), dtype)
        if len(shape) > 1 and 0 not in shape:
            for kind, facts in (("2", {}), ("n", {}), ("n", {"dim": (1, 0)})):
                call = getattr(fl.fft, name + kind)
                same(call(strided(a), norm=norm, **facts), call(a, norm=norm, **facts), dtype)


def test_short_time_transforms(simulated):
    x = draw((2, 400), "float32")
    window = fl.hann_window(64)
    for one in (True, False):
        want = fl.stft(x, 64, window=window, return_complex=True, onesided=one)
        got = fl.stft(x.to("cudasim"), 64, window=window.to("cudasim"), return_complex=True,
                      onesided=one)
        same(got, want, "float32")
    back = fl.istft(got, 64, window=window.to("cudasim"), onesided=False)
    np.testing.assert_allclose(back.cpu().numpy(), x[:, :back.shape[-1]].numpy(), atol=1e-5)


# ---- planted faults ---------------------------------------------------------


def test_a_wrong_argument_of_a_library_is_found_out(simulated, monkeypatch):
    a = draw((3, 4, 4), "float64").to("cudasim")
    library = lapack.lapack_of(np)
    monkeypatch.setattr(library, "blas_handle", library.solver_handle)
    with pytest.raises(ValueError, match="handle"):
        fl.linalg.inv(a)
    monkeypatch.undo()
    monkeypatch.setattr(library, "_addresses",
                        lambda stack, order=None: np.full(len(stack), library.address(stack),
                                                          "uint64"))
    wrong = fl.linalg.inv(a).cpu() @ a.cpu()
    assert not fl.allclose(wrong, fl.eye(4, dtype=fl.float64).expand(3, 4, 4))


# ---- symmetric and Hermitian matrices ------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
def test_symmetric_factors(simulated, dtype, hermitian):
    """Pivots, by which rows and columns are exchanged, are the same as LAPACK's."""
    for n, batch in ((1, ()), (0, (2,)), (4, (0,)), (5, (2, 3)), (40, (2,))):
        a = draw((*batch, n, n), dtype)
        a = a + (a.mH if hermitian else a.mT)
        a.diagonal(0, -2, -1)[..., ::2] = 0         # pivots of two columns
        want = fl.linalg.ldl_factor_ex(a, hermitian=hermitian)
        for given in (a.to("cudasim"), strided(a)):
            got = fl.linalg.ldl_factor_ex(given, hermitian=hermitian)
            same(got[1:], want[1:], "float64")
            same(got.LD, want.LD, dtype)
        assert n < 4 or not want.pivots.numel() or (want.pivots < 0).any()
        b = draw((2, *[1] * len(batch), n, 3), dtype, 1)
        if not a.numel():
            continue
        solved = fl.linalg.ldl_solve(*want[:2], b, hermitian=hermitian)
        there = [x.to("cudasim") for x in (*want[:2], b)]
        result = fl.linalg.ldl_solve(*there, hermitian=hermitian)
        scale = max(1.0, float(solved.abs().max()))
        same(result / scale, solved / scale, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetric_matrices_that_cannot_be_factored(simulated, dtype):
    zero, nan = fl.zeros(2, 3, 3, dtype=getattr(fl, dtype)), draw((3, 3), dtype)
    zero[0] += fl.eye(3)
    nan[0, 2] = float("nan")
    for a in (zero, nan):
        got, want = (fl.linalg.ldl_factor_ex(x) for x in (a.to("cudasim"), a))
        same(got[1:], want[1:], dtype)
        same(got.LD, want.LD, dtype)
    messages = []
    for a in (zero, zero.to("cudasim")):
        with pytest.raises(LinAlgError, match="Batch element 1") as caught:
            fl.linalg.ldl_factor(a)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("pivots", [[1, 2, 4], [0, 1, 1], [-1, 2, 3], [1, 2, -3], [-1, -5, 3]])
def test_pivots_of_something_else(simulated, pivots):
    there = [x.to("cudasim") for x in (fl.eye(3), fl.tensor(pivots, dtype=fl.int32),
                                       fl.ones(3, 1))]
    with pytest.raises(RuntimeError, match="pass what ldl_factor returned"):
        fl.linalg.ldl_solve(*there)
