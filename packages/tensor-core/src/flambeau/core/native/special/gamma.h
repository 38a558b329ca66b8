/* Functions of the gamma family in double precision: loops of data-dependent length, which the
 * formula language does not have. */
#pragma once

/* Hurwitz zeta: the sum over k >= 0 of (q + k)^-s. inf at s = 1 and the poles, nan for s < 1. */
double fl_zeta(double s, double q);
/* Regularized incomplete gamma functions, lower and upper; they add up to 1. Sums end where a term
 * is less than `eps` of them. */
double fl_igamma(double a, double x, double eps);
double fl_igammac(double a, double x, double eps);
