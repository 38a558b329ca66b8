/* Windows of images as columns, and columns added to the positions of their windows. */
#include "common/args.h"
#include "common/raw.h"
#include "common/window.h"

namespace {

/* Sizes of one call: `planes` images of one channel each, or columns of as many windows. */
struct Call {
    int64_t planes, h, w, oh, ow;
    fl_window y, x;
};

/* kernel_size, dilation, padding and stride stand at in[at..at+4). */
int read_windows(const fl_op *op, const fl_value *in, int at, int64_t h, int64_t w, Call *c) {
    int64_t size[2], dilation[2], padding[2], stride[2], image[2] = {h, w};
    if (fl_read_pair(op, "kernel_size", in[at], 1, size) < 0 ||
        fl_read_pair(op, "dilation", in[at + 1], 1, dilation) < 0 ||
        fl_read_pair(op, "padding", in[at + 2], 0, padding) < 0 ||
        fl_read_pair(op, "stride", in[at + 3], 1, stride) < 0 ||
        fl_check_window_sizes(op, "image", 2, image, padding) < 0)
        return -1;
    c->h = h;
    c->w = w;
    c->y = fl_window{size[0], stride[0], padding[0], dilation[0]};
    c->x = fl_window{size[1], stride[1], padding[1], dilation[1]};
    c->oh = fl_window_count(c->y, h);
    c->ow = fl_window_count(c->x, w);
    if (c->oh > 0 && c->ow > 0)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: windows of size %s with dilation %s do not fit an image "
                    "of %lld x %lld with padding %s: there would be no columns", fl_op_title(op),
                    fl_shape_text(size, 2), fl_shape_text(dilation, 2), (long long)h,
                    (long long)w, fl_shape_text(padding, 2));
}

/* Rows [b, e) of the columns: one for every plane and tap. */
template <class T> void gather_rows(const Call &c, const char *in, char *out, int64_t b, int64_t e) {
    int64_t taps = c.y.size * c.x.size;
    for (int64_t i = b; i < e; i++) {
        int64_t ty = i % taps / c.x.size, tx = i % c.x.size, y0, y1, x0, x1;
        const T *plane = (const T *)in + i / taps * c.h * c.w;
        T *row = (T *)out + i * c.oh * c.ow;
        fl_windows_inside(c.y, ty, c.h, c.oh, &y0, &y1);
        fl_windows_inside(c.x, tx, c.w, c.ow, &x0, &x1);
        for (int64_t oy = 0; oy < c.oh; oy++, row += c.ow) {
            if (oy < y0 || oy >= y1) {
                memset((void *)row, 0, (size_t)c.ow * sizeof(T));
                continue;
            }
            int64_t y = oy * c.y.stride - c.y.padding + ty * c.y.dilation;
            const T *from = plane + y * c.w + tx * c.x.dilation - c.x.padding;
            memset((void *)row, 0, (size_t)x0 * sizeof(T));
            for (int64_t ox = x0; ox < x1; ox++)
                row[ox] = from[ox * c.x.stride];
            memset((void *)(row + x1), 0, (size_t)(c.ow - x1) * sizeof(T));
        }
    }
}

struct Complex {
    double re, im;
};
void add(Complex &to, const Complex &x) { to.re += x.re; to.im += x.im; }
struct Complex32 {
    float re, im;
};
void add(Complex32 &to, const Complex32 &x) { to.re += x.re; to.im += x.im; }
void add(uint8_t &to, uint8_t x) { to |= x; }
template <class T> void add(T &to, T x) { to += x; }

template <class T> void add_columns(const Call &c, const void *in, void *out) {
    int64_t taps = c.y.size * c.x.size, area = c.h * c.w, columns = c.oh * c.ow;
    fl_parallel(c.planes, fl_row_grain(taps * columns), [&](int64_t b, int64_t e) {
        memset((void *)((T *)out + b * area), 0, (size_t)((e - b) * area) * sizeof(T));
        for (int64_t i = b * taps; i < e * taps; i++) {
            int64_t ty = i % taps / c.x.size, tx = i % c.x.size, y0, y1, x0, x1;
            fl_windows_inside(c.y, ty, c.h, c.oh, &y0, &y1);
            fl_windows_inside(c.x, tx, c.w, c.ow, &x0, &x1);
            for (int64_t oy = y0; oy < y1; oy++) {
                int64_t y = oy * c.y.stride - c.y.padding + ty * c.y.dilation;
                T *to = (T *)out + i / taps * area + y * c.w + tx * c.x.dilation - c.x.padding;
                const T *row = (const T *)in + i * columns + oy * c.ow;
                for (int64_t ox = x0; ox < x1; ox++)
                    add(to[ox * c.x.stride], row[ox]);
            }
        }
    });
}

