/* fft_c2c, fft_r2c, fft_c2r: Fourier transforms over dimensions, times a factor. Of real
 * transforms the last dimension named is the one that is halved. */
#include "common/args.h"
#include "fft/fft_axis.h"

namespace {

struct Dims {
    int count;
    int dim[FL_MAX_DIMS];
    int last() const { return dim[count - 1]; }
};

int dims_of(const fl_op *op, const fl_value &v, const fl_tensor *self, Dims *dims) {
    uint64_t seen = 0;
    dims->count = v.tag == FL_INTS ? (int)v.len : 1;
    if (dims->count > self->ndim)
        return fl_error(FL_RUNTIME_ERROR, "%s: got %d dims for %s", fl_op_title(op), dims->count,
                        fl_tensor_text(self));
    for (int i = 0; i < dims->count; i++) {
        if (fl_wrap_dim(op, v.tag == FL_INTS ? v.is[i] : v.i, self->ndim, &dims->dim[i]) < 0)
            return -1;
        if (seen >> dims->dim[i] & 1)
            return fl_error(FL_RUNTIME_ERROR, "%s: FFT dims must be unique, but dim %d is named "
                            "twice", fl_op_title(op), dims->dim[i]);
        seen |= 1ull << dims->dim[i];
        if (self->shape[dims->dim[i]] < 1)
            return fl_error(FL_RUNTIME_ERROR, "%s: Invalid number of data points (0) specified: "
                            "dim %d of %s is empty, give the length to pad it to",
                            fl_op_title(op), dims->dim[i], fl_tensor_text(self));
    }
    return 0;
}

/* What a call asks for. */
struct Call {
    const fl_tensor *self;
    Dims dims;
    double scale;
    bool forward;
    bool is_double() const { return self->dtype == FL_F64 || self->dtype == FL_C128; }
};

int open_call(const fl_op *op, const fl_value *in, const fl_value &scale, const fl_value &forward,
              Call *call) {
    call->self = in[0].t;
    call->scale = fl_as_double(scale);
    call->forward = fl_value_true(forward);
    return dims_of(op, in[1], call->self, &call->dims);
}

int infer(const fl_op *op, const fl_value *in, fl_spec *outs, bool real, int least, Dims *dims) {
    const fl_tensor *self = in[0].t;
    int d = self->dtype;
    if (real ? d != FL_F32 && d != FL_F64 : !fl_is_complex(d))
        return fl_error(FL_RUNTIME_ERROR, "%s: Unsupported dtype %s; write %s first",
                        fl_op_title(op), fl_dtype_name(d), real ? "x.float() or x.double()"
                                                                : "x.to(complex64)");
    if (dims_of(op, in[1], self, dims) < 0)
        return -1;
    if (dims->count < least)
        return fl_error(FL_RUNTIME_ERROR, "%s: must transform at least one axis", fl_op_title(op));
    fl_spec_like(outs, self);
    return 0;
}

/* The sizes before and after a dimension of a shape. */
template <class T>
FftAxis<T> axis_of(FftMode mode, bool forward, int ndim, const int64_t *shape, int dim) {
    FftAxis<T> axis = {mode, !forward, shape[dim], 1, 1, nullptr, nullptr, (T)1};
    for (int i = 0; i < ndim; i++)
        if (i != dim)
            (i < dim ? axis.outer : axis.inner) *= shape[i];
    return axis;
}

template <class T> int transform(FftAxis<T> axis, const void *in, void *out, double scale) {
    axis.in = (const T *)in;
    axis.out = (T *)out;
    axis.scale = (T)scale;
    return fft_axis(axis);
}

/* Complex transforms along dims from the last to the first; the first one moves in to out. */
template <class T>
int complex_dims(const fl_tensor *shaped, const Dims &dims, int count, bool forward, const T *in,
                 T *out, double scale) {
    for (int i = count - 1; i >= 0; i--) {
        FftAxis<T> axis = axis_of<T>(FFT_COMPLEX, forward, shaped->ndim, shaped->shape,
                                     dims.dim[i]);
        if (transform(axis, in, out, i == 0 ? scale : 1.0) < 0)
            return -1;
        in = out;
    }
    return 0;
}

template <class T> int run_c2c(const Call &c, fl_tensor *result) {
    const int kind = fl_kind_of_dtype[c.self->dtype];
    In x(c.self, kind);
    Out out(result, kind);
    if (!x.ok() || !out.ok() ||
        complex_dims<T>(c.self, c.dims, c.dims.count, c.forward, x.as<T>(), out.as<T>(),
                        c.scale) < 0)
        return -1;
    out.commit();
    return 0;
}

template <class T> int run_r2c(const Call &c, bool onesided, fl_tensor *result) {
    In x(c.self, fl_kind_of_dtype[c.self->dtype]);
    Out out(result, fl_kind_of_dtype[result->dtype]);
    if (!x.ok() || !out.ok())
        return -1;
    const int rest = c.dims.count - 1;
    FftAxis<T> axis = axis_of<T>(onesided ? FFT_REAL_HALF : FFT_REAL_FULL, c.forward,
                                 c.self->ndim, c.self->shape, c.dims.last());
    T *to = out.as<T>();
    if (transform(axis, x.as<T>(), to, rest ? 1.0 : c.scale) < 0 ||
        complex_dims<T>(result, c.dims, rest, c.forward, to, to, c.scale) < 0)
        return -1;
    out.commit();
    return 0;
}

template <class T> int run_c2r(const Call &c, fl_tensor *result) {
    const int kind = fl_kind_of_dtype[c.self->dtype], rest = c.dims.count - 1;
    In x(c.self, kind);
    Out out(result, fl_kind_of_dtype[result->dtype]);
    Scratch middle(rest ? fl_bytes(c.self->numel, fl_kind_size[kind]) : 0);
    if (!x.ok() || !out.ok() || !middle.ok())
        return -1;
    const T *from = x.as<T>();
    if (rest) {
        if (complex_dims<T>(c.self, c.dims, rest, c.forward, from, middle.as<T>(), 1.0) < 0)
            return -1;
        from = middle.as<T>();
    }
    FftAxis<T> axis = axis_of<T>(FFT_TO_REAL, c.forward, result->ndim, result->shape,
                                 c.dims.last());
    if (transform(axis, from, out.as<T>(), c.scale) < 0)
        return -1;
    out.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_fft_c2c(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    Dims dims;
    return infer(op, in, outs, false, 0, &dims);
}

extern "C" int fl_run_fft_c2c(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    Call c;
    if (open_call(op, in, in[2], in[3], &c) < 0)
        return -1;
    if (c.dims.count == 0 || c.self->numel == 0) {
        fl_copy_tensor(outs[0], c.self);
        return 0;
    }
    return c.is_double() ? run_c2c<double>(c, outs[0]) : run_c2c<float>(c, outs[0]);
}

extern "C" int fl_infer_fft_r2c(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    Dims dims;
    if (infer(op, in, outs, true, 1, &dims) < 0)
        return -1;
    outs->dtype = in[0].t->dtype == FL_F32 ? FL_C64 : FL_C128;
    if (fl_value_true(in[3]))
        outs->shape[dims.last()] = outs->shape[dims.last()] / 2 + 1;
    return 0;
}

extern "C" int fl_run_fft_r2c(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    Call c;
    if (open_call(op, in, in[2], in[4], &c) < 0)
        return -1;
    if (c.self->numel == 0)
        return 0;
    const bool onesided = fl_value_true(in[3]);
    return c.is_double() ? run_r2c<double>(c, onesided, outs[0])
                         : run_r2c<float>(c, onesided, outs[0]);
}

extern "C" int fl_infer_fft_c2r(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    Dims dims;
    if (infer(op, in, outs, false, 1, &dims) < 0)
        return -1;
    const int64_t n = in[2].i, terms = in[0].t->shape[dims.last()];
    if (n < 1 || n / 2 + 1 != terms)
        return fl_error(FL_RUNTIME_ERROR, "%s: %lld real numbers have %lld terms, but dim %d of %s "
                        "has another size", fl_op_title(op), (long long)n, (long long)(n / 2 + 1),
                        dims.last(), fl_tensor_text(in[0].t));
    outs->dtype = (uint8_t)fl_real_dtype(in[0].t->dtype);
    outs->shape[dims.last()] = n;
    return 0;
}

extern "C" int fl_run_fft_c2r(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    Call c;
    if (open_call(op, in, in[3], in[4], &c) < 0)
        return -1;
    if (c.self->numel == 0)
        return 0;
    return c.is_double() ? run_c2r<double>(c, outs[0]) : run_c2r<float>(c, outs[0]);
}
