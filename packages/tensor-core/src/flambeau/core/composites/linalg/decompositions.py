"""Composite operators of solvers and decompositions."""
from flambeau.core import _core

_op = _core.operators()

_EPSILON = {"float32": 2.0 ** -23, "float64": 2.0 ** -52, "complex64": 2.0 ** -23,
            "complex128": 2.0 ** -52}


def _mh(x):
    """The conjugate transpose."""
    return _op["conj"](_op["transpose"](x, -2, -1))


def _mt(x):
    return _op["transpose"](x, -2, -1)


def _watched(x):
    """Whether derivatives will be asked for, by the tape or by a transform at whatever level:
    then vectors are needed beside values."""
    while not (x.requires_grad and _core.is_grad_enabled()):
        if not _core.level_of(x):
            return False
        facts = x.__dict__
        if facts.get("_tangent") is not None:
            return True
        x = facts["_inner"]
    return True


def _expect_square(what, x):
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise RuntimeError(f"{what}: A must be batches of square matrices, but it has shape "
                           f"{list(x.shape)}")


def _linked(x, value):
    """The value, which does not depend on ``x``: its gradient is zero instead of absent."""
    if not _watched(x):
        return value
    never = _op["full_of"]((), False, dtype=_core._dtype_named("bool"), device=x.device)
    return _op["where"](never, x, value)


def _identity(x, n):
    return _op["eye_of"](n, n, dtype=x.dtype, device=x.device)


# ---- solving -----------------------------------------------------------------------------------
def _is_vector(A, B):
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def _solve(A, B, left, check_errors, caller):
    vector = left and A.ndim >= 2 and _is_vector(A, B)
    if not left and B.ndim == 1:
        raise RuntimeError(f"{caller}: left=False needs matrices on the right: B has shape "
                           f"{list(B.shape)}; write B.unsqueeze(0)")
    result = _op["linalg_solve_lu"](A, _op["unsqueeze"](B, -1) if vector else B, left,
                                    check_errors, caller)
    return _op["squeeze"](result[0], -1) if vector else result[0], result[3]


def linalg_solve(A, B, left):
    return _solve(A, B, left, True, "linalg.solve")[0]


def linalg_solve_ex(A, B, left, check_errors):
    return _solve(A, B, left, check_errors, "linalg.solve")


def _invert(A, check_errors):
    _expect_square("linalg.inv", A)
    return _op["linalg_invert"](A, check_errors)


def inverse(A):
    return _invert(A, True)[0]


def linalg_inv_ex(A, check_errors):
    return _invert(A, check_errors)


def linalg_tensorsolve(A, B, dims):
    if dims is not None:
        A = _op["movedim"](A, list(dims), list(range(A.ndim - len(dims), A.ndim)))
    rest = A.shape[B.ndim:]
    columns = 1
    for size in rest:
        columns *= size
    if columns != B.numel():
        raise RuntimeError("linalg.tensorsolve: Expected self to satisfy the requirement "
                           "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
                           f"got A of shape {list(A.shape)} for B of shape {list(B.shape)}")
    square = _op["reshape"](A, (columns, columns))
    return _op["reshape"](linalg_solve(square, _op["reshape"](B, (columns,)), True), rest)


def linalg_tensorinv(A, ind):
    if ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: Expected a strictly positive integer for 'ind', got "
                           f"{ind}")
    rows, columns = A.shape[:ind], A.shape[ind:]
    n = m = 1
    for size in rows:
        n *= size
    for size in columns:
        m *= size
    if n != m:
        raise RuntimeError("linalg.tensorinv: Expected self to satisfy the requirement "
                           "prod(self.shape[ind:]) == prod(self.shape[:ind]), but got shape "
                           f"{list(A.shape)} with ind={ind}")
    return _op["reshape"](inverse(_op["reshape"](A, (n, n))), (*columns, *rows))


