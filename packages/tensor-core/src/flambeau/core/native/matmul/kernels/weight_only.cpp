/* Products with narrow weights: four columns at a time, 16 sums each in lanes that are the same at
 * every level, so that results agree bit for bit where there is fused multiply-add. */
#include "matmul/kernels/weight_only_blocks.h"

namespace {

/* A block at the end of a row, with zeros past it. */
template <class F>
FL_TIGHT const char *whole_block(const char *w, int64_t left, char *room) {
    if (left >= F::bytes)
        return w;
    memset(room, 0, F::bytes);
    memcpy(room, w, (size_t)left);
    return room;
}

const int FACTORS = 32;

/* Scales and offsets of some groups of a row, as floats. */
struct Factors {
    float scales[FACTORS], offsets[FACTORS];

    /* Seldom called, by many: one copy of it. Offsets only where there are some. */
    __attribute__((noinline)) void read(const Product *p, int64_t j, int64_t first) {
        const int64_t at = j * p->groups + first, left = p->groups - first;
        const int count = left < FACTORS ? (int)left : FACTORS;
        fill(scales, p->scales, p->scales_kind, at, count, 1);
        if (p->offsets)
            fill(offsets, p->offsets, p->offsets_kind, at, count, 0);
    }

    template <class F> FL_TIGHT Group of(int64_t g) const {
        return group_with<F>(scales[g % FACTORS], F::shifted ? offsets[g % FACTORS] : 0);
    }

    static FL_TIGHT void fill(float *to, const char *from, fl_narrow kind, int64_t at, int count,
                              float other) {
        int i = 0;
        if (!from)
            for (; i < count; i++)
                to[i] = other;
#if defined(__AVX2__)
        for (; kind == FL_NARROW_F16 && i + 8 <= count; i += 8)
            _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(
                (const __m128i *)((const fl_f16 *)from + at + i))));
#endif
        for (; i < count; i++)
            to[i] = number(from, kind, at + i);
    }
};

#if defined(FL_EIGHTS)
/* Sums of one row of x with one column, in two registers of eight lanes. */
struct Sums {
    Eight low, high;

    float total() const {
        const Eight eight = _mm256_add_ps(low, high);
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight),
                                       _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(two) + _mm_cvtss_f32(_mm_shuffle_ps(two, two, 1));
    }

    template <class F> FL_TIGHT void add(Eight weights, const float *x, int i) {
        Eight &to = i & 1 ? high : low;
        const Eight row = _mm256_loadu_ps(x + 8 * i);
        to = F::fuses ? _mm256_fmadd_ps(row, weights, to)
                      : _mm256_add_ps(to, _mm256_mul_ps(row, weights));
    }
};

FL_TIGHT void finish(const Product *p, int64_t i, int64_t j, const Sums &sums) {
    p->c[i * p->n + j] = p->bias ? sums.total() + p->bias[j] : sums.total();
}

/* R rows of x by one column, in eight registers at the most. */
template <class F, int R>
void column(const Product *p, int64_t i, int64_t j, const char *weight, int64_t row_bytes) {
    const float *x = p->x + i * p->padded;
    const int64_t next = p->padded;
    const Sums none = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    Sums r0 = none, r1 = none, r2 = none, r3 = none;
    Factors factors;
    Group group;
    for (int64_t g = 0, end = 0, q = 0; q < p->padded; q += BLOCK) {
        if (q == end) {
            if (g % FACTORS == 0)
                factors.read(p, j, g);
            group = factors.of<F>(g);
            end = ++g < p->groups ? end + p->group : p->padded;
        }
        alignas(64) char room[F::bytes];
        const int64_t at = q / BLOCK * F::bytes;
        const char *w = whole_block<F>(weight + at, row_bytes - at, room);
#pragma GCC unroll 4
        for (int e = 0; e < 4; e++) {
            const Eight weights = F::eight(w, group, e);
            r0.add<F>(weights, x + q, e);
            if constexpr (R > 1) {
                r1.add<F>(weights, x + next + q, e);
                r2.add<F>(weights, x + 2 * next + q, e);
                r3.add<F>(weights, x + 3 * next + q, e);
            }
        }
    }
    finish(p, i, j, r0);
    if constexpr (R > 1) {
        finish(p, i + 1, j, r1);
        finish(p, i + 2, j, r2);
        finish(p, i + 3, j, r3);
    }
}

