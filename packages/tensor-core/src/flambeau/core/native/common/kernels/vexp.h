/* exp of whole registers, step by step as in the formula language's `exp`, so that softmax and
 * exp() agree bit for bit on processors that have FMA. Denormals, infinities and NaN come out
 * right; within 1 ulp. */
#pragma once
#include "common/kernels/lanes.h"

namespace {

/* p * 2^n, rounded once; `shifted` has n plus twice the exponent's bias in its low bits. */
#if defined(__AVX512F__)
FL_TIGHT f32_reg times_power(f32_reg p, f32_reg count, f32_reg) {
    return (f32_reg)_mm512_mask_scalef_ps((__m512)p, -1, (__m512)p, (__m512)count);
}
FL_TIGHT f64_reg times_power(f64_reg p, f64_reg count, f64_reg) {
    return (f64_reg)_mm512_mask_scalef_pd((__m512d)p, -1, (__m512d)p, (__m512d)count);
}
#else
FL_TIGHT f32_reg times_power(f32_reg p, f32_reg, f32_reg shifted) {
    typedef register_of<uint32_t>::type bits;
    const bits n = (bits)shifted, half = n >> 1;
    return p * (f32_reg)(half << 23) * (f32_reg)((n - half) << 23);
}
FL_TIGHT f64_reg times_power(f64_reg p, f64_reg, f64_reg shifted) {
    typedef register_of<uint64_t>::type bits;
    const bits n = (bits)shifted, half = n >> 1;
    return p * (f64_reg)(half << 52) * (f64_reg)((n - half) << 52);
}
#endif

template <class T> struct exp_numbers;
template <> struct exp_numbers<float> {
    static constexpr float low = -104.0f, high = 90.0f, magic = 12582912.0f + 254;
    static constexpr float log2e = 1.4426950408889634f;
    static constexpr float ln2_high = 0.693359375f, ln2_low = -2.1219444005469057e-4f;
    static constexpr int DEGREE = 5;
    static constexpr float table[DEGREE] = {0.4999999403953552f, 0.1666651964187622f,
                                            0.04166840389370918f, 0.008368898183107376f,
                                            0.0013814254198223352f};
};
template <> struct exp_numbers<double> {
    static constexpr double low = -746.0, high = 711.0, magic = 6755399441055744.0 + 2046;
    static constexpr double log2e = 1.4426950408889634;
    static constexpr double ln2_high = 6.93147180369123816490e-01;
    static constexpr double ln2_low = 1.90821492927058770002e-10;
    static constexpr int DEGREE = 11;
    static constexpr double table[DEGREE] = {
        0.5, 0.16666666666666685, 0.04166666666666608, 0.008333333333316697,
        0.001388888888912036, 0.00019841269897235696, 2.4801586920750308e-05,
        2.7557233994059405e-06, 2.755758461436077e-07, 2.511234459175672e-08,
        2.0826352110536913e-09};
};

/* 2^n * exp(r) with |r| <= log(2) / 2; adding `magic` rounds to the nearest integer, and
 * what stands above it is shifted out. */
template <class T>
FL_TIGHT typename register_of<T>::type exp_as(typename register_of<T>::type x) {
    typedef exp_numbers<T> E;
    typedef typename register_of<T>::type R;
    const R zero = {}, magic = zero + E::magic;
    x = below(zero + E::high, above(zero + E::low, x));     /* in this order NaN stays */
    const R shifted = fused(x, zero + E::log2e, magic);
    const R count = shifted - magic;
    R r = fused(count, zero - E::ln2_high, x);
    r = fused(count, zero - E::ln2_low, r);
    R p = zero + E::table[E::DEGREE - 1];
    for (int i = E::DEGREE - 2; i >= 0; i--)
        p = fused(p, r, zero + E::table[i]);
    p = fused(p, r * r, r) + (T)1;
    return times_power(p, count, shifted);
}

FL_TIGHT f32_reg exp_reg(f32_reg x) { return exp_as<float>(x); }
FL_TIGHT f64_reg exp_reg(f64_reg x) { return exp_as<double>(x); }

template <class T> FL_TIGHT Lanes<T> exp_lanes(Lanes<T> x) {
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        x.r[i] = exp_as<T>(x.r[i]);
    return x;
}

}  // namespace
