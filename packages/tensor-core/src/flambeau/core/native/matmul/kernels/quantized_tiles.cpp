/* Products of rows of int8 by AMX: 32 rows by 32 columns, whose sums stay in registers. Columns are
 * packed as rows of fours; sums are exact, and results equal those of other kernels bit for bit. */
#include "common/kernels/amx.h"
#include "matmul/kernels/quantized.h"

#if defined(FL_COMPILES_AMX)
#include "matmul/kernels/gemm_pack.h"
#include <string.h>

namespace {

/* Sums of 32 rows of x, or 16, with a packed strip. */
template <int R>
void multiply(const int8_t *x, int64_t row, const float *strip, int64_t words, int32_t *sums) {
    before_tiles();
    zero_sums();
    for (int64_t q = 0; q < words; q += SIDE, x += 64, strip += SIDE * BLOCK) {
        _tile_loadd(6, strip, BLOCK * 4);
        _tile_loadd(4, x, row);
        _tile_dpbssd(0, 4, 6);
        _tile_loadd(7, strip + SIDE, BLOCK * 4);
        _tile_dpbssd(1, 4, 7);
        if (R > 1) {
            _tile_loadd(5, x + SIDE * row, row);
            _tile_dpbssd(2, 5, 6);
            _tile_dpbssd(3, 5, 7);
        }
    }
    store_sums<R, 2>(sums, BLOCK);
}

/* Up to sixteen columns of a row. */
inline void finish(const fl_quantized_product *p, int64_t i, int64_t j, int64_t cols,
                   const int32_t *sums) {
    const __mmask16 some = cols < SIDE ? (__mmask16)((1u << cols) - 1) : (__mmask16)~0u;
    const __m512 one = _mm512_set1_ps(p->steps[i]) * _mm512_maskz_loadu_ps(some, p->scales + j);
    __m512 value = _mm512_maskz_cvtepi32_ps(some, _mm512_load_si512(sums)) * one;
    if (p->bias)
        value = value + _mm512_maskz_loadu_ps(some, p->bias + j);
    _mm512_mask_storeu_ps(p->c + i * p->n + j, some, value);
}

void strip_columns(const fl_quantized_product *p, int64_t j, int64_t cols, float *strip) {
    alignas(64) int32_t sums[BLOCK * BLOCK];
    const int64_t words = p->k / 4, whole = up_to(words, SIDE);
    pack(strip, BLOCK, (const float *)(p->weight + j * p->k), 1, words, words, cols);
    memset(strip + words * BLOCK, 0, (size_t)((whole - words) * BLOCK) * 4);
    for (int64_t i = 0; i < p->m; i += BLOCK) {
        const int64_t rows = p->m - i < BLOCK ? p->m - i : BLOCK;
        const auto some = rows > SIDE ? multiply<2> : multiply<1>;
        some(p->x + i * p->x_row, p->x_row, strip, whole, sums);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t v = 0; v < cols; v += SIDE)
                finish(p, i + r, j + v, cols - v, sums + r * BLOCK + v);
    }
}

void columns_by_tiles(const fl_quantized_product *p, int64_t begin, int64_t end, void *strip) {
    _tile_loadconfig(&CONFIG);
    for (int64_t j = begin; j < end; j += BLOCK)
        strip_columns(p, j, end - j < BLOCK ? end - j : BLOCK, (float *)strip);
    _tile_release();
}

}  // namespace

extern const fl_quantized_products_by_tiles FL_LEVEL(fl_quantized_products_by_tiles) = {
    columns_by_tiles};
#else
extern const fl_quantized_products_by_tiles FL_LEVEL(fl_quantized_products_by_tiles) = {};
#endif
