/* tanh and the logistic function of whole registers, from the exponential of vexp.h; a few ulp. */
#pragma once
#include "common/kernels/vexp.h"

namespace {

/* exp(x) - 1 for -40 <= x <= 0: 2^n (exp(r) - 1) + (2^n - 1), which loses nothing near zero. */
template <class T>
FL_TIGHT typename register_of<T>::type expm1_negative(typename register_of<T>::type x) {
    typedef exp_numbers<T> E;
    typedef typename register_of<T>::type R;
    typedef typename register_of<T>::mask I;
    const R zero = {}, magic = zero + E::magic;
    const R shifted = fused(x, zero + E::log2e, magic);
    const R count = shifted - magic;
    R r = fused(count, zero - E::ln2_high, x);
    r = fused(count, zero - E::ln2_low, r);
    R p = zero + E::table[E::DEGREE - 1];
    for (int i = E::DEGREE - 2; i >= 0; i--)
        p = fused(p, r, zero + E::table[i]);
    p = fused(p, r * r, r);
    const I n = (I)shifted - (I)magic;
    const R power = (R)((n + float_bits<T>::bias) << float_bits<T>::fraction);
    return fused(p, power, power - (T)1);
}

/* -expm1(-2|x|) / (2 + expm1(-2|x|)), with the sign of x; NaN stays. */
template <class T>
FL_TIGHT typename register_of<T>::type tanh_as(typename register_of<T>::type x) {
    typedef typename register_of<T>::type R;
    typedef typename register_of<T>::mask I;
    const I sign = (I)x & (I{} + float_bits<T>::sign);
    const R twice = (R)((I)(x * (T)2) | (I{} + float_bits<T>::sign));
    const R e = expm1_negative<T>(above(R{} - (T)40, twice));
    return (R)((I)(-e / (e + (T)2)) | sign);
}

template <class T>
FL_TIGHT typename register_of<T>::type sigmoid_as(typename register_of<T>::type x) {
    return (T)1 / ((T)1 + exp_as<T>(-x));
}

template <class T> FL_TIGHT Lanes<T> tanh_lanes(Lanes<T> x) {
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        x.r[i] = tanh_as<T>(x.r[i]);
    return x;
}

template <class T> FL_TIGHT Lanes<T> sigmoid_lanes(Lanes<T> x) {
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        x.r[i] = sigmoid_as<T>(x.r[i]);
    return x;
}

}  // namespace
