/* LU decomposition with partial pivoting, and what follows from it: solving,
 * inverses, determinants. */
#include "common/args.h"
#include "linalg/linalg.h"
#include "linalg/small.h"
#include <stdio.h>

namespace {

template <class T>
using Getrf = void (*)(const int *, const int *, T *, const int *, int *, int *);
template <class T>
using Getrs = void (*)(const char *, const int *, const int *, const T *, const int *, const int *,
                       T *, const int *, int *, fl_fortran_length);

/* Small real matrices take no call of LAPACK. */
template <class T> constexpr bool is_real = std::is_same_v<T, typename fl_number<T>::real>;

template <class T>
void factor_small_stack(T *lu, const fl_stack &s, int32_t *pivots, int32_t *info) {
    int n = (int)s.rows;
    fl_parallel(s.count, fl_matrix_grain(n, n), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++)
            info[i] = fl_factor_small(lu + i * n * n, n, pivots + i * n);
    });
}

/* Factor a stack in place; `info` is 0 or the index of the first pivot that is zero. */
template <class T>
int factor_stack(char *lu, const fl_stack &s, int32_t *pivots, int32_t *info) {
    if constexpr (is_real<T>)
        if (s.rows == s.cols && s.rows <= FL_SMALL_MATRIX) {
            factor_small_stack((T *)lu, s, pivots, info);
            return 0;
        }
    auto getrf = (Getrf<T>)fl_lapack_find(FL_GETRF, fl_number<T>::dtype);
    if (!getrf)
        return -1;
    int m = (int)s.rows, n = (int)s.cols, ld = std::max(m, 1);
    int64_t k = std::min(s.rows, s.cols);
    fl_parallel(s.count, fl_matrix_grain(s.rows, s.cols), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            int status = 0;
            if (s.size())
                getrf(&m, &n, (T *)lu + i * s.size(), &ld, pivots + i * k, &status);
            info[i] = status;
        }
    });
    return 0;
}

int factor(int dtype, char *lu, const fl_stack &s, int32_t *pivots, int32_t *info) {
    return FL_BY_NUMBER(dtype, factor_stack, lu, s, pivots, info);
}

int singular(const char *caller, const fl_tensor *t, const int32_t *info, int64_t count,
             const char *consequence) {
    for (int64_t i = 0; i < count; i++)
        if (info[i] > 0)
            return fl_error(FL_LINALG_ERROR, "%s: %sThe diagonal element %d is zero, the %s; add a "
                            "multiple of the identity to the matrix, or use linalg.lstsq or "
                            "linalg.pinv, which accept it", caller, fl_element_text(t, i), info[i],
                            consequence);
    return 0;
}

/* x := A^-1 x for every matrix of the result's stack, with the factor of the A that it meets. */
template <class T>
int solve_stack(const fl_tensor *a, const fl_tensor *x, const char *lu, const int32_t *pivots,
                char *data, bool transposed) {
    auto getrs = (Getrs<T>)fl_lapack_find(FL_GETRS, fl_number<T>::dtype);
    if (!getrs)
        return -1;
    fl_stack s = fl_stack_of(x);
    int64_t n = s.rows;
    int order = (int)n, columns = (int)s.cols, ld = std::max(order, 1);
    if (s.size() == 0)
        return 0;
    fl_parallel(s.count, fl_matrix_grain(n, std::max(n, s.cols)), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            int64_t at = fl_broadcast_matrix(a, x->ndim - 2, x->shape, i);
            if constexpr (is_real<T>)
                if (n <= FL_SMALL_MATRIX && !transposed) {
                    fl_solve_small((const T *)lu + at * n * n, order, pivots + at * n,
                                   (T *)data + i * s.size(), columns);
                    continue;
                }
            int status;
            getrs(transposed ? "T" : "N", &order, &columns, (const T *)lu + at * n * n, &ld,
                  pivots + at * n, (T *)data + i * s.size(), &ld, &status, 1);
        }
    });
    return 0;
}

/* The product of the diagonal, negated once for every exchange of rows. */
template <class T>
int determinants(const char *lu, const fl_stack &s, const int32_t *pivots, char *result) {
    int64_t n = s.rows;
    for (int64_t i = 0; i < s.count; i++) {
        T product = 1;
        for (int64_t j = 0; j < n; j++) {
            product *= ((const T *)lu)[i * n * n + j * (n + 1)];
            if (pivots[i * n + j] != j + 1)
                product = -product;
        }
        ((T *)result)[i] = product;
    }
    return 0;
}

template <class T> T unit_of(T x) {
    auto size = fl_magnitude(x);
    return size == 0 ? T(0) : x / size;
}

