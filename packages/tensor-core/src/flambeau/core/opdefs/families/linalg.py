"""Linear algebra."""
from flambeau.core.opdefs.make import composite, kernel

_TOLERANCES = "Operand? atol=None, Operand? rtol=None"


def _lapack(schema, *aliases, **facts):
    facts.setdefault("forms", ())
    return kernel(schema, aliases=aliases, **facts)


def _plain(schema, *aliases, **facts):
    """A function and a method under an old name, and in ``flambeau.linalg``."""
    return composite(schema, aliases=aliases, out=True, **facts)


def _linalg(schema, **facts):
    """A function of ``flambeau.linalg`` alone."""
    name = schema.split("(")[0]
    return composite(schema, aliases=(name.replace("_", ".", 1),), forms=(), **facts)


OPDEFS = (
    _lapack("linalg_lu_factor_ex(Tensor A, *, Bool pivot=True, Bool check_errors=False)"
            " -> (Tensor LU, Tensor pivots, Tensor info)", "linalg.lu_factor_ex",
            doc="LU decomposition in one matrix, the exchanges of rows, and where it failed.",
            autocast="float32", exact_out=True, batching="stack", raises_on_values=True),
    _lapack("lu_permutation(Tensor pivots, Int n)", out=False, differentiable=False,
            doc="The order of rows that a sequence of exchanges gives.", batching="stack",
            raises_on_values=True),
    _lapack("linalg_solve_lu(Tensor A, Tensor B, Bool left, Bool check_errors, Str caller)"
            " -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
            doc="Solves ``A X = B`` or ``X A = B``, and gives the LU decomposition.",
            batching="rule", raises_on_values=True),
    _lapack("linalg_invert(Tensor A, Bool check_errors) -> (Tensor result, Tensor info)",
            doc="The inverse of a square matrix, and where the decomposition failed.",
            batching="stack", raises_on_values=True),
    _lapack("linalg_det_lu(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
            doc="The determinant, and the LU decomposition.", batching="stack"),
    _lapack("linalg_slogdet_lu(Tensor A)"
            " -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
            doc="Sign and logarithm of the determinant, and the LU decomposition.",
            batching="stack"),
    _lapack("linalg_cholesky_ex(Tensor self, *, Bool upper=False, Bool check_errors=False)"
            " -> (Tensor L, Tensor info)", "linalg.cholesky_ex",
            doc="Cholesky decomposition, and the order of the minor where it failed.",
            autocast="float32", exact_out=True, batching="stack", raises_on_values=True),
    _lapack("linalg_solve_triangular(Tensor self, Tensor B, *, Bool upper, Bool left=True,"
            " Bool unitriangular=False)", "linalg.solve_triangular",
            doc="Solves ``A X = B`` or ``X A = B`` with a triangular matrix.", exact_out=True,
            batching="rule"),
    _lapack("linalg_qr(Tensor A, Str mode='reduced') -> (Tensor Q, Tensor R)", "linalg.qr",
            doc="QR decomposition.", autocast="float32", exact_out=True, batching="stack"),
    kernel("geqrf(Tensor self) -> (Tensor a, Tensor tau)",
           doc="Householder reflectors of the QR decomposition.", autocast="float32",
           batching="stack"),
    _lapack("linalg_householder_product(Tensor self, Tensor tau)", "linalg.householder_product",
            doc="The first columns of a product of Householder reflectors.", autocast="float32",
            batching="stack"),
    kernel("ormqr(Tensor self, Tensor tau, Tensor other, Bool left=True, Bool transpose=False)",
           doc="The product of a matrix with the reflectors of a QR decomposition."),
    _lapack("linalg_lstsq_by(Tensor A, Tensor B, Float rcond, Str driver)"
            " -> (Tensor solution, Tensor rank, Tensor singular_values)", out=False,
            doc="Least squares by one of LAPACK's drivers.", batching="rule",
            raises_on_values=True),
    _lapack("linalg_ldl_factor_ex(Tensor self, *, Bool hermitian=False, Bool check_errors=False)"
            " -> (Tensor LD, Tensor pivots, Tensor info)", "linalg.ldl_factor_ex",
            doc="LDL decomposition of a symmetric matrix, and where it failed.", batching="stack",
            raises_on_values=True),
    _lapack("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, Bool hermitian=False)",
            "linalg.ldl_solve",
            doc="Solves a system from an LDL decomposition.", batching="rule",
            raises_on_values=True),
    _lapack("linalg_eigh(Tensor self, Str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
            "linalg.eigh", doc="Eigenvalues and eigenvectors of a Hermitian matrix.",
            autocast="float32", exact_out=True, batching="stack", raises_on_values=True),
    _lapack("eigh_values(Tensor self, Str UPLO='L')", differentiable=False, out=False,
            doc="Eigenvalues of a Hermitian matrix.", batching="stack", raises_on_values=True),
    _lapack("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", "linalg.eig",
            doc="Eigenvalues and eigenvectors of a square matrix.", autocast="float32",
            batching="stack", raises_on_values=True),
    _lapack("eig_values(Tensor self)", differentiable=False, out=False,
            doc="Eigenvalues of a square matrix.", batching="stack", raises_on_values=True),
    _lapack("linalg_svd(Tensor A, Bool full_matrices=True, *, Str? driver=None)"
            " -> (Tensor U, Tensor S, Tensor Vh)",
            "linalg.svd", doc="Singular value decomposition.", autocast="float32", exact_out=True,
            batching="stack", raises_on_values=True),
    _lapack("svd_values(Tensor A)", differentiable=False, out=False, doc="Singular values.",
            batching="stack", raises_on_values=True),
    # ---- solving
    _linalg("linalg_solve(Tensor self, Tensor B, *, Bool left=True)", out=True,
            doc="Solves ``A X = B``, or ``X A = B``.", autocast="float32", exact_out=True,
            raises_on_values=True),
    _linalg("linalg_solve_ex(Tensor self, Tensor B, *, Bool left=True, Bool check_errors=False)"
            " -> (Tensor result, Tensor info)", out=True,
            doc="Solves ``A X = B`` without an error for singular matrices.", autocast="float32",
            exact_out=True, raises_on_values=True),
    _plain("inverse(Tensor self)", "linalg.inv", doc="The inverse of a square matrix.",
           autocast="float32", exact_out=True, raises_on_values=True),
    _linalg("linalg_inv_ex(Tensor self, *, Bool check_errors=False)"
            " -> (Tensor inverse, Tensor info)", out=True,
            doc="The inverse of a matrix without an error for singular ones.", autocast="float32",
            exact_out=True, raises_on_values=True),
    _linalg("linalg_tensorsolve(Tensor self, Tensor B, Dims? dims=None)", out=True,
            doc="Solves a system whose unknown is a tensor.", autocast="float32",
            raises_on_values=True),
    _linalg("linalg_tensorinv(Tensor self, Int ind=2)", out=True,
            doc="The inverse of tensordot with a tensor.", autocast="float32",
            raises_on_values=True),
    _linalg("linalg_lstsq(Tensor self, Tensor B, Float? rcond=None, *, Str? driver=None)"
            " -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
            out=True, doc="Solves ``A X = B`` by least squares.", raises_on_values=True),
    _linalg("linalg_ldl_factor(Tensor self, *, Bool hermitian=False)"
            " -> (Tensor LD, Tensor pivots)", out=True, differentiable=False,
            doc="LDL decomposition of a symmetric or Hermitian matrix.", raises_on_values=True),
    # ---- triangular systems
    composite("triangular_solve(Tensor self, Tensor A, Bool upper=True, Bool transpose=False,"
              " Bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
              out=True, doc="Solves a triangular system.", autocast="float32", exact_out=True),
    _plain("cholesky(Tensor self, Bool upper=False)", "linalg.cholesky",
           doc="Cholesky decomposition of a positive definite matrix.", autocast="float32",
           raises_on_values=True),
    _plain("cholesky_solve(Tensor self, Tensor L, Bool upper=False)",
           doc="Solves a system from a Cholesky factor.", autocast="float32"),
    _plain("cholesky_inverse(Tensor self, Bool upper=False)",
           doc="The inverse of a matrix from its Cholesky factor.", autocast="float32",
           raises_on_values=True),
    # ---- LU
    _linalg("linalg_lu_factor(Tensor self, *, Bool pivot=True) -> (Tensor LU, Tensor pivots)",
            out=True, doc="LU decomposition in one matrix, and the exchanges of rows.",
            autocast="float32", exact_out=True),
    _linalg("linalg_lu(Tensor self, *, Bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
            out=True, doc="LU decomposition: permutation, lower and upper triangle.",
            exact_out=True),
    _linalg("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, Bool left=True,"
            " Bool adjoint=False)", out=True, doc="Solves a system from an LU decomposition.",
            exact_out=True, raises_on_values=True),
    composite("lu(Tensor self, Bool pivot=True, Bool get_infos=False)",
              returns="tuple[Tensor, ...]",
              doc="LU decomposition in one matrix, and the exchanges of rows."),
    _plain("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots)",
           doc="Solves a system from an LU decomposition.", autocast="float32", exact_out=True,
           raises_on_values=True),
    composite("lu_unpack(Tensor LU_data, Tensor LU_pivots, Bool unpack_data=True,"
              " Bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)", forms=("function",),
              out=True,
              doc="Permutation, lower and upper triangle of an LU decomposition.", exact_out=True,
              raises_on_values=True),
    # ---- determinants
    _plain("det(Tensor self)", "linalg.det", doc="The determinant.", exact_out=True),
    _plain("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", "linalg.slogdet",
           doc="Sign and logarithm of the determinant.", exact_out=True),
    composite("logdet(Tensor self)", doc="Logarithm of the determinant."),
    # ---- eigenvalues and singular values
    _plain("qr(Tensor self, Bool some=True) -> (Tensor Q, Tensor R)", doc="QR decomposition.",
           autocast="float32", exact_out=True),
    _plain("orgqr(Tensor self, Tensor tau)",
           doc="The first columns of a product of Householder reflectors."),
    _linalg("linalg_eigvalsh(Tensor self, Str UPLO='L')", out=True,
            doc="Eigenvalues of a Hermitian matrix, in ascending order.", autocast="float32",
            exact_out=True, raises_on_values=True),
    _linalg("linalg_eigvals(Tensor self)", out=True, doc="Eigenvalues of a square matrix.",
            autocast="float32", raises_on_values=True),
    _linalg("linalg_svdvals(Tensor A, *, Str? driver=None)", out=True,
            doc="Singular values, in descending order.", autocast="float32", exact_out=True,
            raises_on_values=True),
    _plain("svd(Tensor self, Bool some=True, Bool compute_uv=True)"
           " -> (Tensor U, Tensor S, Tensor V)",
           doc="Singular value decomposition.", autocast="float32", exact_out=True,
           raises_on_values=True),
    _linalg(f"linalg_matrix_rank(Tensor A, Operand? tol=None, Bool hermitian=False, *,"
            f" {_TOLERANCES})", out=True, differentiable=False,
            doc="How many singular values are above a threshold.", autocast="float32",
            raises_on_values=True),
    _linalg(f"linalg_pinv(Tensor A, Operand? rcond=None, Bool hermitian=False, *, {_TOLERANCES})",
            out=True, doc="The Moore-Penrose pseudo-inverse.", autocast="float32",
            raises_on_values=True),
    kernel("pinv_svd(Tensor A, Tensor? atols, Tensor? rtols, Float atol, Float rtol,"
           " Bool hermitian)", forms=(), out=False,
           doc="The pseudo-inverse, leaving out singular values up to a threshold.",
           batching="rule", raises_on_values=True),
    composite("pinverse(Tensor self, Float rcond=1e-15)", doc="The pseudo-inverse.",
              autocast="float32", raises_on_values=True),
    _linalg("linalg_cond(Tensor A, Object p=None)", out=True, doc="The condition number.",
            autocast="float32", raises_on_values=True),
    # ---- powers
    kernel("matrix_exp(Tensor self)", aliases=("linalg.matrix_exp",), out=False,
           doc="The exponential of a square matrix.", batching="stack"),
    _plain("matrix_power(Tensor self, Int n)", "linalg.matrix_power",
           doc="A square matrix to an integer power.", raises_on_values=True),
    _linalg("linalg_vander(Tensor x, *, Int? N=None)", doc="Powers of numbers, side by side."),
    composite("vander(Tensor x, Int? N=None, Bool increasing=False)", forms=("function",),
              doc="Powers of numbers, side by side, the highest first."),
    # ---- norms
    _linalg("linalg_vector_norm(Tensor x, Float ord=2, Dims? dim=None, Bool keepdim=False, *,"
            " DType? dtype=None)", out=True, call="linalg_vector_norm", doc="The norm of vectors.",
            exact_out=True),
    _linalg("linalg_matrix_norm(Tensor A, Object ord='fro', Ints dim=(-2, -1),"
            " Bool keepdim=False, *, DType? dtype=None)", out=True, call="linalg_matrix_norm",
            doc="The norm of matrices.", exact_out=True, raises_on_values=True),
    _linalg("linalg_norm(Tensor A, Object ord=None, Dims? dim=None, Bool keepdim=False, *,"
            " DType? dtype=None)", out=True, call="linalg_norm",
            doc="The norm of vectors or matrices.", exact_out=True, raises_on_values=True),
    # ---- distances
    composite("cdist(Tensor x1, Tensor x2, Float p=2.0, Object compute_mode=None)",
              forms=("function",), doc="Distances between all pairs of rows.", autocast="float32"),
    kernel("cdist_of(Tensor x1, Tensor x2, Float p=2.0)", forms=(), out=False,
           doc="Distances between all pairs of rows of two stacks, for ``p`` of 1, 2 or inf."),
    kernel("pdist_euclidean(Tensor self)", forms=(), out=False,
           doc="Euclidean distances between the pairs of rows of a matrix."),
    composite("pdist(Tensor input, Float p=2.0)", forms=("function", "nn"),
              doc="Distances between the pairs of rows of one matrix.", autocast="float32 on gpu"),
    composite("pairwise_distance(Tensor x1, Tensor x2, Float p=2.0, Float eps=1e-06,"
              " Bool keepdim=False)", forms=("function", "nn"),
              doc="Distances between vectors of two stacks."),
    composite("cosine_similarity(Tensor x1, Tensor x2, Dim dim=1, Float eps=1e-08)",
              forms=("function", "nn"),
              doc="The cosine of the angle between vectors.",
              autocast="float32 on gpu"),
)
