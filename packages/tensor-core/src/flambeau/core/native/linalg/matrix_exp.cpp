/* The exponential of a matrix: a Pade approximant of the matrix divided by a power of two, whose
 * result is squared as often (Higham 2005, "The scaling and squaring method for the matrix
 * exponential revisited"). Single precision is computed in double: squaring loses digits. */
#include "common/args.h"
#include "linalg/linalg.h"
#include "runtime/blas.h"
#include <cmath>

namespace {

template <class T>
using Gesv = void (*)(const int *, const int *, T *, const int *, int *, T *, const int *, int *);

/* The greatest 1-norm for which each degree is accurate. */
struct Degree {
    int degree;
    double bound;
};
const Degree DEGREES[] = {{3, 1.495585217958292e-2}, {5, 2.539398330063230e-1},
                          {7, 9.504178996162932e-1}, {9, 2.097847961257068e0},
                          {13, 5.371920351148152e0}};

const double *coefficients(int degree) {
    static const double three[] = {120, 60, 12, 1};
    static const double five[] = {30240, 15120, 3360, 420, 30, 1};
    static const double seven[] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
    static const double nine[] = {17643225600., 8821612800., 2075673600., 302702400., 30270240.,
                                  2162160., 110880., 3960., 90., 1.};
    static const double thirteen[] = {64764752532480000., 32382376266240000., 7771770303897600.,
                                      1187353796428800., 129060195264000., 10559470521600.,
                                      670442572800., 33522128640., 1323241920., 40840800.,
                                      960960., 16380., 182., 1.};
    switch (degree) {
    case 3: return three;
    case 5: return five;
    case 7: return seven;
    case 9: return nine;
    default: return thirteen;
    }
}

/* One matrix at a time, in room for `COUNT` of them. */
template <class T> class Exponential {
  public:
    static const int COUNT = 8;
    using real = typename fl_number<T>::real;

    Exponential(void *gesv, int64_t n, char *room, int *pivots)
        : gesv_((Gesv<T>)gesv), n_(n), size_(n * n), pivots_(pivots) {
        for (int i = 0; i < COUNT; i++)
            m_[i] = (T *)room + i * size_;
    }

    /* a := exp(a); -1 with an error stored when a product failed. */
    int run(T *a) {
        double norm = norm1(a);
        if (!std::isfinite(norm)) {
            std::fill(a, a + size_, T(NAN));
            return 0;
        }
        int degree = 0, squarings = 0;
        plan(norm, &degree, &squarings);
        if (squarings)
            scale(a, std::ldexp(1.0, -squarings));
        if (approximate(a, coefficients(degree), degree) < 0)
            return -1;
        for (int i = 0; i < squarings; i++) {
            if (multiply(a, a, m_[0]) < 0)
                return -1;
            std::copy(m_[0], m_[0] + size_, a);
        }
        return 0;
    }

  private:
    double norm1(const T *a) const {
        double most = 0;
        for (int64_t c = 0; c < n_; c++) {
            double sum = 0;
            for (int64_t r = 0; r < n_; r++)
                sum += (double)fl_magnitude(a[c * n_ + r]);
            if (!(sum <= most))
                most = sum;
        }
        return most;
    }
    static void plan(double norm, int *degree, int *squarings) {
        for (const Degree &d : DEGREES) {
            *degree = d.degree;
            if (norm <= d.bound)
                return;
        }
        *squarings = std::max((int)std::ceil(std::log2(norm / DEGREES[4].bound)), 0);
    }
    void scale(T *a, double by) const {
        for (int64_t i = 0; i < size_; i++)
            a[i] *= (real)by;
    }
    int multiply(const T *a, const T *b, T *c) const {      /* columns: c^T = b^T a^T by rows */
        return fl_gemm(fl_number<T>::dtype, FL_NO_TRANS, FL_NO_TRANS, n_, n_, n_, 1, b, n_, a, n_,
                       0, c, n_);
    }
    /* to := sum of coefficients[first + 2 i] * powers[i]; powers[0] is the identity. */
    void combine(T *to, const double *c, int first, int count, T *const *powers) const {
        std::fill(to, to + size_, T(0));
        for (int64_t i = 0; i < n_; i++)
            to[i * (n_ + 1)] = (real)c[first];
        for (int p = 1; p < count; p++)
            add(to, powers[p], c[first + 2 * p]);
    }
    void add(T *to, const T *from, double by) const {
        for (int64_t i = 0; i < size_; i++)
            to[i] += (real)by * from[i];
    }
    /* a := (V - U)^-1 (V + U), where U has the odd powers and V the even ones. */
    int approximate(T *a, const double *c, int degree) {
        T *powers[5] = {nullptr, m_[0], m_[1], m_[2], m_[3]};
        T *odd = m_[4], *even = m_[5], *other = m_[6];
        int count = degree == 13 ? 4 : (degree + 1) / 2;
        if (multiply(a, a, powers[1]) < 0)
            return -1;
        for (int p = 2; p < count; p++)
            if (multiply(powers[p - 1], powers[1], powers[p]) < 0)
                return -1;
        combine(other, c, 1, count, powers);
        combine(even, c, 0, count, powers);
        if (degree == 13 && high_powers(c, powers, other, even) < 0)
            return -1;
        if (multiply(a, other, odd) < 0)
            return -1;
        for (int64_t i = 0; i < size_; i++) {
            other[i] = even[i] - odd[i];
            a[i] = even[i] + odd[i];
        }
        int n = (int)n_, status;
        gesv_(&n, &n, other, &n, pivots_, a, &n, &status);
        return 0;
    }
    /* The powers 8 to 13: a^6 times combinations of lower ones. */
    int high_powers(const double *c, T *const *powers, T *odd, T *even) {
        T *sum = m_[3], *product = m_[7];
        for (int parity = 0; parity < 2; parity++) {
            std::fill(sum, sum + size_, T(0));
            for (int p = 1; p < 4; p++)
                add(sum, powers[p], c[6 + 2 * p + parity]);
            if (multiply(powers[3], sum, product) < 0)
                return -1;
            add(parity ? odd : even, product, 1);
        }
        return 0;
    }

    Gesv<T> gesv_;
    int64_t n_, size_;
    int *pivots_;
    T *m_[COUNT];
};

template <class T> int exp_stack(char *data, const fl_stack &s) {
    void *gesv = fl_lapack_find(FL_GESV, fl_number<T>::dtype);
    if (!gesv)
        return -1;
    PoolError error;
    fl_parallel(s.count, fl_matrix_grain(10 * s.rows, s.rows), [&](int64_t b, int64_t e) {
        Scratch room((size_t)(s.size() * Exponential<T>::COUNT) * sizeof(T));
        Scratch pivots((size_t)s.rows * sizeof(int));
        if (!room.ok() || !pivots.ok())
            return error.capture();
        Exponential<T> exponential(gesv, s.rows, room.as<char>(), pivots.as<int>());
        for (int64_t i = b; i < e; i++)
            if (exponential.run((T *)data + i * s.size()) < 0)
                return error.capture();
    });
    return error.result();
}

}  // namespace

