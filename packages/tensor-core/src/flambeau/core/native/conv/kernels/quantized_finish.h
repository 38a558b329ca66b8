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

inline uint8_t requantized(const fl_requantization &to, int64_t c, int32_t sum) {
    float value = rintf(((float)sum + to.shift[c]) * to.factor[c]) + to.zero;
    value = value > to.low ? value : to.low;
    value = value < to.high ? value : to.high;
    return (uint8_t)((uint8_t)(int)value ^ to.flip);
}

#if defined(__AVX512BW__)
/* 16 results from channel c on, as integers of 32 bits. Functions with masks: GCC 12 warns of its
 * own header where it has none. */
const __mmask16 ALL = 0xffff;

inline __m512i requantized(const fl_requantization &to, int64_t c, __m512i sums) {
    __m512 value = _mm512_maskz_cvtepi32_ps(ALL, sums) + _mm512_loadu_ps(to.shift + c);
    value = _mm512_maskz_roundscale_ps(ALL, value * _mm512_loadu_ps(to.factor + c),
                                       _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    value = _mm512_maskz_max_ps(ALL, value + _mm512_set1_ps(to.zero), _mm512_set1_ps(to.low));
    return _mm512_maskz_cvtps_epi32(
        ALL, _mm512_maskz_min_ps(ALL, value, _mm512_set1_ps(to.high)));
}

inline void write(const Tile *t, int64_t pixel, int64_t c, __m512i sums) {
    const __m128i bytes = _mm_xor_si128(_mm512_maskz_cvtepi32_epi8(ALL, requantized(t->to, c, sums)),
                                        _mm_set1_epi8((char)t->to.flip));
    const int64_t left = t->channels - c;
    const __mmask16 in = left >= 16 ? 0xffff : left > 0 ? (__mmask16)((1 << left) - 1) : 0;
    _mm_mask_storeu_epi8(t->out + pixel * t->out_row + c, in, bytes);
}
#endif

}  // namespace
