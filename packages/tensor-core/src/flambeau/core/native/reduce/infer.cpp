/* Shapes, dtypes and errors of reductions. */
#include "common/args.h"
#include "reduce/reduce.h"
#include "common/unsigned_order.h"

namespace {

/* Shape of the result: reduced dimensions are dropped, or kept with size 1. */
void reduced_shape(fl_spec *s, const fl_tensor *t, uint64_t mask, bool keepdim, int dtype) {
    int64_t shape[FL_MAX_DIMS];
    int nd = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (!(mask >> i & 1))
            shape[nd++] = t->shape[i];
        else if (keepdim)
            shape[nd++] = 1;
    }
    fl_spec_set(s, dtype, fl_device_code(t), nd, shape);
}

/* sum and prod: integers and bool add up in int64. */
int dtype_of_sum(const fl_tensor *self, const fl_value &dtype) {
    if (dtype.tag == FL_DTYPE)
        return (int)dtype.i;
    bool is_integral = fl_is_int(self->dtype) || self->dtype == FL_BOOL;
    return is_integral ? (int)FL_I64 : self->dtype;
}

int dtype_of_mean(const fl_op *op, const fl_tensor *self, const fl_value &dtype, int *out) {
    *out = dtype.tag == FL_DTYPE ? (int)dtype.i : self->dtype;
    if (fl_floating_or_complex(*out))
        return 0;
    if (dtype.tag == FL_DTYPE)
        return fl_error(FL_RUNTIME_ERROR, "mean(): could not infer output dtype: dtype=%s cannot "
                        "hold a mean; ask for a floating point or complex dtype, e.g. "
                        "mean(dtype=float32)", fl_dtype_name(*out));
    return fl_error(FL_RUNTIME_ERROR, "mean(): could not infer output dtype. Input dtype must be "
                    "either a floating point or complex dtype. Got: %s; write "
                    "x.float().mean() or x.mean(dtype=float32)", fl_tensor_text(self));
}

/* The greatest of nothing does not exist. */
int refuse_empty(const fl_op *op, const fl_tensor *self, uint64_t mask, const fl_value &dim) {
    if (self->numel != 0)
        return 0;
    if (fl_is_none(dim))
        return fl_error(strncmp(op->name, "arg", 3) ? FL_RUNTIME_ERROR : FL_INDEX_ERROR,
                        "%s: Expected reduction dim to be specified for "
                        "input.numel() == 0: a tensor of shape %s has no element to choose",
                        fl_op_title(op), fl_shape_text(self->shape, self->ndim));
    for (int i = 0; i < self->ndim; i++)
        if ((mask >> i & 1) && self->shape[i] == 0)
            return fl_error(FL_INDEX_ERROR, "%s: Expected reduction dim %d to have non-zero size, "
                            "but the input has shape %s: nothing has no %s element",
                            fl_op_title(op), i, fl_shape_text(self->shape, self->ndim),
                            strstr(op->name, "min") ? "least" : "greatest");
    return 0;
}

