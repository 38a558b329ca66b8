/* Rows of half precision for kernels that compute in place: converted next to the kernel, a few
 * at a time, so that no float32 copy of the whole tensor passes through memory. */
#pragma once
#include "dispatch/core.h"
#include "dispatch/pointwise.h"

static const int64_t FL_HALF_ROW = 8192;        /* elements: longer rows are converted as a whole */

static inline bool fl_half_rows(const fl_tensor *from, const fl_tensor *to, int64_t n) {
    return (from->dtype == FL_F16 || from->dtype == FL_BF16) && to->dtype == from->dtype &&
           (from->flags & FL_CONTIGUOUS) && (to->flags & FL_CONTIGUOUS) && n > 0 &&
           n <= FL_HALF_ROW;
}

/* Rows to and from float32, `some` of them at a time. */
class HalfRows {
  public:
    HalfRows(int dtype, int64_t n)
        : n_(n), gather_(fl_moves->gather[dtype][FL_K_F32]),
          scatter_(fl_moves->scatter[FL_K_F32][dtype]), some(FL_HALF_ROW / 4 / n) {
        if (some < 1)
            some = 1;
    }
    void load(const fl_tensor *t, int64_t first, int64_t count, float *to) const {
        gather_(to, t->data + 2 * first * n_, 1, count * n_, count * n_, 1);
    }
    void store(const fl_tensor *t, int64_t first, int64_t count, const float *from) const {
        scatter_(t->data + 2 * first * n_, from, 1, count * n_, count * n_, 1);
    }

  private:
    int64_t n_;
    fl_gather_fn gather_;
    fl_scatter_fn scatter_;

  public:
    int64_t some;
};

/* body(rows of float32, number of the first row, how many) changes rows where they lie. */
template <class Body>
void fl_each_half_rows(const fl_tensor *from, const fl_tensor *to, int64_t rows, int64_t n,
                       const Body &body) {
    HalfRows half(from->dtype, n);
    fl_parallel(rows, fl_row_grain(n), [&](int64_t begin, int64_t end) {
        alignas(64) float buffer[FL_HALF_ROW];
        for (int64_t first = begin; first < end; first += half.some) {
            int64_t count = end - first < half.some ? end - first : half.some;
            half.load(from, first, count, buffer);
            body(buffer, first, count);
            half.store(to, first, count, buffer);
        }
    });
}

/* The same with rows of two tensors: body(rows of a, rows of b, first, how many) changes a's. */
template <class Body>
void fl_each_half_pair(const fl_tensor *a, const fl_tensor *b, const fl_tensor *to, int64_t rows,
                       int64_t n, const Body &body) {
    HalfRows half(a->dtype, n);
    fl_parallel(rows, fl_row_grain(n), [&](int64_t begin, int64_t end) {
        alignas(64) float x[FL_HALF_ROW], y[FL_HALF_ROW];
        for (int64_t first = begin; first < end; first += half.some) {
            int64_t count = end - first < half.some ? end - first : half.some;
            half.load(a, first, count, x);
            half.load(b, first, count, y);
            body(x, y, first, count);
            half.store(to, first, count, x);
        }
    });
}
