"""einsum; linear algebra given what it refuses, out=, or numbers that are not finite."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import linalg

RNG = np.random.default_rng(3)

EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ba,cb", (3, 4), (5, 3)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bhqk,bhkd->bqhd", (2, 3, 4, 5), (2, 3, 5, 6)),
    ("ii->i", (4, 4)), ("ii", (4, 4)), ("iij->j", (3, 3, 2)), ("ij->ji", (2, 3)), ("ij->", (2, 3)),
    ("i,j->ij", (3,), (4,)), ("i,i->", (3,), (3,)), ("i,i->i", (3,), (3,)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("...i,...i", (2, 1, 3), (5, 3)),
    ("i...,...j->...ij", (3, 2), (2, 4)), ("ij,jk,kl->il", (2, 30), (30, 3), (3, 20)),
    ("ab,bc,cd,de,ef->af", (2, 3), (3, 4), (4, 2), (2, 5), (5, 2)),
    ("a,b,c,d,e,f->afb", (2,), (3,), (2,), (2,), (2,), (3,)),
    ("ijk,ilm,njm,nlk->", (2, 3, 4), (2, 3, 2), (2, 3, 2), (2, 3, 4)),
    ("ab,ab,c->abc", (2, 3), (2, 3), (4,)), ("ij,jk->ik", (0, 4), (4, 2)),
    ("ij,jk->ik", (3, 0), (0, 2)), ("abc,cd->abd", (2, 3, 4), (4, 5)),
]


@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EQUATIONS])
def test_einsum(equation, shapes):
    arrays = [RNG.standard_normal(s) for s in shapes]
    expected = np.einsum(equation, *arrays)
    for _ in range(2):          # planned, then from the plan
        got = flambeau.einsum(equation, *map(flambeau.tensor, arrays))
        np.testing.assert_allclose(got.numpy(), expected, 1e-12, 1e-12)
        assert got.shape == expected.shape


def test_einsum_with_lists_of_subscripts():
    a, b = RNG.standard_normal((2, 3)), RNG.standard_normal((3, 4))
    x, y = flambeau.tensor(a), flambeau.tensor(b)
    np.testing.assert_allclose(flambeau.einsum(x, [0, 1], y, [1, 2], [2, 0]), (a @ b).T, 1e-12)
    np.testing.assert_allclose(flambeau.einsum(x, [..., 1], y, [1, 2], [..., 2]), a @ b, 1e-12)


def test_einsum_broadcasts_sizes_of_one():
    a, b = RNG.standard_normal((3, 1)), RNG.standard_normal((4, 5))
    got = flambeau.einsum("ij,jk->ik", flambeau.tensor(a), flambeau.tensor(b))
    np.testing.assert_allclose(got, a * b.sum(0), 1e-12)


@pytest.mark.parametrize(("equation", "shapes", "text"), [
    ("ij,jk->ik", [(2, 3)], "fewer operands"), ("ij->ik", [(2, 3)], "subscript k does not appear"),
    ("ij->ii", [(2, 3)], "more than once"), ("ijk", [(2, 3)], "subscripts in the equation"),
    ("i", [(2, 3)], "no ellipsis"), ("i1", [(2, 3)], "invalid subscript '1'"),
    ("ii", [(2, 3)], "does not broadcast"), ("ij,jk", [(2, 3), (4, 5)], "does not broadcast"),
    ("......", [(2, 3)], "more than once"), (". ..", [(2,)], "invalid subscript '.'"),
    ("i->. ..", [(2,)], "invalid subscript '.'"),
])
def test_wrong_equations_say_why(equation, shapes, text):
    with pytest.raises(RuntimeError, match=text):
        flambeau.einsum(equation, *[flambeau.ones(s) for s in shapes])


def test_einsum_of_nothing():
    with pytest.raises(ValueError, match="at least one operand"):
        flambeau.einsum("", [])


def test_singular_matrices_name_the_operator_and_the_element():
    stack = flambeau.stack([flambeau.eye(2), flambeau.zeros(2, 2)])
    with pytest.raises(linalg.LinAlgError, match=r"linalg\.inv: \(Batch element 1\).*diagonal "
                                                 r"element 1 is zero.*pinv"):
        linalg.inv(stack)
    with pytest.raises(linalg.LinAlgError, match=r"linalg\.solve: The diagonal element 2"):
        linalg.solve(flambeau.ones(2, 2), flambeau.ones(2))
    with pytest.raises(linalg.LinAlgError, match=r"linalg\.cholesky.*leading minor of order 2"):
        linalg.cholesky(flambeau.tensor([[1.0, 2.0], [2.0, 1.0]]))
    assert issubclass(linalg.LinAlgError, RuntimeError)
    assert linalg.inv_ex(stack).info.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "pinv"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(name, bad):
    for dtype in (flambeau.float32, flambeau.complex64):
        x = flambeau.full((40, 40), bad).to(dtype)
        with pytest.raises(RuntimeError, match=r"non-finite|infs or NaNs"):
            getattr(linalg, name)(x)


@pytest.mark.parametrize("dtype", ["int64", "bool", "float16", "bfloat16"])
def test_other_dtypes_say_what_to_write(dtype):
    x = flambeau.ones(2, 2).to(getattr(flambeau, dtype))
    exp = () if x.is_floating_point() else ("matrix_exp",)
    for name in ("inv", "det", "cholesky", "qr", "svd", "eigh", "eig", "pinv", *exp):
        with pytest.raises(RuntimeError, match=r"[.]float\(\)"):
            getattr(linalg, name)(x)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_more(name):
    dtype = getattr(flambeau, name)
    x = flambeau.tensor([[0.5, 1.0], [0.0, -1.0]], dtype=dtype)
    exact = flambeau.linalg.matrix_exp(x.double())
    assert (linalg.matrix_exp(x) == exact.to(dtype)).all()
    assert linalg.vector_norm(flambeau.tensor([[300.0, 400.0]], dtype=dtype)).item() == 500
    large = flambeau.tensor(-flambeau.finfo(dtype).max, dtype=dtype)
    for p in (1, 2, 6, 0.5, -1):
        assert linalg.vector_norm(large, p).item() == -large.item()


def test_shapes_say_what_is_wrong():
    with pytest.raises(RuntimeError, match="batches of square matrices"):
        linalg.det(flambeau.ones(2, 3))
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        linalg.svd(flambeau.ones(3))
    with pytest.raises(RuntimeError, match="Incompatible shapes of A and B"):
        linalg.solve(flambeau.eye(3), flambeau.ones(2, 2))


def test_results_into_given_tensors():
    x = flambeau.tensor(RNG.standard_normal((4, 3)))
    q, r = flambeau.empty(4, 3, dtype=flambeau.float64), flambeau.empty(0, dtype=flambeau.float64)
    got = linalg.qr(x, out=(q, r))
    assert got[0] is q and got[1] is r
    np.testing.assert_allclose((q @ r).numpy(), x.numpy(), 1e-12, 1e-12)


def test_results_have_names():
    x = flambeau.eye(3)
    assert linalg.svd(x)._fields == ("U", "S", "Vh")
    assert linalg.eigh(x)._fields == ("eigenvalues", "eigenvectors")
    assert linalg.slogdet(x)._fields == ("sign", "logabsdet")
    assert linalg.lu(x)._fields == ("P", "L", "U")
    assert linalg.lu_factor(x)._fields == ("LU", "pivots")


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, float("inf"), -1])
def test_norms_of_zero_have_finite_gradients(p):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = flambeau.zeros(3, requires_grad=True)
    linalg.vector_norm(x, p).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_distances_of_equal_points_have_finite_gradients():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    for n in (3, 30):
        x = flambeau.ones(n, 2, requires_grad=True)
        flambeau.cdist(x, x.detach()).sum().backward()
        assert x.grad.abs().max().item() == 0


def test_least_squares_without_unknowns_leave_the_squares():
    for driver in ("gels", "gelsd", "gelss"):
        found = linalg.lstsq(flambeau.empty(3, 0), flambeau.ones(3, 2), driver=driver)
        assert found.solution.shape == (0, 2)
        assert found.residuals.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
def test_least_squares_of_dependent_columns(driver):
    a = RNG.standard_normal((6, 3))
    a[:, 2] = a[:, 0] + a[:, 1]
    b = RNG.standard_normal((6, 2))
    found = linalg.lstsq(flambeau.tensor(a), flambeau.tensor(b), rcond=1e-10, driver=driver)
    np.testing.assert_allclose(found.solution, np.linalg.lstsq(a, b, 1e-10)[0], 1e-9, 1e-12)
    assert found.rank.item() == 2
    assert found.residuals.shape == (0,)
    assert linalg.lstsq(flambeau.tensor(a), flambeau.empty(6, 0, dtype=flambeau.float64),
                        driver=driver, rcond=1e-10).rank.item() == 2


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_refuse_nan(driver):
    with pytest.raises(linalg.LinAlgError, match="non-finite"):
        linalg.lstsq(flambeau.full((4, 3), float("nan")), flambeau.ones(4, 2), driver=driver)


@pytest.mark.parametrize("pivots", [[1, 2, 4], [0, 1, 2], [1, 2, -3], [-1, 2, 3], [1, -9, -9]])
def test_pivots_that_no_factorization_gives_are_refused(pivots):
    with pytest.raises(RuntimeError, match="pass what ldl_factor returned"):
        linalg.ldl_solve(flambeau.eye(3), flambeau.tensor(pivots, dtype=flambeau.int32),
                         flambeau.ones(3, 1))


def test_indefinite_systems():
    a = RNG.standard_normal((2, 5, 5)) + 1j * RNG.standard_normal((2, 5, 5))
    a = a + np.conj(np.swapaxes(a, 1, 2))
    b = RNG.standard_normal((5, 3)) + 0j
    factor = linalg.ldl_factor(flambeau.tensor(a), hermitian=True)
    x = linalg.ldl_solve(*factor, flambeau.tensor(b), hermitian=True)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), 1e-9, 1e-9)
    assert linalg.ldl_factor(flambeau.full((2, 2), float("nan"))).LD.isnan().any()


def test_results_of_several_tensors_take_out():
    a = flambeau.tensor(RNG.standard_normal((3, 3)))
    for function, count in ((linalg.lu, 3), (linalg.slogdet, 2), (flambeau.svd, 3),
                            (flambeau.qr, 2), (flambeau.lu_unpack, 3)):
        args = linalg.lu_factor(a) if function is flambeau.lu_unpack else (a,)
        out = tuple(flambeau.empty(0, dtype=a.dtype) for _ in range(count))
        given = function(*args, out=out)
        for one, two, expected in zip(given, out, function(*args), strict=True):
            assert one is two
            assert flambeau.equal(two, expected)
    with pytest.raises(TypeError):
        linalg.lu(a, out=a)


def test_vander_of_sizes_that_cannot_be():
    """One scan: a loop over the columns would run for hours before it failed."""
    assert flambeau.vander(flambeau.ones(0), 2 ** 31).shape == (0, 2 ** 31)
    with pytest.raises(MemoryError):
        flambeau.vander(flambeau.ones(3), 2 ** 45)
    none = flambeau.vander(flambeau.ones(3, dtype=flambeau.uint8), 0)
    assert (none.shape, none.dtype) == ((3, 0), flambeau.int64)


# ---- what PyTorch refuses, and what stands beside it --------------------------------------------
EYE = flambeau.eye(2)


@pytest.mark.parametrize("call", [
    lambda: flambeau.addmm(EYE.double(), EYE, EYE),
    lambda: flambeau.addmm(EYE, EYE.int(), EYE.int()),
    lambda: flambeau.addmv(EYE[0].double(), EYE, EYE[0]),
    lambda: flambeau.baddbmm(EYE[None].half(), EYE[None], EYE[None]),
    lambda: flambeau.addbmm(EYE.long(), EYE[None], EYE[None]),
])
def test_sums_of_products_do_not_promote(call):
    with pytest.raises(RuntimeError, match="dtypes must be the same"):
        call()


@pytest.mark.parametrize(("call", "text"), [
    (lambda: flambeau.addr(EYE, EYE[0], EYE[0], beta=True), "Boolean beta only supported"),
    (lambda: flambeau.addr(EYE, EYE[0], EYE[0], alpha=True), "Boolean alpha only supported"),
    (lambda: flambeau.chain_matmul(), "one or more matrices"),
    (lambda: flambeau.chain_matmul(EYE[0], EYE), "dimension is 1, expected 2"),
    (lambda: linalg.pinv(EYE, rcond=flambeau.tensor(1j)), "rcond tensor of complex type"),
    (lambda: linalg.svd(EYE, driver="gesvd"), "only supported on CUDA"),
    (lambda: linalg.svdvals(EYE, driver="gesvd"), "only supported on CUDA"),
    (lambda: flambeau.cholesky_inverse(flambeau.diag(EYE[0])), "The diagonal element 2 is zero"),
])
def test_what_would_be_no_answer_is_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_numbers_as_tolerances_and_matrices_without_inverse():
    assert linalg.matrix_rank(EYE, atol=0.5) == linalg.matrix_rank(EYE, 0.5) == 2
    assert linalg.matrix_rank(EYE, atol=1.5) == 0
    for p in (1, "fro", "nuc", float("inf")):
        assert linalg.cond(flambeau.stack([EYE, flambeau.diag(EYE[0])]), p)[1] == float("inf")
    assert linalg.svd(3 * EYE, driver=None).S.tolist() == [3.0, 3.0]
    truth = EYE > 0
    assert flambeau.addr(truth, truth[0], truth[0], alpha=False).equal(truth)
    assert flambeau.nuclear_norm(3 * EYE, out=flambeau.empty(0)) == 6
