/* Convolutions by AMX: see conv_tiles.h. */
#include "common/kernels/amx.h"
#include "conv/kernels/conv_tiles.h"

#if defined(FL_COMPILES_AMX)
namespace {

/* Elements of one output channel's row of a tile, and of a tile of weights. */
const int64_t TILE = SIDE * SIDE;

/* Sums of R x 2 tiles: sixteen or 32 output channels by 32 columns from `from` on. */
template <int R>
void multiply(const fl_conv_band &b, const uint32_t *weight, const uint32_t *from, float *sums) {
    const int64_t bytes = b.plane * 4;
    const uint32_t *lower = weight + b.taps * b.blocks * TILE;
    before_tiles();
    zero_sums();
    for (int64_t t = 0; t < b.taps; t++) {
        const uint32_t *pairs = from + b.offsets[t];
        for (int64_t k = 0; k < b.blocks; k++, pairs += SIDE * b.plane) {
            _tile_loadd(6, pairs, bytes);
            _tile_loadd(4, weight, SIDE * 4);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(7, pairs + SIDE, bytes);
            _tile_dpbf16ps(1, 4, 7);
            if (R > 1) {
                _tile_loadd(5, lower, SIDE * 4);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
            weight += TILE;
            lower += TILE;
        }
    }
    store_sums<R, 2>(sums, BLOCK);
}

/* Neighbours among 32 columns that are neighbours in a row of the output. */
struct Run {
    int64_t column, count, out;
};

/* At most one run for each column. */
int64_t find_runs(const fl_conv_band &b, int64_t first, Run *runs) {
    int64_t count = 0, at = first;
    const int64_t end = first + BLOCK;
    while (at < end && at < b.rows * b.padded_width) {
        const int64_t x = at % b.padded_width, row = at / b.padded_width;
        const int64_t next = at - x + b.padded_width, last = at - x + b.width;
        const int64_t stop = last < end ? last : end;
        if (at < stop)
            runs[count++] = {at - first, stop - at, row * b.width + x};
        at = next;
    }
    return count;
}

inline __m256i rounded(const float *sums, __m512 bias) {
    return (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(sums) + bias);
}

void store_channel(const fl_conv_band &b, int64_t channel, const float *sums, const Run *runs,
                   int64_t count) {
    uint16_t *out = b.out + channel * b.out_plane;
    alignas(64) uint16_t halves[2 * BLOCK];     /* a run of the last column reads beyond 32 */
    const __m512 bias = _mm512_set1_ps(b.bias ? b.bias[channel] : 0);
    _mm256_store_si256((__m256i *)halves, rounded(sums, bias));
    _mm256_store_si256((__m256i *)(halves + SIDE), rounded(sums + SIDE, bias));
    for (int64_t i = 0; i < count; i++) {
        const __mmask32 some = runs[i].count < 32 ? (__mmask32)((1u << runs[i].count) - 1) : ~0u;
        const __m512i values = _mm512_maskz_loadu_epi16(some, halves + runs[i].column);
        _mm512_mask_storeu_epi16(out + runs[i].out, some, values);
    }
}

void band(const fl_conv_band *b) {
    alignas(64) float sums[BLOCK * BLOCK];
    Run runs[BLOCK];
    const int64_t columns = b->rows * b->padded_width, step = b->taps * b->blocks * TILE;
    _tile_loadconfig(&CONFIG);
    for (int64_t o = 0; o < b->channels; o += BLOCK) {
        const int64_t some = b->channels - o < BLOCK ? b->channels - o : BLOCK;
        const uint32_t *weight = b->weight + o / SIDE * step;
        for (int64_t first = 0; first < columns; first += BLOCK) {
            const int64_t count = find_runs(*b, first, runs);
            if (some > SIDE)
                multiply<2>(*b, weight, b->planes + first, sums);
            else
                multiply<1>(*b, weight, b->planes + first, sums);
            for (int64_t i = 0; i < some; i++)
                store_channel(*b, o + i, sums + i * BLOCK, runs, count);
        }
    }
    _tile_release();
}

}  // namespace

extern const fl_conv_tiles_kernels FL_LEVEL(fl_conv_tiles_kernels) = {true, band};
#else
extern const fl_conv_tiles_kernels FL_LEVEL(fl_conv_tiles_kernels) = {};
#endif
