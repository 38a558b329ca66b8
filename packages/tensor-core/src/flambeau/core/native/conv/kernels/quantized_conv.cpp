/* Convolutions of integers of 8 bits. Sums wrap on their way, and their totals fit. */
#include "conv/kernels/quantized_finish.h"
#if defined(__AVX512BW__)
#include "conv/kernels/quantized_dot.h"
#endif

namespace {

#if defined(__AVX2__)
/* Bytes of a word with even and with odd positions, as integers of 16 bits: the instruction that
 * multiplies bytes themselves saturates. */
struct Halves {
    __m256i even, odd;
};

inline Halves with_sign(const int8_t *w) {
    const __m256i v = _mm256_loadu_si256((const __m256i *)w);
    return {_mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8), _mm256_srai_epi16(v, 8)};
}

inline Halves without_sign(__m256i v) {
    return {_mm256_and_si256(v, _mm256_set1_epi16(255)), _mm256_srli_epi16(v, 8)};
}

inline void add_products(__m256i &to, const Halves &x, const Halves &w) {
    const __m256i both = _mm256_add_epi32(_mm256_madd_epi16(x.even, w.even),
                                          _mm256_madd_epi16(x.odd, w.odd));
    to = _mm256_add_epi32(to, both);
}

/* Up to four pixels by 16 channels from `half` on; pixels that are not there are the first again. */
void sums_of(const Tile *t, int64_t first, int64_t count, int half, int32_t *sums) {
    const uint8_t *pixels[4];
    __m256i sum[4][2];
#pragma GCC unroll 4
    for (int p = 0; p < 4; p++) {
        pixels[p] = t->pixels[first + (p < count ? p : 0)];
        sum[p][0] = _mm256_loadu_si256((const __m256i *)(t->to.start + half));
        sum[p][1] = _mm256_loadu_si256((const __m256i *)(t->to.start + half + 8));
    }
    const int8_t *w = t->weight + 4 * half;
    for (int64_t r = 0; r < t->runs; r++)
        for (int64_t q = 0; q < t->words; q++, w += 4 * FL_QUANTIZED_CHANNELS) {
            const Halves low = with_sign(w), high = with_sign(w + 32);
#pragma GCC unroll 4
            for (int p = 0; p < 4; p++) {
                int32_t four;
                memcpy(&four, pixels[p] + t->base + t->offsets[r] + 4 * q, sizeof four);
                const Halves x = without_sign(_mm256_set1_epi32(four));
                add_products(sum[p][0], x, low);
                add_products(sum[p][1], x, high);
            }
        }
#pragma GCC unroll 4
    for (int p = 0; p < 4; p++) {
        _mm256_storeu_si256((__m256i *)(sums + 16 * p), sum[p][0]);
        _mm256_storeu_si256((__m256i *)(sums + 16 * p + 8), sum[p][1]);
    }
}

