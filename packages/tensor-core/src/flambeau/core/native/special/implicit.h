/* How a random number moves with a parameter of its distribution, its probability held fixed. */
#pragma once

/* d(sample)/da of a standard gamma sample. */
double fl_gamma_slope(double a, double sample, double eps);
/* d(sample)/da / (1 - sample) of a sample of Beta(a, total - a), its second parameter fixed. */
double fl_beta_slope(double sample, double a, double total, double eps);
