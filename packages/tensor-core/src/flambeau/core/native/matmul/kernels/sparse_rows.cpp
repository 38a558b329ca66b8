/* Rows of products with sparse matrices: a row of the result is a sum of rows of the dense one. */
#include "matmul/kernels/sparse_rows.h"

namespace {

const int PREFETCHED_TERMS = 8;     /* ahead of the sum: rows of the dense matrix lie anywhere */
const int64_t CHECKED_ROWS = 64;    /* whose columns stay in the cache */

/* Whether all indices are in [0, size): no sign bit is set in them, nor in what they fall short. */
bool are_inside(const int64_t *columns, int64_t count, int64_t size) {
    uint64_t signs = 0;
    for (int64_t e = 0; e < count; e++)
        signs |= (uint64_t)columns[e] | ((uint64_t)size - 1 - (uint64_t)columns[e]);
    return signs >> 63 == 0;
}

/* VECTORS * LANES columns of a row, which stay in registers over all terms. */
template <class T, int LANES, int VECTORS>
void add_terms(const T *values, const int64_t *columns, int64_t count, const T *dense,
               int64_t width, T *out) {
    typedef T Vector __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
    Vector sum[VECTORS] = {};
    for (int64_t e = 0; e < count; e++) {
        if (e + PREFETCHED_TERMS < count)
            for (int k = 0; k < VECTORS; k++)
                __builtin_prefetch(dense + columns[e + PREFETCHED_TERMS] * width + k * LANES);
        const T value = values[e];
        const T *row = dense + columns[e] * width;
#pragma GCC unroll 8
        for (int k = 0; k < VECTORS; k++)
            sum[k] += value * *(const Vector *)(row + k * LANES);
    }
#pragma GCC unroll 8
    for (int k = 0; k < VECTORS; k++)
        *(Vector *)(out + k * LANES) = sum[k];
}

/* Numbers that stand one after the other in a vector: four sums, as one would wait for itself. */
template <class T>
T vector_product(const T *values, const int64_t *columns, int64_t count, const T *dense) {
    T a = 0, b = 0, c = 0, d = 0;
    int64_t e = 0;
    for (; e + 4 <= count; e += 4) {
        a += values[e] * dense[columns[e]];
        b += values[e + 1] * dense[columns[e + 1]];
        c += values[e + 2] * dense[columns[e + 2]];
        d += values[e + 3] * dense[columns[e + 3]];
    }
    for (; e < count; e++)
        a += values[e] * dense[columns[e]];
    return (a + b) + (c + d);
}

/* Columns of several rows are looked at in one go, which is cheaper than row by row. */
template <class T>
bool vector_rows(const int64_t *starts, const int64_t *columns, const T *values, const T *vector,
                 int64_t begin, int64_t end, int64_t height, T *out) {
    for (int64_t first = begin; first < end; first += CHECKED_ROWS) {
        const int64_t last = first + CHECKED_ROWS < end ? first + CHECKED_ROWS : end;
        if (!are_inside(columns + starts[first], starts[last] - starts[first], height))
            return false;
        for (int64_t i = first; i < last; i++)
            out[i] = vector_product(values + starts[i], columns + starts[i],
                                    starts[i + 1] - starts[i], vector);
    }
    return true;
}

template <class T>
bool product(const T *values, const int64_t *columns, int64_t count, const T *dense,
             int64_t height, int64_t width, T *out) {
    if (!are_inside(columns, count, height))
        return false;
    const int LANES = 64 / sizeof(T), SMALL = 16 / sizeof(T);
    int64_t j = 0;
    for (; j + 4 * LANES <= width; j += 4 * LANES)
        add_terms<T, LANES, 4>(values, columns, count, dense + j, width, out + j);
    for (; j + LANES <= width; j += LANES)
        add_terms<T, LANES, 1>(values, columns, count, dense + j, width, out + j);
    for (; j + SMALL <= width; j += SMALL)
        add_terms<T, SMALL, 1>(values, columns, count, dense + j, width, out + j);
    for (; j < width; j++)
        add_terms<T, 1, 1>(values, columns, count, dense + j, width, out + j);
    return true;
}

template <class T> T dot(const T *a, const T *b, int64_t width) {
    const int LANES = 16;
    T sum[LANES] = {}, total = 0;
    int64_t j = 0;
    for (; j + LANES <= width; j += LANES)
        for (int k = 0; k < LANES; k++)
            sum[k] += a[j + k] * b[j + k];
    for (; j < width; j++)
        total += a[j] * b[j];
    for (int k = 0; k < LANES; k++)
        total += sum[k];
    return total;
}

}  // namespace

extern const fl_sparse_rows FL_LEVEL(fl_sparse_rows) = {
    product<float>, product<double>, vector_rows<float>, vector_rows<double>,
    dot<float>,     dot<double>};
