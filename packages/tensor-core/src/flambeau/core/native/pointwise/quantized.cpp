/* Numbers become integers of 8 bits, integers numbers, and two tensors of integers a third. */
#include "pointwise/kernels/quantized_values.h"
#include "common/args.h"
#include "dispatch/overlap.h"

namespace {

const fl_quantized_kernels_table *const kernels = FL_PICK(fl_quantized_kernels_table);

bool is_byte(int dtype) { return dtype == FL_U8 || dtype == FL_I8; }
uint8_t flip_of(int dtype) { return dtype == FL_I8 ? 128 : 0; }

/* Memory of a result without gaps: its own, or some that commit() copies from. */
class Flat {
  public:
    explicit Flat(fl_tensor *t)
        : t_(t), own_(fl_is_dense(t)), room_(own_ ? 0 : (size_t)(t->numel * fl_itemsize(t->dtype))),
          strides_(own_ ? t->strides : order_) {
        if (!own_)
            fl_contiguous_strides(t->ndim, t->shape, order_);
    }
    bool ok() const { return room_.ok(); }
    template <class T> T *as() { return (T *)(own_ ? t_->data : room_.as<char>()); }
    const int64_t *strides() const { return strides_; }
    void commit() {
        if (!own_)
            fl_copy_strided(fl_strided{t_->data, t_->dtype, t_->strides},
                            fl_strided{room_.as<char>(), t_->dtype, order_}, t_->ndim, t_->shape);
    }

  private:
    fl_tensor *t_;
    bool own_;
    Scratch room_;
    int64_t order_[FL_MAX_DIMS];
    const int64_t *strides_;
};

/* A tensor's elements in the order of a result: its own memory where they lie so. */
class InOrder {
  public:
    InOrder(const fl_tensor *t, const Flat &of)
        : own_(same(t, of)), room_(own_ ? 0 : (size_t)(t->numel * fl_itemsize(t->dtype))),
          data_(own_ ? t->data : room_.as<char>()) {
        if (!own_ && room_.ok())
            fl_copy_strided(fl_strided{room_.as<char>(), t->dtype, of.strides()},
                            fl_strided{t->data, t->dtype, t->strides}, t->ndim, t->shape);
    }
    bool ok() const { return room_.ok(); }
    template <class T> const T *as() const { return (const T *)data_; }

  private:
    static bool same(const fl_tensor *t, const Flat &of) {
        for (int i = 0; i < t->ndim; i++)
            if (t->shape[i] > 1 && t->strides[i] != of.strides()[i])
                return false;
        return true;
    }
    bool own_;
    Scratch room_;
    const char *data_;
};

int expect_bytes(const fl_op *op, const fl_tensor *t) {
    if (is_byte(t->dtype))
        return 0;
    return fl_error(FL_TYPE_ERROR, "%s: expected uint8 or int8, got %s", fl_op_title(op),
                    fl_dtype_name(t->dtype));
}

fl_quantized_range range_of(int dtype, int64_t zero, bool relu) {
    const uint8_t flip = flip_of(dtype);
    const float moved = (float)(zero + flip);
    return {moved, relu ? moved : 0, 255, flip};
}

fl_quantized_operand operand(const uint8_t *data, const fl_tensor *t, double scale, int64_t zero) {
    const uint8_t flip = flip_of(t->dtype);
    return {data, (float)scale, (float)(zero + flip), flip};
}

/* As `Quantizer.integers` says: 1 / scale in double precision, of a scale in single. */
float inverse_of(double scale) { return (float)(1.0 / (double)(float)scale); }

int infer_pair(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    if (fl_same_device(op, in, n) < 0 || expect_bytes(op, a) < 0 ||
        fl_expect_same_dtype(op, a, "other", b) < 0 ||
        fl_expect_same_shape(op, "self", a, "other", b) < 0)
        return -1;
    if (in[2].len != 3 || in[3].len != 3)
        return fl_error(FL_VALUE_ERROR, "%s: scales and zero_points must have three numbers, of "
                        "self, other and the result, got %d and %d", fl_op_title(op),
                        (int)in[2].len, (int)in[3].len);
    for (int i = 0; i < 3; i++)
        if (fl_check_zero_point(op, "zero_point", in[3].is[i], a->dtype) < 0)
            return -1;
    fl_spec_in_order_of(outs, a);
    return 0;
}

int run_pair(const fl_value *in, bool product, bool relu, fl_tensor *result) {
    Flat out(result);
    if (!out.ok())
        return -1;
    InOrder a(in[0].t, out), b(in[1].t, out);
    if (!a.ok() || !b.ok())
        return -1;
    const double *scales = in[2].ds;
    const int64_t *zeros = in[3].is;
    const fl_quantized_range range = range_of(result->dtype, zeros[2], relu);
    auto join = product ? kernels->mul : kernels->add;
    fl_parallel(result->numel, FL_GRAIN, [&](int64_t begin, int64_t end) {
        const fl_quantized_operand
            x = operand(a.as<uint8_t>() + begin, result, scales[0], zeros[0]),
            y = operand(b.as<uint8_t>() + begin, result, scales[1], zeros[1]);
        join(&x, &y, end - begin, inverse_of(scales[2]), &range, out.as<uint8_t>() + begin);
    });
    out.commit();
    return 0;
}

}  // namespace