/* 32 channels of a block, of which the first is `half` * 32: sums in the order of lanes. */
void window_sums(const Tile *t, const uint8_t *x, int64_t c, int half, int32_t *sums) {
    const int8_t *w = t->weight + c * 4 * t->words + 32 * half;
    __m256i sum[4];
    for (int v = 0; v < 4; v++)
        sum[v] = _mm256_loadu_si256((const __m256i *)(t->to.start + c + 16 * v + 8 * half));
    for (int64_t i = 0; i < t->words; i++, w += 4 * FL_QUANTIZED_BLOCK) {
        __m256i row[4];
        for (int k = 0; k < 4; k++)
            row[k] = _mm256_loadu_si256((const __m256i *)(x + c + 32 * half +
                                                          t->offsets[4 * i + k]));
        const __m256i low0 = _mm256_unpacklo_epi8(row[0], row[1]);
        const __m256i low1 = _mm256_unpacklo_epi8(row[2], row[3]);
        const __m256i high0 = _mm256_unpackhi_epi8(row[0], row[1]);
        const __m256i high1 = _mm256_unpackhi_epi8(row[2], row[3]);
        add_products(sum[0], without_sign(_mm256_unpacklo_epi16(low0, low1)), with_sign(w));
        add_products(sum[1], without_sign(_mm256_unpackhi_epi16(low0, low1)), with_sign(w + 64));
        add_products(sum[2], without_sign(_mm256_unpacklo_epi16(high0, high1)), with_sign(w + 128));
        add_products(sum[3], without_sign(_mm256_unpackhi_epi16(high0, high1)), with_sign(w + 192));
    }
    for (int v = 0; v < 4; v++)
        _mm256_storeu_si256((__m256i *)(sums + 16 * v + 8 * half), sum[v]);
}
#else
void sums_of(const Tile *t, int64_t first, int64_t count, int half, int32_t *sums) {
    for (int p = 0; p < count; p++) {
        const int8_t *w = t->weight + 4 * half;
        int32_t *sum = sums + 16 * p;
        memcpy(sum, t->to.start + half, 16 * sizeof(int32_t));
        for (int64_t r = 0; r < t->runs; r++) {
            const uint8_t *x = t->pixels[first + p] + t->base + t->offsets[r];
            for (int64_t q = 0; q < t->words; q++, x += 4, w += 4 * FL_QUANTIZED_CHANNELS)
                for (int c = 0; c < 16; c++)
                    sum[c] += x[0] * w[4 * c] + x[1] * w[4 * c + 1] + x[2] * w[4 * c + 2] +
                              x[3] * w[4 * c + 3];
        }
    }
}

void window_sums(const Tile *t, const uint8_t *x, int64_t c, int half, int32_t *sums) {
    if (half)
        return;
    const int8_t *w = t->weight + c * 4 * t->words;
    memcpy(sums, t->to.start + c, FL_QUANTIZED_BLOCK * sizeof(int32_t));
    for (int64_t i = 0; i < 4 * t->words; i++)
        for (int lane = 0; lane < FL_QUANTIZED_BLOCK; lane++)
            sums[lane] += x[c + t->offsets[i] + fl_quantized_lane(lane)] *
                          w[(i / 4 * FL_QUANTIZED_BLOCK + lane) * 4 + i % 4];
}
#endif

void tiles(const Tile *t) {
    int32_t sums[4 * 16];
    for (int64_t first = 0; first < t->count; first += 4)
        for (int half = 0; half < FL_QUANTIZED_CHANNELS && half < t->channels; half += 16) {
            const int64_t count = t->count - first < 4 ? t->count - first : 4;
            const int64_t wide = t->channels - half < 16 ? t->channels - half : 16;
            sums_of(t, first, count, half, sums);
            for (int64_t p = 0; p < count; p++)
                for (int64_t c = 0; c < wide; c++)
                    t->out[(first + p) * t->out_row + half + c] =
                        requantized(t->to, half + c, sums[16 * p + c]);
        }
}

void windows(const Tile *t) {
    int32_t sums[FL_QUANTIZED_BLOCK];
    for (int64_t i = 0; i < t->count; i++)
        for (int64_t c = 0; c < t->channels; c += FL_QUANTIZED_BLOCK) {
            uint8_t *out = t->out + i * t->out_row + c;
            window_sums(t, t->pixels[i], c, 0, sums);
            window_sums(t, t->pixels[i], c, 1, sums);
            for (int lane = 0; lane < FL_QUANTIZED_BLOCK; lane++) {
                const int channel = fl_quantized_lane(lane);
                if (c + channel < t->channels)
                    out[channel] = requantized(t->to, c + lane, sums[lane]);
            }
        }
}

#if defined(__AVX512BW__)
#define FL_DOTS {dot_tiles, dot_windows}
#else
#define FL_DOTS {nullptr, nullptr}
#endif

}  // namespace

extern const fl_quantized_conv_kernels FL_LEVEL(fl_quantized_conv_kernels) = {{tiles, windows},
                                                                              FL_DOTS};
