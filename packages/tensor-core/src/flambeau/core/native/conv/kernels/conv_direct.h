/* Direct convolution of float32: vectors run along output channels, and each tap reads its element
 * of the input where it lies. Nothing is unfolded, whatever stride and dilation, and pixels are cut
 * evenly, however many there are; weights have to be packed. A sum takes its taps in the order of
 * conv.h's kernels, so the bits are theirs. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

static const int64_t FL_DIRECT_TAPS = 256;      /* taps that are multiplied at once, at most */

/* Some taps of the pixels of one block of channels. */
struct fl_conv_direct_block {
    const float *input;         /* pixel i reads input[pixels[i] + taps[t]] */
    const int64_t *pixels, *taps;
    int64_t pixel_count, tap_count, channels;   /* of these, whole vectors are summed */
    const float *weights;       /* [tap][channel of the block] */
    const float *start;         /* of each channel; NULL: sums go on */
    float *sums;                /* [pixel][channel of the block] */
};

struct fl_conv_direct_kernels {
    int64_t channels;           /* of a block; 0: other kernels are as fast at this level */
    int64_t pixels;             /* of a register tile */
    void (*multiply)(const fl_conv_direct_block *b);
    /* `rows` rows of weights, `row` elements apart, to [tap][channel of the block], with zeros for
     * the rows that a block has room for. */
    void (*pack)(const float *weights, int64_t row, int64_t rows, int64_t taps, float *packed);
    /* out[channel * row + pixel] = sums[pixel][channel] */
    void (*spread)(const float *sums, int64_t pixels, int64_t channels, float *out, int64_t row);
};
extern "C" {
FL_LEVELS(fl_conv_direct_kernels);
}
