/* Orthogonal polynomials: recurrences over the degree; of Chebyshev's also the closed forms, so
 * that their cost does not grow with it (Abramowitz and Stegun, Handbook of Mathematical Functions,
 * chapter 22). */
#pragma once
#include "scalar.h"

namespace fl_polynomial_parts {

constexpr double MOST_STEPS = 1e6, MOST_DEGREE = 9007199254740992.0;
constexpr int CLOSED_FROM = 8;

/* The degree, or -1 where the result is `*value` already. */
FL_DEVICE static double degree(double x, double n, double most, double *value) {
    *value = 0;
    n = trunc(n);
    if (isnan(x) || isnan(n) || n > most)
        *value = FL_NAN;
    return isnan(*value) || n < 0 ? -1 : n;
}

/* p(0) = 1, p(1) = first, p(k + 1) = next(k, p(k), p(k - 1)) */
template <class Next> FL_DEVICE static double recur(double n, double first, const Next &next) {
    double before = 1, p = n < 1 ? 1 : first;
    for (double k = 1; k < n && !isnan(p); k++) {
        double after = next(k, p, before);
        before = p;
        p = after;
    }
    return p;
}

/* Chebyshev's four kinds share a recurrence; they are ratios of cosines and sines of multiples of
 * an angle, and of hyperbolic ones beyond 1. */
template <class Cos, class Sin>
FL_DEVICE static double ratio(char kind, double n, double angle, const Cos &cosine,
                              const Sin &sine) {
    switch (kind) {
    case 't': return cosine(n * angle);
    case 'u': return sine((n + 1) * angle) / sine(angle);
    case 'v': return cosine((n + 0.5) * angle) / cosine(angle / 2);
    default: return sine((n + 0.5) * angle) / sine(angle / 2);
    }
}

FL_DEVICE static double at_one(char kind, double n) {
    return kind == 'u' ? n + 1 : kind == 'w' ? 2 * n + 1 : 1;
}

FL_DEVICE static double chebyshev(char kind, double x, double n) {
    double value;
    if ((n = degree(x, n, MOST_DEGREE, &value)) < 0)
        return value;
    if (n < CLOSED_FROM) {
        double first = kind == 't' ? x : kind == 'u' ? 2 * x : kind == 'v' ? 2 * x - 1 : 2 * x + 1;
        return recur(n, first, [x](double, double p, double b) { return 2 * x * p - b; });
    }
    double sign = 1;
    if (x < 0) {                        /* the third and the fourth kind are each other's mirror */
        sign = fmod(n, 2) == 0 ? 1 : -1;
        kind = kind == 'v' ? 'w' : kind == 'w' ? 'v' : kind;
        x = -x;
    }
    if (x == 1)
        return sign * at_one(kind, n);
    if (x < 1)
        return sign * ratio(kind, n, acos(x), [](double t) { return cos(t); },
                            [](double t) { return sin(t); });
    return sign * ratio(kind, n, acosh(x), [](double t) { return cosh(t); },
                        [](double t) { return sinh(t); });
}

template <class Next> FL_DEVICE static double stepwise(double x, double n, double first, const Next &next) {
    double value;
    n = degree(x, n, MOST_STEPS, &value);
    return n < 0 ? value : recur(n, first, next);
}

}  // namespace fl_polynomial_parts

FL_DEVICE double fl_chebyshev_t(double x, double n) { return fl_polynomial_parts::chebyshev('t', x, n); }
FL_DEVICE double fl_chebyshev_u(double x, double n) { return fl_polynomial_parts::chebyshev('u', x, n); }
FL_DEVICE double fl_chebyshev_v(double x, double n) { return fl_polynomial_parts::chebyshev('v', x, n); }
FL_DEVICE double fl_chebyshev_w(double x, double n) { return fl_polynomial_parts::chebyshev('w', x, n); }
FL_DEVICE double fl_shifted_chebyshev_t(double x, double n) { return fl_polynomial_parts::chebyshev('t', x + x - 1, n); }
FL_DEVICE double fl_shifted_chebyshev_u(double x, double n) { return fl_polynomial_parts::chebyshev('u', x + x - 1, n); }
FL_DEVICE double fl_shifted_chebyshev_v(double x, double n) { return fl_polynomial_parts::chebyshev('v', x + x - 1, n); }
FL_DEVICE double fl_shifted_chebyshev_w(double x, double n) { return fl_polynomial_parts::chebyshev('w', x + x - 1, n); }

FL_DEVICE double fl_hermite_h(double x, double n) {
    return fl_polynomial_parts::stepwise(x, n, 2 * x, [x](double k, double p, double b) {
        return 2 * (x * p - k * b);
    });
}

FL_DEVICE double fl_hermite_he(double x, double n) {
    return fl_polynomial_parts::stepwise(x, n, x, [x](double k, double p, double b) { return x * p - k * b; });
}

FL_DEVICE double fl_laguerre_l(double x, double n) {
    return fl_polynomial_parts::stepwise(x, n, 1 - x, [x](double k, double p, double b) {
        return ((2 * k + 1 - x) * p - k * b) / (k + 1);
    });
}

FL_DEVICE double fl_legendre_p(double x, double n) {
    return fl_polynomial_parts::stepwise(x, n, x, [x](double k, double p, double b) {
        return ((2 * k + 1) * x * p - k * b) / (k + 1);
    });
}