int infer_sum(const fl_op *op, const fl_value *in, fl_spec *outs, bool mean) {
    const fl_tensor *self = in[0].t;
    uint64_t mask;
    int dtype = dtype_of_sum(self, in[3]);
    if (fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    if (mean && dtype_of_mean(op, self, in[3], &dtype) < 0)
        return -1;
    reduced_shape(outs, self, mask, fl_value_true(in[2]), dtype);
    return 0;
}

int infer_extreme(const fl_op *op, const fl_value *in, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    uint64_t mask;
    if (fl_expect_order(op, "self", self) < 0 ||
        fl_dims_mask(op, in[1], self->ndim, &mask) < 0 ||
        refuse_empty(op, self, mask, in[1]) < 0)
        return -1;
    reduced_shape(outs, self, mask, fl_value_true(in[2]), self->dtype);
    return 0;
}

int infer_logical(const fl_op *op, const fl_value *in, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    uint64_t mask;
    if (fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    int dtype = self->dtype == FL_U8 ? FL_U8 : FL_BOOL;
    reduced_shape(outs, self, mask, fl_value_true(in[2]), dtype);
    return 0;
}

/* argmax, argmin: outs[0] holds indices. max.dim, min.dim: values and indices. */
int infer_argmax(const fl_op *op, const fl_value *in, fl_spec *outs, bool with_values) {
    const fl_tensor *self = in[0].t;
    uint64_t mask;
    if (fl_expect_order(op, "self", self) < 0 ||
        fl_dims_mask(op, in[1], self->ndim, &mask) < 0 ||
        refuse_empty(op, self, mask, in[1]) < 0)
        return -1;
    bool keepdim = fl_value_true(in[2]);
    if (with_values)
        reduced_shape(outs++, self, mask, keepdim, self->dtype);
    reduced_shape(outs, self, mask, keepdim, FL_I64);
    return 0;
}

int infer_var(const fl_op *op, const fl_value *in, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    uint64_t mask;
    if (fl_expect_dtype(op, "self", self, fl_floating_or_complex,
                        "floating point or complex; write x.float() first") < 0 ||
        fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    reduced_shape(outs, self, mask, fl_value_true(in[3]), fl_real_dtype(self->dtype));
    return 0;
}

int infer_logsumexp(const fl_op *op, const fl_value *in, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    uint64_t mask;
    if (fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    int dtype = fl_floating_or_complex(self->dtype) ? self->dtype : fl_default_dtype;
    reduced_shape(outs, self, mask, fl_value_true(in[2]), dtype);
    return 0;
}

int infer_nansum(const fl_op *op, const fl_value *in, fl_spec *outs) {
    if (fl_expect_dtype(op, "self", in[0].t, fl_not_complex, "real") < 0)
        return -1;
    return infer_sum(op, in, outs, false);
}

/* The infinite norms, and those of negative p, are extremes: nothing has none. */
int refuse_empty_norm(const fl_op *op, const fl_tensor *self, uint64_t mask, double p) {
    bool empty = false;
    for (int i = 0; i < self->ndim; i++)
        empty |= (mask >> i & 1) && self->shape[i] == 0;
    if (!empty || (p >= 0 && p < 1e308))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: the %g norm of an empty tensor does not exist: the "
                    "input has shape %s, with nothing along the dimensions to reduce",
                    fl_op_title(op), p, fl_shape_text(self->shape, self->ndim));
}

int infer_norm(const fl_op *op, const fl_value *in, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dtype = in[4].tag == FL_DTYPE ? (int)in[4].i : self->dtype;
    uint64_t mask;
    if (fl_expect_dtype(op, "self", self, fl_floating_or_complex,
                        "floating point or complex; write x.float() first") < 0 ||
        fl_dims_mask(op, in[2], self->ndim, &mask) < 0 ||
        refuse_empty_norm(op, self, mask, fl_as_double(in[1])) < 0)
        return -1;
    bool narrows = fl_is_complex(self->dtype) && !fl_is_complex(dtype) && in[4].tag == FL_DTYPE;
    if (!fl_floating_or_complex(dtype) || narrows)
        return fl_error(FL_RUNTIME_ERROR, "%s: dtype=%s cannot hold the elements of a %s tensor; "
                        "give a %s dtype", fl_op_title(op), fl_dtype_name(dtype),
                        fl_dtype_name(self->dtype), narrows ? "complex" : "floating");
    reduced_shape(outs, self, mask, fl_value_true(in[3]), fl_real_dtype(dtype));
    return 0;
}

}  // namespace

extern "C" int fl_infer_reduction(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    switch (fl_reduction_of(op)) {
    case FL_RED_SUM:
    case FL_RED_PROD: return infer_sum(op, in, outs, false);
    case FL_RED_MEAN: return infer_sum(op, in, outs, true);
    case FL_RED_AMAX:
    case FL_RED_AMIN: return infer_extreme(op, in, outs);
    case FL_RED_ANY:
    case FL_RED_ALL: return infer_logical(op, in, outs);
    case FL_RED_ARGMAX:
    case FL_RED_ARGMIN: return infer_argmax(op, in, outs, false);
    case FL_RED_MAXDIM:
    case FL_RED_MINDIM: return infer_argmax(op, in, outs, true);
    case FL_RED_VAR:
    case FL_RED_STD: return infer_var(op, in, outs);
    case FL_RED_LOGSUMEXP: return infer_logsumexp(op, in, outs);
    case FL_RED_NANSUM: return infer_nansum(op, in, outs);
    case FL_RED_NORM: return infer_norm(op, in, outs);
    default: return fl_error(FL_NOT_IMPLEMENTED, "%s: unknown reduction", fl_op_title(op));
    }
}

static bool compares(int reduction) {
    return reduction == FL_RED_AMAX || reduction == FL_RED_AMIN ||
           (reduction >= FL_RED_ARGMAX && reduction <= FL_RED_MINDIM);
}

extern "C" int fl_run_reduction(const fl_op *op, const fl_value *in, int n,
                                fl_tensor *const *outs) {
    if (fl_is_unsigned64(in[0].t) && compares(fl_reduction_of(op)))
        return fl_run_in_signed_order(fl_run_reduction, op, in, n, outs);
    switch (fl_reduction_of(op)) {
    case FL_RED_ARGMAX:
    case FL_RED_ARGMIN:
    case FL_RED_MAXDIM:
    case FL_RED_MINDIM: return fl_run_argmax(op, in, n, outs);
    case FL_RED_VAR:
    case FL_RED_STD: return fl_run_var(op, in, outs[0]);
    case FL_RED_LOGSUMEXP: return fl_run_logsumexp(op, in, outs[0]);
    case FL_RED_NANSUM: return fl_run_nansum(op, in, outs[0]);
    case FL_RED_NORM: return fl_run_norm(op, in, outs[0]);
    default: return fl_run_reduce(op, in, outs[0]);
    }
}
