/* Bessel functions in double precision. */
#pragma once
#include "scalar.h"
#include "bessel_terms.h"

namespace fl_bessel {

constexpr double EULER = 0.57721566490153286061, LOG_2 = 0.69314718055994530942;

/* ---- of the second kind, modified ------------------------------------------------------------ */

/* exp(x) K(x) by its series in Chebyshev polynomials, added up from the last term on (Clenshaw, A
 * note on the summation of Chebyshev series, 1955). For x >= from. */
template <int N> FL_DEVICE static double k_scaled(const double (&terms)[N], double from, double x) {
    const double twice = 4 * from / x - 2;
    double after = 0, next = 0;
    for (int k = N - 1; k > 0; k--) {
        const double now = terms[k] + twice * next - after;
        after = next;
        next = now;
    }
    return (terms[0] + twice / 2 * next - after) / sqrt(x);
}

FL_DEVICE static double k0_scaled(double x) { return k_scaled(K_ZERO, 1, x); }
FL_DEVICE static double k1_scaled(double x) { return k_scaled(K_ONE, 1, x); }
FL_DEVICE static double k_third_scaled(double x) { return k_scaled(K_THIRD, 1.5, x); }

/* K of order 0 and 1 by their series, 0 < x < 1. */
FL_DEVICE static double k0_series(double x) {
    const double q = x * x / 4, log_term = LOG_2 - log(x) - EULER;
    double term = 1, harmonic = 0, sum = log_term;
    for (int k = 1; term > 1e-18; k++) {
        term *= q / ((double)k * k);
        harmonic += 1.0 / k;
        sum += term * (log_term + harmonic);
    }
    return sum;
}

FL_DEVICE static double k1_series(double x) {
    const double q = x * x / 4, log_term = log(x) - LOG_2 + EULER;
    double term = x / 2, harmonic = 0, sum = 1 / x + term * (log_term - 0.5);
    for (int k = 1; term > 1e-18; k++) {
        term *= q / ((double)k * (k + 1));
        harmonic += 1.0 / k;
        sum += term * (log_term - harmonic - 0.5 / (k + 1));
    }
    return sum;
}

FL_DEVICE static double k_outside(double x) { return x == 0 ? FL_INF : x == FL_INF ? 0 : FL_NAN; }
FL_DEVICE static bool k_inside(double x) { return x > 0 && x < FL_INF; }

FL_DEVICE static double k0(double x) {
    return !k_inside(x) ? k_outside(x) : x < 1 ? k0_series(x) : exp(-x) * k0_scaled(x);
}
FL_DEVICE static double k1(double x) {
    return !k_inside(x) ? k_outside(x) : x < 1 ? k1_series(x) : exp(-x) * k1_scaled(x);
}
FL_DEVICE static double scaled_k0(double x) {
    return !k_inside(x) ? k_outside(x) : x < 1 ? exp(x) * k0_series(x) : k0_scaled(x);
}
FL_DEVICE static double scaled_k1(double x) {
    return !k_inside(x) ? k_outside(x) : x < 1 ? exp(x) * k1_series(x) : k1_scaled(x);
}

/* ---- of the library -------------------------------------------------------------------------- */

FL_DEVICE static double of_first_kind_0(double x) { return j0(x); }
FL_DEVICE static double of_first_kind_1(double x) { return j1(x); }
FL_DEVICE static double of_second_kind_0(double x) { return x < 0 ? FL_NAN : x == 0 ? -FL_INF : y0(x); }
FL_DEVICE static double of_second_kind_1(double x) { return x < 0 ? FL_NAN : x == 0 ? -FL_INF : y1(x); }

FL_DEVICE static double spherical_j0(double x) {
    if (isinf(x))
        return 0;
    const double z = x * x;
    return z < 1e-8 ? 1 - z / 6 : sin(x) / x;
}

}  // namespace fl_bessel
