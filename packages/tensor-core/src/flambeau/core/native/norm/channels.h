/* What normalizations with a weight and a bias for every channel share. */
#pragma once
#include "common/args.h"

/* An optional argument with one number for every channel. */
static inline int fl_check_channels(const fl_op *op, const char *name, const fl_value &v,
                                    int64_t channels) {
    return fl_t(v) ? fl_expect_shape(op, name, fl_t(v), 1, &channels) : 0;
}

/* The gradients of input, weight (NULL where there is none) and bias. */
static inline void fl_spec_channel_grads(fl_spec *outs, const fl_tensor *input,
                                         const fl_tensor *weight) {
    fl_spec_like(&outs[0], input);
    fl_spec_set(&outs[1], weight ? weight->dtype : input->dtype, fl_device_code(input), 1,
                &input->shape[1]);
    outs[2] = outs[1];
}