int read_images(const fl_op *op, const fl_value *in, Call *c) {
    const fl_tensor *t = in[0].t;
    int nd = t->ndim;
    if ((nd != 3 && nd != 4) || t->shape[nd - 1] < 1 || t->shape[nd - 2] < 1 ||
        t->shape[nd - 3] < 1)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected images [batch, channels, height, width], "
                        "or 3 dimensions for a single one, of which only the batch may be empty; "
                        "got %s", fl_op_title(op), fl_tensor_text(t));
    c->planes = fl_numel_of(nd - 2, t->shape);
    return read_windows(op, in, 1, t->shape[nd - 2], t->shape[nd - 1], c);
}

int read_columns(const fl_op *op, const fl_value *in, Call *c) {
    const fl_tensor *t = in[0].t;
    int nd = t->ndim;
    int64_t size[2], taps;
    if ((nd != 2 && nd != 3) || t->shape[nd - 1] < 1 || t->shape[nd - 2] < 1)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected columns [batch, channels * kernel height * "
                        "kernel width, windows], or 2 dimensions for a single image, of which only "
                        "the batch may be empty; got %s", fl_op_title(op), fl_tensor_text(t));
    if (fl_read_pair(op, "output_size", in[1], 1, size) < 0 ||
        read_windows(op, in, 2, size[0], size[1], c) < 0)
        return -1;
    bool fits = !__builtin_mul_overflow(c->y.size, c->x.size, &taps) &&
                t->shape[nd - 2] % taps == 0 && c->oh * c->ow == t->shape[nd - 1];
    if (!fits)
        return fl_error(FL_RUNTIME_ERROR, "%s: columns have shape %s; for images of size %s and "
                        "these windows, the last dimension must be %lld x %lld and the one before "
                        "it a multiple of %lld x %lld", fl_op_title(op),
                        fl_shape_text(t->shape, nd), fl_shape_text(size, 2), (long long)c->oh,
                        (long long)c->ow, (long long)c->y.size, (long long)c->x.size);
    c->planes = (nd == 3 ? t->shape[0] : 1) * (t->shape[nd - 2] / taps);
    return 0;
}

}  // namespace

extern "C" int fl_infer_im2col(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *t = in[0].t;
    Call c;
    if (read_images(op, in, &c) < 0)
        return -1;
    int64_t shape[3], numel, all[6] = {t->ndim == 4 ? t->shape[0] : 1, t->shape[t->ndim - 3],
                                       c.y.size, c.x.size, c.oh, c.ow};
    if (!fl_count_elements(6, all, &numel))
        return fl_count_error(op->name, 6, all);
    int nd = 0;
    if (t->ndim == 4)
        shape[nd++] = all[0];
    shape[nd++] = all[1] * all[2] * all[3];
    shape[nd++] = c.oh * c.ow;
    fl_spec_set(outs, t->dtype, fl_device_code(t), nd, shape);
    return 0;
}

extern "C" int fl_run_im2col(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    Call c;
    if (outs[0]->numel == 0)
        return 0;
    if (read_images(op, in, &c) < 0)
        return -1;
    RawIn x(in[0].t, in[0].t->dtype);
    RawOut out(outs[0], in[0].t->dtype);
    if (!x.ok() || !out.ok())
        return -1;
    int64_t rows = c.planes * c.y.size * c.x.size;
    fl_parallel(rows, fl_row_grain(c.oh * c.ow), [&](int64_t b, int64_t e) {
        FL_BY_SIZE(fl_itemsize(in[0].t->dtype), gather_rows, c, x.data(), out.data(), b, e)
    });
    out.commit();
    return 0;
}

extern "C" int fl_infer_col2im(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *t = in[0].t;
    Call c;
    if (read_columns(op, in, &c) < 0)
        return -1;
    int64_t shape[4], numel;
    int nd = 0;
    if (t->ndim == 3)
        shape[nd++] = t->shape[0];
    shape[nd++] = t->shape[t->ndim - 2] / (c.y.size * c.x.size);
    shape[nd++] = c.h;
    shape[nd++] = c.w;
    if (!fl_count_elements(nd, shape, &numel))
        return fl_count_error(op->name, nd, shape);
    fl_spec_set(outs, t->dtype, fl_device_code(t), nd, shape);
    return 0;
}

extern "C" int fl_run_col2im(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    Call c;
    if (outs[0]->numel == 0)
        return 0;
    if (read_columns(op, in, &c) < 0)
        return -1;
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    In x(in[0].t, kind);
    Out out(outs[0], kind);
    if (!x.ok() || !out.ok())
        return -1;
    const void *from = x.as<char>();
    void *to = out.as<char>();
    switch (kind) {
    case FL_K_F32: add_columns<float>(c, from, to); break;
    case FL_K_F64: add_columns<double>(c, from, to); break;
    case FL_K_I64: add_columns<int64_t>(c, from, to); break;
    case FL_K_BOOL: add_columns<uint8_t>(c, from, to); break;
    case FL_K_C64: add_columns<Complex32>(c, from, to); break;
    default: add_columns<Complex>(c, from, to); break;
    }
    out.commit();
    return 0;
}
