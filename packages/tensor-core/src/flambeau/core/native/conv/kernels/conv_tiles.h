/* Convolutions of bfloat16 with stride 1 by AMX.
 *
 * Rows of the padded input lie behind each other, in pairs of channels. Sixteen neighbours in such
 * a run, shifted by the offset of a tap, are the columns of a tile whose rows are sixteen pairs of
 * channels: nothing is unfolded. What begins between two rows of the output is computed, and not
 * stored. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* Some rows of the output of one image and group. */
struct fl_conv_band {
    const uint32_t *planes;     /* [pair of channels][padded row][padded column] */
    int64_t plane;              /* elements of such a plane; behind the last are SLACK more */
    const int64_t *offsets;     /* of the taps */
    int64_t taps, blocks;       /* of sixteen pairs of channels, the last filled with zeros */
    const uint32_t *weight;     /* [16 output channels][tap][block][channel][pair] */
    const float *bias;          /* of the output channels, or NULL */
    int64_t channels;           /* of output */
    int64_t rows, width, padded_width;
    uint16_t *out;              /* the first of so many rows, without gaps, of the first channel */
    int64_t out_plane;
};
const int64_t FL_CONV_BAND_SLACK = 64;      /* besides the width of a window */

struct fl_conv_tiles_kernels {
    bool built;                 /* for processors with AMX-BF16 */
    void (*band)(const fl_conv_band *);
};
extern "C" {
FL_LEVELS(fl_conv_tiles_kernels);
}
