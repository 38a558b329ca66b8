/* Products of rows of int8: tiles of rows and columns whose sums stay in registers. */
#include "matmul/kernels/quantized.h"
#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__AVX512BW__)
#define FL_VNNI
#endif

namespace {

typedef int32_t Bits __attribute__((may_alias));

/* The greatest magnitude, infinity, or NaN: without signs, floats are ordered as their bits are. */
float greatest(const float *x, int64_t k) {
    const Bits *bits = (const Bits *)x;
    int32_t most = 0;
    for (int64_t q = 0; q < k; q++) {
        const int32_t size = bits[q] & INT32_MAX;
        most = size > most ? size : most;
    }
    float value;
    memcpy(&value, &most, sizeof value);
    return value;
}

float round_row(const float *x, int64_t k, int8_t *to) {
    const float most = greatest(x, k), step = most / 127;
    if (!(most <= FLT_MAX) || step < FLT_MIN) {     /* zeros, and what is too small to divide by */
        memset(to, 0, (size_t)k);
        return most <= FLT_MAX ? step : NAN;
    }
    const float scale = 127 / most;
    for (int64_t q = 0; q < k; q++)
        to[q] = (int8_t)(int)rintf(x[q] * scale);
    return step;
}

inline void finish(const fl_quantized_product *p, int64_t i, int64_t j, int32_t sum) {
    float value = (float)sum * (p->steps[i] * p->scales[j]);
    p->c[i * p->n + j] = p->bias ? value + p->bias[j] : value;
}

int32_t dot(const int8_t *x, const int8_t *w, int64_t k) {
    int32_t sum = 0;
    for (int64_t q = 0; q < k; q++)
        sum += (int32_t)x[q] * w[q];
    return sum;
}

#if defined(__AVX2__)
/* Four columns of a row, or as many of them as there are. */
inline void finish_row(const fl_quantized_product *p, int64_t i, int64_t j, int cols,
                       __m128i sums) {
    alignas(16) int32_t total[4];
    if (cols == 4) {
        __m128 one = _mm_mul_ps(_mm_set1_ps(p->steps[i]), _mm_loadu_ps(p->scales + j));
        __m128 value = _mm_mul_ps(_mm_cvtepi32_ps(sums), one);
        if (p->bias)
            value = _mm_add_ps(value, _mm_loadu_ps(p->bias + j));
        _mm_storeu_ps(p->c + i * p->n + j, value);
        return;
    }
    _mm_store_si128((__m128i *)total, sums);
    for (int c = 0; c < cols; c++)
        finish(p, i, j + c, total[c]);
}

inline __m256i widened(const int8_t *x) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)x));
}

inline __m256i products(__m256i x, __m256i w) { return _mm256_madd_epi16(x, w); }

/* Four columns of a row of x; a column that is not there is the first one again. */
void four_columns(const fl_quantized_product *p, int64_t i, int64_t j, int cols) {
    const int64_t k = p->k, even = k - k % 16;
    const int8_t *x = p->x + i * p->x_row, *w[4];
    for (int c = 0; c < 4; c++)
        w[c] = p->weight + (j + (c < cols ? c : 0)) * k;
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (int64_t q = 0; q < even; q += 16) {
        const __m256i row = widened(x + q);
        a = _mm256_add_epi32(a, products(row, widened(w[0] + q)));
        b = _mm256_add_epi32(b, products(row, widened(w[1] + q)));
        c = _mm256_add_epi32(c, products(row, widened(w[2] + q)));
        d = _mm256_add_epi32(d, products(row, widened(w[3] + q)));
    }
    const __m256i pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    __m128i sums = _mm_add_epi32(_mm256_castsi256_si128(pairs),
                                 _mm256_extracti128_si256(pairs, 1));
    if (even < k) {
        alignas(16) int32_t rest[4];
        for (int e = 0; e < 4; e++)
            rest[e] = dot(x + even, w[e] + even, k - even);
        sums = _mm_add_epi32(sums, _mm_load_si128((const __m128i *)rest));
    }
    finish_row(p, i, j, cols, sums);
}
#else
void four_columns(const fl_quantized_product *p, int64_t i, int64_t j, int cols) {
    for (int c = 0; c < cols; c++)
        finish(p, i, j + c, dot(p->x + i * p->x_row, p->weight + (j + c) * p->k, p->k));
}
#endif