/* Sums of one row of x with four columns side by side: none waits for the one before it. */
struct Four {
    Sums a, b, c, d;

    template <class F>
    FL_TIGHT void add(const char *w, int64_t next, const Factors *factors, int64_t g,
                      const float *x) {
        const Group ga = factors[0].of<F>(g), gb = factors[1].of<F>(g);
        const Group gc = factors[2].of<F>(g), gd = factors[3].of<F>(g);
#pragma GCC unroll 4
        for (int e = 0; e < 4; e++) {
            a.add<F>(F::eight(w, ga, e), x, e);
            b.add<F>(F::eight(w + next, gb, e), x, e);
        }
#pragma GCC unroll 4
        for (int e = 0; e < 4; e++) {
            c.add<F>(F::eight(w + 2 * next, gc, e), x, e);
            d.add<F>(F::eight(w + 3 * next, gd, e), x, e);
        }
    }
};

template <class F>
void lone_row(const Product *p, int64_t i, int64_t j, const char *weight, int64_t row_bytes) {
    const Sums none = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    Four sums = {none, none, none, none};
    Factors factors[4];
    const float *x = p->x + i * p->padded;
    const int64_t last = p->padded / BLOCK, step = p->group / BLOCK, stored = row_bytes / F::bytes;
    for (int64_t g = 0, q = 0; g < p->groups; g++) {
        if (g % FACTORS == 0)
            for (int c = 0; c < 4; c++)
                factors[c].read(p, j + c, g);
        const int64_t end = g + 1 < p->groups ? q + step : last;
        for (; q < end && q < stored; q++)
            sums.add<F>(weight + q * F::bytes, row_bytes, factors, g, x + q * BLOCK);
    }
    if (stored < last) {                /* the end of a row, with zeros past it */
        alignas(64) char room[4 * F::bytes];
        for (int c = 0; c < 4; c++) {
            memset(room + c * F::bytes, 0, F::bytes);
            memcpy(room + c * F::bytes, weight + c * row_bytes + stored * F::bytes,
                   (size_t)(row_bytes - stored * F::bytes));
        }
        sums.add<F>(room, F::bytes, factors, p->groups - 1, x + stored * BLOCK);
    }
    finish(p, i, j, sums.a);
    finish(p, i, j + 1, sums.b);
    finish(p, i, j + 2, sums.c);
    finish(p, i, j + 3, sums.d);
}

template <class F, int R>
void tile(const Product *p, int64_t i, int64_t j, int cols, const char *weight, int64_t row_bytes) {
    if (R == 1 && cols == 4)
        return lone_row<F>(p, i, j, weight, row_bytes);
    for (int e = 0; e < cols; e++)
        column<F, R>(p, i, j + e, weight + e * row_bytes, row_bytes);
}

template <class F>
FL_TIGHT void spread_block(const char *w, const Group &group, float *to) {
    for (int e = 0; e < 4; e++)
        _mm256_storeu_ps(to + 8 * e, F::eight(w, group, e));
}
#else
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

template <class F>
FL_TIGHT void add(Sums &to, const float *x, const V &a, const V &b, const V &c, const V &d) {
    const V row = *(const Loose *)x;
    to.a = F::fuses ? sum_of_product(row, a, to.a) : to.a + row * a;
    to.b = F::fuses ? sum_of_product(row, b, to.b) : to.b + row * b;
    to.c = F::fuses ? sum_of_product(row, c, to.c) : to.c + row * c;
    to.d = F::fuses ? sum_of_product(row, d, to.d) : to.d + row * d;
}

