/* exp of whole registers, step by step as in the formula language's `exp`, so that softmax and
 * exp() agree bit for bit on processors that have FMA. Denormals, infinities and NaN come out
 * right; within 1 ulp. */
#pragma once
#include "common/kernels/lanes.h"

namespace {

template <class T> struct float_bits;
template <> struct float_bits<float> {
    static constexpr int fraction = 23, bias = 127;
    static constexpr int32_t sign = INT32_MIN;
};
template <> struct float_bits<double> {
    static constexpr int fraction = 52, bias = 1023;
    static constexpr int64_t sign = INT64_MIN;
};

/* p * 2^n, rounded once; `shifted` has n plus twice the exponent's bias in its low bits. */
#if defined(__AVX512F__)
#define FL_EXP_LOW(far, near) far
FL_TIGHT f32_reg times_power(f32_reg p, f32_reg count, f32_reg) {
    return (f32_reg)_mm512_mask_scalef_ps((__m512)p, -1, (__m512)p, (__m512)count);
}
FL_TIGHT f64_reg times_power(f64_reg p, f64_reg count, f64_reg) {
    return (f64_reg)_mm512_mask_scalef_pd((__m512d)p, -1, (__m512d)p, (__m512d)count);
}
#else
#define FL_EXP_LOW(far, near) near
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

/* Far below `low` results are 0, and `low` is far below where they begin to be: Intel's processors
 * take a hundred cycles for numbers that are barely too small, a product of 2^-159 or a
 * scaled power of 2^-512 being the border of these. `raised` gives exponents 2^raise. */
template <class T> struct exp_numbers;
template <> struct exp_numbers<float> {
    static constexpr float low = FL_EXP_LOW(-400.0f, -112.0f), high = 90.0f;
    static constexpr float magic_sum = 12582912.0f, magic = magic_sum + 254;
    static constexpr float raise = 64, raised = 0x1p64f;
    static constexpr float log2e = 1.4426950408889634f;
    static constexpr float ln2_high = 0.693359375f, ln2_low = -2.1219444005469057e-4f;
    static constexpr int DEGREE = 5;
    static constexpr float table[DEGREE] = {0.4999999403953552f, 0.1666651964187622f,
                                            0.04166840389370918f, 0.008368898183107376f,
                                            0.0013814254198223352f};
};
template <> struct exp_numbers<double> {
    static constexpr double low = FL_EXP_LOW(-3000.0, -756.0), high = 711.0;
    static constexpr double magic_sum = 6755399441055744.0, magic = magic_sum + 2046;
    static constexpr double raise = 512, raised = 0x1p512;
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

template <class T> struct ExpParts {
    typename register_of<T>::type count, shifted, p;
};

/* n, its sum with `add`, and p = exp(r), with x = n log(2) + r and |r| <= log(2) / 2; adding
 * `add` rounds to the nearest integer, and what stands above it is shifted out. */
template <class T> FL_TIGHT ExpParts<T> exp_parts(typename register_of<T>::type x, T add) {
    typedef exp_numbers<T> E;
    typedef typename register_of<T>::type R;
    const R zero = {}, magic = zero + add;
    const R shifted = fused(x, zero + E::log2e, magic);
    const R count = shifted - magic;
    R r = fused(count, zero - E::ln2_high, x);
    r = fused(count, zero - E::ln2_low, r);
    R p = zero + E::table[E::DEGREE - 1];
    for (int i = E::DEGREE - 2; i >= 0; i--)
        p = fused(p, r, zero + E::table[i]);
    return {count, shifted, fused(p, r * r, r) + (T)1};
}

template <class T>
FL_TIGHT typename register_of<T>::type exp_as(typename register_of<T>::type x) {
    typedef exp_numbers<T> E;
    const typename register_of<T>::type zero = {};
    const ExpParts<T> e = exp_parts<T>(below(zero + E::high, above(zero + E::low, x)), E::magic);
    return times_power(e.p, e.count, e.shifted);            /* NaN has stayed, in that order */
}

/* exp(x) * 2^up for x <= 0. The exponent's bits are 0 where the result is zero, so that there are
 * no denormal numbers: for up = 0, what would be one is zero; for up = E::raise, exp(x) is
 * denormal where a factor of 2^-up would make the result so. */
template <class T>
FL_TIGHT typename register_of<T>::type exp_falling(typename register_of<T>::type x, T up) {
    typedef float_bits<T> F;
    typedef typename register_of<T>::type R;
    typedef typename register_of<T>::mask I;
    const T log2 = (T)0.6931471805599453, low = -(F::bias + up) * log2;
    const T high = (F::bias + 1 - up) * log2;               /* gives infinity */
    const ExpParts<T> e = exp_parts<T>(below(R{} + high, above(R{} + low, x)),
                                       exp_numbers<T>::magic_sum + F::bias + up);
    return e.p * (R)((I)e.shifted << F::fraction);
}

/* x * factor where x < border means that the result is denormal or zero, and positive; rounded
 * once. As `lower` in the formula language, where the reason is told. */
template <class T>
FL_TIGHT Lanes<T> lowered(Lanes<T> x, const Lanes<T> &factor, const Lanes<T> &border) {
    typedef typename register_of<T>::type R;
    typedef typename register_of<T>::mask I;
    for (int i = 0; i < Lanes<T>::PARTS; i++) {
        const I normal = (I{} + 1) << float_bits<T>::fraction;
        const I least = (I)(x.r[i] < border.r[i]) & normal;
        x.r[i] = (R)((I)fused(x.r[i], factor.r[i], (R)least) - least);
    }
    return x;
}

/* For `lowered`: a little below total * 2^(1 - bias), where results that are divided by `total`,
 * a raised sum, begin to be denormal. */
template <class T> FL_TIGHT T border_of(T total) {
    constexpr T up = exp_numbers<T>::raised, least = sizeof(T) == 4 ? (T)0x1p-126 : (T)0x1p-1022;
    return total * (1 / up) * (up * least * (T)0.999);
}

FL_TIGHT f32_reg exp_reg(f32_reg x) { return exp_as<float>(x); }
FL_TIGHT f64_reg exp_reg(f64_reg x) { return exp_as<double>(x); }

template <class T> FL_TIGHT Lanes<T> exp_lanes(Lanes<T> x) {
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        x.r[i] = exp_as<T>(x.r[i]);
    return x;
}

template <class T> FL_TIGHT Lanes<T> exp_falling_lanes(Lanes<T> x, T up) {
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        x.r[i] = exp_falling<T>(x.r[i], up);
    return x;
}

}  // namespace
