/* ormqr: the product of a matrix with the reflectors of a QR decomposition. */
#include "common/args.h"
#include "linalg/linalg.h"

namespace {

template <class T>
using Ormqr = void (*)(const char *, const char *, const int *, const int *, const int *, T *,
                       const int *, const T *, T *, const int *, T *, const int *, int *,
                       fl_fortran_length, fl_fortran_length);

struct Sides {
    bool left, transposed;
};

template <class T>
int multiply_stack(char *a, const fl_stack &sa, const char *tau, int64_t reflectors, char *c,
                   const fl_stack &s, Sides sides) {
    auto ormqr = (Ormqr<T>)fl_lapack_find(FL_ORMQR, fl_number<T>::dtype);
    if (!ormqr)
        return -1;
    if (s.size() == 0)
        return 0;
    const char *side = sides.left ? "L" : "R";
    const char *form = !sides.transposed ? "N" : fl_number<T>::is_complex ? "C" : "T";
    int m = (int)s.rows, n = (int)s.cols, k = (int)reflectors, ld = (int)sa.rows;
    int query = -1, status = 0;
    T reported = 0;
    ormqr(side, form, &m, &n, &k, nullptr, &ld, nullptr, nullptr, &m, &reported, &query, &status,
          1, 1);
    int length = (int)std::min<int64_t>(fl_work_length(reported), INT_MAX);
    PoolError error;
    fl_parallel(s.count, fl_matrix_grain(m, n), [&](int64_t b, int64_t e) {
        Scratch work((size_t)length * sizeof(T));
        if (!work.ok())
            return error.capture();
        int code;
        for (int64_t i = b; i < e; i++)
            ormqr(side, form, &m, &n, &k, (T *)a + i * sa.size(), &ld, (const T *)tau + i * k,
                  (T *)c + i * s.size(), &m, work.as<T>(), &length, &code, 1, 1);
    });
    return error.result();
}

bool same_batch(const fl_tensor *a, const fl_tensor *b, int nbatch) {
    for (int i = 0; i < nbatch; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

}  // namespace

/* ---- ormqr(input, tau, other, left, transpose) ------------------------------------------------- */

extern "C" int fl_infer_ormqr(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *a = in[0].t, *tau = in[1].t, *other = in[2].t;
    if (fl_expect_matrices(op, "input", a, false) < 0 ||
        fl_expect_matrices(op, "other", other, false) < 0 ||
        fl_expect_same_dtype(op, a, "tau", tau) < 0 ||
        fl_expect_same_dtype(op, a, "other", other) < 0 || fl_same_device(op, in, n) < 0)
        return -1;
    int nbatch = a->ndim - 2;
    if (other->ndim != a->ndim || tau->ndim != a->ndim - 1 || !same_batch(a, other, nbatch) ||
        !same_batch(a, tau, nbatch))
        return fl_error(FL_RUNTIME_ERROR, "%s: input, tau and other must have the same batch "
                        "dimensions; got input %s, tau %s and other %s", fl_op_title(op),
                        fl_shape_text(a->shape, a->ndim), fl_shape_text(tau->shape, tau->ndim),
                        fl_shape_text(other->shape, other->ndim));
    fl_stack sa = fl_stack_of(a), so = fl_stack_of(other);
    bool left = fl_value_true(in[3]);
    int64_t reflectors = tau->shape[nbatch], side = left ? so.rows : so.cols;
    if (side != sa.rows)
        return fl_error(FL_RUNTIME_ERROR, "%s: other.shape[%d] must be equal to input.shape[-2]; "
                        "got input %s and other %s with left=%s", fl_op_title(op), left ? -2 : -1,
                        fl_shape_text(a->shape, a->ndim), fl_shape_text(other->shape, other->ndim),
                        left ? "True" : "False");
    if (reflectors > std::min(sa.rows, sa.cols))
        return fl_error(FL_RUNTIME_ERROR, "%s: tau.shape[-1] must be less than or equal to both "
                        "sizes of input's matrices; got tau %s for input %s", fl_op_title(op),
                        fl_shape_text(tau->shape, tau->ndim), fl_shape_text(a->shape, a->ndim));
    fl_spec_columns(outs, a->dtype, a, nbatch, a->shape, so.rows, so.cols);
    return 0;
}

extern "C" int fl_run_ormqr(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *t = in[0].t, *tau = in[1].t;
    ColumnsCopy a(t);       /* the routine writes ones to the diagonal for a while */
    ColumnsOut c(outs[0]);
    In factors(tau, fl_kind_of_dtype[tau->dtype]);
    if (!a.ok() || !c.ok() || !factors.ok())
        return -1;
    c.load(in[2].t);
    Sides sides = {fl_value_true(in[3]), fl_value_true(in[4])};
    if (FL_BY_NUMBER(t->dtype, multiply_stack, a.as<char>(), fl_stack_of(t),
                     factors.as<char>(), tau->shape[tau->ndim - 1], c.as<char>(),
                     fl_stack_of(outs[0]), sides) < 0)
        return -1;
    c.commit();
    return 0;
}