# ---- triangular systems ------------------------------------------------------------------------
def triangular_solve(b, A, upper, transpose, unitriangular):
    source = _mt(A) if transpose else A
    solution = _op["linalg_solve_triangular"](source, b, upper=upper != transpose,
                                              unitriangular=unitriangular)
    batch = solution.shape[:-2]
    return solution, _op["clone"](_op["expand"](A, (*batch, *A.shape[-2:])))


def cholesky(A, upper):
    return _op["linalg_cholesky_ex"](A, upper=upper, check_errors=True)[0]


def cholesky_solve(B, L, upper):
    if B.ndim < 2 or L.ndim < 2:
        raise RuntimeError(f"cholesky_solve: b and u should have at least 2 dimensions, got shapes "
                           f"{list(B.shape)} and {list(L.shape)}")
    solve = _op["linalg_solve_triangular"]
    if upper:
        return solve(L, solve(_mh(L), B, upper=False), upper=True)
    return solve(_mh(L), solve(L, B, upper=False), upper=True)


def cholesky_inverse(L, upper):
    _expect_square("cholesky_inverse", L)
    if _core.may_read(L) and L.numel():
        zero = _op["eq"](_op["diagonal"](L.detach(), 0, -2, -1), 0)
        if _op["any"](zero).item():
            position = _op["nonzero"](zero)[0, -1].item() + 1
            raise _core.LinAlgError(f"cholesky_inverse: The diagonal element {position} is zero, "
                                    "the inversion could not be completed; give the factor of a "
                                    "positive definite matrix")
    return cholesky_solve(_identity(L, L.shape[-1]), L, upper)


# ---- LU ----------------------------------------------------------------------------------------
def linalg_lu_factor(A, pivot):
    return _op["linalg_lu_factor_ex"](A, pivot=pivot, check_errors=False)[:2]


def lu(A, pivot, get_infos):
    LU, pivots, info = _op["linalg_lu_factor_ex"](A, pivot=pivot)
    return (LU, pivots, info) if get_infos else (LU, pivots)


def _unpack_data(LU):
    k = min(LU.shape[-2:])
    L = _op["tril"](_op["narrow"](LU, -1, 0, k), -1)
    return (_op["add"](L, _op["eye_of"](LU.shape[-2], k, dtype=LU.dtype, device=LU.device)),
            _op["triu"](_op["narrow"](LU, -2, 0, k)))


def _permutation_matrix(LU, pivots):
    """P of ``A = P L U``: row ``order[i]`` of P has its one at position i."""
    n = LU.shape[-2]
    order = _op["lu_permutation"](pivots, n)
    positions = _op["arange_of"](0, n, 1, dtype=order.dtype, device=order.device)
    return _op["cast"](_op["eq"](_op["unsqueeze"](order, -2), _op["unsqueeze"](positions, -1)),
                       LU.dtype)


def lu_unpack(LU, pivots, unpack_data, unpack_pivots):
    if unpack_pivots and pivots.dtype is not _core._dtype_named("int32"):
        raise RuntimeError("lu_unpack: LU_pivots is expected to be a contiguous tensor of "
                           f"int32, as lu_factor returns it; got {pivots.dtype}")
    L, U = _unpack_data(LU) if unpack_data else (_none(LU), _none(LU))
    P = _permutation_matrix(LU, pivots) if unpack_pivots else _none(LU)
    return P, L, U


def _none(x):
    return _op["empty"]((0,), dtype=x.dtype, device=x.device)


def linalg_lu(A, pivot):
    LU, pivots, _ = _op["linalg_lu_factor_ex"](A, pivot=pivot)
    return lu_unpack(LU, pivots, True, True)


def linalg_lu_solve(LU, pivots, B, left, adjoint):
    """``A X = B`` by two triangular systems; other sides are the adjoint equation."""
    _expect_square("linalg.lu_solve", LU)
    if not left:
        return _mh(linalg_lu_solve(LU, pivots, _mh(B), True, not adjoint))
    solve = _op["linalg_solve_triangular"]
    order = _op["lu_permutation"](pivots, LU.shape[-1])
    if adjoint:
        half = solve(_mh(LU), B, upper=False)
        half = solve(_mh(LU), half, upper=True, unitriangular=True)
        return _take_rows(half, _op["argsort"](order, -1))
    half = solve(LU, _take_rows(B, order), upper=False, unitriangular=True)
    return solve(LU, half, upper=True)


