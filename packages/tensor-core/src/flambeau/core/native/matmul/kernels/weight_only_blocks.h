/* Narrow weights as floats: 32 columns of a row at a time, as sixteens or as eights. */
#pragma once
#include "matmul/kernels/weight_only.h"
#include "common/kernels/convert.h"
#include "common/kernels/lanes.h"
#include <string.h>

namespace {

typedef fl_weight_only_product Product;
typedef float V __attribute__((vector_size(64)));
typedef float Loose __attribute__((vector_size(64), aligned(4), may_alias));
const int64_t BLOCK = 32;

struct Pair {
    V low, high;
};

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
const bool HAS_FMA = true;
#else
const bool HAS_FMA = false;
#endif

/* a * b + c, rounded once where the level can. */
FL_TIGHT V sum_of_product(const V &a, const V &b, const V &c) {
    if (!HAS_FMA)
        return a * b + c;
    const int PARTS = sizeof(V) / sizeof(f32_reg);
    f32_reg left[PARTS], right[PARTS], sums[PARTS];
    memcpy(left, &a, sizeof a);
    memcpy(right, &b, sizeof b);
    memcpy(sums, &c, sizeof c);
    for (int i = 0; i < PARTS; i++)
        sums[i] = fused(left[i], right[i], sums[i]);
    V to;
    memcpy(&to, sums, sizeof to);
    return to;
}

FL_TIGHT V filled(float x) { return x - V{}; }

FL_TIGHT float widened(fl_f16 x) {
#if defined(__F16C__)
    return _cvtsh_ss(x.v);
#else
    return widen(x);
#endif
}

FL_TIGHT float number(const char *at, fl_narrow kind, int64_t i) {
    if (kind == FL_NARROW_NOT)
        return ((const float *)at)[i];
    return kind == FL_NARROW_F16 ? widened(((const fl_f16 *)at)[i])
                                 : widen(((const fl_bf16 *)at)[i]);
}

/* What integers of a group are worth. */
struct Group {
    float scale, offset;
#if defined(__AVX512F__)
    V table;                        /* of the 16 numbers that four bits hold */
#endif
};

/* Of a form F: its integers count from -F::centre, and have an offset if F::shifted. */
template <class F> FL_TIGHT Group group_with(float scale, float offset) {
    Group to = {scale, offset};
#if defined(__AVX512F__)
    const V digits = V{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} - F::centre;
    to.table = F::shifted ? sum_of_product(digits, filled(scale), filled(offset)) : digits * scale;
#endif
    return to;
}

template <class F> FL_TIGHT Group group_of(const Product *p, int64_t j, int64_t g) {
    const int64_t at = j * p->groups + g;
    return group_with<F>(p->scales ? number(p->scales, p->scales_kind, at) : 1,
                         p->offsets ? number(p->offsets, p->offsets_kind, at) : 0);
}

#if defined(__AVX512F__)
FL_TIGHT __m512i wide(const char *w, int q) {
    return _mm512_maskz_cvtepi8_epi32(-1, _mm_loadu_si128((const __m128i *)w + q));
}
#elif defined(__AVX2__)
#define FL_EIGHTS                   /* blocks are expanded eight columns at a time */
typedef __m256 Eight;

template <bool SHIFTED>
FL_TIGHT Eight worth(__m256i q, const Group &g) {
    const Eight whole = _mm256_cvtepi32_ps(q), scale = _mm256_set1_ps(g.scale);
    return SHIFTED ? _mm256_fmadd_ps(whole, scale, _mm256_set1_ps(g.offset))
                   : _mm256_mul_ps(whole, scale);
}
#endif

template <bool SHIFTED>
FL_TIGHT V worth(const V &whole, const Group &g) {
    return SHIFTED ? sum_of_product(whole, filled(g.scale), filled(g.offset)) : whole * g.scale;
}

/* A block of 32 columns as floats; `bytes` is what it takes in memory. Where eight columns fill a
 * register, `eight` gives the i-th eight of them, and a block is never in memory as a whole.
 * SHIFTED: groups have offsets. Without, a number that is 0 may be -0, which no sum shows. */
template <bool SHIFTED>
struct Int8 {
    static const int64_t bytes = 32;
    static const bool shifted = SHIFTED, fuses = HAS_FMA;
    static constexpr float centre = 0;
#if defined(FL_EIGHTS)
    static FL_TIGHT Eight eight(const char *w, const Group &g, int i) {
        const __m128i q = _mm_loadl_epi64((const __m128i *)(w + 8 * i));
        return worth<SHIFTED>(_mm256_cvtepi8_epi32(q), g);
    }
#else
    static FL_TIGHT void expand(const char *w, const Group &g, Pair &to) {
#if defined(__AVX512F__)
        to = {(V)_mm512_maskz_cvtepi32_ps(-1, wide(w, 0)),
              (V)_mm512_maskz_cvtepi32_ps(-1, wide(w, 1))};
#else
        for (int i = 0; i < 16; i++) {
            to.low[i] = (float)((const int8_t *)w)[i];
            to.high[i] = (float)((const int8_t *)w)[i + 16];
        }
#endif
        to = {worth<SHIFTED>(to.low, g), worth<SHIFTED>(to.high, g)};
    }
#endif
};

template <bool SHIFTED>
struct Int4 {
    static const int64_t bytes = 16;
    static const bool shifted = SHIFTED, fuses = HAS_FMA;
    static constexpr float centre = SHIFTED ? 0 : 8;
#if defined(FL_EIGHTS)
    static FL_TIGHT Eight eight(const char *w, const Group &g, int i) {
        const __m128i q = _mm_loadl_epi64((const __m128i *)(w + 8 * (i & 1)));
        const __m256i bytes = _mm256_cvtepu8_epi32(q);      /* the same for i and i + 2 */
        const __m256i digits = i < 2 ? _mm256_and_si256(bytes, _mm256_set1_epi32(15))
                                     : _mm256_srli_epi32(bytes, 4);
        return worth<SHIFTED>(
            SHIFTED ? digits : _mm256_sub_epi32(digits, _mm256_set1_epi32(8)), g);
    }
#else
    static FL_TIGHT void expand(const char *w, const Group &g, Pair &to) {
#if defined(__AVX512F__)
        const __m512i q = wide(w, 0);           /* the look-up takes four bits of each number */
        to.low = (V)_mm512_permutexvar_ps(q, (__m512)g.table);
        to.high = (V)_mm512_permutexvar_ps(_mm512_srli_epi32(q, 4), (__m512)g.table);
#else
        for (int i = 0; i < 16; i++) {
            to.low[i] = (float)((uint8_t)w[i] & 15);
            to.high[i] = (float)((uint8_t)w[i] >> 4);
        }
        to = {worth<SHIFTED>(to.low - centre, g), worth<SHIFTED>(to.high - centre, g)};
#endif
    }
#endif
};

template <class H>
struct Half {                       /* at the speed of memory either way, fused no faster */
    static const int64_t bytes = 64;
    static const bool shifted = false, fuses = false;
    static constexpr float centre = 0;
#if defined(FL_EIGHTS)
    static FL_TIGHT Eight eight(const char *w, const Group &, int i);
#else
    static FL_TIGHT void expand(const char *w, const Group &, Pair &to) {
        const H *from = (const H *)w;
        for (int i = 0; i < 16; i++) {
            to.low[i] = widen(from[i]);
            to.high[i] = widen(from[i + 16]);
        }
    }
#endif
};

#if defined(__AVX512F__)
template <> FL_TIGHT void Half<fl_f16>::expand(const char *w, const Group &, Pair &to) {
    to.low = (V)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)w));
    to.high = (V)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)w + 1));
}
template <> FL_TIGHT void Half<fl_bf16>::expand(const char *w, const Group &, Pair &to) {
    const __m256i *q = (const __m256i *)w;
    to.low = (V)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(q)), 16);
    to.high = (V)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(q + 1)), 16);
}
#elif defined(FL_EIGHTS)
template <> FL_TIGHT Eight Half<fl_f16>::eight(const char *w, const Group &, int i) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)w + i));
}
template <> FL_TIGHT Eight Half<fl_bf16>::eight(const char *w, const Group &, int i) {
    const __m256i q = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)w + i));
    return _mm256_castsi256_ps(_mm256_slli_epi32(q, 16));
}
#endif

/* Rows that were spread before. */
template <bool FUSES>
struct Spread {
    static const int64_t bytes = 128;
    static const bool shifted = false, fuses = FUSES;
    static constexpr float centre = 0;
#if defined(FL_EIGHTS)
    static FL_TIGHT Eight eight(const char *w, const Group &, int i) {
        return _mm256_loadu_ps((const float *)w + 8 * i);
    }
#else
    static FL_TIGHT void expand(const char *w, const Group &, Pair &to) {
        to.low = *(const Loose *)w;
        to.high = *((const Loose *)w + 1);
    }
#endif
};

}  // namespace