/* Signs (units, for complex numbers) and logarithms of the absolute values. */
template <class T>
int log_determinants(const char *lu, const fl_stack &s, const int32_t *pivots, char *signs,
                     char *logs) {
    using real = typename fl_number<T>::real;
    int64_t n = s.rows;
    for (int64_t i = 0; i < s.count; i++) {
        T sign = 1;
        real total = 0;
        for (int64_t j = 0; j < n; j++) {
            T x = ((const T *)lu)[i * n * n + j * (n + 1)];
            sign *= pivots[i * n + j] != j + 1 ? -unit_of(x) : unit_of(x);
            total += std::log(fl_magnitude(x));
        }
        ((T *)signs)[i] = sign;
        ((real *)logs)[i] = total;
    }
    return 0;
}

void spec_factor(const fl_tensor *a, fl_spec *lu, fl_spec *pivots) {
    fl_stack s = fl_stack_of(a);
    fl_spec_columns(lu, a->dtype, a, a->ndim - 2, a->shape, s.rows, s.cols);
    fl_spec_beside(pivots, FL_I32, a, std::min(s.rows, s.cols));
}

/* Factor `a` into outputs; pivots and info are contiguous results of this operator. */
class Factor {
  public:
    Factor(const fl_tensor *a, fl_tensor *lu, fl_tensor *pivots)
        : s(fl_stack_of(a)), lu_(lu), pivots_(pivots),
          info((size_t)s.count * sizeof(int32_t)) {
        if (lu_.ok() && pivots_.ok() && info.ok()) {
            lu_.load(a);
            done = factor(a->dtype, data(), s, pivots_.data(), info.as<int32_t>()) == 0;
        }
    }
    void commit() {
        lu_.commit();
        pivots_.commit();
    }
    char *data() { return lu_.as<char>(); }
    int32_t *pivots() { return pivots_.data(); }

    fl_stack s;
    bool done = false;

  private:
    ColumnsOut lu_;
    Int32Out pivots_;

  public:
    Scratch info;
};

}  // namespace

/* ---- lu_factor_ex(A, pivot, check_errors, caller) -> LU, pivots, info ----------------------- */

extern "C" int fl_infer_linalg_lu_factor_ex(const fl_op *op, const fl_value *in, int,
                                            fl_spec *outs) {
    if (fl_expect_matrices(op, "A", in[0].t, false) < 0)
        return -1;
    if (!fl_value_true(in[1]))
        return fl_error(FL_RUNTIME_ERROR, "%s: LU without pivoting is not implemented on the CPU; "
                        "leave pivot=True", fl_op_title(op));
    spec_factor(in[0].t, &outs[0], &outs[1]);
    fl_spec_beside(&outs[2], FL_I32, in[0].t, -1);
    return 0;
}

extern "C" int fl_run_linalg_lu_factor_ex(const fl_op *, const fl_value *in, int,
                                          fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t;
    Factor f(a, outs[0], outs[1]);
    if (!f.done)
        return -1;
    if (fl_value_true(in[2]) &&
        singular("linalg.lu_factor", a, f.info.as<int32_t>(), f.s.count,
                 "factorization has a zero pivot, and solving with it would divide by it") < 0)
        return -1;
    fl_store_int32(outs[2], f.info.as<int32_t>());
    f.commit();
    return 0;
}

/* ---- linalg_solve_lu(A, B, left, check_errors, caller) -> result, LU, pivots, info ---------- */

extern "C" int fl_infer_linalg_solve_lu(const fl_op *op, const fl_value *in, int n,
                                        fl_spec *outs) {
    const fl_tensor *a = in[0].t;
    bool left = fl_value_true(in[2]);
    if (fl_infer_equation(op, in, n, left, &outs[0]) < 0)
        return -1;
    if (!left) {                /* solved as A^T X^T = B^T, whose columns are the rows of X */
        int64_t shape[FL_MAX_DIMS];
        memcpy(shape, outs[0].shape, sizeof shape);
        fl_spec_set(&outs[0], a->dtype, fl_device_code(a), outs[0].ndim, shape);
    }
    spec_factor(a, &outs[1], &outs[2]);
    fl_spec_beside(&outs[3], FL_I32, a, -1);
    return 0;
}

/* The result with its last two dimensions exchanged: a tensor of the same memory. */
static void exchange(const fl_tensor *t, fl_tensor *view, int64_t *shape, int64_t *strides) {
    *view = *t;
    memcpy(shape, t->shape, sizeof(int64_t) * (size_t)t->ndim);
    memcpy(strides, t->strides, sizeof(int64_t) * (size_t)t->ndim);
    std::swap(shape[t->ndim - 1], shape[t->ndim - 2]);
    std::swap(strides[t->ndim - 1], strides[t->ndim - 2]);
    view->shape = shape;
    view->strides = strides;
}

static int run_solve(const fl_tensor *a, const fl_tensor *b, Factor &f, fl_tensor *result,
                     bool transposed) {
    ColumnsOut x(result);
    if (!x.ok())
        return -1;
    x.load(b);
    if (FL_BY_NUMBER(a->dtype, solve_stack, a, result, f.data(), f.pivots(), x.as<char>(),
                     transposed) < 0)
        return -1;
    x.commit();
    return 0;
}

