/* infer and run of every pointwise operator. */
#include "dispatch/pointwise.h"
#include "op_index.h"
#include "pointwise/narrow.h"
#include "pointwise/wide.h"

/* More than this in operands is not expected to lie in the processors' caches. */
static const int64_t CACHE_BYTES = 16 << 20;

static bool has_kernel(const fl_pointwise *pw, int kernel) { return pw->kinds >> kernel & 1; }

/* The kind a dtype is computed in; complex64 is computed in double precision where the row has no
 * kernel for it. */
static int kind_of(const fl_pointwise *pw, int dtype) {
    int kind = fl_kind_of_dtype[dtype];
    return kind == FL_K_C64 && !has_kernel(pw, kind) ? (int)FL_K_C128 : kind;
}

static const char *kind_advice(int dtype) {
    if (dtype == FL_BOOL)
        return "convert with x.to(flambeau.int64) or x.float() first";
    if (fl_is_complex(dtype))
        return "complex numbers have no such operation; use x.real, x.imag or x.abs()";
    if (fl_is_float(dtype))
        return "convert with x.long() or x.bool() first";
    return "convert with x.float() first";
}

/* The dtype computed in for operands of this dtype, or -1. */
static int compute_dtype(const fl_op *op, const fl_pointwise *pw, int dtype) {
    if (op->dtype_rule == FL_D_FLOAT && (fl_is_int(dtype) || dtype == FL_BOOL))
        dtype = fl_default_dtype;
    if (op->dtype_rule == FL_D_INTEGER && dtype == FL_BOOL)
        dtype = FL_I64;
    if (has_kernel(pw, kind_of(pw, dtype)))
        return dtype;
    return -1;
}

static int no_kernel(const fl_op *op, int dtype) {
    return fl_error(FL_NOT_IMPLEMENTED, "%s: not implemented for dtype %s; %s", fl_op_title(op),
                    fl_dtype_name(dtype), kind_advice(dtype));
}

static int result_dtype(const fl_op *op, const fl_pointwise *pw, int dtype) {
    switch (op->dtype_rule) {
    case FL_D_BOOL: return FL_BOOL;
    case FL_D_REAL: return fl_real_dtype(dtype);
    default: return dtype;
    }
}

static int check_operands(const fl_op *op, const fl_pointwise *pw, const fl_value *in) {
    for (int k = 0; k < pw->n_in; k++) {
        const fl_value &v = in[pw->operand[k]];
        if (pw->is_mask[k] && !(v.tag == FL_TENSOR && v.t->dtype == FL_BOOL))
            return fl_error(FL_RUNTIME_ERROR, "%s: argument '%s' must be a bool tensor, got %s; "
                            "write e.g. x != 0", fl_op_title(op), op->params[pw->operand[k]].name,
                            v.tag == FL_TENSOR ? fl_dtype_name(v.t->dtype) : "a number");
    }
    return 0;
}

/* Whether uint64 is among the tensors that promote to int64, which cannot hold its numbers. Beside
 * integers with dimensions, 0-d tensors take no part. */
static bool mixes_uint64(const fl_value *const *operands, int count) {
    bool unsigned_one = false, unsigned_dim = false, integer_dim = false;
    for (int k = 0; k < count; k++) {
        const fl_tensor *t = fl_t(*operands[k]);
        bool is_unsigned = t && t->dtype == FL_U64;
        bool has_dims = t && (t->ndim || fl_promote_by_dtype);
        unsigned_one |= is_unsigned;
        unsigned_dim |= is_unsigned && has_dims;
        integer_dim |= has_dims && fl_is_int(t->dtype);
    }
    return integer_dim ? unsigned_dim : unsigned_one;
}

/* Scalars do not change the family of the dtype: a floating alpha with integer operands is an
 * error, as in PyTorch, and so is a bool as alpha of numbers. */
static int check_scalars(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int dtype) {
    bool is_integral = fl_is_int(dtype) || dtype == FL_BOOL;
    for (int k = 0; k < pw->n_scalars; k++) {
        const fl_value &v = in[pw->scalar[k]];
        const char *name = op->params[pw->scalar[k]].name;
        if (FL_UNLIKELY(v.tag == FL_BOOLEAN) && dtype != FL_BOOL && !strcmp(name, "alpha"))
            return fl_error(FL_RUNTIME_ERROR, "%s: Boolean alpha only supported for Boolean "
                            "results, and this one is %s; write alpha=%d", fl_op_title(op),
                            fl_dtype_name(dtype), (int)v.i);
        if (is_integral && v.tag == FL_FLOAT)
            return fl_error(FL_RUNTIME_ERROR, "%s: For integral input tensors, argument %s "
                            "must not be a floating point number; got %g with dtype %s",
                            fl_op_title(op), name, v.d, fl_dtype_name(dtype));
    }
    return 0;
}

