/* Fourier transforms over some dimensions, which are cut or padded to the lengths asked for. */
#include "common/compose.h"
#include <math.h>

enum Form { COMPLEX, FROM_REAL, TO_REAL };

struct Transform {
    int op;
    Form form;
    bool forward;
};

static const Transform TRANSFORMS[] = {
    {FL_OP_fft_fft, COMPLEX, true},        {FL_OP_fft_ifft, COMPLEX, false},
    {FL_OP_fft_rfft, FROM_REAL, true},     {FL_OP_fft_ihfft, FROM_REAL, false},
    {FL_OP_fft_hfft, TO_REAL, true},       {FL_OP_fft_irfft, TO_REAL, false},
    {FL_OP_fft_fft2, COMPLEX, true},       {FL_OP_fft_ifft2, COMPLEX, false},
    {FL_OP_fft_rfft2, FROM_REAL, true},    {FL_OP_fft_ihfft2, FROM_REAL, false},
    {FL_OP_fft_hfft2, TO_REAL, true},      {FL_OP_fft_irfft2, TO_REAL, false},
    {FL_OP_fft_fftn, COMPLEX, true},       {FL_OP_fft_ifftn, COMPLEX, false},
    {FL_OP_fft_rfftn, FROM_REAL, true},    {FL_OP_fft_ihfftn, FROM_REAL, false},
    {FL_OP_fft_hfftn, TO_REAL, true},      {FL_OP_fft_irfftn, TO_REAL, false},
};

static const Transform &transform_of(const fl_op *op) {
    const Transform *t = TRANSFORMS;
    while (&fl_builtin_ops[t->op] != op)
        t++;
    return *t;
}

/* What users call the transform. */
static const char *title_of(const fl_op *op) { return op->name + strlen("fft_"); }

/* ---- arguments --------------------------------------------------------------------------------- */

/* The dimensions to transform, counted from 0, and their lengths: of the last one the count of real
 * numbers, where such result. */
struct Dims {
    int64_t dim[FL_MAX_DIMS], length[FL_MAX_DIMS];
    int count = 0;
};

static int wrap_dim(const fl_op *op, int64_t given, int ndim, int64_t *dim) {
    *dim = given + (given < 0 ? ndim : 0);
    if (ndim == 0)
        return fl_error(FL_INDEX_ERROR, "%s(): Dimension specified as %lld but tensor has no "
                        "dimensions", title_of(op), (long long)given);
    if (*dim < 0 || *dim >= ndim)
        return fl_error(FL_INDEX_ERROR, "%s(): Dimension out of range (expected to be in range of "
                        "[%d, %d], but got %lld)", title_of(op), -ndim, ndim - 1,
                        (long long)given);
    return 0;
}

/* One dimension, some, or all for None. */
static int read_dims(const fl_op *op, const fl_tensor *x, const fl_value &v, Dims *d) {
    bool all = v.tag == FL_NONE, one = v.tag == FL_INT;
    int64_t seen = 0;
    int count = all ? x->ndim : one ? 1 : (int)v.len;
    for (int i = 0; i < count; i++) {
        int64_t dim;
        if (wrap_dim(op, all ? i : one ? v.i : v.is[i], x->ndim, &dim) < 0)
            return -1;
        if (seen >> dim & 1)
            return fl_error(FL_RUNTIME_ERROR, "%s(): FFT dims must be unique, got %s",
                            title_of(op), fl_shape_text(v.is, (int)v.len));
        seen |= (int64_t)1 << dim;
        d->dim[d->count++] = dim;
    }
    return 0;
}

static int check_length(const fl_op *op, int64_t n) {
    return n >= 1 ? 0
                  : fl_error(FL_RUNTIME_ERROR, "%s(): Invalid number of data points (%lld) "
                             "specified; a transform needs at least one", title_of(op),
                             (long long)n);
}

static int check_count(const fl_op *op, const fl_value &lengths, const fl_value &dims) {
    if (lengths.tag != FL_INTS || lengths.len == dims.len)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s(): When given, dim and shape arguments must have the "
                    "same length, got dim=%s and s=%s", title_of(op),
                    fl_shape_text(dims.is, (int)dims.len),
                    fl_shape_text(lengths.is, (int)lengths.len));
}

