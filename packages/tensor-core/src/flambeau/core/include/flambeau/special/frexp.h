/* Mantissa and exponent. */
#pragma once
#include "scalar.h"

/* Normal numbers by their bits: the exponent's are set to those of [0.5, 1). */
FL_DEVICE static inline void fl_split_exponent(double x, double *part, int32_t *power) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) & 0x7ff, n = 0;
    if (exponent == 0 || exponent == 0x7ff) {
        *part = isfinite(x) ? frexp(x, &n) : x;
        *power = n;
        return;
    }
    bits = (bits & ~(0x7ffull << 52)) | (1022ull << 52);
    memcpy(part, &bits, sizeof bits);
    *power = exponent - 1022;
}
