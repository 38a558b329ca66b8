/* Winograd's convolution (kernels/winograd.h): where it is faster than direct sums. */
#pragma once
#include "conv/conv2d.h"
#include "runtime/epilogue.h"

/* Whether convolutions may be computed this way, in all threads; at first they may. */
void fl_conv_allow_winograd(bool allow);

/* Whether this is how a convolution is computed, as far as sizes say. */
bool fl_conv_suits_winograd(const fl_conv &p);

/* Windows of contiguous weights [o, c, 3, 3] laid out as this way takes them sooner, where it
 * suits. */
int64_t fl_conv_laid_elements(int64_t o, int64_t c);
void fl_conv_lay_windows(const float *weight, int64_t o, int64_t c, float *to);

/* 1: done; 0: other kernels are faster, or can do what these cannot; -1: no memory. */
int fl_conv_winograd(const fl_conv &p, const float *input, const fl_conv_weight &weight,
                     const float *bias, float *out, const fl_epilogue *epilogue);
