#include "pack.h"
#include "plans.h"

#include <math.h>
#include <stddef.h>

bool fl_is_packable(const fl_value &v) {
    if (v.tag == FL_TENSOR)
        return v.t && (v.t->device_type != FL_CPU || v.t->ndim == 0);
    return fl_is_number(v);
}

/* ---- numbers -------------------------------------------------------------------------------- */
/* Truncated, and wrapped around as integers are; 0 for what is not finite. */
static int64_t wrapped(double x) {
    if (!isfinite(x))
        return 0;
    double rest = fmod(trunc(x), 18446744073709551616.0);
    return rest < 0 ? (int64_t)(0 - (uint64_t)-rest) : (int64_t)(uint64_t)rest;
}

static void put_real(fl_arg &a, double re, double im = 0) {
    a.re = re;
    a.im = im;
    a.integer = wrapped(re);
}

static void put_integer(fl_arg &a, int64_t i, bool is_unsigned = false) {
    a.re = is_unsigned ? (double)(uint64_t)i : (double)i;
    a.im = 0;
    a.integer = i;
}

static float bits_as_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double half(uint16_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexp(fraction + 1024, exponent - 25)
                                 : ldexp(fraction, -24);
    return h >> 15 ? -size : size;
}

template <class T> static T read(const void *data) {
    T value;
    memcpy(&value, data, sizeof value);
    return value;
}

/* A tensor of no dimensions on the host stands for its number. */
static void put_host_number(fl_arg &a, const fl_tensor *t) {
    switch (t->dtype) {
    case FL_BOOL: return put_integer(a, read<uint8_t>(t->data) != 0);
    case FL_U8: return put_integer(a, read<uint8_t>(t->data));
    case FL_I8: return put_integer(a, read<int8_t>(t->data));
    case FL_I16: return put_integer(a, read<int16_t>(t->data));
    case FL_I32: return put_integer(a, read<int32_t>(t->data));
    case FL_I64: return put_integer(a, read<int64_t>(t->data));
    case FL_U16: return put_integer(a, read<uint16_t>(t->data));
    case FL_U32: return put_integer(a, read<uint32_t>(t->data));
    case FL_U64: return put_integer(a, read<int64_t>(t->data), true);
    case FL_F16: return put_real(a, half(read<uint16_t>(t->data)));
    case FL_BF16: return put_real(a, bits_as_float((uint32_t)read<uint16_t>(t->data) << 16));
    case FL_F32: return put_real(a, read<float>(t->data));
    case FL_F64: return put_real(a, read<double>(t->data));
    case FL_C64: return put_real(a, read<float>(t->data), read<float>(t->data + 4));
    default: return put_real(a, read<double>(t->data), read<double>(t->data + 8));
    }
}

void fl_pack_number(fl_arg &a, const fl_value &v) {
    a.data = nullptr;
    a.dtype = 0;
    a.is_number = 1;
    switch (v.tag) {
    case FL_TENSOR: return put_host_number(a, v.t);
    case FL_FLOAT: return put_real(a, v.d);
    case FL_COMPLEX: return put_real(a, v.c[0], v.c[1]);
    default: return put_integer(a, v.i);
    }
}

/* ---- geometry ------------------------------------------------------------------------------- */
struct Operands {
    const fl_tensor *tensors[FL_MAX_ARGUMENTS];     /* null for numbers */
    fl_arg *args;
    int count;
};

static int64_t stride_over(const fl_tensor *t, int ndim, int d) {
    int own = d - (ndim - t->ndim);
    return own >= 0 && t->shape[own] != 1 ? t->strides[own] : 0;
}

/* Dimensions that every operand walks as one are one; those of size 1 are none. */
static bool merge(const Operands &o, const fl_tensor *out, fl_widest_call &call) {
    int used = 0;
    for (int d = 0; d < out->ndim; d++) {
        int64_t n = out->shape[d];
        if (n == 1)
            continue;
        bool joins = used > 0;
        for (int k = 0; k < o.count && joins; k++)
            joins = !o.tensors[k] || o.args[k].strides[used - 1]
                                         == stride_over(o.tensors[k], out->ndim, d) * n;
        if (!joins && used == FL_DIMS)
            return false;
        int at = joins ? used - 1 : used++;
        call.shape[at] = joins ? call.shape[at] * n : n;
        for (int k = 0; k < o.count; k++)
            if (o.tensors[k])
                o.args[k].strides[at] = stride_over(o.tensors[k], out->ndim, d);
    }
    call.ndim = used;
    return true;
}

size_t fl_pack(fl_widest_call &call, const fl_value *values, int count, fl_tensor *const *outs,
               int nouts, bool near) {
    Operands o = {{}, call.args, count + nouts};
    for (int k = 0; k < o.count; k++) {
        fl_arg &a = call.args[k];
        bool number = k < count
                      && (values[k].tag != FL_TENSOR || values[k].t->device_type == FL_CPU);
        if (number) {
            o.tensors[k] = nullptr;
            fl_pack_number(a, values[k]);
            continue;
        }
        const fl_tensor *t = o.tensors[k] = k < count ? values[k].t : outs[k - count];
        a.data = t->data;
        a.dtype = t->dtype;
        a.is_number = 0;
    }
    call.numel = outs[0]->numel;
    call.ndim = 0;
    if (!near && !merge(o, outs[0], call))
        return 0;
    return offsetof(fl_widest_call, args) + sizeof(fl_arg) * (size_t)o.count;
}
