/* Eigenvalues and eigenvectors of symmetric and Hermitian matrices. */
#include "common/args.h"
#include "linalg/linalg.h"
#include <type_traits>

namespace {

template <class R>
using Syevd = void (*)(const char *, const char *, const int *, R *, const int *, R *, R *,
                       const int *, int *, const int *, int *, fl_fortran_length,
                       fl_fortran_length);
template <class T>
using Heevd = void (*)(const char *, const char *, const int *, T *, const int *,
                       typename fl_number<T>::real *, T *, const int *,
                       typename fl_number<T>::real *, const int *, int *, const int *, int *,
                       fl_fortran_length, fl_fortran_length);

/* The routine with its work space. */
template <class T> class Solver {
  public:
    using real = typename fl_number<T>::real;

    Solver(void *function, int64_t n, bool vectors, bool upper)
        : function_(function), n_((int)n), job_(vectors ? "V" : "N"), side_(upper ? "U" : "L") {
        T length = 0;
        real real_length = 0;
        int int_length = 0;
        lwork_ = lrwork_ = liwork_ = -1;
        call(nullptr, nullptr, &length, &real_length, &int_length);
        lwork_ = (int)std::max<int64_t>(fl_work_length(length), 1);
        lrwork_ = (int)std::max<int64_t>(fl_work_length(real_length), 1);
        liwork_ = std::max(int_length, 1);
    }
    size_t room() const {
        return (size_t)lwork_ * sizeof(T) + (size_t)lrwork_ * sizeof(real) +
               (size_t)liwork_ * sizeof(int);
    }
    int run(T *a, real *w, char *room) const {
        T *work = (T *)room;
        real *rwork = (real *)(work + lwork_);
        return call(a, w, work, rwork, (int *)(rwork + lrwork_));
    }

  private:
    int call(T *a, real *w, T *work, real *rwork, int *iwork) const {
        int status = 0, ld = std::max(n_, 1);
        if constexpr (fl_number<T>::is_complex)
            ((Heevd<T>)function_)(job_, side_, &n_, a, &ld, w, work, &lwork_, rwork, &lrwork_,
                                  iwork, &liwork_, &status, 1, 1);
        else
            ((Syevd<T>)function_)(job_, side_, &n_, a, &ld, w, work, &lwork_, iwork, &liwork_,
                                  &status, 1, 1);
        return status;
    }

    void *function_;
    int n_, lwork_, lrwork_, liwork_;
    const char *job_, *side_;
};

int not_converged(const fl_tensor *t, int64_t index, int status) {
    return fl_error(FL_LINALG_ERROR, "linalg.eigh: %sThe algorithm failed to converge because the "
                    "input matrix is ill-conditioned or has too many repeated eigenvalues (error "
                    "code: %d); compute in float64", fl_element_text(t, index), status);
}

int not_finite(const fl_tensor *t, int64_t index) {
    return fl_error(FL_LINALG_ERROR, "linalg.eigh: %sThe algorithm failed to converge because the "
                    "input matrix contained non-finite values; look for them with "
                    "A.isfinite().all()", fl_element_text(t, index));
}

template <class T>
int solve_stack(const fl_tensor *t, char *a, char *w, bool vectors, bool upper) {
    using real = typename fl_number<T>::real;
    void *function = fl_lapack_find(FL_SYEVD, fl_number<T>::dtype);
    fl_stack s = fl_stack_of(t);
    if (!function)
        return -1;
    if (s.size() == 0)
        return 0;
    Solver<T> solver(function, s.rows, vectors, upper);
    PoolError error;
    fl_parallel(s.count, fl_matrix_grain(4 * s.rows, s.rows), [&](int64_t b, int64_t e) {
        Scratch room(solver.room());
        if (!room.ok())
            return error.capture();
        for (int64_t i = b; i < e && !error.failed(); i++) {
            T *matrix = (T *)a + i * s.size();
            if (!fl_all_finite(matrix, s.size())) {
                not_finite(t, i);
                return error.capture();
            }
            int status = solver.run(matrix, (real *)w + i * s.rows, room.as<char>());
            if (status) {
                not_converged(t, i, status);
                return error.capture();
            }
        }
    });
    return error.result();
}

int infer_common(const fl_op *op, const fl_value *in, fl_spec *values) {
    const fl_value &side = in[1];
    if (fl_expect_matrices(op, "A", in[0].t, true) < 0)
        return -1;
    if (side.len != 1 || !strchr("ULul", side.s[0]))
        return fl_error(FL_RUNTIME_ERROR, "%s: Expected UPLO argument to be 'L' or 'U', but got "
                        "'%.*s'", fl_op_title(op), (int)std::min<uint32_t>(side.len, 40), side.s);
    fl_stack s = fl_stack_of(in[0].t);
    fl_spec_beside(values, fl_real_dtype(in[0].t->dtype), in[0].t, s.rows);
    return 0;
}

bool is_upper(const fl_value &v) { return v.s[0] == 'U' || v.s[0] == 'u'; }

}  // namespace

/* ---- linalg_eigh(A, UPLO) -> eigenvalues, eigenvectors --------------------------------------- */

extern "C" int fl_infer_linalg_eigh(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (infer_common(op, in, &outs[0]) < 0)
        return -1;
    const fl_tensor *a = in[0].t;
    fl_stack s = fl_stack_of(a);
    fl_spec_columns(&outs[1], a->dtype, a, a->ndim - 2, a->shape, s.rows, s.rows);
    return 0;
}

extern "C" int fl_run_linalg_eigh(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    Out values(outs[0], fl_kind_of_dtype[outs[0]->dtype]);
    ColumnsOut vectors(outs[1]);
    if (!values.ok() || !vectors.ok())
        return -1;
    vectors.load(in[0].t);
    if (FL_BY_NUMBER(in[0].t->dtype, solve_stack, in[0].t, vectors.as<char>(), values.as<char>(),
                     true, is_upper(in[1])) < 0)
        return -1;
    values.commit();
    vectors.commit();
    return 0;
}

/* ---- eigh_values(A, UPLO) --------------------------------------------------------------------- */

extern "C" int fl_infer_eigh_values(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return infer_common(op, in, &outs[0]);
}

extern "C" int fl_run_eigh_values(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    Out values(outs[0], fl_kind_of_dtype[outs[0]->dtype]);
    ColumnsCopy a(in[0].t);
    if (!values.ok() || !a.ok() ||
        FL_BY_NUMBER(in[0].t->dtype, solve_stack, in[0].t, a.as<char>(), values.as<char>(), false,
                     is_upper(in[1])) < 0)
        return -1;
    values.commit();
    return 0;
}
