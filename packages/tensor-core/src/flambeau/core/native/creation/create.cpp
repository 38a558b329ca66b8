/* Tensors made from numbers: full_of, arange_of, linspace, eye_of. */
#include "dispatch/pointwise.h"
#include "common/args.h"
#include <math.h>

namespace {

/* The operators end in `_of`; people call full(), arange() and eye(). */
const char *title(const fl_op *op) {
    return !strcmp(op->name, "full_of") ? "full()" : !strcmp(op->name, "arange_of") ? "arange()"
         : !strcmp(op->name, "eye_of") ? "eye()" : "linspace()";
}

int device_of(const fl_value &v) { return v.tag == FL_DEVICE ? (int)v.i : FL_CPU << 8; }
int dtype_or(const fl_value &v, int fallback) { return v.tag == FL_DTYPE ? (int)v.i : fallback; }
bool is_integer(const fl_value &v) { return v.tag == FL_INT || v.tag == FL_BOOLEAN; }
double imaginary(const fl_value &v) { return v.tag == FL_COMPLEX ? v.c[1] : 0.0; }
int default_complex() { return fl_default_dtype == FL_F64 ? FL_C128 : FL_C64; }

int check_shape(const fl_op *op, const fl_value &size) {
    if (size.len > FL_MAX_DIMS)
        return fl_error(FL_VALUE_ERROR, "%s: size has %u numbers, but a tensor may have at most %d "
                        "dimensions", title(op), size.len, FL_MAX_DIMS);
    for (uint32_t i = 0; i < size.len; i++)
        if (size.is[i] < 0)
            return fl_error(FL_RUNTIME_ERROR, "%s: size %s has the negative dimension %lld; sizes "
                            "are 0 or more", title(op),
                            fl_shape_text(size.is, (int)size.len), (long long)size.is[i]);
    return 0;
}

int set_vector(const fl_value &device, int dtype, int64_t length, fl_spec *out) {
    fl_spec_set(out, dtype, device_of(device), 1, &length);
    return 0;
}

int no_kernel(const fl_op *op, int dtype) {
    return fl_error(FL_NOT_IMPLEMENTED, "%s: not defined for %s; make it in another dtype and "
                    "convert the result with .to()", title(op), fl_dtype_name(dtype));
}

void clear(void *out, int64_t bytes) {
    fl_parallel(bytes, FL_GRAIN * 16, [=](int64_t begin, int64_t end) {
        memset((char *)out + begin, 0, (size_t)(end - begin));
    });
}

/* Fill contiguous memory with one element given by its bytes. */
void repeat_element(void *out, const void *value, int64_t size, int64_t n) {
    static const char zeros[16] = {0};
    if (!memcmp(value, zeros, (size_t)size))
        return clear(out, n * size);
    fl_gather_fn fill = fl_move_of_size(size);
    fl_parallel(n, FL_GRAIN * 4, [=](int64_t begin, int64_t end) {
        fill((char *)out + begin * size, value, 1, end - begin, 0, 0);
    });
}

/* A number as one element of a dtype. */
void element_of(const fl_value &v, int dtype, void *out) {
    alignas(16) double number[2] = {0, 0};
    int from = v.tag == FL_COMPLEX ? FL_C128 : v.tag == FL_FLOAT ? FL_F64 : FL_I64;
    if (from == FL_I64)
        memcpy(number, &v.i, sizeof(int64_t));
    else if (from == FL_F64)
        number[0] = v.d;
    else
        memcpy(number, v.c, sizeof number);
    const int64_t one = 1;
    fl_copy_strided(fl_strided{(char *)out, dtype, &one}, fl_strided{(char *)number, from, &one}, 1,
                    &one);
}

/* ---- full ---------------------------------------------------------------------------------- */

int dtype_of_fill(const fl_value &v) {
    switch (v.tag) {
    case FL_BOOLEAN: return FL_BOOL;
    case FL_INT: return FL_I64;
    case FL_COMPLEX: return default_complex();
    default: return fl_default_dtype;
    }
}

/* ---- arange ---------------------------------------------------------------------------------- */

int dtype_of_range(const fl_value *in) {
    bool integers = is_integer(in[0]) && is_integer(in[1]) && is_integer(in[2]);
    return dtype_or(in[3], integers ? FL_I64 : fl_default_dtype);
}

int range_error(const fl_op *op, const fl_value *in, const char *why) {
    return fl_error(FL_RUNTIME_ERROR, "%s: start=%g, end=%g, step=%g: %s", title(op),
                    fl_as_double(in[0]), fl_as_double(in[1]), fl_as_double(in[2]), why);
}

/* Exact for integers of any size: the span of two int64 fits uint64. */
int64_t integer_length(int64_t start, int64_t end, int64_t step) {
    uint64_t span = step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return (int64_t)(span / stride + (span % stride != 0));
}

bool fits_int64(const fl_value &v) {
    double x = fl_as_double(v);
    return is_integer(v) || (x >= -0x1p63 && x < 0x1p63);
}

int range_length(const fl_op *op, const fl_value *in, int dtype, int64_t *length) {
    double start = fl_as_double(in[0]), end = fl_as_double(in[1]), step = fl_as_double(in[2]);
    *length = 0;
    if (fl_is_int(dtype))
        step = trunc(step);
    if (step == 0 || step != step)
        return range_error(op, in, "step must be a number other than zero (in an integer dtype "
                           "steps are truncated); give dtype=float32 for fractional steps");
    if (!isfinite(start) || !isfinite(end))
        return range_error(op, in, "start and end must be finite");
    if (step > 0 ? end < start : end > start)
        return range_error(op, in, step > 0
            ? "end lies before start although step is positive; swap them or negate step"
            : "end lies after start although step is negative; swap them or negate step");
    if (fl_is_int(dtype) && !(fits_int64(in[0]) && fits_int64(in[1]) && fits_int64(in[2])))
        return range_error(op, in, "the numbers must fit int64; give a floating dtype");
    if (fl_is_int(dtype)) {
        *length = integer_length(fl_as_int(in[0]), fl_as_int(in[1]), fl_as_int(in[2]));
        return *length >= 0 ? 0 : range_error(op, in, "too many elements");
    }
    double count = ceil((end - start) / step);
    if (!(count < 9.2e18))
        return range_error(op, in, "too many elements");
    *length = (int64_t)count;
    return 0;
}

template <class T, class Formula> void fill_by_index(T *out, int64_t n, const Formula &value) {
    fl_parallel(n, FL_GRAIN, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            out[i] = (T)value(i);
    });
}

