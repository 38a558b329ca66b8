/* Implicit derivatives of gamma and beta samples: with F the distribution function and p the
 * density, F(x; a) = const gives dx/da = -(dF/da) / p.
 *
 * F is written as a series or a continued fraction as in DLMF 8.7.1, 8.9.2 and 8.17.22, of which
 * every term carries its derivative by a. The factors that F and p share drop out, so that nothing
 * overflows, and the tail that is summed is the one on the sample's side of the mean, so that
 * little cancels. */
#pragma once
#include "scalar.h"

namespace fl_slope_parts {

constexpr int MOST_STEPS = 100000;

/* A number and its derivative. */
struct Dual {
    double v, d;
};

FL_DEVICE static Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
FL_DEVICE static Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
FL_DEVICE static Dual operator/(Dual a, Dual b) {
    double q = a.v / b.v;
    return {q, (a.d - q * b.d) / b.v};
}
FL_DEVICE static Dual number(double v) { return {v, 0}; }

/* Digamma of a positive number: the recurrence up to 10, then its asymptotic series. */
FL_DEVICE static double digamma(double x) {
    double less = 0;
    for (; x < 10; x++)
        less += 1 / x;
    double z = 1 / (x * x);
    double tail = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240
                  - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
    return log(x) - 0.5 / x - tail - less;
}

/* A continued fraction 1 / (b0 + a1 / (b1 + a2 / (b2 + ...))) by Lentz's method as modified by
 * Thompson and Barnett (J. Comput. Phys. 64, 1986). `step(n)` gives a_n and b_n. */
template <class Step> FL_DEVICE static Dual continued_fraction(Dual first, double eps, Step step) {
    Dual numerator = number(1e300), denominator = number(1) / first, h = denominator;
    for (int n = 1; n < MOST_STEPS; n++) {
        Dual a, b;
        step(n, a, b);
        denominator = number(1) / (a * denominator + b);
        numerator = b + a / numerator;
        Dual change = denominator * numerator;
        h = h * change;
        if (!(fabs(change.v - 1) > eps || fabs(change.d * h.v) > eps * (fabs(h.d) + fabs(h.v))))
            break;
    }
    return h;
}

/* P(a, x) = density * x / a * S, where S is the sum of x^k / ((a + 1) ... (a + k)). */
FL_DEVICE static double gamma_below(double a, double x, double eps) {
    double sum = 1, term = 1, moved = 0, harmonic = 0;
    for (int k = 1; k < MOST_STEPS; k++) {
        term *= x / (a + k);
        harmonic += 1 / (a + k);
        sum += term;
        moved += term * harmonic;
        if (!(term > eps * sum || term * harmonic > eps * moved))
            break;
    }
    return x / a * (sum * (digamma(a + 1) - log(x)) + moved);
}

/* Q(a, x) = density * x * h, where h = 1 / (x + 1 - a - (1 - a) / (x + 3 - a - ...)). */
FL_DEVICE static double gamma_above(double a, double x, double eps) {
    Dual h = continued_fraction({x + 1 - a, -1}, eps, [=](int n, Dual &top, Dual &below) {
        top = {n * (a - n), (double)n};
        below = {x + 2 * n + 1 - a, -1};
    });
    return x * (h.v * (log(x) - digamma(a)) + h.d);
}

/* I_x(a, b) = density * x (1 - x) / a * h; derivatives of h by what `a` and `b` carry. */
FL_DEVICE static Dual beta_fraction(Dual a, Dual b, double x, double eps) {
    auto term = [=](int n) {
        double m = n / 2;
        Dual wide = number(2 * m) + a, next = wide + number(1), previous = wide + number(-1);
        if (n % 2)
            return number(-x) * (a + number(m)) * (a + b + number(m)) / (wide * next);
        return number(m * x) * (b + number(-m)) / (previous * wide);
    };
    /* 1 / (1 + t1 / (1 + t2 / ...)) */
    return continued_fraction(number(1), eps, [=](int n, Dual &top, Dual &below) {
        top = term(n);
        below = number(1);
    });
}

}  // namespace fl_slope_parts

FL_DEVICE double fl_gamma_slope(double a, double x, double eps) {
    if (!(a > 0) || !(x >= 0))
        return FL_NAN;
    if (x == 0 || isinf(x))
        return x;
    return x <= a + 1 ? fl_slope_parts::gamma_below(a, x, eps) : fl_slope_parts::gamma_above(a, x, eps);
}

FL_DEVICE double fl_beta_slope(double x, double a, double total, double eps) {
    if (!(a > 0) || !(total >= a) || !(x >= 0 && x <= 1))
        return FL_NAN;
    if (x == 0)
        return 0;
    double b = fmax(total - a, 1e-300);     /* the sum may have lost a small b */
    if (x < (a + 1) / (a + b + 2)) {
        fl_slope_parts::Dual h = fl_slope_parts::beta_fraction({a, 1}, fl_slope_parts::number(b), x, eps);
        return x / a * (h.v * (fl_slope_parts::digamma(a + 1) - fl_slope_parts::digamma(a + b) - log(x)) - h.d);
    }
    fl_slope_parts::Dual h = fl_slope_parts::beta_fraction(fl_slope_parts::number(b), {a, 1}, 1 - x, eps);
    return x / b * (h.v * (log(x) + fl_slope_parts::digamma(a + b) - fl_slope_parts::digamma(a)) + h.d);
}
