/* Winograd's convolution (kernels/winograd.h): where it is faster than direct sums. */
#pragma once
#include "conv/direct.h"

/* Whether convolutions may be computed this way, in all threads; at first they may. */
void fl_conv_allow_winograd(bool allow);

/* Whether this is how a convolution is computed, as far as sizes say. */
bool fl_conv_suits_winograd(const fl_conv &p);

/* The layout in which convolutions of such sizes, which suit it, take windows sooner; and
 * contiguous weights [o, c, 3, 3] laid out so. In the other layout they are not taken. */
fl_conv_layout fl_conv_layout_of(const fl_conv &p);
int64_t fl_conv_laid_elements(fl_conv_layout layout, int64_t o, int64_t c);
void fl_conv_lay_windows(fl_conv_layout layout, const float *weight, int64_t o, int64_t c,
                         float *to);

/* Which images have no element that is much larger than the mean, NaN or infinite; false: no
 * memory. */
bool fl_winograd_find_even(const fl_conv &p, const float *input, char *even);

/* 1: done; 0: other kernels are faster, or can do what these cannot; -1: no memory. */
int fl_conv_winograd(const fl_conv &p, const float *input, const fl_conv_weight &weight,
                     const float *bias, float *out, const fl_epilogue *epilogue);
