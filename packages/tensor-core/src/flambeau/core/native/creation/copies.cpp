/* Rows that are nothing but a copy, one element everywhere, or memory. */
#include "common/args.h"
#include <math.h>

/* The shape of t in memory of a format. */
static int layout(fl_spec *s, const fl_tensor *t, const char *format) {
    fl_spec_like(s, t);
    int status = fl_format_strides(t, format, s->strides);
    if (status == 1)
        s->layout = FL_L_STRIDED;
    return status < 0 ? -1 : 0;
}

extern "C" int fl_infer_clone(const fl_op *, const fl_value *in, int, fl_spec *outs) {
    return layout(outs, in[0].t, in[1].tag == FL_STRING ? in[1].s : "preserve_format");
}

extern "C" int fl_infer_contiguous_copy(const fl_op *, const fl_value *in, int, fl_spec *outs) {
    fl_spec_like(outs, in[0].t);
    return 0;
}

extern "C" int fl_infer_cast(const fl_op *, const fl_value *in, int, fl_spec *outs) {
    if (layout(outs, in[0].t, "preserve_format") < 0)
        return -1;
    outs->dtype = (uint8_t)in[1].i;
    return 0;
}

extern "C" int fl_infer_to_device(const fl_op *, const fl_value *in, int, fl_spec *outs) {
    fl_spec_in_order_of(outs, in[0].t);
    outs->device_type = (uint8_t)(in[1].i >> 8);
    outs->device_index = (uint8_t)in[1].i;
    return 0;
}

extern "C" int fl_infer_copy(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *src = in[1].t;
    int nd;
    int64_t shape[FL_MAX_DIMS];
    if (fl_broadcast_shape(op->name, self->ndim, self->shape, src->ndim, src->shape, &nd,
                           shape) < 0)
        return -1;
    if (nd != self->ndim || memcmp(shape, self->shape, sizeof(int64_t) * (size_t)nd))
        return fl_error(FL_RUNTIME_ERROR, "copy_(): src of shape %s does not broadcast to the "
                        "target's shape %s", fl_shape_text(src->shape, src->ndim),
                        fl_shape_text(self->shape, self->ndim));
    fl_spec_like(outs, self);
    return 0;
}

extern "C" int fl_infer_fill(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (in[1].tag == FL_TENSOR && in[1].t->ndim != 0)
        return fl_error(FL_RUNTIME_ERROR, "fill_(): value must be a number or a 0-d tensor, got a "
                        "tensor of shape %s", fl_shape_text(in[1].t->shape, in[1].t->ndim));
    fl_spec_like(outs, in[0].t);
    if (in[1].tag == FL_TENSOR)
        return 0;
    return fl_check_number("fill_()", "value", in[1], in[0].t->dtype);
}

extern "C" int fl_run_clone(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    fl_copy_tensor(outs[0], in[0].t);
    return 0;
}

extern "C" int fl_run_contiguous_copy(const fl_op *op, const fl_value *in, int n,
                                      fl_tensor *const *outs) {
    return fl_run_clone(op, in, n, outs);
}

extern "C" int fl_run_cast(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    return fl_run_clone(op, in, n, outs);
}

extern "C" int fl_run_to_device(const fl_op *op, const fl_value *in, int n,
                                fl_tensor *const *outs) {
    return fl_run_clone(op, in, n, outs);
}

extern "C" int fl_run_copy(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    fl_copy_tensor(outs[0], in[1].t);
    return 0;
}

static bool all_zero(const char *element, int64_t size) {
    for (int64_t i = 0; i < size; i++)
        if (element[i])
            return false;
    return true;
}

/* One element everywhere. It is converted once, so that the rest moves bytes. */
static void fill_with(const fl_tensor *out, const fl_strided &number) {
    static const int64_t zeros[FL_MAX_DIMS] = {0};
    alignas(16) char element[16];
    const int64_t size = fl_itemsize(out->dtype), one = 1;
    fl_copy_strided(fl_strided{element, out->dtype, &one}, number, 1, &one);
    if ((out->flags & FL_CONTIGUOUS) && all_zero(element, size)) {
        fl_parallel(out->numel, 4 * FL_GRAIN, [&](int64_t begin, int64_t end) {
            memset(out->data + begin * size, 0, (size_t)((end - begin) * size));
        });
        return;
    }
    fl_copy_strided(fl_strided{out->data, out->dtype, out->strides},
                    fl_strided{element, out->dtype, zeros}, out->ndim, out->shape);
}

