/* Products of half precision with many rows and a small matrix, a block of rows at a time: operands
 * and sums in float32 stay in the cache, and are no copies of whole tensors. */
#pragma once
#include "common/args.h"
#include "common/pool_error.h"
#include "matmul/matrix.h"

/* Rows of a matrix as a tensor. */
struct RowsOf {
    fl_tensor t;
    int64_t shape[2], strides[2];

    RowsOf(const fl_tensor *from, int64_t row, int64_t col, int64_t cols, int64_t first,
           int64_t end)
        : t(*from), shape{end - first, cols}, strides{row, col} {
        t.ndim = 2;
        t.shape = shape;
        t.strides = strides;
        t.numel = shape[0] * cols;
        t.data += first * row * fl_itemsize(t.dtype);
        t.flags &= ~(uint32_t)FL_CONTIGUOUS;
        if (fl_geometry_contiguous(2, shape, strides))
            t.flags |= FL_CONTIGUOUS;
    }
};

/* multiply(rows of a, the same rows of c) for all rows. False, and nothing done, where they are few
 * or the matrix of `n` columns that they meet is too large to be converted for every block. */
template <class Multiply>
bool fl_in_row_blocks(const fl_tensor *a, fl_tensor *c, int64_t n, int *status,
                      const Multiply &multiply) {
    const int64_t BLOCK_ELEMENTS = 1 << 16, MIN_ROWS = 256, MAX_MATRIX_ELEMENTS = 1 << 16;
    const int64_t k = a->ndim > 1 ? a->shape[a->ndim - 1] : 0;
    int64_t row;
    if (k == 0 || (c->dtype != FL_F16 && c->dtype != FL_BF16) || n * k > MAX_MATRIX_ELEMENTS ||
        !fl_is_contiguous(c) || !fl_collapse(a->ndim - 1, a->shape, a->strides, k, &row))
        return false;
    const int64_t m = a->numel / k, most = m / MIN_ROWS, wanted = m * (n + k) / BLOCK_ELEMENTS;
    const int64_t blocks = wanted < most ? wanted : most;
    if (blocks < 2)
        return false;
    PoolError error;
    fl_parallel(blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end && !error.failed(); i++) {
            const int64_t first = m * i / blocks, last = m * (i + 1) / blocks;
            RowsOf x(a, row, a->strides[a->ndim - 1], k, first, last);
            RowsOf y(c, n, 1, n, first, last);
            if (multiply(&x.t, &y.t) < 0)
                error.capture();
        }
    });
    *status = error.result();
    return true;
}