extern "C" {
int fl_infer_quantized_add(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return infer_pair(op, in, n, outs);
}

int fl_run_quantized_add(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    return run_pair(in, false, in[4].i != 0, outs[0]);
}

int fl_infer_quantized_mul(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return infer_pair(op, in, n, outs);
}

int fl_run_quantized_mul(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    return run_pair(in, true, false, outs[0]);
}

int fl_infer_quantize_values(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    const int dtype = (int)in[3].i;
    if (self->dtype != FL_F32)
        return fl_error(FL_TYPE_ERROR, "%s: expected float32, got %s", fl_op_title(op),
                        fl_dtype_name(self->dtype));
    if (!is_byte(dtype))
        return fl_error(FL_TYPE_ERROR, "%s: dtype must be uint8 or int8, got %s", fl_op_title(op),
                        fl_dtype_name(dtype));
    if (fl_check_zero_point(op, "zero_point", in[2].i, dtype) < 0)
        return -1;
    fl_spec_in_order_of(outs, self);
    outs->dtype = (uint8_t)dtype;
    return 0;
}

int fl_run_quantize_values(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    Flat out(outs[0]);
    if (!out.ok())
        return -1;
    InOrder x(in[0].t, out);
    if (!x.ok())
        return -1;
    const fl_quantized_range range = range_of(outs[0]->dtype, in[2].i, false);
    fl_parallel(outs[0]->numel, FL_GRAIN, [&](int64_t begin, int64_t end) {
        kernels->quantize(x.as<float>() + begin, end - begin, inverse_of(in[1].d), &range,
                          out.as<uint8_t>() + begin);
    });
    out.commit();
    return 0;
}

int fl_infer_dequantize_values(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (expect_bytes(op, in[0].t) < 0 ||
        fl_check_zero_point(op, "zero_point", in[2].i, in[0].t->dtype) < 0)
        return -1;
    fl_spec_in_order_of(outs, in[0].t);
    outs->dtype = FL_F32;
    return 0;
}

int fl_run_dequantize_values(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    Flat out(outs[0]);
    if (!out.ok())
        return -1;
    InOrder x(in[0].t, out);
    if (!x.ok())
        return -1;
    fl_parallel(outs[0]->numel, FL_GRAIN, [&](int64_t begin, int64_t end) {
        const fl_quantized_operand q = operand(x.as<uint8_t>() + begin, in[0].t, in[1].d, in[2].i);
        kernels->dequantize(&q, end - begin, out.as<float>() + begin);
    });
    out.commit();
    return 0;
}
}  // extern "C"
