/* Least squares by LAPACK's four drivers: gels (QR, full rank), gelsy (QR with pivots), gelsd and
 * gelss (singular values). */
#include "common/args.h"
#include "linalg/linalg.h"

namespace {

enum Driver { GELS, GELSY, GELSD, GELSS, UNKNOWN };
const char *const NAMES[] = {"gels", "gelsy", "gelsd", "gelss"};
const int ROUTINES[] = {FL_GELS, FL_GELSY, FL_GELSD, FL_GELSS};

Driver driver_of(const fl_value &v) {
    for (int i = GELS; i < UNKNOWN; i++)
        if (v.len == strlen(NAMES[i]) && memcmp(v.s, NAMES[i], v.len) == 0)
            return (Driver)i;
    return UNKNOWN;
}

bool has_values(Driver driver) { return driver == GELSD || driver == GELSS; }

/* What a routine works with; the complex ones take `rwork` between `work` and `iwork`. */
template <class T> struct Room {
    using real = typename fl_number<T>::real;
    T *a, *b, *work;
    real *s, *rwork;
    int *iwork;     /* gelsy: the order of columns */
    int lwork, rank;
};

template <class T> class Solver {
  public:
    using real = typename fl_number<T>::real;

    Solver(void *function, Driver driver, int64_t m, int64_t n, int64_t k, double rcond)
        : function_(function), driver_(driver), m_((int)m), n_((int)n), k_((int)k),
          ldb_((int)std::max(m, n)), rcond_((real)rcond) {
        T length = 0;
        real real_length = 0;
        int int_length = 0, order = 0;
        Room<T> query = {};
        query.work = &length;
        query.rwork = &real_length;
        query.iwork = driver == GELSY ? &order : &int_length;
        query.lwork = -1;
        call(query);
        lwork_ = fl_work_length(length);
        int64_t least = std::min(m, n);
        lrwork_ = driver == GELSY ? 2 * n : driver == GELSS ? 5 * least
                                                            : fl_work_length(real_length);
        liwork_ = driver == GELSY ? n : int_length + 1;
    }
    int64_t length() const { return std::max(lwork_, (int64_t)ldb_ * k_); }
    int64_t a_size() const { return (int64_t)m_ * n_; }
    int64_t b_rows() const { return ldb_; }
    size_t bytes() const {
        size_t numbers = (size_t)(a_size() + (int64_t)ldb_ * k_ + lwork_);
        size_t reals = (size_t)(std::min(m_, n_) + lrwork_);
        return numbers * sizeof(T) + reals * sizeof(real) + (size_t)liwork_ * sizeof(int);
    }
    Room<T> cut(char *memory) const {
        Room<T> r = {};
        r.a = (T *)memory;
        r.b = r.a + a_size();
        r.work = r.b + (int64_t)ldb_ * k_;
        r.s = (real *)(r.work + lwork_);
        r.rwork = r.s + std::min(m_, n_);
        r.iwork = (int *)(r.rwork + lrwork_);
        r.lwork = (int)std::min<int64_t>(lwork_, INT_MAX);
        return r;
    }
    int run(Room<T> &r) const {
        if (driver_ == GELSY)
            std::fill(r.iwork, r.iwork + n_, 0);    /* every column may move */
        return call(r);
    }

  private:
    int call(Room<T> &r) const {
        switch (driver_) {
        case GELS: return gels(r);
        case GELSY: return gelsy(r);
        case GELSD: return gelsd(r);
        default: return gelss(r);
        }
    }
    int gels(Room<T> &r) const {
        using Gels = void (*)(const char *, const int *, const int *, const int *, T *,
                              const int *, T *, const int *, T *, const int *, int *,
                              fl_fortran_length);
        int status = 0;
        ((Gels)function_)("N", &m_, &n_, &k_, r.a, &m_, r.b, &ldb_, r.work, &r.lwork, &status, 1);
        return status;
    }
    int gelsy(Room<T> &r) const {
        using Real = void (*)(const int *, const int *, const int *, T *, const int *, T *,
                              const int *, int *, const real *, int *, T *, const int *, int *);
        using Complex = void (*)(const int *, const int *, const int *, T *, const int *, T *,
                                 const int *, int *, const real *, int *, T *, const int *,
                                 real *, int *);
        int status = 0;
        if constexpr (fl_number<T>::is_complex)
            ((Complex)function_)(&m_, &n_, &k_, r.a, &m_, r.b, &ldb_, r.iwork, &rcond_, &r.rank,
                                 r.work, &r.lwork, r.rwork, &status);
        else
            ((Real)function_)(&m_, &n_, &k_, r.a, &m_, r.b, &ldb_, r.iwork, &rcond_, &r.rank,
                              r.work, &r.lwork, &status);
        return status;
    }
    int gelsd(Room<T> &r) const {
        using Real = void (*)(const int *, const int *, const int *, T *, const int *, T *,
                              const int *, real *, const real *, int *, T *, const int *, int *,
                              int *);
        using Complex = void (*)(const int *, const int *, const int *, T *, const int *, T *,
                                 const int *, real *, const real *, int *, T *, const int *,
                                 real *, int *, int *);
        int status = 0;
        if constexpr (fl_number<T>::is_complex)
            ((Complex)function_)(&m_, &n_, &k_, r.a, &m_, r.b, &ldb_, r.s, &rcond_, &r.rank,
                                 r.work, &r.lwork, r.rwork, r.iwork, &status);
        else
            ((Real)function_)(&m_, &n_, &k_, r.a, &m_, r.b, &ldb_, r.s, &rcond_, &r.rank, r.work,
                              &r.lwork, r.iwork, &status);
        return status;
    }
    int gelss(Room<T> &r) const {
        using Real = void (*)(const int *, const int *, const int *, T *, const int *, T *,
                              const int *, real *, const real *, int *, T *, const int *, int *);
        using Complex = void (*)(const int *, const int *, const int *, T *, const int *, T *,
                                 const int *, real *, const real *, int *, T *, const int *,
                                 real *, int *);
        int status = 0;
        if constexpr (fl_number<T>::is_complex)
            ((Complex)function_)(&m_, &n_, &k_, r.a, &m_, r.b, &ldb_, r.s, &rcond_, &r.rank,
                                 r.work, &r.lwork, r.rwork, &status);
        else
            ((Real)function_)(&m_, &n_, &k_, r.a, &m_, r.b, &ldb_, r.s, &rcond_, &r.rank, r.work,
                              &r.lwork, &status);
        return status;
    }

    void *function_;
    Driver driver_;
    int m_, n_, k_, ldb_;
    real rcond_;
    int64_t lwork_, lrwork_, liwork_;
};

int not_solved(const fl_tensor *a, int64_t index, Driver driver, int status) {
    const char *where = fl_element_text(a, index);
    if (status < 0)
        return fl_error(FL_LINALG_ERROR, "linalg.lstsq: %sThe least squares solution could not be "
                        "computed because the input contained non-finite values; look for them "
                        "with A.isfinite().all()", where);
    if (driver == GELS)
        return fl_error(FL_LINALG_ERROR, "linalg.lstsq: %sThe least squares solution could not be "
                        "computed because the input matrix does not have full rank (error code: "
                        "%d); use driver='gelsy' or 'gelsd'", where, status);
    return fl_error(FL_LINALG_ERROR, "linalg.lstsq: %sThe algorithm for computing the singular "
                    "values failed to converge (error code: %d); use driver='gelsy'", where,
                    status);
}

/* Where the results lie: solutions column after column, one rank and k values per matrix of A. */
struct Results {
    char *x, *s;
    int64_t *rank;
};

template <class T>
int solve_stack(const fl_op *op, const fl_value *in, fl_tensor *solution, char *a, char *b,
                const Results &results) {
    const fl_tensor *at = in[0].t;
    Driver driver = driver_of(in[3]);
    void *function = fl_lapack_find(ROUTINES[driver], fl_number<T>::dtype);
    if (!function)
        return -1;
    fl_stack sa = fl_stack_of(at), sb = fl_stack_of(in[1].t), sx = fl_stack_of(solution);
    int64_t m = sa.rows, n = sa.cols, k = sx.cols, least = std::min(m, n);
    /* ranks are asked for without right-hand sides too: then there is one, of zeros */
    Solver<T> solver(function, driver, m, n, std::max<int64_t>(k, 1), in[2].d);
    if (fl_expect_small(op, at, solver.length()) < 0)
        return -1;
    PoolError error;
    fl_parallel(sx.count, fl_matrix_grain(m, n), [&](int64_t begin, int64_t end) {
        Scratch memory(solver.bytes());
        if (!memory.ok())
            return error.capture();
        Room<T> r = solver.cut(memory.as<char>());
        for (int64_t i = begin; i < end && !error.failed(); i++) {
            int nbatch = solution->ndim - 2;
            int64_t ia = fl_broadcast_matrix(at, nbatch, solution->shape, i);
            const T *right = (const T *)b + sb.size() *
                             fl_broadcast_matrix(in[1].t, nbatch, solution->shape, i);
            memcpy((void *)r.a, (const T *)a + ia * sa.size(), (size_t)sa.size() * sizeof(T));
            std::fill(r.b, r.work, T(0));
            for (int64_t c = 0; c < k; c++)
                std::copy(right + c * m, right + (c + 1) * m, r.b + c * solver.b_rows());
            bool finite = fl_all_finite(r.a, sa.size()) &&
                          (!has_values(driver) || fl_all_finite(right, sb.size()));
            int status = finite ? solver.run(r) : -1;
            if (status) {
                not_solved(at, ia, driver, status);
                return error.capture();
            }
            for (int64_t c = 0; c < k; c++)
                memcpy((void *)((T *)results.x + i * n * k + c * n), r.b + c * solver.b_rows(),
                       (size_t)n * sizeof(T));
            if (driver != GELS)
                results.rank[ia] = r.rank;
            if (has_values(driver))
                memcpy(results.s + ia * least * (int64_t)sizeof(*r.s), r.s,
                       (size_t)least * sizeof(*r.s));
        }
    });
    return error.result();
}

void spec_numbers(fl_spec *s, int dtype, const fl_tensor *a, bool given, int64_t length) {
    int64_t none = 0;
    if (given)
        fl_spec_beside(s, dtype, a, length);
    else
        fl_spec_set(s, dtype, fl_device_code(a), 1, &none);
}

}  // namespace

