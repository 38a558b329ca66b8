/* Checks that several infer functions share. */
#include "index/kernels/indices.h"
#include "common/args.h"
#include <math.h>
#include <stdio.h>

const char *fl_tensor_text(const fl_tensor *t) {
    char *text = fl_text_buffer();
    snprintf(text, FL_TEXT_ROOM, "%s of shape %s", fl_dtype_name(t->dtype),
             fl_shape_text(t->shape, t->ndim));
    return text;
}

int fl_expect_order(const fl_op *op, const char *param, const fl_tensor *t) {
    if (fl_is_complex(t->dtype))
        return fl_error(FL_NOT_IMPLEMENTED, "%s: '%s' is %s, and complex numbers have no order; "
                        "compare x.abs() or x.real instead", fl_op_title(op), param,
                        fl_tensor_text(t));
    return 0;
}

int fl_expect_ordered(const fl_op *op, const char *param, const fl_tensor *t) {
    if (fl_expect_order(op, param, t) < 0)
        return -1;
    if (t->dtype == FL_U64)
        return fl_error(FL_NOT_IMPLEMENTED, "%s: '%s' is %s, whose order is not implemented; "
                        "convert it first, e.g. with x.to(int64)", fl_op_title(op), param,
                        fl_tensor_text(t));
    return 0;
}

int fl_expect_index(const fl_op *op, const char *param, const fl_tensor *t) {
    if (t->dtype == FL_I64 || t->dtype == FL_I32)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: expected '%s' to have dtype int32 or int64, since its "
                    "elements are positions; got %s; convert it with %s.long()", fl_op_title(op),
                    param, fl_tensor_text(t), param);
}

int fl_expect_int64(const fl_op *op, const char *param, const fl_tensor *t) {
    if (t->dtype == FL_I64)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: expected dtype int64 for '%s', since its elements are "
                    "positions; got %s; convert it with %s.long()", fl_op_title(op), param,
                    fl_tensor_text(t), param);
}

int fl_expect_same_dtype(const fl_op *op, const fl_tensor *a, const char *param,
                         const fl_tensor *b) {
    if (a->dtype == b->dtype)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: '%s' must have the dtype of the tensor it joins, %s; "
                    "got %s; convert it with %s.to(%s)", fl_op_title(op), param,
                    fl_dtype_name(a->dtype), fl_tensor_text(b), param, fl_dtype_name(a->dtype));
}

int fl_expect_same_shape(const fl_op *op, const char *name_a, const fl_tensor *a,
                         const char *name_b, const fl_tensor *b) {
    if (a->ndim == b->ndim &&
        !memcmp(a->shape, b->shape, sizeof(int64_t) * (size_t)a->ndim))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: '%s' and '%s' must have the same shape, got %s and %s",
                    fl_op_title(op), name_a, name_b, fl_shape_text(a->shape, a->ndim),
                    fl_shape_text(b->shape, b->ndim));
}

int fl_expect_shape(const fl_op *op, const char *param, const fl_tensor *t, int ndim,
                    const int64_t *shape) {
    if (t->ndim == ndim && !memcmp(t->shape, shape, sizeof(int64_t) * (size_t)ndim))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: '%s' must have shape %s here, got %s", fl_op_title(op),
                    param, fl_shape_text(shape, ndim), fl_shape_text(t->shape, t->ndim));
}

int fl_check_index_range(const fl_op *op, int kind, const int64_t *index, int64_t n, int64_t size,
                         int dim, bool negative) {
    int64_t low = negative ? -size : 0;
    static const fl_index_kernels *const kernels = FL_PICK(fl_index_kernels);
    if (kernels->within(index, n, low, size))
        return 0;
    int64_t i = 0;
    while (index[i] >= low && index[i] < size)
        i++;
    return fl_error(kind, "%s: index %lld (number %lld of the index) is out of bounds "
                    "for dimension %d with size %lld; it must be at least %lld and less than %lld",
                    fl_op_title(op), (long long)index[i], (long long)i, dim, (long long)size,
                    (long long)low, (long long)size);
}

int fl_expect_numel(const fl_op *op, const char *name, const fl_tensor *t, int64_t count) {
    if (t->numel == count)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: '%s' must have %lld elements, got shape %s",
                    fl_op_title(op), name, (long long)count, fl_shape_text(t->shape, t->ndim));
}

void fl_number_as(const fl_value &v, int dtype, char *out) {
    static const int64_t none[1] = {0};
    alignas(16) double d[2] = {fl_as_double(v), 0};
    int64_t i = v.i;
    bool is_integral = v.tag == FL_INT || v.tag == FL_BOOLEAN;
    if (v.tag == FL_COMPLEX)
        d[1] = v.c[1];
    char *from = is_integral ? (char *)&i : (char *)d;
    int from_dtype = is_integral ? FL_I64 : v.tag == FL_COMPLEX ? FL_C128 : FL_F64;
    fl_copy_strided(fl_strided{out, dtype, none}, fl_strided{from, from_dtype, none}, 0, none);
}

/* Least and greatest finite number of a dtype; every number may become a bool. */
static void number_range(int dtype, double *low, double *high) {
    *high = dtype == FL_F16 ? 65504.0 : fl_kind_size[fl_kind_of_dtype[fl_real_dtype(dtype)]] == 4
        ? 0x1.fffffefffffffp127 : __DBL_MAX__;     /* what rounds to the greatest float */
    *low = -*high;
    if (!fl_is_int(dtype))
        return;
    int bits = (int)fl_itemsize(dtype) * 8;
    bool is_unsigned = dtype == FL_U8 || dtype >= FL_U16;
    *low = is_unsigned ? 0 : -ldexp(1, bits - 1);
    *high = ldexp(1, is_unsigned ? bits : bits - 1) - 1;
}

int fl_check_number(const char *title, const char *param, const fl_value &v, int dtype) {
    if (v.tag == FL_COMPLEX && !fl_is_complex(dtype) && dtype != FL_BOOL && v.c[1] != 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s %g%+gj does not fit %s; give a real "
                        "number or a complex dtype", title, param, v.c[0], v.c[1],
                        fl_dtype_name(dtype));
    double low, high, number = fl_as_double(v);
    number_range(dtype, &low, &high);
    if (v.tag == FL_FLOAT && dtype == FL_U64 && number >= 0x1p63 && number < 0x1p65)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s %g is 2**63 or more, where a number loses its "
                        "last digits on the way; give a uint64 tensor, as in copy_(flambeau.tensor("
                        "number, dtype=flambeau.uint64))", title, param, number);
    bool special = !fl_is_int(dtype) && !isfinite(number);
    bool wraps = low == 0 && number < 0 && -number <= high;     /* -1 is the greatest one */
    if ((number >= low && number <= high) || special || wraps)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: %s %g does not fit %s, which holds %g to %g",
                    title, param, number, fl_dtype_name(dtype), low, high);
}

int fl_check_zero_point(const fl_op *op, const char *name, int64_t zero, int dtype) {
    const int64_t least = dtype == FL_U8 ? 0 : -128;
    if (zero >= least && zero <= least + 255)
        return 0;
    return fl_error(FL_VALUE_ERROR, "%s: %s is %lld, and integers of %s reach from %lld to %lld",
                    fl_op_title(op), name, (long long)zero, fl_dtype_name(dtype), (long long)least,
                    (long long)(least + 255));
}
