/* Register tiles of a convolution: some output channels of a strip of pixels. */
#pragma once
#include "matmul/kernels/gemm_micro.h"

namespace {

/* Taps summed before adding to C: at most, and as a rule when there are more. A strip of that depth
 * and the weights of a tile fill a 48 KiB L1 cache. CONV_STRIDE: distance of rows of weights. */
const int CONV_SLAB = 288;
const int CONV_SOME = 256;
const int CONV_STRIDE = CONV_SLAB + 16;

/* Add k terms to rows of C, which hold `cols` elements (at most the tile's) each. With `start`,
 * rows begin at their element of it instead of what C holds. `a` lies in rows of CONV_STRIDE, `b`
 * in rows as wide as the tile. Meanwhile k lines from `next` on are fetched. */
template <class T, int ROWS, int VECTORS>
void conv_tile(int64_t k, const T *a, const T *b, T *c, int64_t c_row, int64_t cols,
               const T *start, const T *next) {
    const int L = Lanes<T>::COUNT;
    Vector<T> sum[ROWS][VECTORS];
    bool whole = cols == VECTORS * L;
    int64_t last = cols - (VECTORS - 1) * L;
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) {
            if (start)
                sum[i][v] = splat(start[i]);
            else if (whole || v + 1 < VECTORS)
                sum[i][v] = load(c + i * c_row + v * L);
            else
                sum[i][v] = load_part(c + i * c_row + v * L, last);
        }
    for (int64_t p = 0; p < k; p++, a++, b += VECTORS * L) {
        Vector<T> row[VECTORS];
        __builtin_prefetch(next + p * LINE<T>, 0, 2);
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++)
            row[v] = load(b + v * L);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++) {
            Vector<T> element = splat(a[i * CONV_STRIDE]);
#pragma GCC unroll 8
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] = fma(element, row[v], sum[i][v]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) {
            if (whole || v + 1 < VECTORS)
                store(c + i * c_row + v * L, sum[i][v]);
            else
                store_part(c + i * c_row + v * L, sum[i][v], last);
        }
}

template <class T>
using ConvTile = void (*)(int64_t, const T *, const T *, T *, int64_t, int64_t, const T *,
                          const T *);

/* By rows and vectors. */
template <class T> struct ConvTiles {
    ConvTile<T> of[TILE_ROWS + 1][TILE_VECTORS + 1];
};

template <class T, int... R>
constexpr ConvTiles<T> make_conv_tiles(std::integer_sequence<int, R...>) {
    return ConvTiles<T>{{{}, {nullptr, conv_tile<T, R + 1, 1>, conv_tile<T, R + 1, 2>}...}};
}

template <class T>
constexpr ConvTiles<T> conv_tiles =
    make_conv_tiles<T>(std::make_integer_sequence<int, TILE_ROWS>{});

/* Rows of the next tile when `left` are left: full ones, the last two sharing evenly. */
inline int64_t conv_tile_rows(int64_t left) {
    if (left <= TILE_ROWS)
        return left;
    return left < 2 * TILE_ROWS ? (left + 1) / 2 : TILE_ROWS;
}

}  // namespace
