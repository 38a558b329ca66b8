/* 64 bytes of numbers as one value: 16 floats or 8 doubles at every ISA level.
 *
 * The lanes are virtual: one AVX-512 register, two of AVX2 or four of SSE hold them. Because the
 * count is fixed, sums associate the same way everywhere and agree bit for bit. */
#pragma once
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#endif

#if defined(__AVX512F__)
#define FL_REGISTER 64
#elif defined(__AVX2__)
#define FL_REGISTER 32
#else
#define FL_REGISTER 16
#endif
#define FL_TIGHT inline __attribute__((always_inline))

namespace {

template <class T> struct register_of;
#define FL_REGISTER_OF(T, M)                                                                     \
    template <> struct register_of<T> {                                                          \
        typedef T type __attribute__((vector_size(FL_REGISTER)));                                \
        typedef M mask __attribute__((vector_size(FL_REGISTER)));                                \
    }
FL_REGISTER_OF(float, int32_t);
FL_REGISTER_OF(double, int64_t);
FL_REGISTER_OF(int64_t, int64_t);
FL_REGISTER_OF(uint64_t, int64_t);
FL_REGISTER_OF(uint32_t, int32_t);
FL_REGISTER_OF(uint16_t, int16_t);
FL_REGISTER_OF(int32_t, int32_t);
FL_REGISTER_OF(uint8_t, int8_t);
FL_REGISTER_OF(int16_t, int16_t);
FL_REGISTER_OF(int8_t, int8_t);
#undef FL_REGISTER_OF

template <class T> struct Lanes {
    typedef T scalar;
    typedef typename register_of<T>::type reg;
    typedef typename register_of<T>::mask mask;
    static constexpr int COUNT = 64 / sizeof(T);
    static constexpr int PARTS = 64 / FL_REGISTER;
    reg r[PARTS];

    /* Register by register: 64 bytes at once would go through memory where registers are
     * smaller. */
    static FL_TIGHT Lanes load(const T *p) {
        Lanes v;
        for (int i = 0; i < PARTS; i++)
            memcpy(&v.r[i], p + i * COUNT / PARTS, FL_REGISTER);
        return v;
    }
    static FL_TIGHT Lanes fill(T x) {
        Lanes v;
        for (int i = 0; i < PARTS; i++)
            v.r[i] = x - reg{};
        return v;
    }
    /* The first n elements of p, the other lanes set to `rest`. */
    static FL_TIGHT Lanes load_part(const T *p, int64_t n, T rest) {
#if defined(__AVX512F__)
        Lanes v;
        if (sizeof(T) == 4) {
            v.r[0] = (reg)_mm512_mask_loadu_epi32((__m512i)fill(rest).r[0], first(n), p);
            return v;
        }
        if (sizeof(T) == 8) {
            v.r[0] = (reg)_mm512_mask_loadu_epi64((__m512i)fill(rest).r[0], first(n), p);
            return v;
        }
#endif
        alignas(64) T lane[COUNT];
        for (int i = 0; i < COUNT; i++)
            lane[i] = i < n ? p[i] : rest;
        return load(lane);
    }
    FL_TIGHT void store(T *p) const {
        for (int i = 0; i < PARTS; i++)
            memcpy(p + i * COUNT / PARTS, &r[i], FL_REGISTER);
    }
#if defined(__AVX512F__)
    static FL_TIGHT unsigned first(int64_t n) { return (1u << n) - 1; }     /* mask of n lanes */
#endif
    FL_TIGHT void store_part(T *p, int64_t n) const {
#if defined(__AVX512F__)
        if (sizeof(T) == 4)
            return _mm512_mask_storeu_epi32(p, first(n), (__m512i)r[0]);
        if (sizeof(T) == 8)
            return _mm512_mask_storeu_epi64(p, first(n), (__m512i)r[0]);
#endif
        alignas(64) T lane[COUNT];
        store(lane);
        for (int64_t i = 0; i < n; i++)
            p[i] = lane[i];
    }
};

#define FL_LANES_OP(op)                                                                          \
    template <class T> FL_TIGHT Lanes<T> operator op(const Lanes<T> &a, const Lanes<T> &b) {     \
        Lanes<T> v;                                                                              \
        for (int i = 0; i < Lanes<T>::PARTS; i++)                                                \
            v.r[i] = a.r[i] op b.r[i];                                                           \
        return v;                                                                                \
    }
FL_LANES_OP(+)
FL_LANES_OP(-)
FL_LANES_OP(*)
FL_LANES_OP(/)
#undef FL_LANES_OP

template <class T> struct limits;
template <> struct limits<float> {
    static constexpr float low = -__builtin_inff(), high = __builtin_inff();
};
template <> struct limits<double> {
    static constexpr double low = -__builtin_inf(), high = __builtin_inf();
};
template <> struct limits<int64_t> {
    static constexpr int64_t low = INT64_MIN, high = INT64_MAX;
};
template <> struct limits<uint8_t> {
    static constexpr uint8_t low = 0, high = 255;
};
template <> struct limits<int8_t> {
    static constexpr int8_t low = INT8_MIN, high = INT8_MAX;
};
template <> struct limits<int16_t> {
    static constexpr int16_t low = INT16_MIN, high = INT16_MAX;
};
template <> struct limits<int32_t> {
    static constexpr int32_t low = INT32_MIN, high = INT32_MAX;
};

/* ---- what vector extensions do not say: one instruction each on x86 -------------------------- */

typedef register_of<float>::type f32_reg;
typedef register_of<double>::type f64_reg;

#if defined(__AVX512F__)
#define FL_INTRINSIC(name) _mm512_##name
typedef __m512 x86_f32;
typedef __m512d x86_f64;
#elif defined(__AVX2__)
#define FL_INTRINSIC(name) _mm256_##name
typedef __m256 x86_f32;
typedef __m256d x86_f64;
#endif

/* a * b + c: rounded once where the processor can, as in the formula language. */
#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
FL_TIGHT f32_reg fused(f32_reg a, f32_reg b, f32_reg c) {
    return (f32_reg)FL_INTRINSIC(fmadd_ps)((x86_f32)a, (x86_f32)b, (x86_f32)c);
}
FL_TIGHT f64_reg fused(f64_reg a, f64_reg b, f64_reg c) {
    return (f64_reg)FL_INTRINSIC(fmadd_pd)((x86_f64)a, (x86_f64)b, (x86_f64)c);
}
#elif defined(__ARM_FEATURE_FMA)
FL_TIGHT f32_reg fused(f32_reg a, f32_reg b, f32_reg c) {
    for (unsigned i = 0; i < sizeof(a) / 4; i++)
        c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
}
FL_TIGHT f64_reg fused(f64_reg a, f64_reg b, f64_reg c) {
    for (unsigned i = 0; i < sizeof(a) / 8; i++)
        c[i] = __builtin_fma(a[i], b[i], c[i]);
    return c;
}
#else
template <class R> FL_TIGHT R fused(R a, R b, R c) { return a * b + c; }
#endif

/* The greater or the lesser of a and b; b when either is NaN. */
template <class R> FL_TIGHT R above(R a, R b) { return a > b ? a : b; }
template <class R> FL_TIGHT R below(R a, R b) { return a < b ? a : b; }
#if defined(__AVX512F__)   /* masked forms: the plain ones make GCC warn about its own headers */
#define FL_EXTREME(name, a, b) _mm512_mask_##name(a, -1, a, b)
#elif defined(__AVX2__)
#define FL_EXTREME(name, a, b) _mm256_##name(a, b)
#endif
#ifdef FL_EXTREME
FL_TIGHT f32_reg above(f32_reg a, f32_reg b) {
    return (f32_reg)FL_EXTREME(max_ps, (x86_f32)a, (x86_f32)b);
}
FL_TIGHT f32_reg below(f32_reg a, f32_reg b) {
    return (f32_reg)FL_EXTREME(min_ps, (x86_f32)a, (x86_f32)b);
}
FL_TIGHT f64_reg above(f64_reg a, f64_reg b) {
    return (f64_reg)FL_EXTREME(max_pd, (x86_f64)a, (x86_f64)b);
}
FL_TIGHT f64_reg below(f64_reg a, f64_reg b) {
    return (f64_reg)FL_EXTREME(min_pd, (x86_f64)a, (x86_f64)b);
}
#endif

}  // namespace
