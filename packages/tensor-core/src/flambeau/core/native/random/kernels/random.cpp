/* Random numbers: tiles of Philox words, transformed in place of their block. See random.h. */
#include "random/kernels/random.h"
#include "formula/include/box_muller.h"
#include "random/kernels/philox.h"

namespace {

typedef uint32_t tile_words[4][TILE_BLOCKS];

/* Call make(words, values, first block) for groups of blocks, a tile of them at a time, and store
 * the values in the order of the blocks, PER of them from each. */
template <int PER, class T, class Make>
inline void drive(T *out, int64_t n, fl_stream s, const Make &make) {
    const int64_t full = TILE_BLOCKS * PER;
    philox_tile words;
    alignas(64) T values[PER][TILE_BLOCKS];
    alignas(64) T last[TILE_BLOCKS * PER];
    for (int64_t i = 0; i < n; i += full, s.block += TILE_BLOCKS) {
        const int blocks = n - i <= GROUP_BLOCKS * PER ? GROUP_BLOCKS : TILE_BLOCKS;
        philox_fill(&words, blocks, s.block, s.seed);
        for (int at = 0; at < blocks; at += GROUP_BLOCKS)
            make(words.w, values, at);
        T *to = n - i >= full ? out + i : last;
        for (int b = 0; b < blocks; b++)
            for (int l = 0; l < PER; l++)
                to[b * PER + l] = values[l][b];
        if (to == last)
            memcpy(out + i, last, (size_t)(n - i) * sizeof(T));
    }
}

/* One value of a word. */
template <class T, class Of> inline void by_word(T *out, int64_t n, fl_stream s, const Of &of) {
    drive<4>(out, n, s, [&](const tile_words w, T values[4][TILE_BLOCKS], int at) {
        for (int l = 0; l < 4; l++)
#pragma GCC unroll 1    /* the loop becomes vectors, which its unrolled elements do not always */
            for (int b = at; b < at + GROUP_BLOCKS; b++)
                values[l][b] = of(w[l][b]);
    });
}

inline uint64_t join(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

/* One value of two words. */
template <class T, class Of> inline void by_pair(T *out, int64_t n, fl_stream s, const Of &of) {
    drive<2>(out, n, s, [&](const tile_words w, T values[2][TILE_BLOCKS], int at) {
        for (int l = 0; l < 2; l++)
            for (int b = at; b < at + GROUP_BLOCKS; b++)
                values[l][b] = of(w[2 * l][b], w[2 * l + 1][b]);
    });
}

/* Rounding may lift low + u (high - low) to high, which is excluded. Not fused: uniform numbers are
 * the same on processors without that. */
template <class T> inline T between(T u, T low, T high) {
    T x = low + u * (high - low);
    return x >= high ? low : x;
}

void uniform_f32(float *out, int64_t n, fl_stream s, float low, float high, int bits) {
    uint32_t keep = 0xffffffffu << (32 - bits);
    by_word(out, n, s, [=](uint32_t w) {
        return between((float)(int32_t)((w & keep) >> 8) * 0x1p-24f, low, high);
    });
}

void uniform_f64(double *out, int64_t n, fl_stream s, double low, double high) {
    by_pair(out, n, s, [=](uint32_t w0, uint32_t w1) {
        return between((double)(int64_t)(join(w0, w1) >> 11) * 0x1p-53, low, high);
    });
}

void normal_f32(float *out, int64_t n, fl_stream s, float mean, float std) {
    drive<4>(out, n, s, [=](const tile_words w, float values[4][TILE_BLOCKS], int at) {
        for (int l = 0; l < 4; l += 2)
            for (int b = at; b < at + GROUP_BLOCKS; b++) {
                float x, y;
                box_muller(w[l][b], w[l + 1][b], &x, &y);
                values[l][b] = fused(x, std, mean);
                values[l + 1][b] = fused(y, std, mean);
            }
    });
}

void normal_f64(double *out, int64_t n, fl_stream s, double mean, double std) {
    drive<2>(out, n, s, [=](const tile_words w, double values[2][TILE_BLOCKS], int at) {
        for (int b = at; b < at + GROUP_BLOCKS; b++) {
            double x, y;
            box_muller(join(w[0][b], w[1][b]), join(w[2][b], w[3][b]), &x, &y);
            values[0][b] = fused(x, std, mean);
            values[1][b] = fused(y, std, mean);
        }
    });
}

/* The upper half of the product of 64 random bits and range: even for every range that matters. */
template <class T>
inline void integers(T *out, int64_t n, fl_stream s, int64_t low, uint64_t range) {
    if (range >> 32 == 0 && range != 0) {
        by_pair(out, n, s, [=](uint32_t w0, uint32_t w1) {
            uint64_t below = (w1 * range + (w0 * range >> 32)) >> 32;
            return (T)(int64_t)((uint64_t)low + below);
        });
        return;
    }
    by_pair(out, n, s, [=](uint32_t w0, uint32_t w1) {
        uint64_t bits = join(w0, w1);
        uint64_t below = range ? (uint64_t)((unsigned __int128)bits * range >> 64) : bits;
        return (T)(int64_t)((uint64_t)low + below);
    });
}

template <class T> inline void bernoulli(T *out, int64_t n, fl_stream s, uint64_t threshold) {
    uint32_t below = threshold >> 32 ? 0xffffffffu : (uint32_t)threshold;
    bool always = threshold >> 32 != 0;
    by_word(out, n, s, [=](uint32_t w) { return (T)((w < below) | always); });
}

#define INTEGERS(NAME, T)                                                                        \
    void integers_##NAME(T *out, int64_t n, fl_stream s, int64_t low, uint64_t range) {          \
        integers(out, n, s, low, range);                                                         \
    }                                                                                            \
    void bernoulli_##NAME(T *out, int64_t n, fl_stream s, uint64_t threshold) {                  \
        bernoulli(out, n, s, threshold);                                                         \
    }
INTEGERS(i64, int64_t)
INTEGERS(f32, float)
INTEGERS(f64, double)
INTEGERS(u8, uint8_t)

void words64(uint64_t *out, int64_t n, fl_stream s) {
    by_pair(out, n, s, [](uint32_t w0, uint32_t w1) { return join(w0, w1); });
}

}  // namespace

extern const fl_random_kernels FL_LEVEL(fl_random_kernels) = {
    uniform_f32,   uniform_f64,   normal_f32,    normal_f64,    integers_i64,
    integers_f32,  integers_f64,  integers_u8,   bernoulli_i64, bernoulli_f32,
    bernoulli_f64, bernoulli_u8,  words64,
};
