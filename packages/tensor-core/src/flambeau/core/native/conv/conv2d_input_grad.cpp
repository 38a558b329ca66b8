/* Gradient of conv2d for its input.
 *
 * With stride 1 it is the convolution of the output's gradient with the window turned around. A
 * stride s splits it into s * s such convolutions: input pixels with the same remainders meet the
 * same part of the window. Strides together with dilation go through columns that are folded
 * back. */
#include "conv/conv2d.h"
#include "conv/pairs.h"
#include "common/pool_error.h"
#include "common/raw.h"
#include "runtime/blas.h"

namespace {

struct Job {
    fl_conv p;
    int dtype;
    int64_t size;               /* of an element */
    const char *grad, *weight;
    char *out;
};

/* ---- as convolutions ------------------------------------------------------------------------- */

/* What input positions `rest`, rest + stride, ... of one dimension meet: kernel positions first,
 * first + stride, ..., `count` of them, the last one at gradient position i - padding. */
struct Phase {
    int64_t positions, first, count, padding;
};

Phase phase_of(const fl_window &w, int64_t length, int64_t rest) {
    Phase f;
    f.positions = rest < length ? (length - rest - 1) / w.stride + 1 : 0;
    f.first = (rest + w.padding) % w.stride;
    f.count = f.first < w.size ? (w.size - f.first - 1) / w.stride + 1 : 0;
    f.padding = f.count - 1 - (rest + w.padding - f.first) / w.stride;
    return f;
}

/* With stride 1 the only phase; dilation stays. */
Phase whole_phase(const fl_window &w, int64_t length) {
    return Phase{length, 0, w.size, fl_window_reach(w) - 1 - w.padding};
}

Phase some_phase(const fl_window &w, int64_t length, int64_t rest) {
    return w.stride == 1 ? whole_phase(w, length) : phase_of(w, length, rest);
}

/* The convolution that gives one phase of the gradient: channels change their roles. */
fl_conv convolution_of(const fl_conv &p, const Phase &y, const Phase &x) {
    fl_conv q = p;
    q.c = p.o;
    q.o = p.c;
    q.h = p.oh;
    q.w = p.ow;
    q.oh = y.positions;
    q.ow = x.positions;
    q.y = fl_window{y.count, 1, y.padding, p.y.dilation};
    q.x = fl_window{x.count, 1, x.padding, p.x.dilation};
    return q;
}

/* The part of the window that a phase meets, turned around. */
fl_conv_weight turned(const Job &job, const Phase &y, const Phase &x) {
    const fl_conv &p = job.p;
    int64_t window = p.y.size * p.x.size;
    int64_t ky = y.first + (y.count - 1) * p.y.stride, kx = x.first + (x.count - 1) * p.x.stride;
    return fl_conv_weight{job.weight + (ky * p.x.size + kx) * job.size, p.o * p.c * window, window,
                          p.c * window, -p.y.stride * p.x.size, -p.x.stride};
}

template <class T>
void interleave(const fl_conv &p, int64_t ry, int64_t rx, const fl_conv &q, const T *from, T *to) {
    int64_t planes = p.n * p.groups * p.c, pixels = fl_conv_pixels(q);
    fl_parallel(planes, FL_GRAIN / (pixels + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            for (int64_t y = 0; y < q.oh; y++) {
                T *row = to + (i * p.h + ry + y * p.y.stride) * p.w + rx;
                const T *part = from + i * pixels + y * q.ow;
                for (int64_t x = 0; x < q.ow; x++)
                    row[x * p.x.stride] = part[x];
            }
    });
}

template <class T>
void interleave_as(const fl_conv &p, int64_t ry, int64_t rx, const fl_conv &q, const char *from,
                   char *to) {
    interleave(p, ry, rx, q, (const T *)from, (T *)to);
}

/* By pairs of bfloat16, which want the part of the window that is met in one piece. */
int convolve_pairs(const Job &job, const fl_conv &q, const fl_conv_weight &w, char *out) {
    const int64_t shape[] = {q.groups, q.o, q.c, q.y.size, q.x.size};
    const int64_t from[] = {w.group, w.out, w.in, w.y, w.x};
    int64_t to[5];
    fl_contiguous_strides(5, shape, to);
    Scratch weight(fl_bytes(fl_numel_of(5, shape), job.size));
    if (!weight.ok())
        return -1;
    fl_copy_strided(fl_strided{weight.as<char>(), FL_BF16, to},
                    fl_strided{(char *)w.data, FL_BF16, from}, 5, shape);
    return fl_conv_pairs(q, job.grad, weight.as<char>(), nullptr, out);
}

int convolve(const Job &job, const fl_conv &q, const fl_conv_weight &weight, char *out) {
    if (job.dtype == FL_BF16)
        return convolve_pairs(job, q, weight, out);
    return fl_conv_forward(q, job.dtype, job.grad, weight, nullptr, out, nullptr);
}

int run_phase(const Job &job, int64_t ry, int64_t rx, char *scratch) {
    const fl_conv &p = job.p;
    Phase y = some_phase(p.y, p.h, ry), x = some_phase(p.x, p.w, rx);
    if (y.positions * x.positions * y.count * x.count == 0)
        return 0;
    fl_conv q = convolution_of(p, y, x);
    char *out = scratch ? scratch : job.out;
    if (convolve(job, q, turned(job, y, x), out) < 0)
        return -1;
    if (scratch)
        FL_BY_SIZE(job.size, interleave_as, p, ry, rx, q, out, job.out)
    return 0;
}

int run_phases(const Job &job) {
    const fl_conv &p = job.p;
    if (p.y.stride == 1 && p.x.stride == 1)
        return run_phase(job, 0, 0, nullptr);
    int64_t rows = (p.h - 1) / p.y.stride + 1, cols = (p.w - 1) / p.x.stride + 1;
    Scratch scratch((size_t)(p.n * p.groups * p.c * rows * cols * job.size));
    if (!scratch.ok())
        return -1;
    bool all = p.y.size >= p.y.stride && p.x.size >= p.x.stride;
    if (!all)       /* some pixels meet no part of the window */
        memset(job.out, 0, (size_t)(p.n * p.groups * p.c * p.h * p.w * job.size));
    for (int64_t ry = 0; ry < p.y.stride && ry < p.h; ry++)
        for (int64_t rx = 0; rx < p.x.stride && rx < p.w; rx++)
            if (run_phase(job, ry, rx, scratch.as<char>()) < 0)
                return -1;
    return 0;
}

/* ---- by columns ------------------------------------------------------------------------------ */

const int64_t COLUMN_ELEMENTS = 1 << 18;

/* Channels whose columns stay small. */
int64_t channels_of_block(const fl_conv &p) {
    int64_t channels = COLUMN_ELEMENTS / (p.y.size * p.x.size * fl_conv_pixels(p) + 1) + 1;
    return channels < p.c ? channels : p.c;
}

int fold_block(const Job &job, int64_t image, int64_t group, int64_t c0, int64_t count,
               char *columns) {
    const fl_conv &p = job.p;
    fl_conv part = p;
    part.c = count;
    int64_t pixels = fl_conv_pixels(p), window = p.y.size * p.x.size;
    int64_t plane = image * p.groups + group;
    const char *weight = job.weight + (group * p.o * p.c + c0) * window * job.size;
    char *to = job.out + (plane * p.c + c0) * p.h * p.w * job.size;
    if (fl_gemm(job.dtype, FL_TRANS, FL_NO_TRANS, count * window, pixels, p.o, 1.0, weight,
                p.c * window, job.grad + plane * p.o * pixels * job.size, pixels, 0.0, columns,
                pixels) < 0)
        return -1;
    memset(to, 0, (size_t)(count * p.h * p.w * job.size));
    fl_conv_kernels_of(job.dtype)->fold(&part, to, 0, p.oh, columns);
    return 0;
}

int run_columns(const Job &job) {
    const fl_conv &p = job.p;
    int64_t channels = channels_of_block(p), blocks = (p.c - 1) / channels + 1;
    int64_t elements = channels * p.y.size * p.x.size * fl_conv_pixels(p);
    PoolError error;
    fl_parallel(p.n * p.groups * blocks, 1, [&](int64_t begin, int64_t end) {
        Scratch columns((size_t)(elements * job.size));
        for (int64_t i = begin; i < end; i++) {
            int64_t plane = i / blocks, c0 = i % blocks * channels;
            int64_t count = p.c - c0 < channels ? p.c - c0 : channels;
            if (!columns.ok() || fold_block(job, plane / p.groups, plane % p.groups, c0, count,
                                            columns.as<char>()) < 0)
                return error.capture();
        }
    });
    return error.result();
}

/* ---- one window for a whole image ------------------------------------------------------------ */

/* Each image gets a sum of windows: a product of the gradient with the weight. */
bool one_window(const fl_conv &p) {
    return p.groups == 1 && fl_conv_pixels(p) == 1 && p.h == p.y.size && p.w == p.x.size &&
           p.y.padding == 0 && p.x.padding == 0;
}

int run_window(const Job &job) {
    const fl_conv &p = job.p;
    int64_t image = p.c * p.h * p.w;
    return fl_gemm(job.dtype, FL_NO_TRANS, FL_NO_TRANS, p.n, image, p.o, 1.0, job.grad, p.o,
                   job.weight, image, 0.0, job.out, image);
}

bool is_strided(const fl_conv &p) { return p.y.stride != 1 || p.x.stride != 1; }
bool is_dilated(const fl_conv &p) { return p.y.dilation != 1 || p.x.dilation != 1; }

int run_job(const Job &job) {
    if (one_window(job.p))
        return run_window(job);
    return is_dilated(job.p) && is_strided(job.p) ? run_columns(job) : run_phases(job);
}

/* Whether the convolutions that give the gradient multiply pairs of bfloat16. */
bool goes_by_pairs(const fl_conv &p, const fl_tensor *grad, const fl_tensor *weight) {
    if (grad->dtype != FL_BF16 || weight->dtype != FL_BF16 || grad->numel == 0 ||
        weight->numel == 0 || one_window(p) || (is_dilated(p) && is_strided(p)))
        return false;
    fl_conv q = convolution_of(p, some_phase(p.y, p.h, 0), some_phase(p.x, p.w, 0));
    q.y.size = p.y.size;        /* of all phases together */
    q.x.size = p.x.size;
    q.y.stride = p.y.stride;
    q.x.stride = p.x.stride;
    return fl_conv_pairs_fit(q);
}

int run_pairs(const fl_conv &p, const fl_tensor *grad, const fl_tensor *weight, fl_tensor *result) {
    RawIn g(grad, FL_BF16), w(weight, FL_BF16);
    RawOut out(result, FL_BF16);
    if (!g.ok() || !w.ok() || !out.ok() ||
        run_phases(Job{p, FL_BF16, 2, g.data(), w.data(), out.data()}) < 0)
        return -1;
    out.commit();
    return 0;
}

}  // namespace

