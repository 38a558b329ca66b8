/* Winograd's convolution: sums of products back to pixels. */
#pragma once
#include "conv/kernels/winograd_input.h"

namespace {
namespace winograd {

/* The four pixels of each lane's tile, row by row; returns zeros, or NaN where one is not finite. */
inline Vector<float> transform_sums(const float *sums, int64_t plane, Vector<float> *pixels) {
    Vector<float> top[4], bottom[4];
#pragma GCC unroll 4
    for (int x = 0; x < 4; x++) {
        const float *at = sums + x * plane;
        Vector<float> m1 = load(at + 4 * plane), m2 = load(at + 8 * plane);
        top[x] = load(at) + m1 + m2;
        bottom[x] = m1 - m2 - load(at + 12 * plane);
    }
    pixels[0] = top[0] + top[1] + top[2];
    pixels[1] = top[1] - top[2] - top[3];
    pixels[2] = bottom[0] + bottom[1] + bottom[2];
    pixels[3] = bottom[1] - bottom[2] - bottom[3];
    const Vector<float> zero = {};
    return fma(zero, pixels[0], fma(zero, pixels[1], fma(zero, pixels[2], zero * pixels[3])));
}

}  // namespace winograd
}  // namespace
