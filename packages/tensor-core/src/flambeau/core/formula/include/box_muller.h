/* Two normal numbers from two uniform words: r cos a and r sin a with r = sqrt(-2 log u).
 *
 * The angle comes straight from integer bits: two bits choose the quadrant, the rest an angle
 * within 45 degrees of its axis, so that no range reduction is needed. The text is read by kernels
 * of the CPU and of GPUs, which draw the same bits. */
#ifndef FL_BOX_MULLER_H
#define FL_BOX_MULLER_H
#ifndef __CUDACC_RTC__
#include <math.h>
#include <stdint.h>
#include <string.h>
#endif
#ifndef FL_INLINE
#define FL_INLINE inline
#endif

namespace {

#ifdef __CUDACC_RTC__
FL_INLINE float fused(float a, float b, float c) { return fmaf(a, b, c); }
FL_INLINE double fused(double a, double b, double c) { return fma(a, b, c); }
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
FL_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FL_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
FL_INLINE float fused(float a, float b, float c) { return a * b + c; }
FL_INLINE double fused(double a, double b, double c) { return a * b + c; }
#endif

/* log of x in (0, 1], normal numbers only: x = 2^e (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1). */
FL_INLINE float log_of_uniform(float x) {
    int32_t bits;
    memcpy(&bits, &x, 4);
    int32_t e = (bits - 0x3f3504f3) >> 23;
    bits -= e * (1 << 23);
    float m;
    memcpy(&m, &bits, 4);
    float f = m - 1.0f, z = f * f, n = (float)e;
    float p = 7.0376836292e-2f;
    p = fused(p, f, -1.1514610310e-1f);
    p = fused(p, f, 1.1676998740e-1f);
    p = fused(p, f, -1.2420140846e-1f);
    p = fused(p, f, 1.4249322787e-1f);
    p = fused(p, f, -1.6668057665e-1f);
    p = fused(p, f, 2.0000714765e-1f);
    p = fused(p, f, -2.4999993993e-1f);
    p = fused(p, f, 3.3333331174e-1f);
    float low = fused(n, -2.12194440e-4f, p * f * z);
    return fused(n, 0.693359375f, fused(-0.5f, z, low) + f);
}

FL_INLINE double log_of_uniform(double x) {
    int64_t bits;
    memcpy(&bits, &x, 8);
    int64_t e = (bits - 0x3fe6a09e667f3bcd) >> 52;
    bits -= e * ((int64_t)1 << 52);
    double m;
    memcpy(&m, &bits, 8);
    double f = m - 1.0, s = f / (2.0 + f), z = s * s, n = (double)(int32_t)e;
    double p = 1.479819860511658591e-01;
    p = fused(p, z, 1.531383769920937332e-01);
    p = fused(p, z, 1.818357216161805012e-01);
    p = fused(p, z, 2.222219843214978396e-01);
    p = fused(p, z, 2.857142874366239149e-01);
    p = fused(p, z, 3.999999999940941908e-01);
    p = fused(p, z, 6.666666666666735130e-01);
    double half = 0.5 * f * f;
    double low = fused(s, fused(p, z, half), n * 1.90821492927058770002e-10);
    return fused(n, 6.93147180369123816490e-01, f - (half - low));
}

/* sin and cos of `quarter` quarter turns, |quarter| <= 1/2 */
FL_INLINE float sin_quarter(float quarter) {
    float x = quarter * 1.57079632679489662f, z = x * x;
    float p = fused(-1.9515295891e-4f, z, 8.3321608736e-3f);
    p = fused(p, z, -1.6666654611e-1f);
    return fused(p * z, x, x);
}

FL_INLINE float cos_quarter(float quarter) {
    float x = quarter * 1.57079632679489662f, z = x * x;
    float p = fused(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    p = fused(p, z, 4.166664568298827e-2f);
    return fused(p * z, z, fused(-0.5f, z, 1.0f));
}

FL_INLINE double sin_quarter(double quarter) {
    double x = quarter * 1.57079632679489661923, z = x * x;
    double p = 1.58969099521155010221e-10;
    p = fused(p, z, -2.50507602534068634195e-08);
    p = fused(p, z, 2.75573137070700676789e-06);
    p = fused(p, z, -1.98412698298579493134e-04);
    p = fused(p, z, 8.33333333332248946124e-03);
    p = fused(p, z, -1.66666666666666324348e-01);
    return fused(p * z, x, x);
}

FL_INLINE double cos_quarter(double quarter) {
    double x = quarter * 1.57079632679489661923, z = x * x;
    double p = -1.13596475577881948265e-11;
    p = fused(p, z, 2.08757232129817482790e-09);
    p = fused(p, z, -2.75573143513906633035e-07);
    p = fused(p, z, 2.48015872894767294178e-05);
    p = fused(p, z, -1.38888888888741095749e-03);
    p = fused(p, z, 4.16666666666666019037e-02);
    return fused(p * z, z, fused(-0.5, z, 1.0));
}

/* Turn (cos a, sin a) by `quadrant` quarters. */
template <class T> FL_INLINE void turn(uint32_t quadrant, T c, T s, T *x, T *y) {
    T a = quadrant & 1 ? s : c, b = quadrant & 1 ? c : s;
    *x = (quadrant + 1) & 2 ? -a : a;
    *y = quadrant & 2 ? -b : b;
}

FL_INLINE void box_muller(uint32_t w0, uint32_t w1, float *x, float *y) {
    float u = fused((float)(int32_t)(w0 >> 1), 0x1p-31f, 0x1p-32f);
    float r = sqrtf(-2.0f * log_of_uniform(u));
    float quarter = (float)((int32_t)(w1 & 0x3fffffff) - 0x20000000) * 0x1p-30f;
    float c, s;
    turn(w1 >> 30, cos_quarter(quarter), sin_quarter(quarter), &c, &s);
    *x = r * c;
    *y = r * s;
}

FL_INLINE void box_muller(uint64_t w0, uint64_t w1, double *x, double *y) {
    double u = fused((double)(int64_t)(w0 >> 11), 0x1p-53, 0x1p-54);
    double r = sqrt(-2.0 * log_of_uniform(u));
    double quarter = (double)((int64_t)(w1 >> 11 & 0x7ffffffffffff) - 0x4000000000000) * 0x1p-51;
    double c, s;
    turn((uint32_t)(w1 >> 62), cos_quarter(quarter), sin_quarter(quarter), &c, &s);
    *x = r * c;
    *y = r * s;
}

}  // namespace
#endif
