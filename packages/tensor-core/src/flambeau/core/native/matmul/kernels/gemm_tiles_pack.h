/* Operands of products by tiles, copied as pairs of bfloat16 along k. Rows of A and strips of B end
 * on whole tiles along k, with zeros: what else lies there might be NaN. */
#pragma once
#include "matmul/kernels/gemm_pack.h"

namespace {

typedef Vector<float> Pairs;            /* sixteen, moved as they are */

/* The pairs of two rows of bfloat16: of their first sixteen elements (lower) or next sixteen. */
inline Pairs pairs_of(__m512i low, __m512i high, bool upper) {
    const __m512i lane = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9,
                                          40, 8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1,
                                          32, 0);
    const __m512i from = upper ? _mm512_add_epi16(lane, _mm512_set1_epi16(16)) : lane;
    return (Pairs)_mm512_permutex2var_epi16(low, from, high);
}

/* The first `count` of up to 32 elements, zeros behind them. */
inline __m512i load_halves(const uint16_t *from, int64_t count) {
    return _mm512_maskz_loadu_epi16(count < 32 ? (__mmask32)((1u << count) - 1) : ~0u, from);
}

const int64_t FETCHED = 8;              /* rows of B asked for ahead */

struct Rows {
    const float *at;
    int64_t row;
};

class PairsSource {
  public:
    explicit PairsSource(const fl_gemm_block &g) : g_(g) {}

    /* Rows of A where they are, from row i and pair p on. */
    Rows rows_at(int64_t i, int64_t p) const {
        return {static_cast<const float *>(g_.a) + i * g_.a_row + p, g_.a_row};
    }

    /* `rows` rows of A from row i on, k pairs of each from pair p on. */
    void rows_of_a(float *out, int64_t i, int64_t p, int64_t rows, int64_t k) const {
        if (!g_.a_halves)
            return pack(out, PANEL_STRIDE, static_cast<const float *>(g_.a) + i * g_.a_row +
                        p * g_.a_col, g_.a_row, g_.a_col, rows, k);
        const uint16_t *from = static_cast<const uint16_t *>(g_.a) + i + 2 * p * g_.a_col;
        for (int64_t q = 0; q < k; q += LANES)
            for (int64_t r = 0; r < rows; r += LANES)
                square(out + r * PANEL_STRIDE + q, from + r + 2 * q * g_.a_col,
                       rows - r < LANES ? rows - r : LANES, k - q < LANES ? k - q : LANES);
    }

    /* Columns first to end of B, k pairs from pair p on, as strips of two tiles, `step` elements
     * apart. */
    void strips_of_b(float *out, int64_t step, int64_t first, int64_t end, int64_t p,
                     int64_t k) const {
        const int64_t cols = end - first;
        if (g_.b_halves)
            interleave(out, step, static_cast<const uint16_t *>(g_.b) + 2 * p * g_.b_row + first,
                       k, cols);
        else
            for (int64_t j = 0; j < cols; j += STRIP)
                pack(out + j / STRIP * step, STRIP, pairs_at(p, first + j), g_.b_row, g_.b_col, k,
                     cols - j < STRIP ? cols - j : STRIP);
        for (; k % LANES; k++)
            for (int64_t j = 0; j < cols; j += STRIP)
                write(out + j / STRIP * step + k * STRIP, Pairs{}, Pairs{});
    }

  private:
    static const int64_t LANES = 16, STRIP = 2 * LANES;

    const float *pairs_at(int64_t p, int64_t j) const {
        return static_cast<const float *>(g_.b) + p * g_.b_row + j * g_.b_col;
    }

    static void write(float *out, Pairs left, Pairs right) {
        store(out, left);
        store(out + LANES, right);
    }

    /* Row by row: rows may lie pages apart, so that longer parts of them arrive sooner. */
    void interleave(float *out, int64_t step, const uint16_t *from, int64_t k,
                    int64_t cols) const {
        for (int64_t q = 0; q < k; q++, from += 2 * g_.b_row, out += STRIP)
            for (int64_t j = 0; j < cols; j += STRIP) {
                const uint16_t *next = from + j + FETCHED * g_.b_row;
                __builtin_prefetch(next, 0, 2);
                __builtin_prefetch(next + g_.b_row, 0, 2);
                __m512i low = load_halves(from + j, cols - j);
                __m512i high = load_halves(from + g_.b_row + j, cols - j);
                write(out + j / STRIP * step, pairs_of(low, high, false),
                      pairs_of(low, high, true));
            }
    }

    /* Sixteen rows of sixteen pairs, from columns of bfloat16. */
    void square(float *out, const uint16_t *from, int64_t rows, int64_t pairs) const {
        Pairs block[LANES] = {};
#pragma GCC unroll 16
        for (int q = 0; q < LANES; q++)
            if (q < pairs)
                block[q] = pairs_of(load_halves(from + 2 * q * g_.a_col, rows),
                                    load_halves(from + (2 * q + 1) * g_.a_col, rows), false);
        transpose_lanes<float>(block);
#pragma GCC unroll 16
        for (int r = 0; r < LANES; r++)
            if (r < rows)
                store(out + r * PANEL_STRIDE, block[r]);
    }

    const fl_gemm_block &g_;
};

}  // namespace