/* The promoted dtype of the operands, masks apart. */
static int operand_dtype(const fl_op *op, const fl_pointwise *pw, const fl_value *in) {
    const fl_value *operands[FL_PW_MAX_IN];
    int count = 0;
    for (int k = 0; k < pw->n_in; k++)
        if (!pw->is_mask[k])
            operands[count++] = &in[pw->operand[k]];
    int dtype = fl_result_type(operands, count);
    if (dtype == FL_NO_DTYPE)
        dtype = fl_default_dtype;
    if (FL_UNLIKELY(dtype == FL_I64) && mixes_uint64(operands, count))
        return fl_error(FL_RUNTIME_ERROR, "%s: uint64 and signed integers have no common integer "
                        "dtype; convert one, e.g. with x.to(flambeau.int64)", fl_op_title(op));
    if (pw->n_scalars && op->dtype_rule == FL_D_PROMOTE && check_scalars(op, pw, in, dtype) < 0)
        return -1;
    return dtype;
}

static int operand_device(const fl_pointwise *pw, const fl_value *in) {
    int device = FL_CPU << 8;
    for (int k = 0; k < pw->n_in; k++) {
        const fl_tensor *t = fl_t(in[pw->operand[k]]);
        if (t && (fl_device_code(t) != 0))
            device = fl_device_code(t);
    }
    return device;
}

bool fl_pw_memory_order(const fl_pointwise *pw, const fl_value *in, int ndim,
                        const int64_t *shape, int *order) {
    int64_t strides[FL_PW_MAX_IN][FL_MAX_DIMS];
    const int64_t *each[FL_PW_MAX_IN];
    int count = 0;
    bool plain = true;
    for (int k = 0; k < pw->n_in; k++) {
        const fl_tensor *t = fl_t(in[pw->operand[k]]);
        plain &= !t || t->flags & FL_CONTIGUOUS;
    }
    for (int k = 0; k < pw->n_in && !plain; k++) {
        const fl_tensor *t = fl_t(in[pw->operand[k]]);
        if (!t)
            continue;
        int pad = ndim - t->ndim;
        for (int i = 0; i < ndim; i++)
            strides[count][i] = i < pad || t->shape[i - pad] != shape[i] ? 0 : t->strides[i - pad];
        each[count] = strides[count];
        count++;
    }
    return !plain && fl_memory_order(ndim, shape, count, each, order);
}

/* Results lie in memory as the operands do: a transposed input gives a transposed result, so that
 * both stream. */
static void keep_order(const fl_pointwise *pw, const fl_value *in, fl_spec *s) {
    int order[FL_MAX_DIMS];
    if (!fl_pw_memory_order(pw, in, s->ndim, s->shape, order))
        return;
    fl_ordered_strides(s->ndim, s->shape, order, s->strides);
    s->layout = FL_L_STRIDED;
}

extern "C" int fl_infer_pointwise(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    if (check_operands(op, pw, in) < 0 || fl_same_device(op, in, n) < 0)
        return -1;
    int dtype = operand_dtype(op, pw, in);
    if (dtype < 0)
        return -1;
    int compute = compute_dtype(op, pw, dtype);
    if (compute < 0)
        return no_kernel(op, dtype);
    int nd = 0;
    int64_t shape[FL_MAX_DIMS];
    for (int k = 0; k < pw->n_in; k++) {
        const fl_tensor *t = fl_t(in[pw->operand[k]]);
        if (t && fl_broadcast_shape(op->name, nd, shape, t->ndim, t->shape, &nd, shape) < 0)
            return -1;
    }
    fl_spec_set(&outs[0], result_dtype(op, pw, compute), operand_device(pw, in), nd, shape);
    keep_order(pw, in, &outs[0]);
    for (int i = 1; i < pw->n_out; i++)
        outs[i] = outs[0];
    for (int i = 0; i < pw->n_out; i++)
        if (pw->writes[i] != 255)
            fl_spec_like(&outs[i], in[pw->operand[pw->writes[i]]].t);
    return 0;
}

int fl_pw_result_dtype(const fl_op *op, const fl_value *in) {
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    int compute = compute_dtype(op, pw, operand_dtype(op, pw, in));
    return result_dtype(op, pw, compute);
}

void fl_pw_load_number(const fl_value &v, int kind, void *memory) {
    double re = fl_as_double(v);
    switch (kind) {
    case FL_K_F32: *(float *)memory = (float)re; break;
    case FL_K_F64: *(double *)memory = re; break;
    case FL_K_I64: *(int64_t *)memory = fl_as_int(v); break;
    case FL_K_BOOL: *(uint8_t *)memory = re != 0; break;
    case FL_K_C64:
        ((float *)memory)[0] = (float)re;
        ((float *)memory)[1] = v.tag == FL_COMPLEX ? (float)v.c[1] : 0.0f;
        break;
    default:
        ((double *)memory)[0] = re;
        ((double *)memory)[1] = v.tag == FL_COMPLEX ? v.c[1] : 0.0;
    }
}

