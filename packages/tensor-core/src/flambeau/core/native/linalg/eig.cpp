/* Eigenvalues and eigenvectors of square matrices; both are complex. */
#include "common/args.h"
#include "linalg/linalg.h"

namespace {

template <class R>
using RealGeev = void (*)(const char *, const char *, const int *, R *, const int *, R *, R *, R *,
                          const int *, R *, const int *, R *, const int *, int *,
                          fl_fortran_length, fl_fortran_length);
template <class T>
using ComplexGeev = void (*)(const char *, const char *, const int *, T *, const int *, T *, T *,
                             const int *, T *, const int *, T *, const int *,
                             typename fl_number<T>::real *, int *, fl_fortran_length,
                             fl_fortran_length);

/* geev with its work space; vectors may be NULL. */
template <class T> class Solver {
  public:
    using real = typename fl_number<T>::real;
    using result = typename fl_number<T>::complex;

    Solver(void *function, int64_t n, bool vectors)
        : function_(function), n_((int)n), job_(vectors ? "V" : "N") {
        T length = 0;
        real real_length = 0;       /* the complex routine answers here too */
        lwork_ = -1;
        call(nullptr, nullptr, nullptr, &length, &real_length);
        lwork_ = (int)std::max<int64_t>(fl_work_length(length), 4 * n);
    }
    /* Work space, and for real matrices the eigenvalues and packed vectors. */
    size_t room() const {
        size_t n = (size_t)n_;
        return (size_t)lwork_ * sizeof(T) + 2 * n * sizeof(real) + n * n * sizeof(T);
    }
    int run(T *a, result *values, result *vectors, char *room) const {
        T *work = (T *)room, *packed = work + lwork_;
        real *numbers = (real *)(packed + (int64_t)n_ * n_);
        if constexpr (fl_number<T>::is_complex)
            return call(a, values, vectors, work, numbers);
        int status = call(a, numbers, packed, work, numbers);
        for (int j = 0; j < n_; j++)
            values[j] = fl_complex_of(numbers[j], numbers[n_ + j]);
        if (vectors && status == 0)
            unpack(numbers + n_, (const real *)packed, vectors);
        return status;
    }

  private:
    /* A pair of conjugate vectors is stored as its real and its imaginary part. */
    void unpack(const real *imaginary, const real *packed, result *vectors) const {
        int64_t n = n_;
        for (int64_t j = 0; j < n; j++) {
            const real *re = packed + j * n;
            bool pair = imaginary[j] != 0 && j + 1 < n;
            for (int64_t i = 0; i < n; i++) {
                real im = pair ? re[n + i] : 0;
                vectors[j * n + i] = fl_complex_of(re[i], im);
                if (pair)
                    vectors[(j + 1) * n + i] = fl_complex_of(re[i], -im);
            }
            j += pair;
        }
    }

    int call(T *a, void *values, void *vectors, T *work, real *numbers) const {
        int status = 0, ld = std::max(n_, 1), one = 1;
        if constexpr (fl_number<T>::is_complex)
            ((ComplexGeev<T>)function_)("N", job_, &n_, a, &ld, (T *)values, nullptr, &one,
                                        (T *)vectors, &ld, work, &lwork_, numbers, &status, 1, 1);
        else
            ((RealGeev<T>)function_)("N", job_, &n_, a, &ld, (T *)values, (T *)values + n_, nullptr,
                                     &one, (T *)vectors, &ld, work, &lwork_, &status, 1, 1);
        return status;
    }

    void *function_;
    int n_, lwork_;
    const char *job_;
};

template <class T> int solve_stack(const fl_tensor *t, char *a, char *values, char *vectors) {
    using result = typename Solver<T>::result;
    void *function = fl_lapack_find(FL_GEEV, fl_number<T>::dtype);
    fl_stack s = fl_stack_of(t);
    if (!function)
        return -1;
    if (s.size() == 0)
        return 0;
    for (int64_t i = 0; i < s.count; i++)
        if (!fl_all_finite((T *)a + i * s.size(), s.size()))
            return fl_error(FL_RUNTIME_ERROR, "linalg.eig: %sinput tensor should not contain infs "
                            "or NaNs; look for them with A.isfinite().all()",
                            fl_element_text(t, i));
    Solver<T> solver(function, s.rows, vectors != nullptr);
    PoolError error;
    fl_parallel(s.count, fl_matrix_grain(8 * s.rows, s.rows), [&](int64_t b, int64_t e) {
        Scratch room(solver.room());
        if (!room.ok())
            return error.capture();
        for (int64_t i = b; i < e && !error.failed(); i++) {
            result *v = vectors ? (result *)vectors + i * s.size() : nullptr;
            int status = solver.run((T *)a + i * s.size(), (result *)values + i * s.rows, v,
                                    room.as<char>());
            if (status > 0) {
                fl_error(FL_LINALG_ERROR, "linalg.eig: %sThe algorithm failed to converge (error "
                         "code: %d); compute in float64", fl_element_text(t, i), status);
                return error.capture();
            }
        }
    });
    return error.result();
}

int complex_dtype(int dtype) {
    return dtype == FL_F32 ? FL_C64 : dtype == FL_F64 ? FL_C128 : dtype;
}

}  // namespace

/* ---- linalg_eig(A) -> eigenvalues, eigenvectors ----------------------------------------------- */

extern "C" int fl_infer_linalg_eig(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *a = in[0].t;
    if (fl_expect_matrices(op, "A", a, true) < 0)
        return -1;
    fl_stack s = fl_stack_of(a);
    fl_spec_beside(&outs[0], complex_dtype(a->dtype), a, s.rows);
    fl_spec_columns(&outs[1], complex_dtype(a->dtype), a, a->ndim - 2, a->shape, s.rows, s.rows);
    return 0;
}

extern "C" int fl_run_linalg_eig(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    ColumnsCopy a(in[0].t);
    Out values(outs[0], fl_kind_of_dtype[outs[0]->dtype]);
    ColumnsOut vectors(outs[1]);
    if (!a.ok() || !values.ok() || !vectors.ok() ||
        FL_BY_NUMBER(in[0].t->dtype, solve_stack, in[0].t, a.as<char>(), values.as<char>(),
                     vectors.as<char>()) < 0)
        return -1;
    values.commit();
    vectors.commit();
    return 0;
}

/* ---- eig_values(A) ---------------------------------------------------------------------------- */

extern "C" int fl_infer_eig_values(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *a = in[0].t;
    if (fl_expect_matrices(op, "A", a, true) < 0)
        return -1;
    fl_spec_beside(&outs[0], complex_dtype(a->dtype), a, a->shape[a->ndim - 1]);
    return 0;
}

extern "C" int fl_run_eig_values(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    ColumnsCopy a(in[0].t);
    Out values(outs[0], fl_kind_of_dtype[outs[0]->dtype]);
    if (!a.ok() || !values.ok() ||
        FL_BY_NUMBER(in[0].t->dtype, solve_stack, in[0].t, a.as<char>(), values.as<char>(),
                     (char *)nullptr) < 0)
        return -1;
    values.commit();
    return 0;
}
