/* Convolutions of bfloat16 by products of pairs, for processors that multiply such pairs. */
#pragma once
#include "conv/conv2d.h"

/* Whether a convolution over planes multiplies pairs. */
bool fl_conv_goes_by_pairs(const fl_conv &p, const fl_tensor *input, const fl_tensor *weight);
/* Such a convolution; the bias may be none. */
int fl_conv_by_pairs(const fl_conv &p, const fl_tensor *input, const fl_tensor *weight,
                     const fl_value &bias, fl_tensor *out);

/* The same of contiguous operands, whose weight is [group, output channel, channel, row, column].
 * The output's rows and columns may be others than the window gives, as for fl_conv_forward. */
int fl_conv_pairs(const fl_conv &p, const void *input, const void *weight, const float *bias,
                  void *out);
/* Whether pairs are worth it for such a convolution. */
bool fl_conv_pairs_fit(const fl_conv &p);

/* The same for the gradient of its weight; 1 where the input has numbers that are not finite, and
 * it has to be computed otherwise. */
bool fl_conv_weight_grad_goes_by_pairs(const fl_conv &p, const fl_tensor *grad,
                                       const fl_tensor *input);
int fl_conv_weight_grad_by_pairs(const fl_conv &p, const fl_tensor *grad, const fl_tensor *input,
                                 fl_tensor *result);
