/* Singular value decomposition, by divide and conquer (gesdd). */
#include "common/args.h"
#include "linalg/linalg.h"
#include "common/raw.h"
#include "runtime/blas.h"

namespace {

template <class R>
using RealGesdd = void (*)(const char *, const int *, const int *, R *, const int *, R *, R *,
                           const int *, R *, const int *, R *, const int *, int *, int *,
                           fl_fortran_length);
template <class T>
using ComplexGesdd = void (*)(const char *, const int *, const int *, T *, const int *,
                              typename fl_number<T>::real *, T *, const int *, T *, const int *,
                              T *, const int *, typename fl_number<T>::real *, int *, int *,
                              fl_fortran_length);

enum Job { VALUES = 'N', THIN = 'S', FULL = 'A' };

template <class T> class Solver {
  public:
    using real = typename fl_number<T>::real;

    Solver(void *function, int64_t m, int64_t n, Job job)
        : function_(function), m_((int)m), n_((int)n), job_((char)job) {
        k_ = job == FULL ? n_ : std::min(m_, n_);
        T length = 0;
        lwork_ = -1;
        call(nullptr, nullptr, nullptr, nullptr, &length, nullptr, nullptr);
        length_ = fl_work_length(length);
        lwork_ = (int)std::min<int64_t>(length_, INT_MAX);
    }
    int64_t length() const { return length_; }
    size_t room() const {
        return (size_t)lwork_ * sizeof(T) + (size_t)real_room() * sizeof(real) +
               8 * (size_t)std::min(m_, n_) * sizeof(int);
    }
    int run(T *a, real *s, T *u, T *vh, char *room) const {
        T *work = (T *)room;
        real *rwork = (real *)(work + lwork_);
        return call(a, s, u, vh, work, rwork, (int *)(rwork + real_room()));
    }

  private:
    /* As LAPACK's manual states it for the complex routine. */
    int64_t real_room() const {
        if (!fl_number<T>::is_complex)
            return 0;
        int64_t least = std::min(m_, n_), most = std::max(m_, n_);
        return job_ == VALUES ? 7 * least
                              : std::max(5 * least * least + 7 * least,
                                         2 * most * least + 2 * least * least + least);
    }
    int call(T *a, real *s, T *u, T *vh, T *work, real *rwork, int *iwork) const {
        int status = 0;
        if constexpr (fl_number<T>::is_complex)
            ((ComplexGesdd<T>)function_)(&job_, &m_, &n_, a, &m_, s, u, &m_, vh, &k_, work,
                                         &lwork_, rwork, iwork, &status, 1);
        else
            ((RealGesdd<T>)function_)(&job_, &m_, &n_, a, &m_, s, u, &m_, vh, &k_, work, &lwork_,
                                      iwork, &status, 1);
        return status;
    }

    void *function_;
    int m_, n_, k_, lwork_;
    int64_t length_;
    char job_;
};

int not_converged(const fl_tensor *t, int64_t index, bool finite, int status) {
    return fl_error(FL_LINALG_ERROR, "linalg.svd: %sThe algorithm failed to converge because the "
                    "input matrix %s (error code: %d); %s", fl_element_text(t, index),
                    finite ? "is ill-conditioned or has too many repeated singular values"
                           : "contained non-finite values", status,
                    finite ? "compute in float64" : "look for them with A.isfinite().all()");
}

/* Where each part of a stack's results begins. */
struct Parts {
    char *u, *s, *vh;
    int64_t u_size, k, vh_size;
};

template <class T>
int solve_stack(const fl_op *op, const fl_tensor *t, char *a, const Parts &p, Job job) {
    using real = typename fl_number<T>::real;
    void *function = fl_lapack_find(FL_GESDD, fl_number<T>::dtype);
    fl_stack s = fl_stack_of(t);
    if (!function)
        return -1;
    Solver<T> solver(function, s.rows, s.cols, job);
    if (fl_expect_small(op, t, solver.length()) < 0)
        return -1;
    PoolError error;
    fl_parallel(s.count, fl_matrix_grain(8 * s.rows, s.cols), [&](int64_t b, int64_t e) {
        Scratch room(solver.room());
        if (!room.ok())
            return error.capture();
        for (int64_t i = b; i < e && !error.failed(); i++) {
            T *matrix = (T *)a + i * s.size();
            bool finite = fl_all_finite(matrix, s.size());
            int status = !finite ? 1
                : solver.run(matrix, (real *)p.s + i * p.k, (T *)p.u + i * p.u_size,
                             (T *)p.vh + i * p.vh_size, room.as<char>());
            if (status) {
                not_converged(t, i, finite, status);
                return error.capture();
            }
        }
    });
    return error.result();
}

/* Nothing to decompose: full square factors are identities. */
template <class T> int unit_stack(char *data, const fl_stack &s) {
    std::fill((T *)data, (T *)data + s.count * s.size(), T(0));
    for (int64_t i = 0; i < s.count; i++)
        for (int64_t j = 0; j < std::min(s.rows, s.cols); j++)
            ((T *)data)[i * s.size() + j * (s.rows + 1)] = T(1);
    return 0;
}

}  // namespace

