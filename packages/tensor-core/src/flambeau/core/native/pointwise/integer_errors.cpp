/* Integer calls of pointwise operators that have no answer: division by zero, powers of negative
 * exponents, numbers that the dtype of the result cannot hold, operands of several dtypes. Floating
 * operands pass after a look at their dtype. */
#include "deferral/deferral.h"
#include "dispatch/core.h"
#include "common/args.h"
#include "op_index.h"
#include <stdio.h>

namespace {

bool is_integral_dtype(int dtype) { return fl_is_int(dtype) || dtype == FL_BOOL; }

bool is_integral(const fl_value &v) {
    if (v.tag == FL_TENSOR)
        return is_integral_dtype(v.t->dtype);
    return v.tag == FL_INT || v.tag == FL_BOOLEAN;
}

template <class T> int64_t zero_in_line(const char *data, int64_t n, int64_t step) {
    const T *line = (const T *)data;
    int64_t i = 0;
    for (; step == 1 && n - i >= 512; i += 512) {   /* no jump inside: it becomes vectors */
        bool found = false;
        for (int64_t j = i; j < i + 512; j++)
            found |= line[j] == 0;
        if (found)
            break;
    }
    for (; i < n; i++)
        if (line[i * step] == 0)
            return i;
    return -1;
}

int64_t zero_in_line(const char *data, int itemsize, int64_t n, int64_t step) {
    switch (itemsize) {
    case 1: return zero_in_line<uint8_t>(data, n, step);
    case 2: return zero_in_line<uint16_t>(data, n, step);
    case 4: return zero_in_line<uint32_t>(data, n, step);
    default: return zero_in_line<uint64_t>(data, n, step);
    }
}

void unravel(int64_t position, int ndim, const int64_t *shape, int64_t *index) {
    for (int d = ndim - 1; d >= 0; d--) {
        index[d] = position % shape[d];
        position /= shape[d];
    }
}

/* The index of the first zero of a tensor of integers; false when it holds none. */
bool find_zero(const fl_tensor *t, int64_t *index) {
    int itemsize = (int)fl_itemsize(t->dtype);
    if (t->numel == 0)
        return false;
    if (t->flags & FL_CONTIGUOUS) {
        int64_t position = zero_in_line(t->data, itemsize, t->numel, 1);
        if (position >= 0)
            unravel(position, t->ndim, t->shape, index);
        return position >= 0;
    }
    int last = t->ndim - 1;
    int64_t lines = t->numel / t->shape[last];
    for (int64_t line = 0; line < lines; line++) {
        int64_t offset = 0;
        unravel(line, last, t->shape, index);
        for (int d = 0; d < last; d++)
            offset += index[d] * t->strides[d];
        index[last] = zero_in_line(t->data + offset * itemsize, itemsize, t->shape[last],
                                   t->strides[last]);
        if (index[last] >= 0)
            return true;
    }
    return false;
}

bool find_zero_aside(const fl_tensor *t, int64_t *index) {
    if (t->numel < FL_GRAIN)
        return find_zero(t, index);
    void *unlocked = fl_unlock_python();
    bool found = find_zero(t, index);
    fl_lock_python(unlocked);
    return found;
}

/* Whether an element of the result, on the CPU, is to be divided by the zero that was found. What
 * infer has to say against the call it says again where the call is made. */
bool is_divided(const fl_op *op, const fl_value *in, int n) {
    fl_spec spec;
    if (op->infer(op, in, n, &spec) < 0) {
        fl_error_clear();
        return false;
    }
    return spec.device_type == FL_CPU && fl_is_int(spec.dtype) && fl_spec_numel(&spec) > 0;
}

int zero_error(const fl_op *op, int dtype, const char *position) {
    fl_error(FL_ZERO_DIVISION, "%s: ZeroDivisionError: argument '%s' (%s) is 0%s, and integers "
             "have no infinity; divide by flambeau.where(%s == 0, 1, %s) and choose those results "
             "yourself, or divide floating numbers, e.g. x.double()", fl_op_title(op),
             op->params[1].name, fl_dtype_name(dtype), position, op->params[1].name,
             op->params[1].name);
    return fl_raise();
}

int check_divisor(const fl_op *op, const fl_value *in, int n) {
    const fl_value &by = in[1];
    if (by.tag != FL_TENSOR)
        return by.i == 0 && is_divided(op, in, n) ? zero_error(op, FL_I64, "") : 0;
    int64_t index[FL_MAX_DIMS];
    const fl_tensor *t = by.t;
    if (fl_any_waiting() && fl_settle(op->name, t, true) < 0)
        return -1;
    if (t->device_type != FL_CPU || t->flags >> FL_LEVEL_SHIFT || !find_zero_aside(t, index) ||
        !is_divided(op, in, n))
        return 0;
    char position[FL_TEXT_ROOM + 16] = "";
    if (t->ndim)
        snprintf(position, sizeof position, " at index %s", fl_shape_text(index, t->ndim));
    return zero_error(op, t->dtype, position);
}

bool is_bool(const fl_value &v) {
    return v.tag == FL_TENSOR ? v.t->dtype == FL_BOOL : v.tag == FL_BOOLEAN;
}

/* The dtype of integer tensors that say what a number becomes; -1 where there are none, or several
 * dtypes. Conditions, which are bool, say nothing. */
int dtype_of_integer(const fl_value *in, int n) {
    int dtype = -1;
    for (int i = 0; i < n; i++) {
        if (in[i].tag != FL_TENSOR || in[i].t->dtype == FL_BOOL)
            continue;
        if (!fl_is_int(in[i].t->dtype) || (dtype >= 0 && dtype != in[i].t->dtype))
            return -1;
        dtype = in[i].t->dtype;
    }
    return dtype;
}

/* Integers from parameter `first` on would become others in the dtype of the tensors. */
int check_numbers(const fl_op *op, const fl_value *in, int n, int first) {
    for (int i = first; i < n; i++) {
        if (in[i].tag != FL_INT || (in[i].i >= INT8_MIN && in[i].i <= INT8_MAX))
            continue;       /* small ones fit all dtypes, or are negative ones of unsigned dtypes */
        int dtype = dtype_of_integer(in, n);
        if (dtype >= 0 && fl_check_number(fl_op_title(op), op->params[i].name, in[i], dtype) < 0)
            return fl_raise();
    }
    return 0;
}

int negative_power(const fl_op *op, const fl_value *in) {
    long long exponent = in[1].i;
    return fl_error(FL_RUNTIME_ERROR,
                    "%s: Integers to negative integer powers are not allowed: got a tensor of dtype "
                    "%s and the exponent %lld, whose results are fractions; write "
                    "x.to(flambeau.float32) ** %lld",
                    fl_op_title(op), fl_dtype_name(in[0].t->dtype), exponent, exponent);
}

/* Powers that have no answer: fractions of integers, and bools but for a tensor ** True or False.
 * */
int check_power(const fl_op *op, const fl_value *in) {
    const fl_value &base = in[0], &exponent = in[1];
    if (exponent.tag == FL_INT && exponent.i < 0 && base.tag == FL_TENSOR && is_integral(base))
        return negative_power(op, in);
    bool has_answer = base.tag == FL_TENSOR && exponent.tag == FL_BOOLEAN;
    if (is_bool(base) && is_bool(exponent) && !has_answer)
        return fl_error(FL_RUNTIME_ERROR, "%s: not implemented for dtype bool; convert with "
                        "x.to(flambeau.int64) or x.float() first", fl_op_title(op));
    return 0;
}

}  // namespace

