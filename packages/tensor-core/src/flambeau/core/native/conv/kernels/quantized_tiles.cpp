/* Convolutions of integers of 8 bits by AMX: 32 pixels by 32 channels, whose sums stay in registers
 * and equal those of the other kernels bit for bit. Weights lie as its tiles want them; windows are
 * copied, 64 bytes of each pixel at a time. */
#include "common/kernels/amx.h"
#include "conv/kernels/quantized_conv.h"

#if defined(FL_COMPILES_AMX)
#include "conv/kernels/quantized_finish.h"

namespace {

const int64_t WORD_BYTES = 4 * FL_QUANTIZED_CHANNELS;  /* of the weights of four bytes */

/* Sixteen pixels, or fewer: equally far apart, and read where they are, or copied. */
struct Pixels {
    const uint8_t *const *at;
    int64_t count, step;        /* bytes from one to the next; 0: copied */
    alignas(64) uint8_t copies[SIDE][64];

    Pixels(const Tile *t, int64_t first, int64_t end) : at(t->pixels + first), step(0), copies{} {
        count = end - first < SIDE ? end - first : SIDE;
        if (count < SIDE)
            return;
        step = at[1] - at[0];
        for (int64_t i = 2; i < SIDE; i++)
            if (at[i] - at[i - 1] != step)
                step = 0;
    }
    /* The tile of `words` fours from a byte of the windows on, and the distance of its rows. */
    const uint8_t *windows(int64_t byte, int64_t words, int64_t *row) {
        *row = 64;
        if (step && words == SIDE) {
            *row = step;
            return at[0] + byte;
        }
        const __mmask64 some = words < SIDE ? ((__mmask64)1 << 4 * words) - 1 : ~(__mmask64)0;
        for (int64_t p = 0; p < count; p++)
            _mm512_store_si512(copies[p], _mm512_maskz_loadu_epi8(some, at[p] + byte));
        return copies[0];
    }
};

/* Weights of a step, with zeros where they are no whole tile. */
struct Weights {
    alignas(64) int8_t rest[SIDE * WORD_BYTES] = {};

    const int8_t *tile(const int8_t *weight, int64_t words) {
        if (words == SIDE)
            return weight;
        memcpy(rest, weight, (size_t)(words * WORD_BYTES));
        return rest;
    }
};

/* sums[32][32] += windows * weights of up to 16 pixels, or 32. */
template <int R> void add_windows(const Tile *t, int64_t first, int32_t *sums) {
    const int8_t *weight = t->weight;
    int64_t step;
    Pixels upper(t, first, t->count), lower(t, R > 1 ? first + SIDE : first, t->count);
    Weights weights;
    before_tiles();
    load_sums<R, 2>(sums, BLOCK);
    for (int64_t r = 0; r < t->runs; r++)
        for (int64_t q = 0; q < t->words; q += SIDE) {
            const int64_t words = t->words - q < SIDE ? t->words - q : SIDE;
            const int64_t byte = t->base + t->offsets[r] + 4 * q;
            const int8_t *b = weights.tile(weight, words);
            const uint8_t *a = upper.windows(byte, words, &step);
            weight += words * WORD_BYTES;
            before_tiles();
            _tile_loadd(6, b, WORD_BYTES);
            _tile_loadd(4, a, step);
            _tile_dpbusd(0, 4, 6);
            _tile_loadd(7, b + WORD_BYTES / 2, WORD_BYTES);
            _tile_dpbusd(1, 4, 7);
            if (R > 1) {
                a = lower.windows(byte, words, &step);
                before_tiles();
                _tile_loadd(5, a, step);
                _tile_dpbusd(2, 5, 6);
                _tile_dpbusd(3, 5, 7);
            }
        }
    store_sums<R, 2>(sums, BLOCK);
}

void tiles(const Tile *t) {
    alignas(64) int32_t sums[BLOCK * BLOCK];
    const __m512i low = _mm512_loadu_si512(t->to.start);
    const __m512i high = _mm512_loadu_si512(t->to.start + SIDE);
    _tile_loadconfig(&CONFIG);
    for (int64_t first = 0; first < t->count; first += BLOCK) {
        const int64_t count = t->count - first < BLOCK ? t->count - first : BLOCK;
        for (int64_t p = 0; p < BLOCK; p++) {
            _mm512_store_si512(sums + p * BLOCK, low);
            _mm512_store_si512(sums + p * BLOCK + SIDE, high);
        }
        if (count > SIDE)
            add_windows<2>(t, first, sums);
        else
            add_windows<1>(t, first, sums);
        for (int64_t p = 0; p < count; p++)
            write(t, first + p, _mm512_load_si512(sums + p * BLOCK),
                  _mm512_load_si512(sums + p * BLOCK + SIDE));
    }
    _tile_release();
}

}  // namespace

extern const fl_quantized_tiles_kernels FL_LEVEL(fl_quantized_tiles_kernels) = {tiles};
#else
extern const fl_quantized_tiles_kernels FL_LEVEL(fl_quantized_tiles_kernels) = {};
#endif