/* ---- linalg_svd(A, full_matrices) -> U, S, Vh -------------------------------------------------- */

extern "C" int fl_infer_linalg_svd(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *a = in[0].t;
    if (fl_expect_matrices(op, "A", a, false) < 0)
        return -1;
    if (in[2].tag != FL_NONE)
        return fl_error(FL_RUNTIME_ERROR, "%s: keyword argument `driver=` is only supported on CUDA "
                        "inputs with cuSOLVER backend; leave it out", fl_op_title(op));
    fl_stack s = fl_stack_of(a);
    int64_t k = std::min(s.rows, s.cols);
    bool full = fl_value_true(in[1]);
    fl_spec_columns(&outs[0], a->dtype, a, a->ndim - 2, a->shape, s.rows, full ? s.rows : k);
    fl_spec_beside(&outs[1], fl_real_dtype(a->dtype), a, k);
    fl_spec_columns(&outs[2], a->dtype, a, a->ndim - 2, a->shape, full ? s.cols : k, s.cols);
    return 0;
}

extern "C" int fl_run_linalg_svd(const fl_op *op, const fl_value *in, int,
                                 fl_tensor *const *outs) {
    const fl_tensor *t = in[0].t;
    ColumnsCopy a(t);
    ColumnsOut u(outs[0]), vh(outs[2]);
    Out s(outs[1], fl_kind_of_dtype[outs[1]->dtype]);
    if (!a.ok() || !u.ok() || !s.ok() || !vh.ok())
        return -1;
    fl_stack su = fl_stack_of(outs[0]), sv = fl_stack_of(outs[2]);
    if (t->numel == 0) {
        FL_BY_NUMBER(t->dtype, unit_stack, u.as<char>(), su);
        FL_BY_NUMBER(t->dtype, unit_stack, vh.as<char>(), sv);
    } else {
        Parts p = {u.as<char>(), s.as<char>(), vh.as<char>(), su.size(),
                   outs[1]->shape[outs[1]->ndim - 1], sv.size()};
        if (FL_BY_NUMBER(t->dtype, solve_stack, op, t, a.as<char>(), p,
                         fl_value_true(in[1]) ? FULL : THIN) < 0)
            return -1;
    }
    u.commit();
    s.commit();
    vh.commit();
    return 0;
}

/* ---- svd_values(A) ----------------------------------------------------------------------------- */

extern "C" int fl_infer_svd_values(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *a = in[0].t;
    if (fl_expect_matrices(op, "A", a, false) < 0)
        return -1;
    fl_stack s = fl_stack_of(a);
    fl_spec_beside(&outs[0], fl_real_dtype(a->dtype), a, std::min(s.rows, s.cols));
    return 0;
}

extern "C" int fl_run_svd_values(const fl_op *op, const fl_value *in, int,
                                 fl_tensor *const *outs) {
    const fl_tensor *t = in[0].t;
    ColumnsCopy a(t);
    Out s(outs[0], fl_kind_of_dtype[outs[0]->dtype]);
    if (!a.ok() || !s.ok())
        return -1;
    if (t->numel == 0)
        return 0;
    Parts p = {nullptr, s.as<char>(), nullptr, 0, outs[0]->shape[outs[0]->ndim - 1], 0};
    if (FL_BY_NUMBER(t->dtype, solve_stack, op, t, a.as<char>(), p, VALUES) < 0)
        return -1;
    s.commit();
    return 0;
}

/* ---- pinv_svd(A, atols, rtols, atol, rtol, hermitian) ------------------------------------------------------------ */

