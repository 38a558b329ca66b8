/* logcumsumexp: the accumulator is (shift, sum of exp(x - shift)), in double. */
#include "reduce/scan.h"
#include "runtime/complex.h"
#include <math.h>

namespace {

struct Real {
    double shift = -INFINITY, sum = 0;
    double step(double x) {
        if (x != x || shift != shift)
            shift = x + shift;
        else if (x == INFINITY || shift == INFINITY)
            shift = INFINITY;
        else if (x > shift) {
            sum = sum * exp(shift - x) + 1;
            shift = x;
        } else if (x != -INFINITY) {
            sum += exp(x - shift);
        }
        return shift != shift || isinf(shift) ? shift : shift + log(sum);
    }
};

/* The imaginary part goes on from that of the greater term instead of wrapping at pi, as in
 * PyTorch. */
struct Complex {
    typedef fl_complex128 number;
    number before = -INFINITY;
    number step(number x) { return before = sum(before, x); }

  private:
    static number sum(number a, number b) {
        bool less = fl_real_part(a) < fl_real_part(b);
        number low = less ? a : b, high = less ? b : a;
        if (is_nan(a) || is_nan(b))
            return fl_complex_of(NAN, NAN);
        if (isinf(fl_real_part(high)) && fl_real_part(low) == fl_real_part(high))
            return fl_real_part(high) < 0
                       ? low
                       : __builtin_clog(__builtin_cexp(low) + __builtin_cexp(high));
        return high + log1p(__builtin_cexp(low - high));
    }
    static number log1p(number z) {
        if (fl_magnitude(z) > 0.5)
            return __builtin_clog(1.0 + z);
        double square = fl_real_part(z) * (2 + fl_real_part(z)) + fl_imag_part(z) * fl_imag_part(z);
        return fl_complex_of(0.5 * ::log1p(square), atan2(fl_imag_part(z), 1 + fl_real_part(z)));
    }
    static bool is_nan(number z) { return isnan(fl_real_part(z)) || isnan(fl_imag_part(z)); }
};

/* n elements `stride` apart. */
template <class T, class A, class State>
void scan_one(const T *x, T *y, int64_t n, int64_t stride) {
    State state;
    for (int64_t i = 0; i < n; i++)
        y[i * stride] = (T)state.step((A)x[i * stride]);
}

template <class T, class A, class State> void scan(const fl_middle &m, const T *x, T *y) {
    fl_scan_drive(
        m,
        [&](int64_t b, int64_t count) {
            for (int64_t i = b * m.n; i < (b + count) * m.n; i += m.n)
                scan_one<T, A, State>(x + i, y + i, m.n, 1);
        },
        [&](int64_t at, int64_t width) {
            for (int64_t i = at; i < at + width; i++)
                scan_one<T, A, State>(x + i, y + i, m.n, m.inner);
        });
}

void scan_kind(const fl_middle &m, int kind, const char *x, char *y) {
    typedef fl_complex64 c64;
    typedef fl_complex128 c128;
    switch (kind) {
    case FL_K_F32: scan<float, double, Real>(m, (const float *)x, (float *)y); break;
    case FL_K_F64: scan<double, double, Real>(m, (const double *)x, (double *)y); break;
    case FL_K_C64: scan<c64, c128, Complex>(m, (const c64 *)x, (c64 *)y); break;
    default: scan<c128, c128, Complex>(m, (const c128 *)x, (c128 *)y); break;
    }
}

}  // namespace

extern "C" int fl_infer_logcumsumexp(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dim;
    if (fl_expect_dtype(op, "self", self, fl_floating_or_complex,
                        "floating point or complex; write x.float() first") < 0 ||
        fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_spec_like(outs, self);
    return 0;
}

extern "C" int fl_run_logcumsumexp(const fl_op *op, const fl_value *in, int,
                                   fl_tensor *const *outs) {
    return fl_run_scan(op, in, fl_kind_of_dtype[in[0].t->dtype], outs[0], scan_kind);
}
