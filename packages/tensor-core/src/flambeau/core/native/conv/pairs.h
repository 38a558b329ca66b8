/* Convolutions of bfloat16 by products of pairs, for processors that multiply such pairs. */
#pragma once
#include "conv/conv2d.h"

/* Whether a convolution over planes multiplies pairs. */
bool fl_conv_goes_by_pairs(const fl_conv &p, const fl_tensor *input, const fl_tensor *weight);
/* Such a convolution; the bias may be none. */
int fl_conv_by_pairs(const fl_conv &p, const fl_tensor *input, const fl_tensor *weight,
                     const fl_value &bias, fl_tensor *out);
