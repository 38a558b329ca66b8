/* Checks that several infer functions share. */
#include "kernels/places.h"
#include "ops/args.h"
#include <stdio.h>

const char *fl_tensor_text(const fl_tensor *t) {
    static thread_local char text[4][160];
    static thread_local int turn = 0;
    turn = (turn + 1) & 3;
    snprintf(text[turn], sizeof text[turn], "%s of shape %s", fl_dtype_name(t->dtype),
             fl_shape_text(t->shape, t->ndim));
    return text[turn];
}

int fl_expect_ordered(const fl_op *op, const char *param, const fl_tensor *t) {
    if (fl_is_complex(t->dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: '%s' is %s, and complex numbers have no order; "
                        "compare x.abs() or x.real instead", fl_op_title(op), param,
                        fl_tensor_text(t));
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
    static const fl_places_kernels *const kernels = FL_PICK(fl_places_kernels);
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
    bool whole = v.tag == FL_INT || v.tag == FL_BOOLEAN;
    if (v.tag == FL_COMPLEX)
        d[1] = v.c[1];
    char *from = whole ? (char *)&i : (char *)d;
    int from_dtype = whole ? FL_I64 : v.tag == FL_COMPLEX ? FL_C128 : FL_F64;
    fl_copy_strided(fl_strided{out, dtype, none}, fl_strided{from, from_dtype, none}, 0, none);
}