extern "C" int fl_infer_matrix_exp(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *a = in[0].t;
    if (fl_expect_dtype(op, "A", a, fl_floating_or_complex,
                        "floating point or complex; write A.float() first") < 0 ||
        fl_expect_square(op, "A", a) < 0)
        return -1;
    fl_stack s = fl_stack_of(a);
    fl_spec_columns(outs, a->dtype, a, a->ndim - 2, a->shape, s.rows, s.rows);
    return 0;
}

extern "C" int fl_run_matrix_exp(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t;
    fl_stack s = fl_stack_of(a);
    int wide = fl_is_complex(a->dtype) ? FL_C128 : FL_F64;
    int64_t strides[FL_MAX_DIMS];
    Scratch room((size_t)(a->numel * fl_itemsize(wide)));
    if (!room.ok())
        return -1;
    if (a->numel == 0)
        return 0;
    fl_column_strides(a->ndim, a->shape, strides);
    fl_copy_strided({room.as<char>(), wide, strides}, {a->data, a->dtype, a->strides}, a->ndim,
                    a->shape);
    if ((wide == FL_C128 ? exp_stack<fl_complex128> : exp_stack<double>)(room.as<char>(),
                                                                                s) < 0)
        return -1;
    fl_copy_strided({outs[0]->data, outs[0]->dtype, outs[0]->strides},
                    {room.as<char>(), wide, strides}, a->ndim, a->shape);
    return 0;
}
