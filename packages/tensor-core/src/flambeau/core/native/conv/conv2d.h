/* What the three convolution rows share: sizes and checks. */
#pragma once
#include "common/complex_parts.h"
#include "common/window.h"
#include "runtime/epilogue.h"

static inline const fl_conv_dtype *fl_conv_kernels_of(int dtype) {
    return dtype == FL_F64 ? &FL_PICK(fl_conv_kernels)->f64 : &FL_PICK(fl_conv_kernels)->f32;
}

/* A convolution over planes (spatial = 2) or over blocks (3), which has windows along the depth. */
struct fl_conv_nd {
    fl_conv p;
    int spatial;
    int64_t d, od;              /* planes of input and of output */
    fl_window z;
};

/* Read stride, padding, dilation, groups from in[at..at+4) and the sizes from two shapes. */
int fl_conv_read(const fl_op *op, const fl_value *in, int at, int spatial, const char *input_name,
                 int input_nd, const int64_t *input, const char *weight_name, int weight_nd,
                 const int64_t *weight, fl_conv_nd *out);
/* The same from the arguments of a convolution, of the gradients for its input and weight. */
int fl_conv_read_forward(const fl_op *op, const fl_value *in, int spatial, fl_conv_nd *out);
int fl_conv_read_input_grad(const fl_op *op, const fl_value *in, int spatial, fl_conv_nd *out);
int fl_conv_read_weight_grad(const fl_op *op, const fl_value *in, int spatial, fl_conv_nd *out);

/* The output of a convolution without input channels: the bias, or zeros. */
int fl_conv_bias_alone(const fl_tensor *bias, int spatial, fl_tensor *out);
/* infer of a convolution, and of both gradients: in[0] is `grad`, in[1] the other operand, in[2]
 * the result's shape. */
int fl_conv_infer(const fl_op *op, const fl_value *in, int n, int spatial, fl_spec *outs);
typedef int (*fl_conv_read_fn)(const fl_op *op, const fl_value *in, int spatial, fl_conv_nd *out);
int fl_conv_infer_grad(const fl_op *op, const fl_value *in, int n, int spatial, fl_spec *outs,
                       fl_conv_read_fn read);

/* out = the convolution of contiguous operands in a compute dtype; bias and depth may be NULL.
 * p.oh and p.ow may differ from what the window gives: what lies behind the input counts as
 * padding, which may also be negative. */
int fl_conv_forward(const fl_conv &p, int dtype, const char *input, const fl_conv_weight &weight,
                    const char *bias, char *out, const fl_conv_depth *depth);
/* The same by sums of products alone, without transforms. */
int fl_conv_by_sums(const fl_conv &p, int dtype, const char *input, const fl_conv_weight &weight,
                    const char *bias, char *out, const fl_conv_depth *depth,
                    const fl_epilogue *epilogue);
/* The gradients of contiguous operands in a compute dtype; nothing is empty. */
int fl_conv_input_grad(const fl_conv &p, int dtype, const char *grad, const char *weight,
                       char *out);
int fl_conv_weight_grad(const fl_conv &p, int dtype, const char *grad, const char *input,
                        char *out);
/* run of such a gradient over planes; `integers` is for int64 operands, or NULL where there is none. */
typedef int fl_conv_grad_fn(const fl_conv &p, int dtype, const char *grad, const char *operand,
                            char *out);
typedef void fl_conv_integers_grad_fn(const fl_conv_nd &c, const int64_t *grad,
                                      const int64_t *operand, int64_t *out);
int fl_conv2d_run_grad(const fl_conv_nd &c, const fl_value *in, fl_tensor *result,
                       fl_conv_grad_fn *compute, fl_conv_integers_grad_fn *integers);
/* The convolution over planes of integers of any width by floats, if those are exact for them. 1:
 * done; 0: that is not certain; -1: no memory. */
int fl_conv_integers_by_floats(const fl_conv &p, const fl_tensor *input, const fl_tensor *weight,
                               const fl_tensor *bias, int64_t numel, int64_t *out);
/* The convolution of int64 operands and its gradient for the input, exact modulo 2**64. */
void fl_conv_integers(const fl_conv_nd &c, const int64_t *input, const int64_t *weight,
                      const int64_t *bias, int64_t *out);
void fl_conv_integers_input_grad(const fl_conv_nd &c, const int64_t *grad, const int64_t *weight,
                                 int64_t *out);
