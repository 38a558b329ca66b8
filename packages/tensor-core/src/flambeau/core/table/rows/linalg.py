"""Linear algebra on LAPACK: the decompositions that everything else is made of."""
from flambeau.core.table.make import kernel


def _lapack(schema, *aliases, **facts):
    facts.setdefault("forms", ())
    return kernel(schema, aliases=aliases, **facts)


ROWS = (
    _lapack("linalg_lu_factor_ex(Tensor A, *, Bool pivot=True, Bool check_errors=False)"
            " -> (Tensor LU, Tensor pivots, Tensor info)", "linalg.lu_factor_ex",
            doc="LU decomposition in one matrix, the exchanges of rows, and where it failed."),
    _lapack("lu_permutation(Tensor pivots, Int n)", out=False, differentiable=False,
            doc="The order of rows that a sequence of exchanges gives."),
    _lapack("linalg_solve_lu(Tensor A, Tensor B, Bool left, Bool check_errors, Str caller)"
            " -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
            doc="Solves ``A X = B`` or ``X A = B``, and gives the LU decomposition."),
    _lapack("linalg_invert(Tensor A, Bool check_errors) -> (Tensor result, Tensor info)",
            doc="The inverse of a square matrix, and where the decomposition failed."),
    _lapack("linalg_det_lu(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
            doc="The determinant, and the LU decomposition."),
    _lapack("linalg_slogdet_lu(Tensor A)"
            " -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
            doc="Sign and logarithm of the determinant, and the LU decomposition."),
    _lapack("linalg_cholesky_ex(Tensor self, *, Bool upper=False, Bool check_errors=False)"
            " -> (Tensor L, Tensor info)", "linalg.cholesky_ex",
            doc="Cholesky decomposition, and the order of the minor where it failed."),
    _lapack("linalg_solve_triangular(Tensor self, Tensor B, *, Bool upper, Bool left=True,"
            " Bool unitriangular=False)", "linalg.solve_triangular",
            doc="Solves ``A X = B`` or ``X A = B`` with a triangular matrix."),
    _lapack("linalg_qr(Tensor A, Str mode='reduced') -> (Tensor Q, Tensor R)", "linalg.qr",
            doc="QR decomposition."),
    kernel("geqrf(Tensor self) -> (Tensor a, Tensor tau)", differentiable=False,
           doc="Householder reflectors of the QR decomposition."),
    _lapack("linalg_householder_product(Tensor self, Tensor tau)", "linalg.householder_product",
            doc="The first columns of a product of Householder reflectors."),
    kernel("ormqr(Tensor self, Tensor tau, Tensor other, Bool left=True, Bool transpose=False)",
           doc="The product of a matrix with the reflectors of a QR decomposition."),
    _lapack("linalg_lstsq_by(Tensor A, Tensor B, Float rcond, Str driver)"
            " -> (Tensor solution, Tensor rank, Tensor singular_values)", out=False,
            doc="Least squares by one of LAPACK's drivers."),
    _lapack("linalg_ldl_factor_ex(Tensor self, *, Bool hermitian=False, Bool check_errors=False)"
            " -> (Tensor LD, Tensor pivots, Tensor info)", "linalg.ldl_factor_ex",
            differentiable=False,
            doc="LDL decomposition of a symmetric matrix, and where it failed."),
    _lapack("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, Bool hermitian=False)",
            "linalg.ldl_solve", differentiable=False,
            doc="Solves a system from an LDL decomposition."),
    _lapack("linalg_eigh(Tensor self, Str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
            "linalg.eigh", doc="Eigenvalues and eigenvectors of a Hermitian matrix."),
    _lapack("eigh_values(Tensor self, Str UPLO='L')", differentiable=False, out=False,
            doc="Eigenvalues of a Hermitian matrix."),
    _lapack("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", "linalg.eig",
            doc="Eigenvalues and eigenvectors of a square matrix."),
    _lapack("eig_values(Tensor self)", differentiable=False, out=False,
            doc="Eigenvalues of a square matrix."),
    _lapack("linalg_svd(Tensor A, Bool full_matrices=True) -> (Tensor U, Tensor S, Tensor Vh)",
            "linalg.svd", doc="Singular value decomposition."),
    _lapack("svd_values(Tensor A)", differentiable=False, out=False, doc="Singular values."),
)
