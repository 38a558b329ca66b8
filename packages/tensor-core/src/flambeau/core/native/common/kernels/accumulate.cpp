/* One run of numbers added to another, and sums of rows that lie anywhere. */
#include "common/kernels/accumulate.h"
#include "common/kernels/lanes.h"

namespace {

template <class T> void add(void *to, const void *from, int64_t n, double scale) {
    T *out = (T *)to;
    const T *x = (const T *)from;
    if (scale == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] += x[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] += (T)scale * x[i];
}

/* Integers wrap, so a negative factor passes through int64. */
void add_whole(void *to, const void *from, int64_t n, double scale) {
    uint64_t *out = (uint64_t *)to;
    const uint64_t *x = (const uint64_t *)from;
    const uint64_t factor = (uint64_t)(int64_t)scale;
    for (int64_t i = 0; i < n; i++)
        out[i] += factor * x[i];
}

template <class T> void add_pairs(void *to, const void *from, int64_t n, double scale) {
    add<T>(to, from, 2 * n, scale);
}

void add_bools(void *to, const void *from, int64_t n, double scale) {
    uint8_t *out = (uint8_t *)to;
    const uint8_t *x = (const uint8_t *)from;
    for (int64_t i = 0; i < n && scale != 0; i++)
        out[i] |= x[i];
}

/* Targets lie anywhere in memory: those to come are asked for early. */
template <class T, class Add>
void each_named(T *to, const T *from, const fl_named_blocks &b, const Add &add_block) {
    const int64_t AHEAD = 8;
    for (int64_t i = 0; i < b.n; i++) {
        const int64_t k = b.index[i];
        if (i + AHEAD < b.n)
            __builtin_prefetch(to + b.index[i + AHEAD] * b.step + b.begin, 1);
        if (k >= b.low && k < b.high && k != b.skip)
            add_block(to + k * b.step + b.begin, from + i * b.block + b.begin);
    }
}

template <bool SCALED, class T>
void add_named_lanes(T *to, const T *from, const fl_named_blocks &b, T scale) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const Lanes<T> factor = Lanes<T>::fill(scale);
    each_named(to, from, b, [&](T *out, const T *x) {
        int64_t j = 0;
        for (; j + COUNT <= b.width; j += COUNT) {
            const Lanes<T> term = Lanes<T>::load(x + j);
            (Lanes<T>::load(out + j) + (SCALED ? factor * term : term)).store(out + j);
        }
        for (; j < b.width; j++)
            out[j] += SCALED ? scale * x[j] : x[j];
    });
}

/* A number is PARTS of T. */
template <class T, int PARTS>
void add_named(void *to, const void *from, const fl_named_blocks *blocks, double scale) {
    fl_named_blocks b = *blocks;
    b.block *= PARTS;
    b.step *= PARTS;
    b.begin *= PARTS;
    b.width *= PARTS;
    if (scale == 1)
        add_named_lanes<false>((T *)to, (const T *)from, b, (T)1);
    else
        add_named_lanes<true>((T *)to, (const T *)from, b, (T)scale);
}

template <class T, fl_accumulate_fn ADD>
void add_named_by(void *to, const void *from, const fl_named_blocks *blocks, double scale) {
    each_named((T *)to, (const T *)from, *blocks,
               [&](T *out, const T *x) { ADD(out, x, blocks->width, scale); });
}

/* SETS sets of lanes of all rows, summed in registers; the last set may be a part. Rows to come
 * are asked for early: they lie anywhere in memory. */
template <int SETS, class T>
void add_strip(const T *table, int64_t width, const int64_t *rows, int64_t n, int64_t skipped,
               T *out, int64_t cols) {
    constexpr int COUNT = Lanes<T>::COUNT, AHEAD = 8;
    const int64_t part = cols - (SETS - 1) * COUNT;
    Lanes<T> sum[SETS];
    for (int s = 0; s < SETS; s++)
        sum[s] = Lanes<T>::fill(0);
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            for (int s = 0; s < SETS; s++)
                __builtin_prefetch(table + rows[i + AHEAD] * width + s * COUNT);
        if (rows[i] == skipped)
            continue;
        const T *row = table + rows[i] * width;
        for (int s = 0; s < SETS - 1; s++)
            sum[s] = sum[s] + Lanes<T>::load(row + s * COUNT);
        const T *last = row + (SETS - 1) * COUNT;
        sum[SETS - 1] = sum[SETS - 1] + (part == COUNT ? Lanes<T>::load(last)
                                                       : Lanes<T>::load_part(last, part, 0));
    }
    for (int s = 0; s < SETS - 1; s++)
        sum[s].store(out + s * COUNT);
    if (part == COUNT)
        sum[SETS - 1].store(out + (SETS - 1) * COUNT);
    else
        sum[SETS - 1].store_part(out + (SETS - 1) * COUNT, part);
}

template <class T>
int64_t add_rows(const void *memory, int64_t width, const int64_t *rows, int64_t n,
                 int64_t skipped, void *to) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const T *table = (const T *)memory;
    T *out = (T *)to;
    int64_t j = 0, kept = 0;
    for (; j + 8 * COUNT <= width; j += 8 * COUNT)
        add_strip<8>(table + j, width, rows, n, skipped, out + j, 8 * COUNT);
    for (; j < width; j += COUNT)
        add_strip<1>(table + j, width, rows, n, skipped, out + j,
                     width - j < COUNT ? width - j : COUNT);
    for (int64_t i = 0; i < n; i++)
        kept += rows[i] != skipped;
    return kept;
}

}  // namespace

extern const fl_accumulate_kernels FL_LEVEL(fl_accumulate_kernels) = {
    {add<float>, add<double>, add_whole, add_bools, add_pairs<float>, add_pairs<double>},
    {add_named<float, 1>, add_named<double, 1>, add_named_by<int64_t, add_whole>,
     add_named_by<uint8_t, add_bools>, add_named<float, 2>, add_named<double, 2>},
    {add_rows<float>, add_rows<double>}};
