/* Hurwitz zeta by the Euler-Maclaurin formula. */
#pragma once
#include "scalar.h"

namespace fl_zeta_parts {

/* B(2k) / (2k)! */
FL_DEVICE static const double TAIL[] = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000,
    1.0 / 74724249600,
    -3617.0 / 10670622842880000.0,
    43867.0 / 5109094217170944000.0,
};

/* q > 0: terms up to 12, then the integral, half a term and derivatives. */
FL_DEVICE static double positive(double s, double q) {
    double sum = 0;
    for (; q < 12; q += 1) {
        double term = pow(q, -s);
        sum += term;
        if (term < 1e-18 * sum)
            return sum;
    }
    double power = pow(q, -s);
    sum += power * (q / (s - 1) + 0.5);
    double factor = s * power / q;
    for (int k = 0; k < (int)(sizeof TAIL / sizeof *TAIL); k++) {
        double term = factor * TAIL[k];
        sum += term;
        if (fabs(term) < 1e-17 * fabs(sum))
            break;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
    }
    return sum;
}

/* q < 0, no pole: integer s only, since powers of negative numbers are real for no other. The terms
 * below zero are those of 1 - f, 2 - f ... with alternating sign, f the fraction of q. */
FL_DEVICE static double negative(double s, double q) {
    double sum = 0;
    if (q > -20) {
        for (; q < 0; q += 1)
            sum += pow(q, -s);
        return sum + positive(s, q);
    }
    double f = q - floor(q), sign = fmod(s, 2) == 0 ? 1 : -1;
    return positive(s, f) + sign * (positive(s, 1 - f) - positive(s, 1 - q));
}

}  // namespace fl_zeta_parts

FL_DEVICE double fl_zeta(double s, double q) {
    if (isnan(s) || isnan(q) || s < 1)
        return FL_NAN;
    if (s == 1)
        return FL_INF;
    if (q <= 0 && q == floor(q))
        return FL_INF;
    if (q < 0)
        return s == floor(s) ? fl_zeta_parts::negative(s, q) : FL_NAN;
    if (isinf(q))
        return 0;
    return fl_zeta_parts::positive(s, q);
}
