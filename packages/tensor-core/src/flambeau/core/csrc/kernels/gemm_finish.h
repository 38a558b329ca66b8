/* From sums to C: alpha, beta, bias and activation, for tiles that cannot be stored as they are. */
#pragma once
#include "kernels/gemm.h"

namespace {

const int MAX_TILE_COLS = 128; /* eight vectors of sixteen floats */

/* What to do with the sums of one slab. Only the first slab sees beta, only the last one bias
 * and activation. */
template <class T> struct Finish {
    T alpha, beta;
    bool read_c, relu;
    const T *bias;
    int64_t bias_col, c_row, c_col;

    Finish(const fl_gemm_block &g, bool first, bool last)
        : alpha(static_cast<T>(g.alpha)), beta(first ? static_cast<T>(g.beta) : T(1)),
          read_c(!first || g.beta != 0), relu(last && g.relu),
          bias(last ? static_cast<const T *>(g.bias) : nullptr), bias_col(g.bias_col),
          c_row(g.c_row), c_col(g.c_col) {}

    bool plain() const { return alpha == 1 && !read_c && !relu && !bias && c_col == 1; }

    void row(T *c, const T *sums, int64_t j0, int64_t cols, int64_t step) const {
        T out[MAX_TILE_COLS];
        for (int64_t j = 0; j < cols; j++)
            out[j] = alpha * sums[j];
        if (read_c)
            for (int64_t j = 0; j < cols; j++)
                out[j] += beta * c[j * step];
        if (bias && bias_col == 1)
            for (int64_t j = 0; j < cols; j++)
                out[j] += bias[j0 + j];
        else if (bias)
            for (int64_t j = 0; j < cols; j++)
                out[j] += bias[(j0 + j) * bias_col];
        if (relu)
            for (int64_t j = 0; j < cols; j++)
                out[j] = out[j] < 0 ? T(0) : out[j]; /* keeps NaN */
        for (int64_t j = 0; j < cols; j++)
            c[j * step] = out[j];
    }

    void tile(T *c, const T *sums, int64_t sums_row, int64_t rows, int64_t j0,
              int64_t cols) const {
        for (int64_t i = 0; i < rows; i++) {
            if (c_col == 1)
                row(c + i * c_row, sums + i * sums_row, j0, cols, 1);
            else
                row(c + i * c_row, sums + i * sums_row, j0, cols, c_col);
        }
    }

};

} // namespace
