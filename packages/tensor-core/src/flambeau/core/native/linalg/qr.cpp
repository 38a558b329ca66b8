/* QR decomposition by Householder reflectors, and products of reflectors. */
#include "common/args.h"
#include "linalg/linalg.h"
#include "linalg/small.h"
#include "linalg/small_qr.h"

namespace {

/* Small real matrices take no call of LAPACK. */
template <class T> constexpr bool is_real = std::is_same_v<T, typename fl_number<T>::real>;

bool is_small(const fl_stack &s) {
    return s.rows <= FL_SMALL_MATRIX && s.cols <= FL_SMALL_MATRIX;
}

template <class T>
using Geqrf = void (*)(const int *, const int *, T *, const int *, T *, T *, const int *, int *);
template <class T>
using Orgqr = void (*)(const int *, const int *, const int *, T *, const int *, const T *, T *,
                       const int *, int *);

template <class T> int64_t geqrf_room(Geqrf<T> geqrf, int m, int n) {
    T length = 0;
    int query = -1, status, ld = std::max(m, 1);
    geqrf(&m, &n, nullptr, &ld, nullptr, &length, &query, &status);
    return std::max<int64_t>(fl_work_length(length), n);
}

template <class T> int64_t orgqr_room(Orgqr<T> orgqr, int m, int n, int k) {
    T length = 0;
    int query = -1, status, ld = std::max(m, 1);
    orgqr(&m, &n, &k, nullptr, &ld, nullptr, &length, &query, &status);
    return std::max<int64_t>(fl_work_length(length), n);
}

/* Reflectors below the diagonal of a, the triangle on and above it. */
template <class T> int reflect_stack(char *a, char *tau, const fl_stack &s) {
    auto geqrf = (Geqrf<T>)fl_lapack_find(FL_GEQRF, fl_number<T>::dtype);
    if (!geqrf)
        return -1;
    int64_t k = std::min(s.rows, s.cols);
    if (k == 0)
        return 0;
    int m = (int)s.rows, n = (int)s.cols;
    if constexpr (is_real<T>)
        if (is_small(s)) {
            fl_parallel(s.count, fl_matrix_grain(m, n), [&](int64_t b, int64_t e) {
                for (int64_t i = b; i < e; i++)
                    fl_small_geqrf((T *)a + i * s.size(), m, n, (T *)tau + i * k);
            });
            return 0;
        }
    int length = (int)geqrf_room(geqrf, m, n);
    PoolError error;
    fl_parallel(s.count, fl_matrix_grain(m, n), [&](int64_t b, int64_t e) {
        Scratch work((size_t)length * sizeof(T));
        if (!work.ok())
            return error.capture();
        int status;
        for (int64_t i = b; i < e; i++)
            geqrf(&m, &n, (T *)a + i * s.size(), &m, (T *)tau + i * k, work.as<T>(), &length,
                  &status);
    });
    return error.result();
}

/* The first s.cols columns of the product of k reflectors, in place. */
template <class T>
int multiply_stack(char *a, const char *tau, const fl_stack &s, int64_t reflectors) {
    auto orgqr = (Orgqr<T>)fl_lapack_find(FL_ORGQR, fl_number<T>::dtype);
    if (!orgqr)
        return -1;
    if (s.size() == 0)
        return 0;
    int m = (int)s.rows, n = (int)s.cols, k = (int)reflectors;
    if constexpr (is_real<T>)
        if (is_small(s)) {
            fl_parallel(s.count, fl_matrix_grain(m, n), [&](int64_t b, int64_t e) {
                for (int64_t i = b; i < e; i++)
                    fl_small_orgqr((T *)a + i * s.size(), m, n, k, (const T *)tau + i * k);
            });
            return 0;
        }
    int length = (int)orgqr_room(orgqr, m, n, k);
    PoolError error;
    fl_parallel(s.count, fl_matrix_grain(m, n), [&](int64_t b, int64_t e) {
        Scratch work((size_t)length * sizeof(T));
        if (!work.ok())
            return error.capture();
        int status;
        for (int64_t i = b; i < e; i++)
            orgqr(&m, &n, &k, (T *)a + i * s.size(), &m, (const T *)tau + i * k, work.as<T>(),
                  &length, &status);
    });
    return error.result();
}

/* Copy columns from one stack to another; where `triangle`, zeros below the diagonal. */
template <class T>
int copy_columns(const char *from, const fl_stack &a, char *to, const fl_stack &b, bool triangle) {
    int64_t rows = std::min(a.rows, b.rows), cols = std::min(a.cols, b.cols);
    fl_parallel(a.count, fl_matrix_grain(a.rows, 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            for (int64_t c = 0; c < b.cols; c++) {
                T *column = (T *)to + i * b.size() + c * b.rows;
                int64_t n = c >= cols ? 0 : triangle ? std::min(c + 1, rows) : rows;
                if (n)                  /* an empty stack may have no memory at all */
                    memcpy((char *)column, from + (i * a.size() + c * a.rows) * (int64_t)sizeof(T),
                           (size_t)n * sizeof(T));
                std::fill(column + n, column + b.rows, T(0));
            }
    });
    return 0;
}

enum { REDUCED = 0, COMPLETE = 1, R_ONLY = 2 };

int mode_of(const fl_value &v) {
    auto is = [&](const char *name) { return v.len == strlen(name) && !memcmp(v.s, name, v.len); };
    return is("reduced") ? REDUCED : is("complete") ? COMPLETE : is("r") ? R_ONLY : -1;
}

}  // namespace