FL_TIGHT void finish(const Product *p, int64_t i, int64_t j, int cols, const Sums &sums) {
    const float value[4] = {total(sums.a), total(sums.b), total(sums.c), total(sums.d)};
    for (int e = 0; e < cols; e++)
        p->c[i * p->n + j + e] = p->bias ? value[e] + p->bias[j + e] : value[e];
}

/* Blocks of four columns, and what they are worth. */
struct Block {
    const char *a, *b, *c, *d;
    int64_t ahead, next;
    Group ga, gb, gc, gd;

    template <class F> FL_TIGHT void set(const Factors *factors, int64_t g) {
        ga = factors[0].of<F>(g);
        gb = factors[1].of<F>(g);
        gc = factors[2].of<F>(g);
        gd = factors[3].of<F>(g);
    }
};

/* v2 is to be short: one copy for each form there. */
#if defined(__AVX512F__)
#define FL_INSIDE FL_TIGHT
#else
#define FL_INSIDE __attribute__((noinline))
#endif

/* What the next four columns have there: of integers a line at a time, each column in its turn. */
template <class F>
FL_TIGHT void fetch(const Block &w, int64_t at) {
    const uint64_t LINES = F::bytes / 16, first = (uint64_t)at / F::bytes * LINES;
#pragma GCC unroll 4
    for (uint64_t i = 0; F::bytes < 64 && i < LINES; i++)
        __builtin_prefetch(w.a + at + w.ahead + (int64_t)((first + i) % 4) * w.next, 0, 2);
    if (F::bytes >= 64) {
        __builtin_prefetch(w.a + at + w.ahead, 0, 2);
        __builtin_prefetch(w.b + at + w.ahead, 0, 2);
        __builtin_prefetch(w.c + at + w.ahead, 0, 2);
        __builtin_prefetch(w.d + at + w.ahead, 0, 2);
    }
}

/* Sums of R rows, `next` floats apart, with a block. */
template <class F, int R>
FL_INSIDE void add_block(const Block &w, int64_t at, const float *x, int64_t next, Sums &r0,
                         Sums &r1, Sums &r2, Sums &r3) {
    Pair a, b, c, d;
    if (R == 1)
        fetch<F>(w, at);
    F::expand(w.a + at, w.ga, a);
    F::expand(w.b + at, w.gb, b);
    F::expand(w.c + at, w.gc, c);
    F::expand(w.d + at, w.gd, d);
    add<F>(r0, x, a.low, b.low, c.low, d.low);
    add<F>(r0, x + 16, a.high, b.high, c.high, d.high);
    if constexpr (R > 1) {
        add<F>(r1, x + next, a.low, b.low, c.low, d.low);
        add<F>(r1, x + next + 16, a.high, b.high, c.high, d.high);
        add<F>(r2, x + 2 * next, a.low, b.low, c.low, d.low);
        add<F>(r2, x + 2 * next + 16, a.high, b.high, c.high, d.high);
        add<F>(r3, x + 3 * next, a.low, b.low, c.low, d.low);
        add<F>(r3, x + 3 * next + 16, a.high, b.high, c.high, d.high);
    }
}

/* R rows of x by four columns; a column that is not there is the first one again. Whole blocks go
 * without a call, over which no vector would stay in its register. */
