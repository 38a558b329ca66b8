/* Cholesky decomposition, and systems with a triangular matrix. */
#include "common/args.h"
#include "linalg/linalg.h"
#include "linalg/small.h"
#include "matmul/matrix.h"

namespace {

template <class T>
using Potrf = void (*)(const char *, const int *, T *, const int *, int *, fl_fortran_length);
template <class T>
using Trsm = void (*)(const char *, const char *, const char *, const char *, const int *,
                      const int *, const T *, const T *, const int *, T *, const int *,
                      fl_fortran_length, fl_fortran_length, fl_fortran_length, fl_fortran_length);

/* What LAPACK leaves on the other side of the diagonal. */
template <class T> void clear_side(T *a, int64_t n, bool above) {
    for (int64_t c = 0; c < n; c++)
        std::fill(a + c * n + (above ? 0 : c + 1), a + c * n + (above ? c : n), T(0));
}

/* The first minor whose root is no number: LAPACK may let these pass. */
template <class T> int first_nan(const T *a, int n) {
    for (int i = 0; i < n; i++) {
        typename fl_number<T>::real root;
        memcpy(&root, a + (int64_t)i * (n + 1), sizeof root);   /* the real part comes first */
        if (root != root)
            return i + 1;
    }
    return 0;
}

/* factor(matrix) for every one: what it returns is kept. */
template <class T, class Factor>
int factor_each(char *data, const fl_stack &s, bool upper, int32_t *info, const Factor &factor) {
    const int n = (int)s.rows;
    fl_parallel(s.count, fl_matrix_grain(n, n), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            T *a = (T *)data + i * s.size();
            info[i] = factor(a);
            clear_side(a, n, !upper);
        }
    });
    return 0;
}

template <class T>
int cholesky_stack(char *data, const fl_stack &s, bool upper, int32_t *info) {
    int n = (int)s.rows;
    if constexpr (!fl_number<T>::is_complex)
        if (n <= FL_SMALL_MATRIX)
            return factor_each<T>(data, s, upper, info,
                                  [=](T *a) { return fl_cholesky_small(a, n, upper); });
    auto potrf = (Potrf<T>)fl_lapack_find(FL_POTRF, fl_number<T>::dtype);
    if (!potrf)
        return -1;
    return factor_each<T>(data, s, upper, info, [=](T *a) {
        int status = 0;
        if (n)
            potrf(upper ? "U" : "L", &n, a, &n, &status, 1);
        return status ? status : first_nan(a, n);
    });
}

int not_positive(const fl_tensor *t, const int32_t *info, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (info[i] > 0)
            return fl_error(FL_LINALG_ERROR, "linalg.cholesky: %sThe factorization could not be "
                            "completed because the input is not positive-definite (the leading "
                            "minor of order %d is not positive-definite); add a small multiple of "
                            "the identity, or use linalg.eigh", fl_element_text(t, i), info[i]);
    return 0;
}

/* ---- triangular systems ----------------------------------------------------------------------- */

int64_t batch_offset(const fl_tensor *t, const int64_t *strides, int nbatch, const int64_t *shape,
                     int64_t index) {
    int own = t->ndim - 2;
    int64_t at = 0;
    for (int i = nbatch - 1; i >= nbatch - own; i--) {
        int d = i - (nbatch - own);
        at += t->shape[d] == 1 ? 0 : index % shape[i] * strides[d];
        index /= shape[i];
    }
    return at;
}

struct Options {
    bool upper, left, unit;
};

template <class T>
int triangular_stack(const fl_tensor *a, const ProductInput &ia, const fl_matrix &layout,
                     fl_tensor *x, char *data, const Options &o) {
    auto trsm = (Trsm<T>)fl_lapack_find(FL_TRSM, fl_number<T>::dtype);
    if (!trsm)
        return -1;
    fl_stack s = fl_stack_of(x);
    bool by_rows = layout.trans == FL_NO_TRANS;
    int m = (int)s.rows, n = (int)s.cols, ld = (int)layout.ld;
    T one = 1;
    int64_t order = o.left ? s.rows : s.cols;
    if (s.size() == 0)
        return 0;
    fl_parallel(s.count, fl_matrix_grain(order, std::max(s.rows, s.cols)),
                [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            const T *from = (const T *)ia.data +
                            batch_offset(a, ia.strides, x->ndim - 2, x->shape, i);
            if constexpr (std::is_same_v<T, typename fl_number<T>::real>)
                if (o.left && order <= FL_SMALL_MATRIX && n <= FL_SMALL_MATRIX) {
                    fl_solve_small_triangle(from, m, by_rows ? ld : 1, by_rows ? 1 : ld, o.upper,
                                            o.unit, (T *)data + i * s.size(), n);
                    continue;
                }
            trsm(o.left ? "L" : "R", o.upper != by_rows ? "U" : "L", by_rows ? "T" : "N",
                 o.unit ? "U" : "N", &m, &n, &one, from, &ld, (T *)data + i * s.size(), &m, 1, 1, 1,
                 1);
        }
    });
    return 0;
}

}  // namespace

/* ---- linalg_cholesky_ex(self, upper, check_errors) -> L, info --------------------------------- */

extern "C" int fl_infer_linalg_cholesky_ex(const fl_op *op, const fl_value *in, int,
                                           fl_spec *outs) {
    return fl_infer_square(op, in[0].t, &outs[0], &outs[1]);
}

extern "C" int fl_run_linalg_cholesky_ex(const fl_op *, const fl_value *in, int,
                                         fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t;
    fl_stack s = fl_stack_of(a);
    ColumnsOut factor(outs[0]);
    Int32Out info(outs[1]);
    if (!factor.ok() || !info.ok())
        return -1;
    factor.load(a);
    if (FL_BY_NUMBER(a->dtype, cholesky_stack, factor.as<char>(), s, fl_value_true(in[1]),
                     info.data()) < 0)
        return -1;
    if (fl_value_true(in[2]) && not_positive(a, info.data(), s.count) < 0)
        return -1;
    factor.commit();
    info.commit();
    return 0;
}

/* ---- linalg_solve_triangular(A, B, upper, left, unitriangular) -------------------------------- */

extern "C" int fl_infer_linalg_solve_triangular(const fl_op *op, const fl_value *in, int n,
                                                fl_spec *outs) {
    return fl_infer_equation(op, in, n, fl_value_true(in[3]), outs);
}

extern "C" int fl_run_linalg_solve_triangular(const fl_op *, const fl_value *in, int,
                                              fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    ColumnsOut x(outs[0]);
    ProductInput ia(a);
    if (!x.ok() || !ia.ok())
        return -1;
    int64_t n = a->shape[a->ndim - 1];
    fl_matrix layout = {};
    int last = a->ndim - 1;
    if (!fl_is_aligned(ia.data) ||
        !fl_as_matrix(n, n, ia.strides[last - 1], ia.strides[last], &layout)) {
        if (!ia.copy())
            return -1;
        fl_as_matrix(n, n, ia.strides[last - 1], ia.strides[last], &layout);
    }
    x.load(b);
    Options o = {fl_value_true(in[2]), fl_value_true(in[3]), fl_value_true(in[4])};
    if (FL_BY_NUMBER(a->dtype, triangular_stack, a, ia, layout, outs[0], x.as<char>(), o) < 0)
        return -1;
    x.commit();
    return 0;
}
