/* Direct convolution (kernels/conv_direct.h): where it is faster than unfolding. */
#pragma once
#include "conv/conv2d.h"
#include "runtime/epilogue.h"

/* Layouts of weights: for direct convolution, and for Winograd's (winograd.h), of many tiles and of
 * few. */
enum fl_conv_layout { FL_CONV_DIRECT, FL_CONV_BY_TAPS, FL_CONV_BY_OUTPUTS };

/* Weights of a convolution, packed once for many calls. */
struct fl_conv_packed {
    const void *weight;         /* what was packed: a contiguous tensor of float32 */
    const float *packed;
    fl_conv_layout layout;
};
/* The elements that packing takes for the weight of such a convolution, 0 where this processor gains
 * nothing by it; and packing, of shape [o * groups, c, y, x]. */
int64_t fl_conv_packed_elements(const fl_conv &p);
void fl_conv_pack(const float *weight, int64_t groups, const int64_t *shape, float *packed);
/* Packed weights for the kernel that this thread runs next; NULL: no more. */
void fl_conv_offer_packed(const fl_conv_packed *packed);
/* What was offered for these weights in that layout, or NULL; it is offered once. */
const float *fl_conv_take_packed(const void *weight, fl_conv_layout layout);

/* 1: done; 0: other kernels are faster, or can do what these cannot; -1: no memory. */
int fl_conv_direct(const fl_conv &p, const float *input, const fl_conv_weight &weight,
                   const float *bias, float *out, const fl_epilogue *epilogue);
