/* What the three convolution rows share: sizes and checks. */
#pragma once
#include "ops/complex_parts.h"
#include "ops/window.h"

static inline const fl_conv_dtype *fl_conv_kernels_of(int dtype) {
    return dtype == FL_F64 ? &FL_PICK(fl_conv_kernels)->f64 : &FL_PICK(fl_conv_kernels)->f32;
}

/* Read stride, padding, dilation, groups from in[at..at+4) and the sizes from two shapes. */
int fl_conv_read(const fl_op *op, const fl_value *in, int at, const char *input_name, int input_nd,
                 const int64_t *input, const char *weight_name, int weight_nd,
                 const int64_t *weight, fl_conv *out);
/* in[1..n) of the tensors given must have the dtype of the first, a floating one. */
int fl_conv_check_dtypes(const fl_op *op, const fl_value *in, int n);
/* infer of both gradients: in[0] is `grad`, in[1] the other operand, in[2] the result's shape. */
typedef int (*fl_conv_read_fn)(const fl_op *op, const fl_value *in, fl_conv *out);
int fl_conv_infer_grad(const fl_op *op, const fl_value *in, int n, fl_spec *outs,
                       fl_conv_read_fn read);
int fl_conv_output_shape(const fl_conv &p, int64_t shape[4]);   /* returns the dimensions */

/* out = the convolution of contiguous operands in a compute dtype; bias may be NULL. p.oh and p.ow
 * may differ from what the window gives: what lies behind the input counts as padding, which may
 * also be negative. */
int fl_conv_forward(const fl_conv &p, int dtype, const char *input, const fl_conv_weight &weight,
                    const char *bias, char *out);
