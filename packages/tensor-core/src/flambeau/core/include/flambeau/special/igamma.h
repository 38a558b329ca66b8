/* Incomplete gamma functions: a power series below the mean, a continued fraction above it. */
#pragma once
#include "scalar.h"

namespace fl_igamma_parts {

constexpr int MOST_STEPS = 100000;       /* enough for parameters up to 1e8 */

FL_DEVICE static double log_gamma(double x) {
#if defined(__GLIBC__) && !defined(__CUDACC_RTC__)
    int sign;
    return lgamma_r(x, &sign);              /* lgamma writes to a global variable */
#else
    return lgamma(x);
#endif
}

/* log(1 + u) - u without cancellation. */
FL_DEVICE static double log1p_minus(double u) {
    if (fabs(u) > 0.5)
        return log1p(u) - u;
    double r = u / (2 + u), z = r * r, sum = 0;
    for (int k = 41; k >= 3; k -= 2)
        sum = sum * z + 1.0 / k;
    return 2 * r * z * sum - u * r;
}

/* log(Gamma(1 + a)) for small a, where 1 + a would lose a's last digits. */
FL_DEVICE static double log_gamma_near_one(double a) {
    constexpr double ZETA[] = {
        1.6449340668482264, 1.2020569031595942, 1.0823232337111382, 1.0369277551433699,
        1.0173430619844491, 1.0083492773819228, 1.0040773561979443, 1.0020083928260822,
        1.0009945751278181, 1.0004941886041195, 1.0002460865533080, 1.0001227133475785};
    if (a > 0.05)
        return log_gamma(1 + a);
    double sum = 0;
    for (int k = 13; k >= 2; k--)
        sum = -a * sum + ZETA[k - 2] / k;
    return a * (a * sum - 0.5772156649015329);
}

/* x^a exp(-x) / Gamma(a + 1) */
FL_DEVICE static double density(double a, double x) {
    if (a < 20)
        return exp(a * log(x) - x - log_gamma(a + 1));
    double b = 1 / (a * a);
    double stirling = (1.0 / 12 - b * (1.0 / 360 - b * (1.0 / 1260 - b * (1.0 / 1680
                      - b * (1.0 / 1188))))) / a;
    return exp(a * log1p_minus((x - a) / a) - stirling) / sqrt(6.283185307179586 * a);
}

/* P(a, x) = density * sum of x^k / ((a + 1) ... (a + k)) */
FL_DEVICE static double lower_series(double a, double x, double eps) {
    double sum = 1, term = 1;
    for (int k = 1; k < MOST_STEPS && term > eps * sum; k++) {
        term *= x / (a + k);
        sum += term;
    }
    return density(a, x) * sum;
}

/* Q(a, x) by Legendre's continued fraction. Numerators p and denominators q of its convergents are
 * kept apart, so that the only division is the convergent itself, for which no step waits. */
FL_DEVICE static double upper_fraction(double a, double x, double eps) {
    const double large = 1e100;
    double b = x + 1 - a, p0 = 0, q0 = 1, p1 = 1, q1 = b, h = 1 / b;
    for (int k = 1; k < MOST_STEPS; k++) {
        double step = -k * (k - a), before = h;
        b += 2;
        double p2 = b * p1 + step * p0, q2 = b * q1 + step * q0;
        p0 = p1;
        q0 = q1;
        p1 = p2;
        q1 = q2;
        h = p1 / q1;
        if (fabs(h - before) < 2 * eps * fabs(h))
            break;
        if (fabs(q1) > large)       /* their ratio is all that counts */
            p0 /= large, p1 /= large, q0 /= large, q1 /= large;
    }
    return density(a, x) * a * h;
}

/* Q(a, x) for small a and x, where 1 - P would cancel. */
FL_DEVICE static double upper_series(double a, double x, double eps) {
    double sum = 0, term = 1, log_x = log(x);
    for (int k = 1; k < 200; k++) {
        term *= -x / k;
        double next = term / (a + k);
        sum += next;
        if (fabs(next) < eps * fabs(sum))
            break;
    }
    double log_power = a * log_x - log_gamma_near_one(a);
    return -expm1(log_power) - a * exp(log_power) * sum;
}

FL_DEVICE static bool undefined(double a, double x) {
    return isnan(a) || isnan(x) || a < 0 || x < 0 || (a == 0 && x == 0) || (isinf(a) && isinf(x));
}

}  // namespace fl_igamma_parts

FL_DEVICE double fl_igamma(double a, double x, double eps) {
    if (fl_igamma_parts::undefined(a, x))
        return FL_NAN;
    if (a == 0 || isinf(x))
        return 1;
    if (x == 0 || isinf(a))
        return 0;
    if (x < 1 || x < a)
        return fl_igamma_parts::lower_series(a, x, eps);
    return 1 - fl_igamma_parts::upper_fraction(a, x, eps);
}

FL_DEVICE double fl_igammac(double a, double x, double eps) {
    if (fl_igamma_parts::undefined(a, x))
        return FL_NAN;
    if (a == 0 || isinf(x))
        return 0;
    if (x == 0 || isinf(a))
        return 1;
    if (a < 1 && x < 1.1)
        return fl_igamma_parts::upper_series(a, x, eps);
    if (x < 1 || x < a)
        return 1 - fl_igamma_parts::lower_series(a, x, eps);
    return fl_igamma_parts::upper_fraction(a, x, eps);
}