template <class F, int R>
void tile(const Product *p, int64_t i, int64_t j, int cols, const char *weight, int64_t row_bytes) {
    const float *x = p->x + i * p->padded;
    const int64_t next = p->padded, last = p->padded / BLOCK, stored = row_bytes / F::bytes;
    const int64_t jb = j + (cols > 1), jc = j + 2 * (cols > 2), jd = j + 3 * (cols > 3);
    Block w = {weight, weight + (jb - j) * row_bytes, weight + (jc - j) * row_bytes,
               weight + (jd - j) * row_bytes, 4 * row_bytes, row_bytes, {}, {}, {}, {}};
    Sums r0 = {}, r1 = {}, r2 = {}, r3 = {};
    Factors factors[4];
    for (int64_t g = 0, q = 0; g < p->groups; g++) {
        if (g % FACTORS == 0) {
            factors[0].read(p, j, g);
            factors[1].read(p, jb, g);
            factors[2].read(p, jc, g);
            factors[3].read(p, jd, g);
            if (R == 1 && HAS_FMA && F::bytes < 64 && p->group == BLOCK) {
                const int64_t left = p->groups - g, end = g + (left < FACTORS ? left : FACTORS);
                for (; q < end; q++) {
                    w.set<F>(factors, q);
                    if (q < stored)
                        add_block<F, R>(w, q * F::bytes, x + q * BLOCK, next, r0, r1, r2, r3);
                }
                g = q - 1;
                continue;
            }
        }
        w.set<F>(factors, g);
        const int64_t end = g + 1 < p->groups ? q + p->group / BLOCK : last;
        for (const int64_t whole = end < stored ? end : stored; q < whole; q++)
            add_block<F, R>(w, q * F::bytes, x + q * BLOCK, next, r0, r1, r2, r3);
    }
    if (stored < last) {                /* the end of a row, with zeros past it */
        alignas(64) char room[4][F::bytes];
        const int64_t at = stored * F::bytes;
        const char *const from[4] = {w.a, w.b, w.c, w.d};
        for (int e = 0; e < 4; e++)
            whole_block<F>(from[e] + at, row_bytes - at, room[e]);
        w.a = room[0];
        w.b = room[1];
        w.c = room[2];
        w.d = room[3];
        add_block<F, R>(w, 0, x + stored * BLOCK, next, r0, r1, r2, r3);
    }
    finish(p, i, j, cols, r0);
    if constexpr (R > 1) {
        finish(p, i + 1, j, cols, r1);
        finish(p, i + 2, j, cols, r2);
        finish(p, i + 3, j, cols, r3);
    }
}

template <class F>
FL_TIGHT void spread_block(const char *w, const Group &group, float *to) {
    Pair pair;
    F::expand(w, group, pair);
    *(Loose *)to = pair.low;
    *(Loose *)(to + 16) = pair.high;
}
#endif

template <class F>
void spread(const Product *p, int64_t j, int cols, float *room) {
    for (int e = 0; e < cols; e++) {
        const char *w = p->weight + (j + e) * p->row_bytes;
        float *to = room + e * p->padded;
        for (int64_t g = 0, q = 0; g < p->groups; g++) {
            const Group group = group_of<F>(p, j + e, g);
            const int64_t end = g + 1 < p->groups ? q + p->group : p->padded;
            for (; q < end; q += BLOCK) {
                alignas(64) char part[F::bytes];
                const int64_t at = q / BLOCK * F::bytes;
                spread_block<F>(whole_block<F>(w + at, p->row_bytes - at, part), group, to + q);
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
            tile<Spread<F::fuses>, 4>(&whole, i, j, cols, (const char *)room, row_bytes);
        for (; i < p->m; i++)
            tile<Spread<F::fuses>, 1>(&whole, i, j, cols, (const char *)room, row_bytes);
    }
}

/* Calls `run` with the form of the weight. */
template <class Run>
void by_kind(const Product *p, Run run) {
    const bool shifted = p->offsets != nullptr;
    if (p->kind == FL_NARROW_I8)
        return shifted ? run(Int8<true>()) : run(Int8<false>());
    if (p->kind == FL_NARROW_I4)
        return shifted ? run(Int4<true>()) : run(Int4<false>());
    return p->kind == FL_NARROW_F16 ? run(Half<fl_f16>()) : run(Half<fl_bf16>());
}

void columns(const Product *p, int64_t begin, int64_t end, float *room) {
    by_kind(p, [&](auto form) { columns_of<decltype(form)>(p, begin, end, room); });
}

void rows(const Product *p, int64_t begin, int64_t end, float *to) {
    by_kind(p, [&](auto form) { spread<decltype(form)>(p, begin, (int)(end - begin), to); });
}

}  // namespace

extern const fl_weight_only_kernels FL_LEVEL(fl_weight_only_kernels) = {columns, rows};