def _take_rows(B, order):
    """Rows in another order, stacks broadcast."""
    if B.shape[-2] != order.shape[-1]:
        raise RuntimeError(f"linalg.lu_solve: Incompatible shapes: B has shape {list(B.shape)} and "
                           f"the matrix has {order.shape[-1]} rows")
    index = _op["unsqueeze"](order, -1)
    ndim = max(B.ndim, index.ndim)
    shape = [1] * (ndim - B.ndim) + list(B.shape)
    for i, size in enumerate(index.shape[:-2]):
        at = ndim - index.ndim + i
        shape[at] = size if shape[at] == 1 else shape[at]
    return _op["gather"](_op["expand"](B, shape), -2, _op["expand"](index, shape))


def lu_solve(b, LU, pivots):
    return linalg_lu_solve(LU, pivots, b, True, False)


# ---- determinants ------------------------------------------------------------------------------
def det(A):
    return _op["linalg_det_lu"](A)[0]


def slogdet(A):
    return _op["linalg_slogdet_lu"](A)[:2]


def logdet(A):
    sign, size = _op["linalg_slogdet_lu"](A)[:2]
    if A.is_complex():
        phase = _op["atan2"](sign.imag, sign.real)
        return _op["add"](size, _op["mul"](phase, 1j))
    return _op["where"](_op["eq"](sign, -1), float("nan"), size)


# ---- QR, eigenvalues, singular values ----------------------------------------------------------
def qr(A, some):
    return tuple(_op["linalg_qr"](A, "reduced" if some else "complete"))


def orgqr(x, tau):
    return _op["linalg_householder_product"](x, tau)


def linalg_eigvalsh(A, UPLO):
    return _op["linalg_eigh"](A, UPLO)[0] if _watched(A) else _op["eigh_values"](A, UPLO)


def linalg_eigvals(A):
    return _op["linalg_eig"](A)[0] if _watched(A) else _op["eig_values"](A)


def linalg_svdvals(A, driver=None):
    if driver is not None:
        raise RuntimeError("linalg.svdvals: keyword argument `driver=` is only supported on CUDA "
                           "inputs with cuSOLVER backend; leave it out")
    return _op["linalg_svd"](A, False)[1] if _watched(A) else _op["svd_values"](A)


def svd(A, some, compute_uv):
    if not compute_uv:
        zeros = _op["full_of"]
        *batch, m, n = A.shape
        return (zeros((*batch, m, m), 0, dtype=A.dtype, device=A.device), linalg_svdvals(A),
                zeros((*batch, n, n), 0, dtype=A.dtype, device=A.device))
    U, S, Vh = _op["linalg_svd"](A, not some)
    return U, S, _mh(Vh)


def _sizes(A, hermitian):
    """Singular values, from eigenvalues where the matrix is Hermitian."""
    return _op["abs"](linalg_eigvalsh(A, "L")) if hermitian else linalg_svdvals(A)


def _threshold(what, A, S, atol, rtol):
    """``max(atol, rtol * greatest)``; rtol follows the precision unless atol is given."""
    if rtol is None:
        given = atol is not None and (_core.is_tensor(atol) or atol > 0)
        rtol = 0.0 if given else _EPSILON[A.dtype.name] * max(A.shape[-2:])
    _expect_real(what, atol=atol, rtol=rtol)
    greatest = _op["amax"](S, -1, True)
    bound = _op["mul"](greatest, _beside(rtol))
    if atol is None:
        return bound
    return _op["maximum" if _core.is_tensor(atol) else "clamp_min"](bound, _beside(atol))


