/* Fourier transforms of floating and complex numbers over whole dimensions; lengths other than
 * those of the input, other dtypes, targets and errors in Python. */
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

/* The dimensions to transform, and how many numbers each result is a sum of. */
struct Dims {
    int64_t dim[FL_MAX_DIMS];
    int count;
    int64_t last;       /* length of the last dimension, of the real numbers where they result */
    double numbers;
};

/* A dimension from 0 on, or all of them; false where one is out of range or named twice. */
static bool read_dims(const fl_tensor *x, const fl_value &v, Dims *d) {
    bool all = v.tag == FL_NONE, one = v.tag == FL_INT;
    if (!all && !one && v.len > (uint32_t)x->ndim)
        return false;
    d->count = all ? x->ndim : one ? 1 : (int)v.len;
    uint64_t seen = 0;
    for (int i = 0; i < d->count; i++) {
        int64_t dim = all ? i : one ? v.i : v.is[i];
        dim += dim < 0 ? x->ndim : 0;
        if (dim < 0 || dim >= x->ndim || seen >> dim & 1)
            return false;
        seen |= 1ull << dim;
        d->dim[i] = dim;
    }
    return d->count > 0;
}

static bool read_lengths(const fl_tensor *x, Form form, Dims *d) {
    d->numbers = 1;
    for (int i = 0; i < d->count; i++) {
        bool halved = form == TO_REAL && i == d->count - 1;
        d->last = x->shape[d->dim[i]];
        if (halved)
            d->last = d->last > 1 ? 2 * (d->last - 1) : 0;
        if (d->last < 1)
            return false;
        d->numbers *= (double)d->last;
    }
    return true;
}

static bool is_text(const fl_value &v, const char *text) {
    return v.tag == FL_STRING && v.len == strlen(text) && !memcmp(v.s, text, v.len);
}

static bool read_scale(const fl_value &norm, const Dims &d, bool forward, double *scale) {
    bool backward = norm.tag == FL_NONE || is_text(norm, "backward");
    if (is_text(norm, "ortho"))
        *scale = 1.0 / sqrt(d.numbers);
    else if (backward || is_text(norm, "forward"))
        *scale = forward == backward ? 1.0 : 1.0 / d.numbers;
    else
        return false;
    return true;
}

static bool takes(Form form, int dtype) {
    bool real = dtype == FL_F32 || dtype == FL_F64;
    return real || (fl_is_complex(dtype) && form != FROM_REAL);
}

static fl_tensor *transformed(const fl_value &x, Form form, bool forward, const Dims &d,
                              double scale) {
    const fl_value dims = fl_ints_value(d.dim, d.count), factor = fl_float_value(scale);
    const fl_value forwards = fl_bool_value(forward);
    bool real = !fl_is_complex(x.t->dtype);
    if (form == TO_REAL && real) {
        int dtype = x.t->dtype == FL_F64 ? FL_C128 : FL_C64;
        Made wide(fl_compose(FL_OP_cast, x, fl_dtype_value(dtype)));
        return wide ? transformed(fl_tensor_value(wide), form, forward, d, scale) : nullptr;
    }
    if (form == TO_REAL)
        return fl_compose(FL_OP_fft_c2r, x, dims, fl_int_value(d.last), factor, forwards);
    if (real)
        return fl_compose(FL_OP_fft_r2c, x, dims, factor, fl_bool_value(form == FROM_REAL),
                          forwards);
    return fl_compose(FL_OP_fft_c2c, x, dims, factor, forwards);
}

/* (input, length or lengths, dimension or dimensions, norm) */
int fl_call_fft(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const Transform &t = transform_of(op);
    const fl_tensor *x = in[0].t;
    Dims d;
    double scale;
    if (!fl_is_short(out, in[1].tag == FL_NONE && takes(t.form, x->dtype) &&
                              read_dims(x, in[2], &d) && read_lengths(x, t.form, &d) &&
                              read_scale(in[3], d, t.forward, &scale)))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, transformed(in[0], t.form, t.forward, d, scale));
}

/* ---- order of the terms ------------------------------------------------------------------------ */

/* (input, dim): half of each dimension, rounded down, or up to undo that. */
static int shift(const fl_op *op, const fl_value *in, int n, fl_value *out, int64_t round) {
    const fl_tensor *x = in[0].t;
    int64_t shifts[FL_MAX_DIMS];
    Dims d;
    if (!fl_is_short(out, read_dims(x, in[1], &d)))
        return fl_call_composite(op, in, n, out);
    for (int i = 0; i < d.count; i++)
        shifts[i] = (x->shape[d.dim[i]] + round) / 2;
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_roll, in[0],
                                                        fl_ints_value(shifts, d.count),
                                                        fl_ints_value(d.dim, d.count)));
}

int fl_call_fft_fftshift(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return shift(op, in, n, out, 0);
}

int fl_call_fft_ifftshift(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return shift(op, in, n, out, 1);
}