extern "C" int fl_run_fill(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    static const int64_t zeros[FL_MAX_DIMS] = {0};
    if (in[1].tag == FL_TENSOR) {
        fill_with(outs[0], fl_strided{in[1].t->data, in[1].t->dtype, zeros});
        return 0;
    }
    alignas(16) double number[2] = {0, 0};
    int dtype = FL_F64;
    if (in[1].tag == FL_COMPLEX) {
        number[0] = in[1].c[0];
        number[1] = in[1].c[1];
        dtype = FL_C128;
    } else if (in[1].tag == FL_FLOAT) {
        number[0] = in[1].d;
    } else {
        memcpy(number, &in[1].i, sizeof(int64_t));
        dtype = FL_I64;
    }
    fill_with(outs[0], fl_strided{(char *)number, dtype, zeros});
    return 0;
}

bool fl_fill_uninitialized = false;

/* As int64: that of uint64 is -1, whose bits are all set. */
static int64_t greatest_integer(int dtype) {
    int bits = 8 * fl_itemsize(dtype);
    bool is_unsigned = dtype == FL_U8 || dtype == FL_U16 || dtype == FL_U32 || dtype == FL_U64;
    return dtype == FL_BOOL ? 1 : (int64_t)(~0ULL >> (64 - bits + !is_unsigned));
}

/* Uninitialized memory, or with fl_fill_uninitialized what shows that it was not written: NaN, the
 * largest integer, True. */
static int leave_uninitialized(fl_tensor *t) {
    if (!fl_fill_uninitialized || t->device_type != FL_CPU)
        return 0;
    double nan[2] = {NAN, NAN};
    int64_t zeros[FL_MAX_DIMS] = {};
    if (fl_is_float(t->dtype) || fl_is_complex(t->dtype)) {
        fill_with(t, fl_strided{(char *)nan, fl_is_float(t->dtype) ? FL_F64 : FL_C128, zeros});
        return 0;
    }
    int64_t greatest = greatest_integer(t->dtype);
    fill_with(t, fl_strided{(char *)&greatest, FL_I64, zeros});
    return 0;
}

extern "C" int fl_infer_filled_like(const fl_op *, const fl_value *in, int, fl_spec *outs) {
    fl_spec_like(outs, in[0].t);
    if (in[2].tag == FL_DTYPE)
        outs->dtype = (uint8_t)in[2].i;
    return 0;
}

extern "C" int fl_run_filled_like(const fl_op *op, const fl_value *in, int n,
                                  fl_tensor *const *outs) {
    if (fl_is_none(in[1]))
        return leave_uninitialized(outs[0]);
    if (in[1].tag == FL_INT && in[1].i == 0 && outs[0]->numel < FL_GRAIN) {
        memset(outs[0]->data, 0, (size_t)(outs[0]->numel * fl_itemsize(outs[0]->dtype)));
        return 0;
    }
    return fl_run_fill(op, in, n, outs);
}

extern "C" int fl_infer_empty(const fl_op *, const fl_value *in, int, fl_spec *outs) {
    int dtype = in[1].tag == FL_DTYPE ? (int)in[1].i : fl_default_dtype;
    int device = in[2].tag == FL_DEVICE ? (int)in[2].i : 0;
    if (in[0].len > FL_MAX_DIMS)
        return fl_error(FL_VALUE_ERROR, "a tensor may have at most %d dimensions", FL_MAX_DIMS);
    fl_spec_set(outs, dtype, device, (int)in[0].len, in[0].is);
    return 0;
}

extern "C" int fl_run_empty(const fl_op *, const fl_value *, int, fl_tensor *const *outs) {
    return leave_uninitialized(outs[0]);
}

extern "C" int fl_infer_empty_strided(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    fl_value three[3] = {in[0], in[2], in[3]};
    if (in[0].len != in[1].len)
        return fl_error(FL_VALUE_ERROR, "empty_strided(): size has %u numbers and stride %u; they "
                        "must be as many", in[0].len, in[1].len);
    if (fl_infer_empty(op, three, 3, outs) < 0)
        return -1;
    int64_t numel;
    if (!fl_count_elements(outs->ndim, outs->shape, &numel))
        return fl_count_error(op->name, outs->ndim, outs->shape);
    for (int i = 0; i < outs->ndim; i++)
        if (in[0].is[i] < 0 || in[1].is[i] < 0)
            return fl_error(FL_RUNTIME_ERROR, "empty_strided(): sizes and strides must not be "
                            "negative, got size %s and stride %s",
                            fl_shape_text(in[0].is, (int)in[0].len),
                            fl_shape_text(in[1].is, (int)in[1].len));
    outs->layout = FL_L_STRIDED;
    for (int i = 0; i < outs->ndim; i++)
        outs->strides[i] = in[1].is[i];
    return 0;
}

extern "C" int fl_run_empty_strided(const fl_op *, const fl_value *, int, fl_tensor *const *outs) {
    return leave_uninitialized(outs[0]);
}
