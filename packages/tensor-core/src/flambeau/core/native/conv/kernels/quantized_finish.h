/* Sums of integers become integers of results. */
#pragma once
#include "conv/kernels/quantized_conv.h"
#include <math.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

typedef fl_quantized_tile Tile;

/* Beyond the bytes and any zero point, and within 16 bits. */
const float MOST = 16384;

inline uint8_t requantized(const fl_requantization &to, int64_t c, int32_t sum) {
    float value = ((float)sum + to.shift[c]) * to.factor[c];
    value = value < MOST ? value : MOST;
    value = value > -MOST ? value : -MOST;
    const int whole = (int)rintf(value) + to.zero;
    return (uint8_t)((whole < to.low ? to.low : whole > 255 ? 255 : whole) ^ to.flip);
}

#if defined(__AVX512BW__)
/* 16 steps from channel c on. Conversions round to even; what is below 32 bits is their least
 * integer, and stays low. Functions with masks: GCC 12 warns of its own header where there is none. */
inline __m512i steps(const fl_requantization &to, int64_t c, __m512i sums) {
    const __mmask16 all = 0xffff;
    const __m512 value = (_mm512_maskz_cvtepi32_ps(all, sums) + _mm512_loadu_ps(to.shift + c)) *
                         _mm512_loadu_ps(to.factor + c);
    return _mm512_maskz_cvtps_epi32(all, _mm512_maskz_min_ps(all, value, _mm512_set1_ps(MOST)));
}

/* Steps of 16 bits as results, which need an upper bound. */
inline __m512i placed(const fl_requantization &to, __m512i steps) {
    return _mm512_max_epi16(_mm512_adds_epi16(steps, _mm512_set1_epi16((int16_t)to.zero)),
                            _mm512_set1_epi16((int16_t)to.low));
}

/* 32 channels of a pixel. */
inline void write(const Tile *t, int64_t pixel, __m512i low, __m512i high) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);    /* of fours, after packing */
    const __m512i both = placed(t->to, _mm512_packs_epi32(steps(t->to, 0, low),
                                                          steps(t->to, 16, high)));
    const __m256i bytes = _mm512_maskz_cvtusepi16_epi8(
        ~(__mmask32)0, _mm512_maskz_permutexvar_epi64(0xff, order, both));
    const __mmask32 in = t->channels < 32 ? ((__mmask32)1 << t->channels) - 1 : ~(__mmask32)0;
    _mm256_mask_storeu_epi8(t->out + pixel * t->out_row, in,
                            _mm256_xor_si256(bytes, _mm256_set1_epi8((char)t->to.flip)));
}
#endif

}  // namespace
