/* The loops of the Mersenne Twister: see mersenne.h.
 *
 * Normal numbers have to be PyTorch's bit for bit. Its kernel for AVX2 takes logarithm, sine and
 * cosine from Cephes (Moshier) and multiplies and adds in one rounding: what is fused here is fused
 * there, at every level, by a function where the processor has no such instruction. */
#include "random/kernels/mersenne.h"
#include <math.h>
#include <string.h>

namespace {

const int WORDS = 624, AHEAD = 397;

inline uint32_t twisted(uint32_t u, uint32_t v) {
    uint32_t y = (u & 0x80000000u) | (v & 0x7fffffffu);
    return y >> 1 ^ (0u - (v & 1u)) & 0x9908b0dfu;
}

void twist(uint32_t *w) {
    uint32_t first[WORDS + 1];
    memcpy(first, w, WORDS * sizeof *w);
    for (int i = 0; i < WORDS - AHEAD; i++)
        w[i] = first[i + AHEAD] ^ twisted(first[i], first[i + 1]);
    for (int i = WORDS - AHEAD; i < WORDS - 1; i++)
        w[i] = w[i + AHEAD - WORDS] ^ twisted(first[i], first[i + 1]);
    w[WORDS - 1] = w[AHEAD - 1] ^ twisted(first[WORDS - 1], w[0]);
}

void temper(const uint32_t *words, uint32_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t y = words[i];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        out[i] = y ^ y >> 18;
    }
}

void uniform_f32(const uint32_t *words, float *out, int64_t n, float low, float high) {
    double width = (double)(high - low);
    for (int64_t i = 0; i < n; i++) {      /* the product has 48 bits at most: it is exact */
        float x = (float)((double)(int32_t)(words[i] & 0xffffff) * 0x1p-24 * width + (double)low);
        out[i] = x >= high ? low : x;
    }
}

void uniform_f64(const uint32_t *words, double *out, int64_t n, double low, double high) {
    double width = high - low;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = ((uint64_t)words[2 * i] << 32 | words[2 * i + 1]) & 0x1fffffffffffff;
        double x = __builtin_fma((double)(int64_t)bits * 0x1p-53, width, low);
        out[i] = x >= high ? low : x;
    }
}

/* log of x in (0, 1] */
inline float log_of(float x) {
    int32_t bits;
    memcpy(&bits, &x, 4);
    float e = (float)((bits >> 23) - 0x7e), m;
    bits = (bits & 0x007fffff) | 0x3f000000;
    memcpy(&m, &bits, 4);
    bool low = m < 0.707106781186547524f;
    float f = (m - 1.0f) + (low ? m : 0.0f), z = f * f;
    e -= low ? 1.0f : 0.0f;
    float y = 7.0376836292e-2f;
    y = __builtin_fmaf(y, f, -1.1514610310e-1f);
    y = __builtin_fmaf(y, f, 1.1676998740e-1f);
    y = __builtin_fmaf(y, f, -1.2420140846e-1f);
    y = __builtin_fmaf(y, f, 1.4249322787e-1f);
    y = __builtin_fmaf(y, f, -1.6668057665e-1f);
    y = __builtin_fmaf(y, f, 2.0000714765e-1f);
    y = __builtin_fmaf(y, f, -2.4999993993e-1f);
    y = __builtin_fmaf(y, f, 3.3333331174e-1f);
    y = __builtin_fmaf(y * f, z, e * -2.12194440e-4f);
    y -= z * 0.5f;
    return __builtin_fmaf(e, 0.693359375f, f + y);
}

/* sine and cosine of x in [0, 2 pi) */
inline void sine_and_cosine(float x, float *sine, float *cosine) {
    int32_t octant = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
    float y = (float)octant;
    x = __builtin_fmaf(y, -0.78515625f, x);
    x = __builtin_fmaf(y, -2.4187564849853515625e-4f, x);
    x = __builtin_fmaf(y, -3.77489497744594108e-8f, x);
    float z = x * x;
    float c = __builtin_fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = __builtin_fmaf(c, z, 4.166664568298827e-2f);
    c = __builtin_fmaf(c * z, z, z * -0.5f) + 1.0f;
    float s = __builtin_fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = __builtin_fmaf(s, z, -1.6666654611e-1f);
    s = __builtin_fmaf(s * z, x, x);
    bool swap = octant & 2;
    float a = swap ? c : s, b = swap ? s : c;
    *sine = octant & 4 ? -a : a;
    *cosine = (octant - 2) & 4 ? b : -b;
}

void normal_f32(float *data, int64_t groups, float mean, float std) {
    for (int64_t g = 0; g < groups; g++, data += 16) {
        alignas(64) float first[8], second[8];
        for (int j = 0; j < 8; j++) {
            float radius = sqrtf(-2.0f * log_of(1.0f - data[j]));
            float s, c;
            sine_and_cosine(6.283185307179586f * data[j + 8], &s, &c);
            first[j] = __builtin_fmaf(radius * c, std, mean);
            second[j] = __builtin_fmaf(radius * s, std, mean);
        }
        memcpy(data, first, sizeof first);
        memcpy(data + 8, second, sizeof second);
    }
}

}  // namespace

extern const fl_mersenne_kernels FL_LEVEL(fl_mersenne_kernels) = {
    twist, temper, uniform_f32, uniform_f64, normal_f32,
};