def _expect_real(what, **tolerances):
    for name, value in tolerances.items():
        if isinstance(value, complex) or _core.is_tensor(value) and value.is_complex():
            raise RuntimeError(f"{what}: {name} tensor of complex type is not supported. Got "
                               f"{getattr(value, 'dtype', 'complex')}; give real tolerances")


def _beside(value):
    return _op["unsqueeze"](value, -1) if _core.is_tensor(value) else value


def linalg_matrix_rank(A, tol, hermitian, atol, rtol):
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_rank: The input tensor input must have at least 2 "
                           f"dimensions, got shape {list(A.shape)}")
    if A.numel() == 0:
        return _op["full_of"](A.shape[:-2], 0, dtype=_core._dtype_named("int64"), device=A.device)
    if tol is not None:
        atol, rtol = tol, 0.0
    S = _sizes(A.detach(), hermitian)
    above = _op["gt"](S, _threshold("linalg.matrix_rank", A, S, atol, rtol))
    return _op["sum"](above, -1)


def linalg_pinv(A, rcond, hermitian, atol, rtol):
    _expect_real("linalg.pinv", rcond=rcond, atol=atol, rtol=rtol)
    if rcond is not None:
        atol, rtol = None, rcond
    if A.ndim < 2:
        raise RuntimeError("linalg.pinv: The input tensor input must have at least 2 dimensions, "
                           f"got shape {list(A.shape)}")
    if A.numel() == 0:
        return _op["clone"](_mt(A))
    if rtol is None:
        given = atol is not None and (_core.is_tensor(atol) or atol > 0)
        rtol = 0.0 if given else _EPSILON.get(A.dtype.name, 0.0) * max(A.shape[-2:])
    atols, atol = _one_each(A, atol)
    rtols, rtol = _one_each(A, rtol)
    return _op["pinv_svd"](A, atols, rtols, atol, rtol, hermitian)


def _one_each(A, tolerance):
    """A tolerance as a tensor with one number for each matrix, or as a number for all."""
    if _core.is_tensor(tolerance):
        return _op["expand"](tolerance.detach(), A.shape[:-2]), 0.0
    return None, tolerance or 0.0


def pinverse(A, rcond):
    return linalg_pinv(A, rcond, False, None, None)


# ---- powers ------------------------------------------------------------------------------------
def matrix_power(A, n):
    _expect_square("linalg.matrix_power", A)
    if n < 0:
        return matrix_power(inverse(A), -n)
    if n == 0:
        return _linked(A, _op["clone"](_op["expand"](_identity(A, A.shape[-1]), A.shape)))
    result, square = None, A
    while True:
        if n & 1:
            result = square if result is None else _op["matmul"](result, square)
        n >>= 1
        if not n:
            return _op["clone"](result) if result is A else result
        square = _op["matmul"](square, square)


def linalg_vander(x, N):
    x = _op["unsqueeze"](x, 0) if x.ndim == 0 else x
    if (x.shape[-1] if N is None else N) < 2:
        raise RuntimeError("linalg.vander: N must be greater than 1; got "
                           f"{x.shape[-1] if N is None else N} for x of shape {list(x.shape)}")
    return _powers(x, N)


def _powers(x, N):
    """``x ** 0`` to ``x ** (N - 1)`` along a new dimension."""
    n = x.shape[-1] if N is None else N
    if not (x.is_floating_point() or x.is_complex()):
        x = _op["cast"](x, _core._dtype_named("int64"))
    ones = _op["full_of"]((*x.shape, min(n, 1)), 1, dtype=x.dtype, device=x.device)
    if n < 2:
        return ones
    # One scan, so that a size beyond the memory is refused before any work.
    repeated = _op["expand"](_op["unsqueeze"](x, -1), (*x.shape, n - 1))
    return _op["cat"]([ones, _op["cumprod"](repeated, -1)], -1)


def vander(x, N, increasing):
    if x.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, got shape {list(x.shape)}")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError(f"N must be non-negative, got {n}")
    matrix = _powers(x, n)
    return matrix if increasing else _op["flip"](matrix, (-1,))
