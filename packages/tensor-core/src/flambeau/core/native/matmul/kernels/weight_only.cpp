/* Products with narrow weights: four columns at a time, 16 sums each in lanes that are the same at
 * every level, multiplied and added apart, so that results agree bit for bit. */
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
    float scale, offset, centre;
#if defined(__AVX512F__)
    V table;                        /* of the 16 numbers that four bits hold */
#endif
};

FL_TIGHT Group group_of(const Product *p, int64_t j, int64_t g) {
    Group to = {1, 0, 0};
    const int64_t at = j * p->groups + g;
    if (p->scales)
        to.scale = number(p->scales, p->scales_kind, at);
    if (p->offsets)
        to.offset = number(p->offsets, p->offsets_kind, at);
    else if (p->kind == FL_NARROW_I4)
        to.centre = 8;
#if defined(__AVX512F__)
    const V digits = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    to.table = (digits - to.centre) * to.scale + to.offset;
#endif
    return to;
}

#if defined(__AVX512F__)
FL_TIGHT __m512i wide(const char *w, int q) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)w + q));
}
#elif defined(__AVX2__)
/* 16 numbers of 32 bits as floats. */
FL_TIGHT void floats(__m256i low, __m256i high, V &to) {
    const __m256 parts[2] = {_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)};
    memcpy(&to, parts, sizeof to);
}
#endif

/* A block of 32 columns as floats; `bytes` is what it takes in memory. */
struct Int8 {
    static const int64_t bytes = 32;
    static FL_TIGHT void expand(const char *w, const Group &g, Pair &to) {
#if defined(__AVX512F__)
        to = {(V)_mm512_cvtepi32_ps(wide(w, 0)), (V)_mm512_cvtepi32_ps(wide(w, 1))};
#elif defined(__AVX2__)
        __m256i q[4];
        for (int i = 0; i < 4; i++)
            q[i] = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(w + 8 * i)));
        floats(q[0], q[1], to.low);
        floats(q[2], q[3], to.high);
#else
        for (int i = 0; i < 16; i++) {
            to.low[i] = (float)((const int8_t *)w)[i];
            to.high[i] = (float)((const int8_t *)w)[i + 16];
        }
#endif
        to.low = to.low * g.scale + g.offset;
        to.high = to.high * g.scale + g.offset;
    }
};

struct Int4 {
    static const int64_t bytes = 16;
    static FL_TIGHT void expand(const char *w, const Group &g, Pair &to) {
#if defined(__AVX512F__)
        const __m512i q = wide(w, 0);           /* the look-up takes four bits of each number */
        to.low = (V)_mm512_permutexvar_ps(q, (__m512)g.table);
        to.high = (V)_mm512_permutexvar_ps(_mm512_srli_epi32(q, 4), (__m512)g.table);
#else
#if defined(__AVX2__)
        const __m128i q = _mm_loadu_si128((const __m128i *)w), four = _mm_set1_epi8(15);
        const __m128i low = _mm_and_si128(q, four);
        const __m128i high = _mm_and_si128(_mm_srli_epi16(q, 4), four);
        floats(_mm256_cvtepu8_epi32(low), _mm256_cvtepu8_epi32(_mm_srli_si128(low, 8)), to.low);
        floats(_mm256_cvtepu8_epi32(high), _mm256_cvtepu8_epi32(_mm_srli_si128(high, 8)), to.high);
#else
        for (int i = 0; i < 16; i++) {
            to.low[i] = (float)((uint8_t)w[i] & 15);
            to.high[i] = (float)((uint8_t)w[i] >> 4);
        }
#endif
        to.low = (to.low - g.centre) * g.scale + g.offset;
        to.high = (to.high - g.centre) * g.scale + g.offset;
#endif
    }
};

template <class H>
struct Half {
    static const int64_t bytes = 64;
    static FL_TIGHT void expand(const char *w, const Group &, Pair &to) {
        const H *from = (const H *)w;
        for (int i = 0; i < 16; i++) {
            to.low[i] = widen(from[i]);
            to.high[i] = widen(from[i + 16]);
        }
    }
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
#elif defined(__F16C__) && defined(__AVX2__)
template <> FL_TIGHT void Half<fl_f16>::expand(const char *w, const Group &, Pair &to) {
    __m256 parts[4];
    for (int i = 0; i < 4; i++)
        parts[i] = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)w + i));
    memcpy(&to, parts, sizeof to);
}
#endif

/* Rows that were spread before. */
struct Spread {
    static const int64_t bytes = 128;
    static FL_TIGHT void expand(const char *w, const Group &, Pair &to) {
        to.low = *(const Loose *)w;
        to.high = *((const Loose *)w + 1);
    }
};

/* A block at the end of a row, with zeros past it. */
template <class F>
FL_TIGHT const char *whole_block(const char *w, int64_t left, char *room) {
    if (left >= F::bytes)
        return w;
    memset(room, 0, F::bytes);
    memcpy(room, w, (size_t)left);
    return room;
}

/* Halves are added to halves. */
FL_TIGHT float total(const V &sums) {
    typedef float Eight __attribute__((vector_size(32)));
    typedef float Four __attribute__((vector_size(16)));
    const Eight eight = __builtin_shufflevector(sums, sums, 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15);
    const Four four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                      __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
    const Four two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
    return two[0] + two[1];
}

/* Named, as the compiler leaves arrays of vectors in memory. */
struct Sums {
    V a, b, c, d;
};

