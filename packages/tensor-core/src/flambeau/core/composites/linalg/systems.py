"""Composite operators of systems without an exact solution, and of indefinite symmetric ones."""
from flambeau.core import _core

_op = _core.operators()
_EPSILON = {"float32": 2.0 ** -23, "float64": 2.0 ** -52, "complex64": 2.0 ** -23,
            "complex128": 2.0 ** -52}
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _expect_system(A, B, driver):
    if driver not in _DRIVERS:
        raise RuntimeError("linalg.lstsq: parameter 'driver' should be one of "
                           f"{_DRIVERS}, got {driver!r}")
    if A.ndim < 2:
        raise RuntimeError("linalg.lstsq: A must have at least 2 dimensions, got shape "
                           f"{list(A.shape)}")
    if B.ndim < 1:
        raise RuntimeError("linalg.lstsq: B must have at least 1 dimension; write B.unsqueeze(0)")


def _whole(x):
    """The batch that a tensor inside transforms stands for: results of all samples look alike."""
    while _core.level_of(x):
        x = x.__dict__["_inner"]
    return x


def _squared_errors(A, B, X, rank, driver):
    """Sums over the equations; none where they do not exceed the unknowns or are dependent."""
    m, n = A.shape[-2:]
    full = driver == "gels" or (driver != "gelsy" and (
        rank.device.type == "meta" or bool(_op["all"](_op["eq"](_whole(rank), n)))))
    if m <= n or not full:
        real = _op["real_part"](A) if A.is_complex() else A
        return _op["empty"]((0,), dtype=real.dtype, device=A.device)
    missing = _op["abs"](_op["sub"](B, _op["matmul"](A, X)))
    return _op["sum"](_op["square"](missing), -2)


def linalg_lstsq(A, B, rcond, driver):
    driver = "gelsy" if driver is None else driver
    _expect_system(A, B, driver)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    right = _op["unsqueeze"](B, -1) if vector else B
    if rcond is None:
        rcond = _EPSILON.get(A.dtype.name, 0.0) * max(A.shape[-2:])
    X, rank, values = _op["linalg_lstsq_by"](A, right, rcond, driver)
    errors = _squared_errors(A, right, X, rank, driver)
    return _op["squeeze"](X, -1) if vector else X, errors, rank, values.detach()


def linalg_ldl_factor(A, hermitian):
    LD, pivots, _ = _op["linalg_ldl_factor_ex"](A, hermitian=hermitian, check_errors=True)
    return LD, pivots
