/* Rows of products with sparse matrices: a row of the result is a sum of rows of the dense one. */
#include "matmul/kernels/sparse_rows.h"

namespace {

const int64_t TILE_COLUMNS = 64;    /* stay in registers or the nearest cache over all terms */

template <class T>
void add_terms(const T *values, const int64_t *columns, int64_t count, const T *dense,
               int64_t width, T *out) {
    T sum[TILE_COLUMNS] = {};
    for (int64_t e = 0; e < count; e++) {
        const T value = values[e];
        const T *row = dense + columns[e] * width;
        for (int64_t j = 0; j < TILE_COLUMNS; j++)
            sum[j] += value * row[j];
    }
    for (int64_t j = 0; j < TILE_COLUMNS; j++)
        out[j] = sum[j];
}

template <class T>
void product(const T *values, const int64_t *columns, int64_t count, const T *dense,
             int64_t width, T *out) {
    int64_t first = 0;
    for (; first + TILE_COLUMNS <= width; first += TILE_COLUMNS)
        add_terms(values, columns, count, dense + first, width, out + first);
    for (int64_t j = first; j < width; j++)
        out[j] = 0;
    for (int64_t e = 0; e < count; e++) {
        const T *row = dense + columns[e] * width;
        for (int64_t j = first; j < width; j++)
            out[j] += values[e] * row[j];
    }
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

extern const fl_sparse_rows FL_LEVEL(fl_sparse_rows) = {product<float>, product<double>, dot<float>,
                                                        dot<double>};
