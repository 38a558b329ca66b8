/* Products whose vectors run along k: B lies in memory with k innermost and is read in place, the
 * few rows of A are copied if they do not. Right when m is so small that packing B would cost as
 * much as the product. */
#pragma once
#include "matmul/kernels/gemm_finish.h"
#include "matmul/kernels/gemm_pack.h"
#include "matmul/kernels/gemm_vector.h"

namespace {

const int DOT_ROWS = REGISTERS == 32 ? 4 : 2;
const int DOT_COLS = 8;

/* With vectors of 16 lanes to add for each result, more rows are done sooner by packing B, unless
 * sums are long: two vectors of terms for each row. */
template <class T> constexpr int64_t dot_row_terms() {
    return VECTOR_BYTES == 64 ? 2 * Lanes<T>::COUNT : 1;
}

/* Columns of a tile of so many rows: the sums, one row's worth of operands and a spare. */
constexpr int dot_cols(int rows) {
    int fit = (REGISTERS - 4) / rows - 1;
    return fit > DOT_COLS ? DOT_COLS : fit;
}

/* A matrix that comes from memory is asked for a tile ahead, if that is not too far: streams of
 * several columns are short, and the processor sees their ends too late. */
const int64_t MAX_AHEAD_BYTES = 256 << 10;
const int64_t NEAR_AHEAD_BYTES = 1 << 10;
/* So much of each column: all of it where a vector is a line, which costs 1 in 50 where all is in a
 * cache; else the rest follows by itself. */
const int64_t ASKED_BYTES = VECTOR_BYTES == 64 ? INT64_MAX : 1536;

template <class T> inline int64_t dot_ahead(int64_t tile_elements) {
    const bool is_near = tile_elements * (int64_t)sizeof(T) <= MAX_AHEAD_BYTES;
    return is_near ? tile_elements : NEAR_AHEAD_BYTES / (int64_t)sizeof(T);
}

/* Add the products of one vector of k; with PART, of its first `count` elements. */
template <bool PART, bool ASKS, class T, int ROWS, int COLS>
inline void dot_step(Vector<T> (&sum)[ROWS][COLS], const T *a, int64_t a_row, const T *b,
                     int64_t b_col, int64_t count, int64_t ahead) {
    Vector<T> left[ROWS];
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
        left[i] = PART ? load_part(a + i * a_row, count) : load(a + i * a_row);
#pragma GCC unroll 8
    for (int j = 0; j < COLS; j++) {
        Vector<T> right = PART ? load_part(b + j * b_col, count) : load(b + j * b_col);
        if (ASKS)
            __builtin_prefetch(b + j * b_col + ahead, 0, 2);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++)
            sum[i][j] = add_product(left[i], right, sum[i][j]);
    }
}

/* out[i * out_row + j] = the inner product of row i of a and row j of b. */
template <class T, int ROWS, int COLS>
void dot_tile(int64_t k, const T *a, int64_t a_row, const T *b, int64_t b_col, T *out,
              int64_t out_row) {
    const int L = Lanes<T>::COUNT;
    Vector<T> sum[ROWS][COLS] = {};
    const int64_t ahead = dot_ahead<T>(COLS * b_col);
    int64_t p = 0;
    if (ROWS == 1 && COLS > 1)
        for (; p + L <= k && p < ASKED_BYTES / (int64_t)sizeof(T); p += L)
            dot_step<false, true, T>(sum, a + p, a_row, b + p, b_col, L, ahead);
    for (; p + L <= k; p += L)
        dot_step<false, false, T>(sum, a + p, a_row, b + p, b_col, L, ahead);
    if (p < k)
        dot_step<true, false, T>(sum, a + p, a_row, b + p, b_col, k - p, ahead);
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
        for (int j = 0; j < COLS; j++)
            out[i * out_row + j] = sum_lanes<T>(sum[i][j]);
}

/* ROWS rows of C, all columns. */
template <class T, int ROWS> void dot_rows(const fl_gemm_block &g, int64_t i0) {
    const int COLS = dot_cols(ROWS);
    const T *a = static_cast<const T *>(g.a) + i0 * g.a_row;
    const T *b = static_cast<const T *>(g.b);
    T *c = static_cast<T *>(g.c) + i0 * g.c_row;
    Finish<T> finish(g, true, true);
    T sums[ROWS * DOT_COLS + Lanes<T>::COUNT] = {}; /* read in whole vectors */
    int64_t j = 0;
    for (; j + COLS <= g.n; j += COLS) {
        dot_tile<T, ROWS, COLS>(g.k, a, g.a_row, b + j * g.b_col, g.b_col, sums, COLS);
        finish.tile(c + j * g.c_col, sums, COLS, i0, ROWS, j, COLS);
    }
    for (; j < g.n; j++) {
        dot_tile<T, ROWS, 1>(g.k, a, g.a_row, b + j * g.b_col, g.b_col, sums, 1);
        finish.tile(c + j * g.c_col, sums, 1, i0, ROWS, j, 1);
    }
}

template <class T, int ROWS = DOT_ROWS> void dot_block(const fl_gemm_block &g, int64_t i = 0) {
    for (; i + ROWS <= g.m; i += ROWS)
        dot_rows<T, ROWS>(g, i);
    if constexpr (ROWS > 1)
        dot_block<T, ROWS - 1>(g, i);
}

/* Rows of the copy of A end on whole vectors. */
template <class T> int64_t dot_copy_row(const fl_gemm_block &g) {
    const int L = Lanes<T>::COUNT;
    return (g.k + L - 1) / L * L;
}

template <class T> int64_t dot_scratch_elements(const fl_gemm_block &g) {
    return g.a_col == 1 ? 0 : g.m * dot_copy_row<T>(g);
}

template <class T> void dot_product(const fl_gemm_block &g) {
    if (g.a_col == 1) {
        dot_block<T>(g);
        return;
    }
    fl_gemm_block copied = g;
    copied.a = g.scratch;
    copied.a_row = dot_copy_row<T>(g);
    copied.a_col = 1;
    pack(static_cast<T *>(g.scratch), copied.a_row, static_cast<const T *>(g.a), g.a_row, g.a_col,
         g.m, g.k);
    dot_block<T>(copied);
}

} // namespace