FL_TIGHT void add(Sums &to, const float *x, const V &a, const V &b, const V &c, const V &d) {
    const V row = *(const Loose *)x;
    to.a += row * a;
    to.b += row * b;
    to.c += row * c;
    to.d += row * d;
}

FL_TIGHT void finish(const Product *p, int64_t i, int64_t j, int cols, const Sums &sums) {
    const float value[4] = {total(sums.a), total(sums.b), total(sums.c), total(sums.d)};
    for (int e = 0; e < cols; e++)
        p->c[i * p->n + j + e] = p->bias ? value[e] + p->bias[j + e] : value[e];
}

/* R rows of x by four columns; a column that is not there is the first one again. */
template <class F, int R>
void tile(const Product *p, int64_t i, int64_t j, int cols, const char *weight, int64_t row_bytes) {
    const float *x = p->x + i * p->padded;
    const int64_t jb = j + (cols > 1), jc = j + 2 * (cols > 2), jd = j + 3 * (cols > 3);
    const char *a = weight, *b = a + (jb - j) * row_bytes, *c = a + (jc - j) * row_bytes;
    const char *d = a + (jd - j) * row_bytes;
    Sums r0 = {}, r1 = {}, r2 = {}, r3 = {};
    for (int64_t g = 0, q = 0; g < p->groups; g++) {
        const Group ga = group_of(p, j, g), gb = group_of(p, jb, g), gc = group_of(p, jc, g);
        const Group gd = group_of(p, jd, g);
        const int64_t end = g + 1 < p->groups ? q + p->group : p->padded;
        for (; q < end; q += BLOCK) {
            alignas(64) char room[4][F::bytes];
            const int64_t at = q / BLOCK * F::bytes, left = row_bytes - at;
            Pair wa, wb, wc, wd;
            F::expand(whole_block<F>(a + at, left, room[0]), ga, wa);
            F::expand(whole_block<F>(b + at, left, room[1]), gb, wb);
            F::expand(whole_block<F>(c + at, left, room[2]), gc, wc);
            F::expand(whole_block<F>(d + at, left, room[3]), gd, wd);
            add(r0, x + q, wa.low, wb.low, wc.low, wd.low);
            add(r0, x + q + 16, wa.high, wb.high, wc.high, wd.high);
            if constexpr (R > 1) {
                const float *x1 = x + p->padded + q, *x2 = x1 + p->padded, *x3 = x2 + p->padded;
                add(r1, x1, wa.low, wb.low, wc.low, wd.low);
                add(r1, x1 + 16, wa.high, wb.high, wc.high, wd.high);
                add(r2, x2, wa.low, wb.low, wc.low, wd.low);
                add(r2, x2 + 16, wa.high, wb.high, wc.high, wd.high);
                add(r3, x3, wa.low, wb.low, wc.low, wd.low);
                add(r3, x3 + 16, wa.high, wb.high, wc.high, wd.high);
            }
        }
    }
    finish(p, i, j, cols, r0);
    if constexpr (R > 1) {
        finish(p, i + 1, j, cols, r1);
        finish(p, i + 2, j, cols, r2);
        finish(p, i + 3, j, cols, r3);
    }
}

template <class F>
void spread(const Product *p, int64_t j, int cols, float *room) {
    for (int e = 0; e < cols; e++) {
        const char *w = p->weight + (j + e) * p->row_bytes;
        float *to = room + e * p->padded;
        for (int64_t g = 0, q = 0; g < p->groups; g++) {
            const Group group = group_of(p, j + e, g);
            const int64_t end = g + 1 < p->groups ? q + p->group : p->padded;
            for (; q < end; q += BLOCK) {
                alignas(64) char part[F::bytes];
                const int64_t at = q / BLOCK * F::bytes;
                Pair pair;
                F::expand(whole_block<F>(w + at, p->row_bytes - at, part), group, pair);
                *(Loose *)(to + q) = pair.low;
                *(Loose *)(to + q + 16) = pair.high;
            }
        }
    }
}

template <class F>
void columns_of(const Product *p, int64_t begin, int64_t end, float *room) {
    Product whole = *p;             /* as one group of floats, when the rows are spread */
    whole.groups = 1;
    whole.scales = whole.offsets = nullptr;
    whole.kind = FL_NARROW_NOT;
    for (int64_t j = begin; j < end; j += 4) {
        const int cols = end - j < 4 ? (int)(end - j) : 4;
        if (!room) {
            for (int64_t i = 0; i < p->m; i++)
                tile<F, 1>(p, i, j, cols, p->weight + j * p->row_bytes, p->row_bytes);
            continue;
        }
        spread<F>(p, j, cols, room);
        const int64_t row_bytes = p->padded * (int64_t)sizeof(float);
        int64_t i = 0;
        for (; i + 4 <= p->m; i += 4)
            tile<Spread, 4>(&whole, i, j, cols, (const char *)room, row_bytes);
        for (; i < p->m; i++)
            tile<Spread, 1>(&whole, i, j, cols, (const char *)room, row_bytes);
    }
}

void columns(const Product *p, int64_t begin, int64_t end, float *room) {
    (p->kind == FL_NARROW_I8    ? columns_of<Int8>
     : p->kind == FL_NARROW_I4  ? columns_of<Int4>
     : p->kind == FL_NARROW_F16 ? columns_of<Half<fl_f16>>
                                : columns_of<Half<fl_bf16>>)(p, begin, end, room);
}

}  // namespace

extern const fl_weight_only_kernels FL_LEVEL(fl_weight_only_kernels) = {columns};
