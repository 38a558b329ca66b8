/* Convolutions of bfloat16 by AMX's tiles. */
#pragma once
#include "conv/conv2d.h"

/* Whether they are worth it for a convolution. */
bool fl_conv_tiles_fit(const fl_conv &p);
/* Such a convolution of contiguous operands, whose weight is [group, output channel, channel, row,
 * column]; the bias may be NULL. The output's rows and columns may be others than the window gives,
 * as for fl_conv_forward. */
int fl_conv_by_tiles(const fl_conv &p, const uint16_t *input, const uint16_t *weight,
                     const float *bias, uint16_t *out);
