/* Tiles and windows by dot products of four bytes in one instruction: AVX512-VNNI. */
#pragma once
#include "conv/kernels/quantized_finish.h"

namespace {

/* to += the sums of four products each. Assembler, as the compiler copies what its own function for
 * the instruction adds to, until registers run out. */
inline void add_dots(__m512i &to, __m512i x, __m512i w) {
    asm("vpdpbusd %2, %1, %0" : "+v"(to) : "v"(x), "v"(w));
}

template <int P>
void dot_tile(const Tile *t, int64_t first) {
    const uint8_t *const *pixels = t->pixels + first;
    const __m512i *w = (const __m512i *)t->weight;
    __m512i sums[P][2];
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) {
        sums[p][0] = _mm512_loadu_si512(t->to.start);
        sums[p][1] = _mm512_loadu_si512(t->to.start + 16);
    }
    for (int64_t r = 0; r < t->runs; r++) {
        const int64_t at = t->base + t->offsets[r], end = at + 4 * t->words;
        for (int64_t q = at; q < end; q += 4, w += 2) {
            const __m512i low = _mm512_loadu_si512(w), high = _mm512_loadu_si512(w + 1);
#pragma GCC unroll 16
            for (int p = 0; p < P; p++) {
                int32_t four;
                memcpy(&four, pixels[p] + q, sizeof four);
                const __m512i x = _mm512_set1_epi32(four);
                add_dots(sums[p][0], x, low);
                add_dots(sums[p][1], x, high);
            }
        }
    }
#pragma GCC unroll 16
    for (int p = 0; p < P; p++)
        write(t, first + p, sums[p][0], sums[p][1]);
}

void dot_tiles(const Tile *t) {
    int64_t i = 0;
    for (; i + 14 <= t->count; i += 14)
        dot_tile<14>(t, i);
    for (; i + 7 <= t->count; i += 7)
        dot_tile<7>(t, i);
    for (; i + 4 <= t->count; i += 4)
        dot_tile<4>(t, i);
    for (; i < t->count; i++)
        dot_tile<1>(t, i);
}

inline __m512i pixel_at(const uint8_t *x) { return _mm512_loadu_si512(x); }

/* A block of 64 channels of one pixel. */
inline void dot_window(const Tile *t, int64_t pixel, int64_t c) {
    const uint8_t *x = t->pixels[pixel] + c;
    const __m512i *w = (const __m512i *)(t->weight + c * 4 * t->words);
    __m512i a = _mm512_loadu_si512(t->to.start + c), b = _mm512_loadu_si512(t->to.start + c + 16);
    __m512i d = _mm512_loadu_si512(t->to.start + c + 32);
    __m512i e = _mm512_loadu_si512(t->to.start + c + 48);
    for (int64_t i = 0; i < t->words; i++, w += 4) {
        const int64_t *at = t->offsets + 4 * i;
        const __m512i x0 = pixel_at(x + at[0]), x1 = pixel_at(x + at[1]);
        const __m512i x2 = pixel_at(x + at[2]), x3 = pixel_at(x + at[3]);
        const __m512i low0 = _mm512_unpacklo_epi8(x0, x1), high0 = _mm512_unpackhi_epi8(x0, x1);
        const __m512i low1 = _mm512_unpacklo_epi8(x2, x3), high1 = _mm512_unpackhi_epi8(x2, x3);
        add_dots(a, _mm512_unpacklo_epi16(low0, low1), _mm512_loadu_si512(w));
        add_dots(b, _mm512_unpackhi_epi16(low0, low1), _mm512_loadu_si512(w + 1));
        add_dots(d, _mm512_unpacklo_epi16(high0, high1), _mm512_loadu_si512(w + 2));
        add_dots(e, _mm512_unpackhi_epi16(high0, high1), _mm512_loadu_si512(w + 3));
    }
    a = placed(t->to, _mm512_packs_epi32(steps(t->to, c, a), steps(t->to, c + 16, b)));
    d = placed(t->to, _mm512_packs_epi32(steps(t->to, c + 32, d), steps(t->to, c + 48, e)));
    const __m512i bytes = _mm512_xor_si512(_mm512_packus_epi16(a, d),
                                           _mm512_set1_epi8((char)t->to.flip));
    const int64_t left = t->channels - c;
    const __mmask64 in = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
    _mm512_mask_storeu_epi8(t->out + pixel * t->out_row + c, in, bytes);
}

void dot_windows(const Tile *t) {
    for (int64_t i = 0; i < t->count; i++)
        for (int64_t c = 0; c < t->channels; c += FL_QUANTIZED_BLOCK)
            dot_window(t, i, c);
}

}  // namespace
