/* LDL decomposition of symmetric and Hermitian matrices that need not be positive definite
 * (Bunch and Kaufman's pivots, lower triangle), and solving with it. */
#include "common/args.h"
#include "linalg/linalg.h"

namespace {

template <class T>
using Sytrf = void (*)(const char *, const int *, T *, const int *, int *, T *, const int *, int *,
                       fl_fortran_length);
template <class T>
using Sytrs = void (*)(const char *, const int *, const int *, const T *, const int *, const int *,
                       T *, const int *, int *, fl_fortran_length);

/* The routines' search for pivots does not end inside a matrix with NaN: the result is NaN. */
template <class T> int give_nan(T *a, int64_t n, int32_t *pivots) {
    using real = typename fl_number<T>::real;
    std::fill((real *)a, (real *)(a + n * n), (real)NAN);
    for (int64_t i = 0; i < n; i++)
        pivots[i] = (int32_t)(i + 1);
    return 0;
}

template <class T>
int factor_stack(char *data, const fl_stack &s, bool hermitian, int32_t *pivots, int32_t *info) {
    auto sytrf = (Sytrf<T>)fl_lapack_find(hermitian ? FL_HETRF : FL_SYTRF, fl_number<T>::dtype);
    if (!sytrf)
        return -1;
    std::fill(info, info + s.count, 0);
    int n = (int)s.rows, query = -1, status = 0;
    if (n == 0)
        return 0;
    T reported = 0;
    sytrf("L", &n, nullptr, &n, nullptr, &reported, &query, &status, 1);
    int length = (int)std::min<int64_t>(fl_work_length(reported), INT_MAX);
    PoolError error;
    fl_parallel(s.count, fl_matrix_grain(n, n), [&](int64_t b, int64_t e) {
        Scratch work((size_t)length * sizeof(T));
        if (!work.ok())
            return error.capture();
        for (int64_t i = b; i < e; i++) {
            T *a = (T *)data + i * s.size();
            int32_t *p = pivots + i * s.rows;
            if (fl_all_finite(a, s.size()))
                sytrf("L", &n, a, &n, p, work.as<T>(), &length, &info[i], 1);
            else
                give_nan(a, s.rows, p);
            for (int64_t c = 1; c < n; c++)
                std::fill(a + c * n, a + c * n + c, T(0));
        }
    });
    return error.result();
}

int zero_block(const fl_tensor *t, const int32_t *info, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (info[i] > 0)
            return fl_error(FL_LINALG_ERROR, "linalg.ldl_factor: %sThe diagonal element %d of D is "
                            "zero, and solving with it would divide by it; add a multiple of the "
                            "identity to the matrix, or use linalg.lstsq", fl_element_text(t, i),
                            info[i]);
    return 0;
}

/* Rows that exist, and the negative ones, which stand for blocks of two, in pairs. */
bool valid_pivots(const int32_t *pivots, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t row = pivots[i] < 0 ? -(int64_t)pivots[i] : pivots[i];
        if (row < 1 || row > n)
            return false;
        if (pivots[i] > 0)
            continue;
        i++;
        if (i == n || pivots[i] >= 0 || -(int64_t)pivots[i] > n)
            return false;
    }
    return true;
}

template <class T>
int solve_stack(const fl_tensor *ld, const fl_tensor *x, const char *data, const int32_t *pivots,
                char *result, bool hermitian) {
    auto sytrs = (Sytrs<T>)fl_lapack_find(hermitian ? FL_HETRS : FL_SYTRS, fl_number<T>::dtype);
    if (!sytrs)
        return -1;
    fl_stack s = fl_stack_of(x);
    int n = (int)s.rows, columns = (int)s.cols;
    if (s.size() == 0)
        return 0;
    fl_parallel(s.count, fl_matrix_grain(n, std::max(n, columns)), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            int64_t at = fl_broadcast_matrix(ld, x->ndim - 2, x->shape, i);
            int status;
            sytrs("L", &n, &columns, (const T *)data + at * n * n, &n, pivots + at * n,
                  (T *)result + i * s.size(), &n, &status, 1);
        }
    });
    return 0;
}

}  // namespace

/* ---- linalg_ldl_factor_ex(self, hermitian, check_errors) -> LD, pivots, info ------------------- */

