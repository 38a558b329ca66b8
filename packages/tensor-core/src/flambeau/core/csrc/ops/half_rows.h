/* Rows of half precision for kernels that compute in place: converted next to the kernel, a few
 * at a time, so that no float32 copy of the whole tensor passes through memory. */
#pragma once
#include "core/core.h"
#include "core/pointwise.h"

static const int64_t FL_HALF_ROW = 8192;        /* elements: longer rows are converted as a whole */

static inline bool fl_half_rows(const fl_tensor *from, const fl_tensor *to, int64_t n) {
    return (from->dtype == FL_F16 || from->dtype == FL_BF16) && to->dtype == from->dtype &&
           (from->flags & FL_CONTIGUOUS) && (to->flags & FL_CONTIGUOUS) && n > 0 &&
           n <= FL_HALF_ROW;
}

/* body(rows of float32, number of the first row, how many) changes rows where they lie. */
template <class Body>
void fl_each_half_rows(const fl_tensor *from, const fl_tensor *to, int64_t rows, int64_t n,
                       const Body &body) {
    fl_gather_fn gather = fl_moves->gather[from->dtype][FL_K_F32];
    fl_scatter_fn scatter = fl_moves->scatter[FL_K_F32][from->dtype];
    fl_parallel(rows, fl_row_grain(n), [&](int64_t begin, int64_t end) {
        alignas(64) float buffer[FL_HALF_ROW];
        int64_t some = FL_HALF_ROW / 4 / n;
        some = some < 1 ? 1 : some;
        for (int64_t first = begin; first < end; first += some) {
            int64_t count = end - first < some ? end - first : some, size = count * n;
            gather(buffer, from->data + 2 * first * n, 1, size, size, 1);
            body(buffer, first, count);
            scatter(to->data + 2 * first * n, buffer, 1, size, size, 1);
        }
    });
}
