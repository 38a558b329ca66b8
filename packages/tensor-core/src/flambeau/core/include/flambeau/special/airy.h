/* Airy's function Ai in double precision. */
#pragma once
#include "bessel.h"

namespace fl_airy {

constexpr double PI = 3.14159265358979323846;

/* Ai and its derivative at -10, -9 .. 2. */
FL_DEVICE static const double AIRY[][2] = {
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
constexpr int AIRY_FROM = -10, AIRY_TO = 2;

/* Taylor's series around the nearest integer a: y'' = x y gives
 * (k + 2) (k + 1) c(k + 2) = a c(k) + c(k - 1). */
FL_DEVICE static double airy_near(double x) {
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
FL_DEVICE static double airy_far_below(double x) {
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

FL_DEVICE static double ai(double x) {
    if (isnan(x) || isinf(x))
        return x > 0 ? 0 : FL_NAN;
    if (x < AIRY_FROM)
        return airy_far_below(x);
    if (x <= AIRY_TO)
        return airy_near(x);
    const double z = x * sqrt(x) * (2.0 / 3);
    return z > 760 ? 0 : sqrt(x / 3) / PI * exp(-z) * fl_bessel::k_third_scaled(z);
}

}  // namespace fl_airy
