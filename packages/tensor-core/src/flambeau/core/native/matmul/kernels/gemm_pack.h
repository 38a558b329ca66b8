/* Copies of A and B in the layouts of the register tiles. */
#pragma once
#include "matmul/kernels/gemm_vector.h"

namespace {

/* Copies whole vectors: zeros follow the last element, up to a multiple of the vector. */
template <class T> void copy_row(T *out, const T *in, int64_t count) {
    const int L = Lanes<T>::COUNT;
    int64_t j = 0;
    for (; j + L <= count; j += L)
        store(out + j, load(in + j));
    if (j < count)
        store(out + j, load_part(in + j, count - j));
}

/* A square block: `cols` rows of `out` from `rows` rows of `in`, zeros in place of others. Not
 * inline: that was no faster, and 14 KB longer. */
template <class T>
__attribute__((noinline)) void transpose_block(T *out, int64_t out_row, const T *in,
                                               int64_t in_row, int64_t rows, int64_t cols) {
    const int L = Lanes<T>::COUNT;
    Vector<T> block[L] = {};
#pragma GCC unroll 16
    for (int i = 0; i < L; i++)
        if (i < rows)
            block[i] = cols == L ? load(in + i * in_row) : load_part(in + i * in_row, cols);
    transpose_lanes<T>(block);
#pragma GCC unroll 16
    for (int i = 0; i < L; i++)
        if (i < cols)
            store(out + i * out_row, block[i]);
}

/* out[c * out_row + r] = in[r * in_row + c]. Rows of `out` are written in whole vectors. */
template <class T>
void transpose(T *out, int64_t out_row, const T *in, int64_t in_row, int64_t rows, int64_t cols) {
    const int L = Lanes<T>::COUNT;
    for (int64_t r = 0; r < rows; r += L)
        for (int64_t c = 0; c < cols; c += L) {
            T *to = out + c * out_row + r;
            const T *from = in + r * in_row + c;
            if (r + L <= rows && c + L <= cols)
                transpose_block(to, out_row, from, in_row, L, L);
            else
                transpose_block(to, out_row, from, in_row, rows - r < L ? rows - r : L,
                                cols - c < L ? cols - c : L);
        }
}

/* out[r * out_row + c] = the element at r * row + c * col of `in`, whatever the strides. Rows of
 * `out` have room for whole vectors and get zeros up to there. */
template <class T>
void pack(T *out, int64_t out_row, const T *in, int64_t row, int64_t col, int64_t rows,
          int64_t cols) {
    if (col == 1) {
        for (int64_t r = 0; r < rows; r++)
            copy_row(out + r * out_row, in + r * row, cols);
    } else if (row == 1) {
        transpose(out, out_row, in, col, cols, rows);
    } else {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols || c % Lanes<T>::COUNT; c++)
                out[r * out_row + c] = c < cols ? in[r * row + c * col] : T(0);
    }
}

} // namespace