/* Lengths without dimensions are those of the last ones. */
static int read_last_dims(const fl_op *op, const fl_tensor *x, int count, Dims *d) {
    if (count > x->ndim)
        return fl_error(FL_RUNTIME_ERROR, "%s(): Got shape with %d values but input tensor only "
                        "has %d dimensions.", title_of(op), count, x->ndim);
    for (d->count = 0; d->count < count; d->count++)
        d->dim[d->count] = x->ndim - count + d->count;
    return 0;
}

/* (input, length or lengths, dimension or dimensions, norm); -1 is the input's own length. */
static int read_transform(const fl_op *op, Form form, const fl_value *in, Dims *d) {
    const fl_tensor *x = in[0].t;
    const fl_value &v = in[1];
    if (v.tag == FL_INT && check_length(op, v.i) < 0)
        return -1;
    if (v.tag == FL_INTS && fl_is_none(in[2]) ? read_last_dims(op, x, (int)v.len, d) < 0
                                              : read_dims(op, x, in[2], d) < 0 ||
                                                    check_count(op, v, in[2]) < 0)
        return -1;
    bool own = true;
    for (int i = 0; i < d->count; i++) {
        int64_t given = v.tag == FL_NONE ? -1 : v.tag == FL_INT ? v.i : v.is[i];
        own = given == -1;
        d->length[i] = own ? x->shape[d->dim[i]] : given;
        if (check_length(op, d->length[i]) < 0)
            return -1;
    }
    if (form != COMPLEX && d->count == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s must transform at least one axis", title_of(op));
    if (form != TO_REAL || !own)
        return 0;
    int64_t *last = &d->length[d->count - 1];
    *last = 2 * (*last - 1);
    return check_length(op, *last);
}

static bool is_text(const fl_value &v, const char *text) {
    return v.tag == FL_STRING && v.len == strlen(text) && !memcmp(v.s, text, v.len);
}

static int read_scale(const fl_op *op, const fl_value &norm, const Dims &d, bool forward,
                      double *scale) {
    double numbers = 1;
    for (int i = 0; i < d.count; i++)
        numbers *= (double)d.length[i];
    bool backward = norm.tag == FL_NONE || is_text(norm, "backward");
    if (is_text(norm, "ortho"))
        *scale = 1.0 / sqrt(numbers);
    else if (backward || is_text(norm, "forward"))
        *scale = forward == backward ? 1.0 : 1.0 / numbers;
    else
        return fl_error(FL_RUNTIME_ERROR, "%s(): Invalid normalization mode: \"%s\"; write "
                        "\"backward\", \"forward\" or \"ortho\"", title_of(op), norm.s);
    return 0;
}

/* ---- the input --------------------------------------------------------------------------------- */

/* The dtype that the transform starts from; -1 after an error. */
static int dtype_of_input(const fl_op *op, Form form, const fl_tensor *x) {
    int dtype = x->dtype;
    if (form == FROM_REAL && fl_is_complex(dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s expects a real input tensor, but got %s; write "
                        "x.real, or call the transform of complex numbers", title_of(op),
                        fl_dtype_name(dtype));
    if (fl_is_float(dtype) && fl_itemsize(dtype) == 2)
        return fl_error(FL_RUNTIME_ERROR, "%s(): Unsupported dtype %s; write x.float() first",
                        title_of(op), fl_dtype_name(dtype));
    if (!fl_is_float(dtype) && !fl_is_complex(dtype))
        dtype = fl_default_dtype;
    if (form == TO_REAL && !fl_is_complex(dtype))
        dtype = fl_itemsize(dtype) == 8 ? FL_C128 : FL_C64;
    return dtype;
}

/* Cut, or with zeros at the end, to n elements along a dimension. Takes the reference. */
static fl_tensor *resized(fl_tensor *t, int64_t dim, int64_t n) {
    Made x(t);
    int64_t size = t->shape[dim], shape[FL_MAX_DIMS];
    if (n == size)
        return x.give();
    if (n < size)
        return fl_compose(FL_OP_narrow, fl_tensor_value(x), fl_int_value(dim), fl_int_value(0),
                          fl_int_value(n));
    memcpy(shape, t->shape, sizeof(int64_t) * (size_t)t->ndim);
    shape[dim] = n - size;
    Made zeros(fl_compose(FL_OP_full_of, fl_ints_value(shape, t->ndim), fl_int_value(0),
                          fl_dtype_value(t->dtype), fl_device_value(t)));
    fl_tensor *parts[] = {t, zeros.get()};
    return zeros ? fl_compose(FL_OP_cat, fl_tensors_value(parts, 2), fl_int_value(dim)) : nullptr;
}

/* The input in its dtype and lengths; half of the terms are enough for real results. */
static fl_tensor *prepared(const fl_value &input, int dtype, Form form, const Dims &d) {
    fl_tensor *x = input.t->dtype == dtype ? (fl_tensor *)Py_NewRef(input.o)
                                           : fl_compose(FL_OP_cast, input, fl_dtype_value(dtype));
    for (int i = 0; x && i < d.count; i++) {
        bool halved = form == TO_REAL && i == d.count - 1;
        x = resized(x, d.dim[i], halved ? d.length[i] / 2 + 1 : d.length[i]);
    }
    return x;
}

static fl_tensor *transformed(const Transform &t, const Made &x, const Dims &d, double scale) {
    const fl_value input = fl_tensor_value(x), dims = fl_ints_value(d.dim, d.count);
    const fl_value factor = fl_float_value(scale), forward = fl_bool_value(t.forward);
    if (t.form == TO_REAL)
        return fl_compose(FL_OP_fft_c2r, input, dims, fl_int_value(d.length[d.count - 1]), factor,
                          forward);
    if (!fl_is_complex(x.get()->dtype))
        return fl_compose(FL_OP_fft_r2c, input, dims, factor, fl_bool_value(t.form == FROM_REAL),
                          forward);
    return fl_compose(FL_OP_fft_c2c, input, dims, factor, forward);
}

int fl_call_fft(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const Transform &t = transform_of(op);
    Dims d;
    double scale;
    int dtype = dtype_of_input(op, t.form, in[0].t);
    if (dtype < 0 || read_transform(op, t.form, in, &d) < 0 ||
        read_scale(op, in[3], d, t.forward, &scale) < 0)
        return fl_raise();
    if (d.count == 0 && !fl_is_complex(dtype))
        dtype = fl_itemsize(dtype) == 8 ? FL_C128 : FL_C64;     /* there is nothing to halve */
    Made x(prepared(in[0], dtype, t.form, d));
    return x ? fl_compose_result(op, in, n, out, transformed(t, x, d, scale)) : -1;
}

/* ---- order of the terms ------------------------------------------------------------------------ */

/* (input, dim): half of each dimension, rounded down, or up to undo that. */
static int shift(const fl_op *op, const fl_value *in, int n, fl_value *out, int64_t round) {
    const fl_tensor *x = in[0].t;
    int64_t shifts[FL_MAX_DIMS], dims[FL_MAX_DIMS];
    int count = fl_is_none(in[1]) ? x->ndim : (int)in[1].len;
    if (count == 0)
        fl_error(FL_RUNTIME_ERROR, "%s(): `shifts` required: there is no dimension to shift",
                 title_of(op));
    if (count > FL_MAX_DIMS)
        fl_error(FL_RUNTIME_ERROR, "%s(): dim names %d dimensions, at most %d can be",
                 title_of(op), count, FL_MAX_DIMS);
    for (int i = 0; i < count && fl_error_kind_get() == FL_NO_ERROR; i++)
        if (wrap_dim(op, fl_is_none(in[1]) ? i : in[1].is[i], x->ndim, &dims[i]) == 0)
            shifts[i] = (x->shape[dims[i]] + round) / 2;
    if (fl_error_kind_get() != FL_NO_ERROR)
        return fl_raise();
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_roll, in[0],
                                                        fl_ints_value(shifts, count),
                                                        fl_ints_value(dims, count)));
}

int fl_call_fft_fftshift(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return shift(op, in, n, out, 0);
}

int fl_call_fft_ifftshift(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return shift(op, in, n, out, 1);
}
