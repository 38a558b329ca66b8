/* exp of whole registers: branch-free, multiplications and additions only, so that every ISA
 * level gives the same bits. Within 2 ulp; denormals, infinities and NaN come out right. */
#pragma once
#include "kernels/lanes.h"

namespace {

typedef register_of<float>::type f32_reg;
typedef register_of<double>::type f64_reg;

/* 2^n * exp(r), |r| <= log(2)/2. The power is applied in two halves: denormals round once. */
FL_TIGHT f32_reg exp_reg(f32_reg x) {
    typedef register_of<float>::mask ints;
    const float magic = 12582912.0f;                    /* 1.5 * 2^23: adding it rounds */
    x = x > 89.0f ? f32_reg{} + 89.0f : x;
    x = x < -104.0f ? f32_reg{} - 104.0f : x;
    f32_reg shifted = x * 1.44269504f + magic;
    ints n = (ints)shifted - (ints)(f32_reg{} + magic);
    f32_reg count = shifted - magic;
    f32_reg r = x - count * 0.693359375f;
    r = r + count * 2.12194440e-4f;
    f32_reg p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    ints half = n >> 1;
    return p * (f32_reg)((half + 127) << 23) * (f32_reg)((n - half + 127) << 23);
}

FL_TIGHT f64_reg exp_reg(f64_reg x) {
    typedef register_of<double>::mask ints;
    const double magic = 6755399441055744.0;            /* 1.5 * 2^52 */
    x = x > 710.0 ? f64_reg{} + 710.0 : x;
    x = x < -746.0 ? f64_reg{} - 746.0 : x;
    f64_reg shifted = x * 1.4426950408889634 + magic;
    ints n = (ints)shifted - (ints)(f64_reg{} + magic);
    f64_reg count = shifted - magic;
    f64_reg r = x - count * 6.93147180369123816490e-01;
    r = r - count * 1.90821492927058770002e-10;
    static const double taylor[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                    1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
                                    1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5};
    f64_reg p = f64_reg{} + taylor[0];
    for (int i = 1; i < 12; i++)
        p = p * r + taylor[i];
    p = p * (r * r) + r + 1.0;
    ints half = n >> 1;
    return p * (f64_reg)((half + 1023) << 52) * (f64_reg)((n - half + 1023) << 52);
}

template <class T> FL_TIGHT Lanes<T> exp_lanes(Lanes<T> x) {
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        x.r[i] = exp_reg(x.r[i]);
    return x;
}

}  // namespace
