/* Products of complex numbers. */
#pragma once
#include <stdint.h>

namespace {

/* A product of n complex numbers; several products side by side do not wait for each other. */
template <class T> inline void complex_product_of(const T *x, int64_t n, T *out) {
    const int LANES = 8;
    T re[LANES], im[LANES];
    for (int l = 0; l < LANES; l++)
        re[l] = 1, im[l] = 0;
    const auto multiply = [&](int l, T a, T b) {
        const T next = re[l] * a - im[l] * b;
        im[l] = re[l] * b + im[l] * a;
        re[l] = next;
    };
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            multiply(l, x[2 * (i + l)], x[2 * (i + l) + 1]);
    for (; i < n; i++)
        multiply(0, x[2 * i], x[2 * i + 1]);
    for (int l = 1; l < LANES && n >= LANES; l++)
        multiply(0, re[l], im[l]);
    out[0] = re[0];
    out[1] = im[0];
}

}  // namespace