void columns(const fl_quantized_product *p, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j += 4)
        for (int64_t i = 0; i < p->m; i++)
            four_columns(p, i, j, end - j < 4 ? (int)(end - j) : 4);
}

#if defined(FL_VNNI)
/* A row of x by the columns of a tile. The rows of a tile are variables with names: as an array of
   arrays the compiler leaves them in memory. */
struct Sums {
    __m512i a, b, c, d;
};

/* to += the sums of four products each. Assembler, as the compiler copies what its own function for
   the instruction adds to, until registers run out. */
inline void add(__m512i &to, __m512i x, __m512i w) {
    asm("vpdpbusd %2, %1, %0" : "+v"(to) : "v"(x), "v"(w));
}

inline void add(Sums &to, __m512i x, const Sums &w) {
    add(to.a, x, w.a);
    add(to.b, x, w.b);
    add(to.c, x, w.c);
    add(to.d, x, w.d);
}

inline __m256i half(__m512i v) {
    return _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
}

/* The sums of the elements of each of four vectors. */
inline __m128i whole(const Sums &s) {
    __m256i pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(half(s.a), half(s.b)),
                                      _mm256_hadd_epi32(half(s.c), half(s.d)));
    return _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
}

/* R rows by up to four columns; a column that is not there is the first one again. The instruction
   takes one operand without sign, so x is moved up by 128, and 128 times the sum of the column
   taken off again. All of it wraps, and the result fits. */
template <int R>
void tile(const fl_quantized_product *p, int64_t i, int64_t j, int cols) {
    const __m512i up = _mm512_set1_epi8((char)0x80), ones = _mm512_set1_epi8(1);
    const int64_t k = p->k, row = p->x_row;
    const int8_t *x = p->x + i * row, *w = p->weight + j * k;
    const int8_t *wb = w + (cols > 1) * k, *wc = w + 2 * (cols > 2) * k;
    const int8_t *wd = w + 3 * (cols > 3) * k;
    Sums low = {}, r0 = {}, r1 = {}, r2 = {}, r3 = {};
    for (int64_t q = 0; q < k; q += 64) {
        const __mmask64 in = k - q < 64 ? ((__mmask64)1 << (k - q)) - 1 : ~(__mmask64)0;
        const Sums b = {_mm512_maskz_loadu_epi8(in, w + q), _mm512_maskz_loadu_epi8(in, wb + q),
                        _mm512_maskz_loadu_epi8(in, wc + q), _mm512_maskz_loadu_epi8(in, wd + q)};
        add(low, ones, b);
        add(r0, _mm512_xor_si512(_mm512_maskz_loadu_epi8(in, x + q), up), b);
        if constexpr (R > 1) {
            add(r1, _mm512_xor_si512(_mm512_maskz_loadu_epi8(in, x + row + q), up), b);
            add(r2, _mm512_xor_si512(_mm512_maskz_loadu_epi8(in, x + 2 * row + q), up), b);
            add(r3, _mm512_xor_si512(_mm512_maskz_loadu_epi8(in, x + 3 * row + q), up), b);
        }
    }
    const __m128i off = _mm_slli_epi32(whole(low), 7);
    finish_row(p, i, j, cols, _mm_sub_epi32(whole(r0), off));
    if constexpr (R > 1) {
        finish_row(p, i + 1, j, cols, _mm_sub_epi32(whole(r1), off));
        finish_row(p, i + 2, j, cols, _mm_sub_epi32(whole(r2), off));
        finish_row(p, i + 3, j, cols, _mm_sub_epi32(whole(r3), off));
    }
}

void columns_vnni(const fl_quantized_product *p, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j += 4) {
        const int cols = end - j < 4 ? (int)(end - j) : 4;
        int64_t i = 0;
        for (; i + 4 <= p->m; i += 4)
            tile<4>(p, i, j, cols);
        for (; i < p->m; i++)
            tile<1>(p, i, j, cols);
    }
}
#else
void (*const columns_vnni)(const fl_quantized_product *, int64_t, int64_t) = nullptr;
#endif

}  // namespace

extern const fl_quantized_kernels FL_LEVEL(fl_quantized_kernels) = {round_row, columns,
                                                                    columns_vnni};