void fl_pw_load_scalars(const fl_pointwise *pw, const fl_value *in, int kind, fl_scalar *scalars) {
    for (int k = 0; k < pw->n_scalars; k++) {
        const fl_value &v = in[pw->scalar[k]];
        fl_scalar &s = scalars[k];
        if (kind == FL_K_I64 || kind == FL_K_BOOL) {
            s.i = fl_as_int(v);
        } else {
            s.c[0] = fl_as_double(v);
            s.c[1] = v.tag == FL_COMPLEX ? v.c[1] : 0.0;
        }
    }
}

/* The kernel of a formula with a number in it, if there is one for this number and kind. */
static fl_pw_fn literal_kernel(const fl_pointwise *pw, int kind, const fl_value *in) {
    const fl_value &v = in[pw->literal_param];
    if (v.tag == FL_TENSOR || (v.tag == FL_COMPLEX && v.c[1] != 0))
        return nullptr;
    double value = fl_as_double(v);
    for (int k = 0; k < pw->n_literals; k++)
        if (pw->literals[k].value == value)
            return fl_pw_kernels[pw->literals[k].kernel][kind];
    return nullptr;
}

fl_pw_fn fl_pw_kernel(const fl_pointwise *pw, int kind, const fl_value *in) {
    fl_pw_fn literal = pw->literals ? literal_kernel(pw, kind, in) : nullptr;
    if (literal)
        return literal;
    return pw->run_code ? pw->run_code : fl_pw_kernels[pw->kernel][kind];
}

void fl_operand_strides(const fl_tensor *t, int ndim, const int64_t *shape, int64_t *strides) {
    int pad = ndim - t->ndim;
    for (int i = 0; i < ndim; i++) {
        bool real = i >= pad && (t->shape[i - pad] == shape[i]) && shape[i] != 1;
        strides[i] = real ? t->strides[i - pad] : 0;
    }
}

/* A negative number beside uint64: comparisons with it are right in double precision. */
static bool has_negative(const fl_pointwise *pw, const fl_value *in) {
    for (int k = 0; k < pw->n_in; k++)
        if (in[pw->operand[k]].tag == FL_INT && in[pw->operand[k]].i < 0)
            return true;
    return false;
}

extern "C" int fl_run_pointwise(const fl_op *op, const fl_value *in, int n,
                                fl_tensor *const *outs) {
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    int dtype = operand_dtype(op, pw, in);
    int compute = compute_dtype(op, pw, dtype);
    int kind = kind_of(pw, compute);
    if (fl_narrow_run(op, pw, in, compute, outs[0]) || fl_wide_run(op, pw, in, compute, outs[0]))
        return 0;
    if (op->dtype_rule == FL_D_BOOL && compute == FL_U64 && has_negative(pw, in))
        kind = FL_K_F64;
    bool is_unsigned = compute == FL_U64 && kind == FL_K_I64 && has_kernel(pw, FL_PW_UNSIGNED);
    fl_scalar scalars[FL_PW_MAX_SCALARS];
    fl_pw_load_scalars(pw, in, kind, scalars);
    fl_operand ops[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    alignas(16) char numbers[FL_PW_MAX_IN][16];
    int ndim = outs[0]->ndim;
    const int64_t *shape = outs[0]->shape;
    for (int k = 0; k < pw->n_in; k++) {
        const fl_value &v = in[pw->operand[k]];
        fl_operand &o = ops[k];
        o.kind = pw->is_mask[k] ? FL_K_BOOL : kind;
        if (v.tag == FL_TENSOR) {
            o.data = v.t->data;
            o.dtype = v.t->dtype;
            fl_operand_strides(v.t, ndim, shape, o.strides);
        } else {
            fl_pw_load_number(v, o.kind, numbers[k]);
            o.data = numbers[k];
            o.dtype = fl_dtype_of_kind[o.kind];
            memset(o.strides, 0, sizeof(int64_t) * (size_t)ndim);
        }
    }
    for (int k = 0; k < pw->n_out; k++) {
        fl_operand &o = ops[pw->n_in + k];
        o.data = outs[k]->data;
        o.dtype = outs[k]->dtype;
        o.kind = pw->result_kind[kind];
        memcpy(o.strides, outs[k]->strides, sizeof(int64_t) * (size_t)ndim);
    }
    fl_pw_fn kernel = fl_pw_kernel(pw, is_unsigned ? FL_PW_UNSIGNED : kind, in);
    bool is_direct = compute == fl_dtype_of_kind[kind];     /* others are converted tile by tile */
    if (pw->run_code && is_direct && outs[0]->numel * fl_itemsize(compute) * pw->n_in > CACHE_BYTES)
        kernel = fl_bytecode_interpreter(true);
    fl_pw_drive(kernel, pw->code[kind], scalars, pw->n_in, pw->n_out, ops, ndim, shape);
    return 0;
}
