/* Orthogonal polynomials in double precision: p(x, n) of degree n, which is cut to an integer. 0 for
 * negative degrees, NaN for a degree that is none or, where it takes as many steps, above 10^6. */
#pragma once

double fl_chebyshev_t(double x, double n);
double fl_chebyshev_u(double x, double n);
double fl_chebyshev_v(double x, double n);
double fl_chebyshev_w(double x, double n);
/* The same of 2 x - 1. */
double fl_shifted_chebyshev_t(double x, double n);
double fl_shifted_chebyshev_u(double x, double n);
double fl_shifted_chebyshev_v(double x, double n);
double fl_shifted_chebyshev_w(double x, double n);
double fl_hermite_h(double x, double n);
double fl_hermite_he(double x, double n);
double fl_laguerre_l(double x, double n);
double fl_legendre_p(double x, double n);