int fl_conv_input_grad(const fl_conv &p, int dtype, const char *grad, const char *weight,
                       char *out) {
    Job job = {};
    job.p = p;
    job.dtype = dtype;
    job.size = dtype == FL_F64 ? sizeof(double) : sizeof(float);
    job.grad = grad;
    job.weight = weight;
    job.out = out;
    return run_job(job);
}

extern "C" int fl_infer_conv2d_input_grad(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    return fl_conv_infer_grad(op, in, n, 2, outs, fl_conv_read_input_grad);
}

extern "C" int fl_run_conv2d_input_grad(const fl_op *op, const fl_value *in, int n,
                            fl_tensor *const *outs) {
    if (fl_is_complex(outs[0]->dtype))
        return fl_run_bilinear_parts(fl_run_conv2d_input_grad, op, in, n, outs[0]);
    fl_conv_nd c;
    if (outs[0]->numel == 0)
        return 0;
    if (fl_conv_read_input_grad(op, in, 2, &c) < 0)
        return -1;
    if (goes_by_pairs(c.p, in[0].t, in[1].t))
        return run_pairs(c.p, in[0].t, in[1].t, outs[0]);
    return fl_conv2d_run_grad(c, in, outs[0], fl_conv_input_grad, fl_conv_integers_input_grad);
}
