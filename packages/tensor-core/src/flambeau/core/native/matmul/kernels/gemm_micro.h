/* The innermost loops: register tiles of C.
 *
 * A lies in rows of PANEL_STRIDE elements, a constant, so that all rows of a tile are reached
 * from one pointer; B is read by rows of `b_row` elements, packed or in place. */
#pragma once
#include "matmul/kernels/gemm_vector.h"

namespace {

/* Terms summed before adding to C. A strip of B of this depth fills about half of a 48 KiB L1
 * cache; the odd stride keeps the rows of A in different cache sets. */
const int SLAB = 256;
const int PANEL_STRIDE = SLAB + 16;

/* A tile of R x C vectors needs R * C sums, C vectors of B and a broadcast element of A. */
#if defined(__AVX512F__)
const int TILE_ROWS = 14;
const int TILE_VECTORS = 2;
#elif defined(__aarch64__)
const int TILE_ROWS = 12;
const int TILE_VECTORS = 2;
#else
const int TILE_ROWS = 6;
const int TILE_VECTORS = 2;
#endif
const int MAX_VECTORS = 8;

/* Elements of a cache line. */
template <class T> const int64_t LINE = 64 / sizeof(T);

/* Rows of B fetched ahead while it is packed: no processor foresees rows that lie pages apart. */
const int64_t FETCH_ROWS = 24;

/* Width, in vectors, of tiles for products with few rows: B is read once, so wide runs of it. */
constexpr int wide_vectors(int rows) {
    int fit = (REGISTERS - 8) / rows;
    return fit > MAX_VECTORS ? MAX_VECTORS : fit < TILE_VECTORS ? TILE_VECTORS : fit;
}

/* Write op(A) B over k terms to `out`, or `add` it to what is there. With PACK, B is also copied to
 * `packed`, row behind row: the copy hides behind the arithmetic, and the tiles that follow find B
 * in the L1 cache. Otherwise k lines from `next` on are fetched meanwhile. */
template <class T, int ROWS, int VECTORS, bool PACK>
void micro(int64_t k, const T *a, const T *b, int64_t b_row, T *out, int64_t out_row, T *packed,
           const T *next, bool add) {
    const int L = Lanes<T>::COUNT;
    Vector<T> sum[ROWS][VECTORS] = {};
    for (int64_t p = 0; p < k; p++) {
        Vector<T> row[VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) {
            row[v] = load(b + v * L);
            if (PACK) {
                __builtin_prefetch(b + FETCH_ROWS * b_row + v * L, 0, 2);
                store(packed + v * L, row[v]);
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++) {
            Vector<T> element = splat(a[i * PANEL_STRIDE]);
#pragma GCC unroll 8
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] = add_product(element, row[v], sum[i][v]);
        }
        a++;
        b += b_row;
        if (PACK)
            packed += VECTORS * L;
        else
            __builtin_prefetch(next + p * LINE<T>, 0, 2);
    }
    if (add)
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] += load(out + i * out_row + v * L);
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++)
            store(out + i * out_row + v * L, sum[i][v]);
}

} // namespace
