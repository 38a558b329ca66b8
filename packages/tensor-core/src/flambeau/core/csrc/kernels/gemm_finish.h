/* From sums to C: alpha, beta, bias and activation, for tiles that cannot be stored as they are. */
#pragma once
#include "kernels/gemm.h"
#include "kernels/gemm_vector.h"

namespace {

/* What to do with the sums of one slab. Only the first slab sees beta, only the last one bias
 * and activation. */
template <class T> struct Finish {
    T alpha, beta;
    bool read_c, relu;
    const T *bias;
    int64_t bias_row, bias_col, c_row, c_col;

    Finish(const fl_gemm_block &g, bool first, bool last)
        : alpha(static_cast<T>(g.alpha)), beta(first ? static_cast<T>(g.beta) : T(1)),
          read_c(!first || g.beta != 0), relu(last && g.relu),
          bias(last ? static_cast<const T *>(g.bias) : nullptr), bias_row(g.bias_row),
          bias_col(g.bias_col), c_row(g.c_row), c_col(g.c_col) {}

    /* Sums can be stored, or added to C, as they are. */
    bool plain() const {
        return alpha == 1 && (!read_c || beta == 1) && !relu && !bias && c_col == 1;
    }

    T element(T sum, const T *c, const T *added) const {
        T v = alpha * sum;
        if (read_c)
            v += beta * *c;
        if (added)
            v += *added;
        return relu && v < 0 ? T(0) : v; /* keeps NaN */
    }

    Vector<T> vector(Vector<T> sum, const T *c, const T *added, int64_t count) const {
        const int L = Lanes<T>::COUNT;
        Vector<T> v = alpha * sum;
        if (read_c)
            v += beta * (count == L ? load(c) : load_part(c, count));
        if (added)
            v += count == L ? load(added) : load_part(added, count);
        if (relu)
            v = v < 0 ? Vector<T>{} : v;
        return v;
    }

    void strided_row(T *c, const T *sums, const T *added, int64_t cols) const {
        for (int64_t j = 0; j < cols; j++) {
            *c = element(sums[j], c, added);
            c += c_col;
            added = added ? added + bias_col : nullptr;
        }
    }

    /* C and bias lie in rows; `sums` is followed by room for a whole vector. */
    void row(T *c, const T *sums, const T *added, int64_t cols) const {
        const int L = Lanes<T>::COUNT;
        for (int64_t j = 0; j < cols; j += L) {
            int64_t count = cols - j < L ? cols - j : L;
            Vector<T> v = vector(load(sums + j), c + j, added ? added + j : nullptr, count);
            if (count == L)
                store(c + j, v);
            else
                store_part(c + j, v, count);
        }
    }

    /* The tile of C at row i0 and column j0. */
    void tile(T *c, const T *sums, int64_t sums_row, int64_t i0, int64_t rows, int64_t j0,
              int64_t cols) const {
        const T *added = bias ? bias + i0 * bias_row + j0 * bias_col : nullptr;
        for (int64_t i = 0; i < rows; i++) {
            if (c_col == 1 && bias_col == 1)
                row(c, sums, added, cols);
            else
                strided_row(c, sums, added, cols);
            c += c_row;
            sums += sums_row;
            added = bias ? added + bias_row : nullptr;
        }
    }
};

} // namespace
