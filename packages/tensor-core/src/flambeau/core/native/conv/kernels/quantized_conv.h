/* Convolutions of integers of 8 bits: tiles of pixels by 32 channels, sums exact in 32 bits. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

const int FL_QUANTIZED_PIXELS = 14;     /* of a tile at most */
const int FL_QUANTIZED_CHANNELS = 32;   /* of a tile: two vectors of sums */
const int FL_QUANTIZED_BLOCK = 64;      /* channels that a depthwise kernel takes at a time */

/* How a sum becomes an integer of a result: round((sum + shift) * factor) + zero, from low to 255,
 * and flipped by 128 where results are signed. NaN becomes the greatest. */
struct fl_requantization {
    const int32_t *start;               /* what sums begin with, for each channel */
    const float *shift, *factor;
    int zero, low;
    uint8_t flip;
};

/* Pixels are where the window of each begins, in memory whose channels lie side by side. A window
 * is `runs` runs of `words` times four bytes; weights of channels are [runs][words][32][4]. */
struct fl_quantized_tile {
    const uint8_t *const *pixels;
    int64_t count, runs, words, channels;
    const int64_t *offsets;             /* of the runs, in bytes from a pixel */
    int64_t base;                       /* of the group's channels, added to offsets */
    const int8_t *weight;
    fl_requantization to;
    uint8_t *out;                       /* of the first pixel */
    int64_t out_row;                    /* bytes from pixel to pixel */
};

/* One output channel for each of the input's. Channels are taken 64 at a time, `runs` counts the
 * elements of a window, and `words` fours of them; weights are [block][words][64][4], their
 * channels, like start, shift and factor, in the order of `fl_quantized_lane`. 64 bytes behind the
 * last pixel can be read. */
struct fl_quantized_kernels_of {
    void (*tile)(const fl_quantized_tile *t);
    void (*depthwise)(const fl_quantized_tile *t);
};
struct fl_quantized_conv_kernels {
    fl_quantized_kernels_of plain, vnni;    /* vnni: by dot products of four bytes; may be NULL */
};

/* The channel of a block that is i-th where sums are: bytes are interleaved within 16 of them. */
static inline int fl_quantized_lane(int i) { return i % 16 / 4 * 16 + i / 16 * 4 + i % 4; }

/* The same by AMX, whose instructions the processor may lack. */
struct fl_quantized_tiles_kernels {
    void (*tile)(const fl_quantized_tile *t);           /* or NULL */
};

extern "C" {
FL_LEVELS(fl_quantized_conv_kernels);
FL_LEVELS(fl_quantized_tiles_kernels);
}