extern "C" int fl_run_linalg_solve_lu(const fl_op *, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    Factor f(a, outs[1], outs[2]);
    if (!f.done)
        return -1;
    char caller[64];
    snprintf(caller, sizeof caller, "%.*s", (int)std::min<uint32_t>(in[4].len, 63), in[4].s);
    if (fl_value_true(in[3]) &&
        singular(caller, a, f.info.as<int32_t>(), f.s.count,
                 "inversion could not be completed because the input matrix is singular") < 0)
        return -1;
    if (fl_value_true(in[2])) {
        if (run_solve(a, b, f, outs[0], false) < 0)
            return -1;
    } else {
        int64_t shapes[4][FL_MAX_DIMS];
        fl_tensor xt, bt;
        exchange(outs[0], &xt, shapes[0], shapes[1]);
        exchange(b, &bt, shapes[2], shapes[3]);
        if (run_solve(a, &bt, f, &xt, true) < 0)
            return -1;
    }
    fl_store_int32(outs[3], f.info.as<int32_t>());
    f.commit();
    return 0;
}

/* ---- linalg_invert(A, check_errors) -> result, info: the decomposition is not kept ----------- */

extern "C" int fl_infer_linalg_invert(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return fl_infer_square(op, in[0].t, &outs[0], &outs[1]);
}

/* Matrices that are zero become identities. */
template <class T> static int set_diagonals(const fl_stack &s, char *data) {
    int64_t n = s.rows;
    for (int64_t i = 0; i < s.count; i++)
        for (int64_t j = 0; j < n; j++)
            ((T *)data)[i * n * n + j * (n + 1)] = T(1);
    return 0;
}

extern "C" int fl_run_linalg_invert(const fl_op *, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t;
    fl_stack s = fl_stack_of(a);
    ColumnsCopy lu(a);
    ColumnsOut x(outs[0]);
    Scratch pivots((size_t)(s.count * s.rows) * sizeof(int32_t));
    Scratch info((size_t)s.count * sizeof(int32_t));
    if (!lu.ok() || !x.ok() || !pivots.ok() || !info.ok())
        return -1;
    if (factor(a->dtype, lu.as<char>(), s, pivots.as<int32_t>(), info.as<int32_t>()) < 0)
        return -1;
    if (fl_value_true(in[1]) &&
        singular("linalg.inv", a, info.as<int32_t>(), s.count,
                 "inversion could not be completed because the input matrix is singular") < 0)
        return -1;
    x.zero();
    FL_BY_NUMBER(a->dtype, set_diagonals, s, x.as<char>());
    if (FL_BY_NUMBER(a->dtype, solve_stack, a, outs[0], lu.as<char>(), pivots.as<int32_t>(),
                     x.as<char>(), false) < 0)
        return -1;
    x.commit();
    fl_store_int32(outs[1], info.as<int32_t>());
    return 0;
}

/* ---- linalg_det_lu(A) -> result, LU, pivots -------------------------------------------------- */

extern "C" int fl_infer_linalg_det_lu(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (fl_expect_matrices(op, "A", in[0].t, true) < 0)
        return -1;
    fl_spec_beside(&outs[0], in[0].t->dtype, in[0].t, -1);
    spec_factor(in[0].t, &outs[1], &outs[2]);
    return 0;
}

extern "C" int fl_run_linalg_det_lu(const fl_op *, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t;
    Factor f(a, outs[1], outs[2]);
    Out result(outs[0], fl_kind_of_dtype[a->dtype]);
    if (!f.done || !result.ok())
        return -1;
    FL_BY_NUMBER(a->dtype, determinants, f.data(), f.s, f.pivots(), result.as<char>());
    result.commit();
    f.commit();
    return 0;
}

/* ---- linalg_slogdet_lu(A) -> sign, logabsdet, LU, pivots ------------------------------------- */

extern "C" int fl_infer_linalg_slogdet_lu(const fl_op *op, const fl_value *in, int,
                                          fl_spec *outs) {
    if (fl_expect_matrices(op, "A", in[0].t, true) < 0)
        return -1;
    fl_spec_beside(&outs[0], in[0].t->dtype, in[0].t, -1);
    fl_spec_beside(&outs[1], fl_real_dtype(in[0].t->dtype), in[0].t, -1);
    spec_factor(in[0].t, &outs[2], &outs[3]);
    return 0;
}

extern "C" int fl_run_linalg_slogdet_lu(const fl_op *, const fl_value *in, int,
                                        fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t;
    Factor f(a, outs[2], outs[3]);
    Out sign(outs[0], fl_kind_of_dtype[a->dtype]);
    Out logs(outs[1], fl_kind_of_dtype[outs[1]->dtype]);
    if (!f.done || !sign.ok() || !logs.ok())
        return -1;
    FL_BY_NUMBER(a->dtype, log_determinants, f.data(), f.s, f.pivots(), sign.as<char>(),
                 logs.as<char>());
    sign.commit();
    logs.commit();
    f.commit();
    return 0;
}