/* start + step * i in doubles, in which counts up to 2**53 are exact. */
void fill_reals(double *out, int64_t n, double start, double step) {
    typedef double Two __attribute__((vector_size(16)));
    fl_parallel(n, FL_GRAIN, [=](int64_t begin, int64_t end) {
        const Two first = {0, 1};
        Two a = first + (double)begin, b = a + 2, c = a + 4, d = a + 6;
        int64_t i = begin;
        for (; i + 8 <= end; i += 8, a += 8, b += 8, c += 8, d += 8) {
            const Two found[] = {start + step * a, start + step * b, start + step * c,
                                 start + step * d};
            memcpy(out + i, found, sizeof found);
        }
        for (; i < end; i++)
            out[i] = start + step * (double)i;
    });
}

/* Without conversions of each count to a double. */
void fill_reals(float *out, int64_t n, double start, double step) {
    const int COUNT = 8;
    const double lane[COUNT] = {0, 1, 2, 3, 4, 5, 6, 7};
    fl_parallel(n, FL_GRAIN, [&](int64_t begin, int64_t end) {
        int64_t i = begin;
        for (; i + COUNT <= end; i += COUNT) {
            const double at = (double)i;
            for (int k = 0; k < COUNT; k++)
                out[i + k] = (float)(start + step * (at + lane[k]));
        }
        for (; i < end; i++)
            out[i] = (float)(start + step * (double)i);
    });
}

/* The same modulo the integers that T holds: steps are added up, for processors have no vectors of
 * 64-bit products. */
template <class T> void fill_integers(T *out, int64_t n, T start, T step) {
    typedef T Lanes __attribute__((vector_size(16)));
    const int64_t COUNT = (int64_t)(sizeof(Lanes) / sizeof(T));
    fl_parallel(n, FL_GRAIN, [=](int64_t begin, int64_t end) {
        Lanes found = {};
        for (int64_t k = 0; k < COUNT; k++)
            found[k] = start + step * (T)(begin + k);
        int64_t i = begin;
        for (; i + COUNT <= end; i += COUNT, found += (T)COUNT * step)
            memcpy(out + i, &found, sizeof found);
        for (; i < end; i++)
            out[i] = start + step * (T)i;
    });
}

/* ---- linspace -------------------------------------------------------------------------------- */

int dtype_of_line(const fl_value *in) {
    bool complex = in[0].tag == FL_COMPLEX || in[1].tag == FL_COMPLEX;
    return dtype_or(in[3], complex ? default_complex() : fl_default_dtype);
}

/* Both ends are exact: the first half counts from start, the second back from end. */
struct Line {
    double start, end, step;
    int64_t n;
    Line(double a, double b, int64_t count)
        : start(a), end(b), step(count > 1 ? (b - a) / (double)(count - 1) : 0), n(count) {}
    double operator()(int64_t i) const {
        return i < n / 2 || n == 1 ? start + step * (double)i : end - step * (double)(n - 1 - i);
    }
};