int fl_call_division(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (is_integral(in[1]) && is_integral(in[0]) && FL_UNLIKELY(check_divisor(op, in, n) < 0))
        return -1;
    return fl_call_pointwise(op, in, n, out);
}

/* Rows that choose among elements and numbers: a number that wraps would be a wrong choice. */
int fl_call_choice(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (FL_UNLIKELY(check_numbers(op, in, n, 0) < 0))
        return -1;
    if (FL_UNLIKELY(op->index == FL_OP_where && in[0].tag == FL_TENSOR && in[0].t->dtype == FL_U8))
        return fl_choose_by_bytes(op, in, n, out);
    return fl_call_pointwise(op, in, n, out);
}

/* For what does not pass through the call: traced programs, batches, other devices. */
extern "C" int fl_infer_pointwise(const fl_op *op, const fl_value *in, int n, fl_spec *outs);
extern "C" int fl_infer_power(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return check_power(op, in) < 0 ? -1 : fl_infer_pointwise(op, in, n, outs);
}

int fl_call_power(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (FL_UNLIKELY(check_power(op, in) < 0))
        return fl_raise();
    if (FL_UNLIKELY(check_numbers(op, in, n, 1) < 0))
        return -1;
    return fl_call_pointwise(op, in, n, out);
}

/* Quotients of integers are what PyTorch once rounded: which was meant has to be said. */
int fl_call_quotient_sum(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (FL_UNLIKELY(is_integral(in[1]) && is_integral(in[2]))) {
        fl_error(FL_RUNTIME_ERROR, "Integer division with %s is no longer supported, for it may "
                 "round or not: write x + value * (a / b), or x + value * (a // b)", op->name);
        return fl_raise();
    }
    return fl_call_pointwise(op, in, n, out);
}

/* Operands of one dtype: here PyTorch does not promote. Numbers, and a weight without dimensions,
 * are of any. */
int fl_call_interpolation(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    for (int i = 1; i < 3 && in[0].tag == FL_TENSOR; i++) {
        const fl_tensor *x = fl_t(in[i]);
        if (!x || FL_LIKELY(x->dtype == in[0].t->dtype) || (i == 2 && x->ndim == 0))
            continue;
        fl_error(FL_RUNTIME_ERROR, "%s(): expected dtype %s for `%s` but got dtype %s; "
                 "convert it with .to(flambeau.%s)", op->name, fl_dtype_name(in[0].t->dtype),
                 op->params[i].name, fl_dtype_name(x->dtype), fl_dtype_name(in[0].t->dtype));
        return fl_raise();
    }
    return fl_call_pointwise(op, in, n, out);
}
