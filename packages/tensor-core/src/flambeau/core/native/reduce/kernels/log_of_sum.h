/* Logarithms of sums of exponentials, of which one is 1: of numbers from 1 on, or NaN. */
#pragma once
#include "common/kernels/lanes.h"
#include <math.h>

namespace {

template <class To, class From> FL_TIGHT To pattern(From x) {
    To bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* k log(2) + 2 atanh(s) for x = 2^k m with m between the roots of 1/2 and 2, to 2^-50: of one double
 * or of several. */
template <class Float, class Bits> FL_TIGHT Float log_of_sum(Float x) {
    const double magic = 6755399441055744.0;
    const Bits bits = pattern<Bits>(x), k = (bits - (uint64_t)0x3FE6A09E667F3BCD) >> 52;
    const Float count = pattern<Float>(k + pattern<uint64_t>(magic)) - magic;
    const Float f = pattern<Float>(bits - (k << 52)) - 1.0, s = f / (f + 2.0), z = s * s;
    Float series = z / 17.0 + 1.0 / 15;
    for (int odd = 13; odd > 0; odd -= 2)
        series = series * z + 1.0 / odd;
    const Float value = count * 0.69314718055994531 + s * 2.0 * series;
    return x - x == 0.0 ? value : x;
}

FL_TIGHT float log_total(float sum) { return (float)log_of_sum<double, uint64_t>(sum); }
FL_TIGHT double log_total(double sum) { return log(sum); }

/* A register of doubles at a time. */
FL_TIGHT Lanes<float> log_totals(const Lanes<float> &sum) {
    constexpr int AT_ONCE = FL_REGISTER / sizeof(double);
    typedef double Doubles __attribute__((vector_size(FL_REGISTER)));
    typedef uint64_t Patterns __attribute__((vector_size(FL_REGISTER)));
    typedef float Floats __attribute__((vector_size(FL_REGISTER / 2)));
    alignas(64) float lane[Lanes<float>::COUNT];
    sum.store(lane);
    for (int c = 0; c < Lanes<float>::COUNT; c += AT_ONCE) {
        Floats x;
        memcpy(&x, lane + c, sizeof x);
        const Doubles wide = __builtin_convertvector(x, Doubles);
        x = __builtin_convertvector((log_of_sum<Doubles, Patterns>(wide)), Floats);
        memcpy(lane + c, &x, sizeof x);
    }
    return Lanes<float>::load(lane);
}
FL_TIGHT Lanes<double> log_totals(const Lanes<double> &sum) {
    alignas(64) double lane[Lanes<double>::COUNT];
    sum.store(lane);
    for (int c = 0; c < Lanes<double>::COUNT; c++)
        lane[c] = log(lane[c]);
    return Lanes<double>::load(lane);
}

}  // namespace