/* ---- linalg_lstsq_by(A, B, rcond, driver) -> solution, rank, singular_values ------------------- */

extern "C" int fl_infer_linalg_lstsq_by(const fl_op *op, const fl_value *in, int n,
                                        fl_spec *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    if (fl_expect_matrices(op, "A", a, false) < 0 || fl_expect_matrices(op, "B", b, false) < 0 ||
        fl_expect_same_dtype(op, a, "B", b) < 0 || fl_same_device(op, in, n) < 0)
        return -1;
    Driver driver = driver_of(in[3]);
    if (driver == UNKNOWN)
        return fl_error(FL_RUNTIME_ERROR, "%s: parameter 'driver' should be one of ('gels', "
                        "'gelsy', 'gelsd', 'gelss'), got '%.*s'", fl_op_title(op),
                        (int)std::min<uint32_t>(in[3].len, 40), in[3].s);
    fl_stack sa = fl_stack_of(a), sb = fl_stack_of(b);
    if (sa.rows != sb.rows)
        return fl_error(FL_RUNTIME_ERROR, "%s: A and B must have as many rows, one for each "
                        "equation: A is %s and B is %s", fl_op_title(op),
                        fl_shape_text(a->shape, a->ndim), fl_shape_text(b->shape, b->ndim));
    if (fl_spec_solution(op, a, b, sa.cols, &outs[0]) < 0)
        return -1;
    spec_numbers(&outs[1], FL_I64, a, driver != GELS, -1);
    spec_numbers(&outs[2], fl_real_dtype(a->dtype), a, has_values(driver),
                 std::min(sa.rows, sa.cols));
    return 0;
}

extern "C" int fl_run_linalg_lstsq_by(const fl_op *op, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    ColumnsCopy a(in[0].t), b(in[1].t);
    ColumnsOut x(outs[0]);
    Out rank(outs[1], FL_K_I64), s(outs[2], fl_kind_of_dtype[outs[2]->dtype]);
    if (!a.ok() || !b.ok() || !x.ok() || !rank.ok() || !s.ok())
        return -1;
    x.zero();
    memset(rank.as<char>(), 0, (size_t)outs[1]->numel * sizeof(int64_t));
    memset(s.as<char>(), 0, (size_t)(outs[2]->numel * fl_itemsize(outs[2]->dtype)));
    Results results = {x.as<char>(), s.as<char>(), rank.as<int64_t>()};
    if (in[0].t->numel && fl_stack_of(outs[0]).count &&
        FL_BY_NUMBER(in[0].t->dtype, solve_stack, op, in, outs[0], a.as<char>(), b.as<char>(),
                     results) < 0)
        return -1;
    x.commit();
    rank.commit();
    s.commit();
    return 0;
}
