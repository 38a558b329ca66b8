/* From sums to C: alpha, beta, bias and activation, for tiles that cannot be stored as they are. */
#pragma once
#include "matmul/kernels/gemm.h"
#include "matmul/kernels/gemm_vector.h"

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

    /* A whole vector of every row. */
    void column(T *c, const T *sums, int64_t sums_row, const T *added, int64_t rows) const {
        if (!read_c && !relu && alpha == 1 && added && bias_row == 0)
            return biased_column(c, sums, sums_row, load(added), rows);
        for (int64_t i = 0; i < rows; i++) {
            store(c, vector(load(sums), c, added, Lanes<T>::COUNT));
            c += c_row;
            sums += sums_row;
            added = added ? added + bias_row : nullptr;
        }
    }

    /* The same with a bias alone, as linear layers have it. */
    void biased_column(T *c, const T *sums, int64_t sums_row, Vector<T> added,
                       int64_t rows) const {
        for (int64_t i = 0; i < rows; i++) {
            store(c, load(sums) + added);
            c += c_row;
            sums += sums_row;
        }
    }

    void part_of_column(T *c, const T *sums, int64_t sums_row, const T *added, int64_t rows,
                        int64_t cols) const {
        for (int64_t i = 0; i < rows; i++) {
            store_part(c, vector(load(sums), c, added, cols), cols);
            c += c_row;
            sums += sums_row;
            added = added ? added + bias_row : nullptr;
        }
    }

    /* C and bias lie in rows; `sums` is followed by room for a whole vector. */
    void vectors(T *c, const T *sums, int64_t sums_row, const T *added, int64_t rows,
                 int64_t cols) const {
        const int L = Lanes<T>::COUNT;
        int64_t j = 0;
        for (; j + L <= cols; j += L)
            column(c + j, sums + j, sums_row, added ? added + j : nullptr, rows);
        if (j < cols)
            part_of_column(c + j, sums + j, sums_row, added ? added + j : nullptr, rows, cols - j);
    }

    /* The tile of C at row i0 and column j0. */
    void tile(T *c, const T *sums, int64_t sums_row, int64_t i0, int64_t rows, int64_t j0,
              int64_t cols) const {
        const T *added = bias ? bias + i0 * bias_row + j0 * bias_col : nullptr;
        if (c_col == 1 && (!bias || bias_col == 1))
            return vectors(c, sums, sums_row, added, rows, cols);
        for (int64_t i = 0; i < rows; i++) {
            strided_row(c, sums, added, cols);
            c += c_row;
            sums += sums_row;
            added = bias ? added + bias_row : nullptr;
        }
    }
};

} // namespace
