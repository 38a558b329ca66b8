/* Philox 4x32-10 on vectors of counters: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3" (2011). Each 32-bit word of the state sits in a 64-bit lane; what collects in
 * the upper halves is never looked at. */
#pragma once
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
const int PHILOX_LANES = 8;
#elif defined(__AVX2__)
const int PHILOX_LANES = 4;
#else
const int PHILOX_LANES = 2;
#endif

typedef uint64_t wide_lanes __attribute__((vector_size(PHILOX_LANES * 8)));

/* Products of the low halves of the lanes. */
inline wide_lanes multiply_low(wide_lanes a, wide_lanes b) {
#if defined(__AVX512F__)     /* the masked form: the plain one makes gcc 12 warn */
    return (wide_lanes)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (wide_lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (wide_lanes)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

const int TILE_BLOCKS = 64;
const int GROUP_BLOCKS = 16;        /* what a tile has at least: few numbers take no whole one */

/* The words of TILE_BLOCKS blocks: word l of block b is w[l][b]. */
struct philox_tile {
    alignas(64) uint32_t w[4][TILE_BLOCKS];
};

inline wide_lanes every(uint64_t x) { return x - (wide_lanes){}; }

inline wide_lanes lane_numbers() {
    wide_lanes v = {};
    for (int i = 0; i < PHILOX_LANES; i++)
        v[i] = (uint64_t)i;
    return v;
}

inline void store_words(uint32_t *out, wide_lanes x) {
    typedef uint32_t words __attribute__((vector_size(PHILOX_LANES * 4)));
    words low = __builtin_convertvector(x, words);
    memcpy(out, &low, sizeof low);
}

inline void philox_blocks(philox_tile *tile, int at, uint64_t block, uint64_t seed) {
    wide_lanes c0 = block + lane_numbers(), c1 = c0 >> 32, c2 = {}, c3 = {};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        wide_lanes p0 = multiply_low(c0, every(0xD2511F53u));
        wide_lanes p1 = multiply_low(c2, every(0xCD9E8D57u));
        c0 = (p1 >> 32) ^ c1 ^ every(k0);
        c2 = (p0 >> 32) ^ c3 ^ every(k1);
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    store_words(tile->w[0] + at, c0);
    store_words(tile->w[1] + at, c1);
    store_words(tile->w[2] + at, c2);
    store_words(tile->w[3] + at, c3);
}

/* Not copied into each kind of number: the code is long beside the call. */
__attribute__((noinline))
void philox_fill(philox_tile *tile, int blocks, uint64_t block, uint64_t seed) {
    for (int at = 0; at < blocks; at += 2 * PHILOX_LANES) {
        philox_blocks(tile, at, block + (uint64_t)at, seed);
        philox_blocks(tile, at + PHILOX_LANES, block + (uint64_t)at + PHILOX_LANES, seed);
    }
}

}  // namespace