template <class T> void complex_line(T *out, const fl_value *in, int64_t n) {
    Line re(fl_as_double(in[0]), fl_as_double(in[1]), n);
    Line im(imaginary(in[0]), imaginary(in[1]), n);
    fill_by_index(out, 2 * n, [&](int64_t i) { return i & 1 ? im(i >> 1) : re(i >> 1); });
}

void real_line(Out &out, int kind, const Line &line) {
    if (kind == FL_K_F32)
        fill_by_index(out.as<float>(), line.n, line);
    else if (kind == FL_K_F64)
        fill_by_index(out.as<double>(), line.n, line);
    else
        fill_by_index(out.as<int64_t>(), line.n,
                      Line(trunc(line.start), trunc(line.end), line.n));
}

}  // namespace

extern "C" int fl_infer_full_of(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    int dtype = dtype_or(in[2], dtype_of_fill(in[1]));
    if (check_shape(op, in[0]) < 0 || fl_check_number(title(op), "fill_value", in[1], dtype) < 0)
        return -1;
    fl_spec_set(outs, dtype, device_of(in[3]), (int)in[0].len, in[0].is);
    return 0;
}

extern "C" int fl_run_full_of(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    alignas(16) char element[16];
    element_of(in[1], outs[0]->dtype, element);
    repeat_element(outs[0]->data, element, fl_itemsize(outs[0]->dtype), outs[0]->numel);
    return 0;
}

extern "C" int fl_infer_arange_of(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    int dtype = dtype_of_range(in);
    if (dtype == FL_BOOL || fl_is_complex(dtype))
        return no_kernel(op, dtype);
    int64_t length;
    if (range_length(op, in, dtype, &length) < 0)
        return -1;
    return set_vector(in[4], dtype, length, outs);
}

extern "C" int fl_run_arange_of(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const int kind = fl_kind_of_dtype[outs[0]->dtype];
    const int64_t n = outs[0]->numel;
    const double start = fl_as_double(in[0]), step = fl_as_double(in[2]);
    const uint64_t first = (uint64_t)fl_as_int(in[0]), by = (uint64_t)fl_as_int(in[2]);
    if (outs[0]->dtype == FL_I32 && fl_is_contiguous(outs[0])) {
        fill_integers((uint32_t *)outs[0]->data, n, (uint32_t)first, (uint32_t)by);
        return 0;
    }
    Out out(outs[0], kind);
    if (!out.ok())
        return -1;
    if (kind == FL_K_F32)
        fill_reals(out.as<float>(), n, start, step);
    else if (kind == FL_K_F64)
        fill_reals(out.as<double>(), n, start, step);
    else
        fill_integers(out.as<uint64_t>(), n, first, by);
    out.commit();
    return 0;
}

extern "C" int fl_infer_linspace(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    int dtype = dtype_of_line(in);
    if (dtype == FL_BOOL)
        return no_kernel(op, dtype);
    bool complex = in[0].tag == FL_COMPLEX || in[1].tag == FL_COMPLEX;
    if (complex && !fl_is_complex(dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: start and end are complex, so dtype must be "
                        "complex64 or complex128, not %s", title(op), fl_dtype_name(dtype));
    if (in[2].i < 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: number of steps must be non-negative, not %lld",
                        title(op), (long long)in[2].i);
    return set_vector(in[4], dtype, in[2].i, outs);
}

extern "C" int fl_run_linspace(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[outs[0]->dtype];
    int64_t n = outs[0]->numel;
    Out out(outs[0], kind);
    if (!out.ok())
        return -1;
    if (kind == FL_K_C64)
        complex_line(out.as<float>(), in, n);
    else if (kind == FL_K_C128)
        complex_line(out.as<double>(), in, n);
    else
        real_line(out, kind, Line(fl_as_double(in[0]), fl_as_double(in[1]), n));
    out.commit();
    return 0;
}

extern "C" int fl_infer_eye_of(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    int64_t shape[2] = {in[0].i, in[1].i};
    if (shape[0] < 0 || shape[1] < 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: n and m are sizes, 0 or more, but n=%lld and "
                        "m=%lld", title(op), (long long)shape[0], (long long)shape[1]);
    fl_spec_set(outs, dtype_or(in[2], fl_default_dtype), device_of(in[3]), 2, shape);
    return 0;
}

extern "C" int fl_run_eye_of(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    int64_t n = in[0].i, m = in[1].i, size = fl_itemsize(outs[0]->dtype);
    if (outs[0]->numel == 0)
        return 0;
    fl_value one = {};
    one.tag = FL_INT;
    one.i = 1;
    alignas(16) char element[16];
    element_of(one, outs[0]->dtype, element);
    memset(outs[0]->data, 0, (size_t)(n * m * size));
    for (int64_t i = 0; i < n && i < m; i++)
        memcpy(outs[0]->data + (i * m + i) * size, element, (size_t)size);
    return 0;
}