/* Scale row j of vh by one over singular value j, or by zero up to the threshold. */
template <class T>
static void scale_rows(T *vh, const typename fl_number<T>::real *s, int64_t k, int64_t cols,
                       double atol, double rtol) {
    using real = typename fl_number<T>::real;
    real bound = std::max((real)atol, (real)rtol * s[0]);
    for (int64_t j = 0; j < k; j++) {
        real by = s[j] > bound ? 1 / s[j] : 0;
        for (int64_t c = 0; c < cols; c++)
            vh[c * k + j] *= by;
    }
}

/* Bounds for the singular values of each matrix: numbers, or tensors with one for each. */
struct Tolerances {
    const double *atols, *rtols;
    double atol, rtol;
    double absolute(int64_t i) const { return atols ? atols[i] : atol; }
    double relative(int64_t i) const { return rtols ? rtols[i] : rtol; }
};

/* The lower triangle mirrored: what a Hermitian matrix is read from. Its diagonal is real. */
template <class T> static void mirror(T *a, int64_t n) {
    using real = typename fl_number<T>::real;
    for (int64_t c = 0; c < n; c++) {
        for (int64_t r = 0; r < c; r++) {
            a[c * n + r] = a[r * n + c];
            if (fl_number<T>::is_complex)
                ((real *)a)[2 * (c * n + r) + 1] *= -1;
        }
        if (fl_number<T>::is_complex)
            ((real *)a)[2 * (c * n + c) + 1] = 0;
    }
}

template <class T>
static int pinv_stack(const fl_op *op, const fl_tensor *t, char *a, char *result,
                      const Tolerances &tolerances, bool hermitian) {
    using real = typename fl_number<T>::real;
    fl_stack st = fl_stack_of(t);
    int64_t m = st.rows, n = st.cols, k = std::min(m, n);
    Scratch u((size_t)(st.count * m * k) * sizeof(T)), s((size_t)(st.count * k) * sizeof(real));
    Scratch vh((size_t)(st.count * k * n) * sizeof(T));
    if (!u.ok() || !s.ok() || !vh.ok())
        return -1;
    for (int64_t i = 0; hermitian && i < st.count; i++)
        mirror((T *)a + i * n * n, n);
    Parts p = {u.as<char>(), s.as<char>(), vh.as<char>(), m * k, k, k * n};
    if (solve_stack<T>(op, t, a, p, THIN) < 0)
        return -1;
    for (int64_t i = 0; i < st.count; i++) {
        T *v = vh.as<T>() + i * k * n, *columns = u.as<T>() + i * m * k;
        scale_rows(v, s.as<real>() + i * k, k, n, tolerances.absolute(i), tolerances.relative(i));
        /* V S^-1 U^H column after column is, row after row, the conjugate of U S^-1 V^H */
        T *out = (T *)result + i * m * n;
        if (fl_gemm(fl_number<T>::dtype, FL_TRANS, FL_TRANS, m, n, k, 1, columns, m, v, k, 0, out,
                    n) < 0)
            return -1;
        for (int64_t j = 0; fl_number<T>::is_complex && j < m * n; j++)
            ((real *)out)[2 * j + 1] = -((real *)out)[2 * j + 1];
    }
    return 0;
}

extern "C" int fl_infer_pinv_svd(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *a = in[0].t;
    if (fl_expect_matrices(op, "A", a, fl_value_true(in[5])) < 0)
        return -1;
    fl_stack s = fl_stack_of(a);
    for (int i = 1; i < 3; i++)
        if (fl_t(in[i]) && fl_expect_numel(op, op->params[i].name, in[i].t, s.count) < 0)
            return -1;
    fl_spec_columns(outs, a->dtype, a, a->ndim - 2, a->shape, s.cols, s.rows);
    return 0;
}

extern "C" int fl_run_pinv_svd(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *t = in[0].t;
    ColumnsCopy a(t);
    ColumnsOut result(outs[0]);
    OptionalIn atols(in[1], FL_K_F64), rtols(in[2], FL_K_F64);
    if (!a.ok() || !result.ok() || !atols.ok() || !rtols.ok())
        return -1;
    Tolerances tolerances = {atols.as<double>(), rtols.as<double>(), in[3].d, in[4].d};
    if (t->numel && FL_BY_NUMBER(t->dtype, pinv_stack, op, t, a.as<char>(), result.as<char>(),
                                 tolerances, fl_value_true(in[5])) < 0)
        return -1;
    result.commit();
    return 0;
}