extern "C" int fl_infer_linalg_ldl_factor_ex(const fl_op *op, const fl_value *in, int,
                                             fl_spec *outs) {
    if (fl_infer_square(op, in[0].t, &outs[0], &outs[2]) < 0)
        return -1;
    fl_spec_beside(&outs[1], FL_I32, in[0].t, fl_stack_of(in[0].t).rows);
    return 0;
}

extern "C" int fl_run_linalg_ldl_factor_ex(const fl_op *, const fl_value *in, int,
                                           fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t;
    ColumnsOut factor(outs[0]);
    Int32Out pivots(outs[1]), info(outs[2]);
    if (!factor.ok() || !pivots.ok() || !info.ok())
        return -1;
    factor.load(a);
    fl_stack s = fl_stack_of(a);
    if (FL_BY_NUMBER(a->dtype, factor_stack, factor.as<char>(), s, fl_value_true(in[1]),
                     pivots.data(), info.data()) < 0)
        return -1;
    if (fl_value_true(in[2]) && zero_block(a, info.data(), s.count) < 0)
        return -1;
    factor.commit();
    pivots.commit();
    info.commit();
    return 0;
}

/* ---- linalg_ldl_solve(LD, pivots, B, hermitian) ------------------------------------------------ */

extern "C" int fl_infer_linalg_ldl_solve(const fl_op *op, const fl_value *in, int n,
                                         fl_spec *outs) {
    const fl_tensor *ld = in[0].t, *pivots = in[1].t, *b = in[2].t;
    if (fl_expect_matrices(op, "LD", ld, true) < 0 || fl_expect_matrices(op, "B", b, false) < 0 ||
        fl_expect_same_dtype(op, ld, "B", b) < 0 || fl_same_device(op, in, n) < 0)
        return -1;
    if (pivots->dtype != FL_I32)
        return fl_error(FL_RUNTIME_ERROR, "%s: pivots must be an int32 tensor as ldl_factor "
                        "returns it; got %s", fl_op_title(op), fl_tensor_text(pivots));
    if (fl_expect_shape(op, "pivots", pivots, ld->ndim - 1, ld->shape) < 0)
        return -1;
    fl_stack s = fl_stack_of(b);
    if (s.rows != ld->shape[ld->ndim - 1])
        return fl_error(FL_RUNTIME_ERROR, "%s: Incompatible shapes of LD and B for the equation "
                        "AX = B: LD is %s and B is %s", fl_op_title(op),
                        fl_shape_text(ld->shape, ld->ndim), fl_shape_text(b->shape, b->ndim));
    return fl_spec_solution(op, ld, b, s.rows, outs);
}

extern "C" int fl_run_linalg_ldl_solve(const fl_op *op, const fl_value *in, int,
                                       fl_tensor *const *outs) {
    const fl_tensor *ld = in[0].t;
    fl_stack s = fl_stack_of(ld);
    ColumnsCopy factor(ld);
    ColumnsOut x(outs[0]);
    Scratch pivots((size_t)in[1].t->numel * sizeof(int32_t));
    if (!factor.ok() || !x.ok() || !pivots.ok())
        return -1;
    int64_t dense[FL_MAX_DIMS];
    fl_contiguous_strides(in[1].t->ndim, in[1].t->shape, dense);
    if (in[1].t->numel)
        fl_copy_strided({pivots.as<char>(), FL_I32, dense},
                        {in[1].t->data, FL_I32, in[1].t->strides}, in[1].t->ndim, in[1].t->shape);
    for (int64_t i = 0; i < s.count; i++)
        if (!valid_pivots(pivots.as<int32_t>() + i * s.rows, s.rows))
            return fl_error(FL_RUNTIME_ERROR, "%s: pivots must be rows from 1 to %lld, and "
                            "negative ones in pairs; pass what ldl_factor returned",
                            fl_op_title(op), (long long)s.rows);
    x.load(in[2].t);
    if (FL_BY_NUMBER(ld->dtype, solve_stack, ld, outs[0], factor.as<char>(), pivots.as<int32_t>(),
                     x.as<char>(), fl_value_true(in[3])) < 0)
        return -1;
    x.commit();
    return 0;
}