/* ---- linalg_qr(A, mode) -> Q, R --------------------------------------------------------------- */

extern "C" int fl_infer_linalg_qr(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *a = in[0].t;
    if (fl_expect_matrices(op, "A", a, false) < 0)
        return -1;
    int mode = mode_of(in[1]);
    if (mode < 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: qr received unrecognized mode '%.*s' but expected "
                        "one of 'reduced' (default), 'r', or 'complete'", fl_op_title(op),
                        (int)std::min<uint32_t>(in[1].len, 40), in[1].s);
    fl_stack s = fl_stack_of(a);
    int64_t k = mode == COMPLETE ? s.rows : std::min(s.rows, s.cols);
    if (mode == R_ONLY) {
        int64_t none = 0;
        fl_spec_set(&outs[0], a->dtype, fl_device_code(a), 1, &none);
    } else {
        fl_spec_columns(&outs[0], a->dtype, a, a->ndim - 2, a->shape, s.rows, k);
    }
    fl_spec_columns(&outs[1], a->dtype, a, a->ndim - 2, a->shape, k, s.cols);
    return 0;
}

extern "C" int fl_run_linalg_qr(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t;
    int dtype = a->dtype;
    fl_stack s = fl_stack_of(a);
    int64_t k = std::min(s.rows, s.cols);
    ColumnsCopy reflectors(a);
    Scratch tau((size_t)(s.count * k * fl_itemsize(dtype)));
    ColumnsOut r(outs[1]);
    if (!reflectors.ok() || !tau.ok() || !r.ok() ||
        FL_BY_NUMBER(dtype, reflect_stack, reflectors.as<char>(), tau.as<char>(), s) < 0)
        return -1;
    FL_BY_NUMBER(dtype, copy_columns, reflectors.as<char>(), s, r.as<char>(), fl_stack_of(outs[1]),
                 true);
    r.commit();
    if (mode_of(in[1]) == R_ONLY)
        return 0;
    ColumnsOut q(outs[0]);
    if (!q.ok())
        return -1;
    fl_stack sq = fl_stack_of(outs[0]);
    FL_BY_NUMBER(dtype, copy_columns, reflectors.as<char>(), s, q.as<char>(), sq, false);
    if (FL_BY_NUMBER(dtype, multiply_stack, q.as<char>(), tau.as<char>(), sq, k) < 0)
        return -1;
    q.commit();
    return 0;
}

/* ---- geqrf(self) -> a, tau -------------------------------------------------------------------- */

extern "C" int fl_infer_geqrf(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *a = in[0].t;
    if (fl_expect_matrices(op, "A", a, false) < 0)
        return -1;
    fl_stack s = fl_stack_of(a);
    fl_spec_columns(&outs[0], a->dtype, a, a->ndim - 2, a->shape, s.rows, s.cols);
    fl_spec_beside(&outs[1], a->dtype, a, std::min(s.rows, s.cols));
    return 0;
}

extern "C" int fl_run_geqrf(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    ColumnsOut a(outs[0]);
    Out tau(outs[1], fl_kind_of_dtype[outs[1]->dtype]);
    if (!a.ok() || !tau.ok())
        return -1;
    a.load(in[0].t);
    if (FL_BY_NUMBER(in[0].t->dtype, reflect_stack, a.as<char>(), tau.as<char>(),
                     fl_stack_of(in[0].t)) < 0)
        return -1;
    a.commit();
    tau.commit();
    return 0;
}

/* ---- linalg_householder_product(input, tau) --------------------------------------------------- */

extern "C" int fl_infer_linalg_householder_product(const fl_op *op, const fl_value *in, int n,
                                                   fl_spec *outs) {
    const fl_tensor *a = in[0].t, *tau = in[1].t;
    if (fl_expect_matrices(op, "input", a, false) < 0 ||
        fl_expect_same_dtype(op, a, "tau", tau) < 0 || fl_same_device(op, in, n) < 0)
        return -1;
    fl_stack s = fl_stack_of(a);
    if (s.rows < s.cols)
        return fl_error(FL_RUNTIME_ERROR, "%s: input.shape[-2] must be greater than or equal to "
                        "input.shape[-1], got shape %s", fl_op_title(op),
                        fl_shape_text(a->shape, a->ndim));
    bool fits = tau->ndim == a->ndim - 1 && tau->shape[tau->ndim - 1] <= s.cols;
    for (int i = 0; fits && i < a->ndim - 2; i++)
        fits = tau->shape[i] == a->shape[i];
    if (!fits)
        return fl_error(FL_RUNTIME_ERROR, "%s: tau must have the batch dimensions of input, and at "
                        "most input.shape[-1] numbers for each matrix; got tau of shape %s for "
                        "input of shape %s", fl_op_title(op), fl_shape_text(tau->shape, tau->ndim),
                        fl_shape_text(a->shape, a->ndim));
    fl_spec_columns(outs, a->dtype, a, a->ndim - 2, a->shape, s.rows, s.cols);
    return 0;
}

extern "C" int fl_run_linalg_householder_product(const fl_op *, const fl_value *in, int,
                                                 fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t, *t = in[1].t;
    ColumnsOut q(outs[0]);
    In tau(t, fl_kind_of_dtype[t->dtype]);
    if (!q.ok() || !tau.ok())
        return -1;
    q.load(a);
    if (FL_BY_NUMBER(a->dtype, multiply_stack, q.as<char>(), tau.as<char>(), fl_stack_of(a),
                     t->shape[t->ndim - 1]) < 0)
        return -1;
    q.commit();
    return 0;
}
