/* Copies of A and B in the layouts of the register tiles. */
#pragma once
#include "kernels/gemm_vector.h"

namespace {

template <class T> void copy_row(T *out, const T *in, int64_t count) {
    const int L = Lanes<T>::COUNT;
    int64_t j = 0;
    for (; j + L <= count; j += L)
        store(out + j, load(in + j));
    for (; j < count; j++)
        out[j] = in[j];
}

/* out[c * out_row + r] = in[r * in_row + c]: square blocks in registers, edges one by one. */
template <class T>
void transpose(T *out, int64_t out_row, const T *in, int64_t in_row, int64_t rows, int64_t cols) {
    const int L = Lanes<T>::COUNT;
    int64_t whole_rows = rows - rows % L;
    int64_t whole_cols = cols - cols % L;
    for (int64_t r = 0; r < whole_rows; r += L)
        for (int64_t c = 0; c < whole_cols; c += L) {
            Vector<T> block[L];
#pragma GCC unroll 16
            for (int i = 0; i < L; i++)
                block[i] = load(in + (r + i) * in_row + c);
            transpose_lanes<T>(block);
#pragma GCC unroll 16
            for (int i = 0; i < L; i++)
                store(out + (c + i) * out_row + r, block[i]);
        }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = r < whole_rows ? whole_cols : 0; c < cols; c++)
            out[c * out_row + r] = in[r * in_row + c];
}

/* out[r * out_row + c] = the element at r * row + c * col of `in`, whatever the strides. */
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
            for (int64_t c = 0; c < cols; c++)
                out[r * out_row + c] = in[r * row + c * col];
    }
}

template <class T>
void clear_cols(T *out, int64_t out_row, int64_t rows, int64_t first, int64_t end) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = first; c < end; c++)
            out[r * out_row + c] = 0;
}

} // namespace
