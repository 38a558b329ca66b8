/* Bessel functions and Airy's in double precision, one element after the other. */
#include "common/args.h"
#include "special/bessel_terms.h"
#include "common/raw.h"
#include <math.h>

namespace {

const double NOT = __builtin_nan(""), INF = __builtin_inf();
const double EULER = 0.57721566490153286061, PI = 3.14159265358979323846;
const double LOG_2 = 0.69314718055994530942;

/* ---- of the second kind, modified ------------------------------------------------------------ */

/* exp(x) K(x) by its series in Chebyshev polynomials, added up from the last term on (Clenshaw, A
 * note on the summation of Chebyshev series, 1955). For x >= from. */
template <int N> double k_scaled(const double (&terms)[N], double from, double x) {
    const double twice = 4 * from / x - 2;
    double after = 0, next = 0;
    for (int k = N - 1; k > 0; k--) {
        const double now = terms[k] + twice * next - after;
        after = next;
        next = now;
    }
    return (terms[0] + twice / 2 * next - after) / sqrt(x);
}

double k0_scaled(double x) { return k_scaled(K_ZERO, 1, x); }
double k1_scaled(double x) { return k_scaled(K_ONE, 1, x); }
double k_third_scaled(double x) { return k_scaled(K_THIRD, 1.5, x); }

/* K of order 0 and 1 by their series, 0 < x < 1. */
double k0_series(double x) {
    const double q = x * x / 4, log_term = LOG_2 - log(x) - EULER;
    double term = 1, harmonic = 0, sum = log_term;
    for (int k = 1; term > 1e-18; k++) {
        term *= q / ((double)k * k);
        harmonic += 1.0 / k;
        sum += term * (log_term + harmonic);
    }
    return sum;
}

double k1_series(double x) {
    const double q = x * x / 4, log_term = log(x) - LOG_2 + EULER;
    double term = x / 2, harmonic = 0, sum = 1 / x + term * (log_term - 0.5);
    for (int k = 1; term > 1e-18; k++) {
        term *= q / ((double)k * (k + 1));
        harmonic += 1.0 / k;
        sum += term * (log_term - harmonic - 0.5 / (k + 1));
    }
    return sum;
}

double k_outside(double x) { return x == 0 ? INF : x == INF ? 0 : NOT; }
bool k_inside(double x) { return x > 0 && x < INF; }

double k0(double x) {
    return !k_inside(x) ? k_outside(x) : x < 1 ? k0_series(x) : exp(-x) * k0_scaled(x);
}
double k1(double x) {
    return !k_inside(x) ? k_outside(x) : x < 1 ? k1_series(x) : exp(-x) * k1_scaled(x);
}
double scaled_k0(double x) {
    return !k_inside(x) ? k_outside(x) : x < 1 ? exp(x) * k0_series(x) : k0_scaled(x);
}
double scaled_k1(double x) {
    return !k_inside(x) ? k_outside(x) : x < 1 ? exp(x) * k1_series(x) : k1_scaled(x);
}

/* ---- of the library -------------------------------------------------------------------------- */

double of_first_kind_0(double x) { return j0(x); }
double of_first_kind_1(double x) { return j1(x); }
double of_second_kind_0(double x) { return x < 0 ? NOT : x == 0 ? -INF : y0(x); }
double of_second_kind_1(double x) { return x < 0 ? NOT : x == 0 ? -INF : y1(x); }

double spherical_j0(double x) {
    if (isinf(x))
        return 0;
    const double z = x * x;
    return z < 1e-8 ? 1 - z / 6 : sin(x) / x;
}

/* ---- Airy ------------------------------------------------------------------------------------ */

/* Ai and its derivative at -10, -9 .. 2. */
const double AIRY[][2] = {
    {0.04024123848644319069, 0.9962650441327900559},
    {-0.02213372154734140367, -0.9756639809263315947},
    {-0.05270505035638620262, 0.935560938198306551},
    {0.1842808352505056373, -0.7710081684101265477},
    {-0.3291451736298231052, 0.3459354872813428949},
    {0.3507610090241143198, 0.3271928185544431368},
    {-0.0702655329492895151, -0.7906285753685813803},
    {-0.3788142936776580743, 0.3145837692165988137},
    {0.227407428201685576, 0.6182590207416910414},
    {0.5355608832923521188, -0.0101605671166452094},
    {0.3550280538878172393, -0.2588194037928067984},
    {0.1352924163128814155, -0.1591474412967932128},
    {0.03492413042327437914, -0.0530903844336536317},
};
const int AIRY_FROM = -10, AIRY_TO = 2;

/* Taylor's series around the nearest integer a: y'' = x y gives
 * (k + 2) (k + 1) c(k + 2) = a c(k) + c(k - 1). */
double airy_near(double x) {
    const double a = nearbyint(x), h = x - a;
    const double *node = AIRY[(int)a - AIRY_FROM];
    double c0 = node[0], c1 = node[1], before = 0, power = h, sum = c0 + c1 * h;
    for (int k = 0; k < 24; k++) {
        double c2 = (a * c0 + before) / ((k + 1) * (k + 2));
        power *= h;
        sum += c2 * power;
        before = c0;
        c0 = c1;
        c1 = c2;
    }
    return sum;
}

/* Below the table: (P cos + Q sin) of z - pi/4, P and Q series in 1 / z (Handbook of Mathematical
 * Functions, 10.4.60). */
double airy_far_below(double x) {
    const double z = -x * sqrt(-x) * (2.0 / 3);
    double term = 1, p = 1, q = 0;
    for (int k = 1; k < 30; k++) {
        double next = term * (6 * k - 5) * (6 * k - 3) * (6 * k - 1);
        next /= 216.0 * k * (2 * k - 1) * z;
        if (fabs(next) > fabs(term) || fabs(next) < 1e-17)
            break;
        term = next;
        (k % 2 ? q : p) += k % 4 < 2 ? term : -term;
    }
    return (p * cos(z - PI / 4) + q * sin(z - PI / 4)) / (sqrt(PI) * sqrt(sqrt(-x)));
}

double airy_ai(double x) {
    if (isnan(x) || isinf(x))
        return x > 0 ? 0 : NOT;
    if (x < AIRY_FROM)
        return airy_far_below(x);
    if (x <= AIRY_TO)
        return airy_near(x);
    const double z = x * sqrt(x) * (2.0 / 3);
    return z > 760 ? 0 : sqrt(x / 3) / PI * exp(-z) * k_third_scaled(z);
}

int run(const fl_value *in, fl_tensor *out, double (*function)(double)) {
    In x(in[0].t, FL_K_F64);
    Out result(out, FL_K_F64);
    if (!x.ok() || !result.ok())
        return -1;
    const double *from = x.as<double>();
    double *to = result.as<double>();
    fl_parallel(out->numel, FL_GRAIN / 64, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            to[i] = function(from[i]);
    });
    result.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_special_one(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    if (fl_is_complex(self->dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: not implemented for dtype %s; complex numbers have "
                        "no such operation; use x.real, x.imag or x.abs()", fl_op_title(op),
                        fl_dtype_name(self->dtype));
    fl_spec_like(outs, self);
    outs->dtype = (uint8_t)(fl_is_float(self->dtype) ? self->dtype : fl_default_dtype);
    return 0;
}

#define FL_ONE(name, function)                                                                   \
    extern "C" int fl_run_##name(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) { \
        return run(in, outs[0], function);                                                       \
    }
FL_ONE(bessel_j0, of_first_kind_0)
FL_ONE(bessel_j1, of_first_kind_1)
FL_ONE(bessel_y0, of_second_kind_0)
FL_ONE(bessel_y1, of_second_kind_1)
FL_ONE(modified_bessel_k0, k0)
FL_ONE(modified_bessel_k1, k1)
FL_ONE(scaled_modified_bessel_k0, scaled_k0)
FL_ONE(scaled_modified_bessel_k1, scaled_k1)
FL_ONE(spherical_bessel_j0, spherical_j0)
FL_ONE(airy_ai, airy_ai)
