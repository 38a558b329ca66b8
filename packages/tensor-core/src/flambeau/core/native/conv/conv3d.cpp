/* conv3d and its gradients, as convolutions of planes.
 *
 * The planes that a kernel meets along the depth are channels of one plane: what is left is a
 * convolution over planes with `channels * kernel depth` channels and one image for every plane
 * of the output. The weight already lies in memory in this order. The convolution finds the planes
 * where they are; its gradients have them gathered, some images at a time, so that the gathered
 * planes stay small. */
#include "common/args.h"
#include "conv/conv2d.h"
#include "common/raw.h"

namespace {

const int64_t TARGET_GATHERED_ELEMENTS = 1 << 21;       /* elements of gathered planes, about */

struct Job {
    fl_conv_nd c;
    int dtype;
    int64_t size;               /* of an element */
    int64_t images;             /* at a time */
    int64_t in_channels() const { return c.p.groups * c.p.c; }
    int64_t out_channels() const { return c.p.groups * c.p.o; }
    int64_t plane() const { return c.p.h * c.p.w; }
    int64_t pixels() const { return c.p.oh * c.p.ow; }
    int64_t input() const { return in_channels() * c.d * plane(); }         /* of an image */
    int64_t output() const { return out_channels() * c.od * pixels(); }
    int64_t gathered() const { return c.od * in_channels() * c.z.size * plane(); }
    int64_t weight() const { return out_channels() * c.p.c * c.z.size * c.p.y.size * c.p.x.size; }
};

/* A window that takes every element once. */
bool plain(const fl_window &w) { return w.size == 1 && w.stride == 1 && w.padding == 0; }

/* Only one plane. */
bool flat(const fl_conv_nd &c) { return plain(c.z) && c.d == 1; }

/* A window along the depth alone slides over one plane, whose rows are the planes. */
fl_conv_nd flattened(const fl_conv_nd &c) {
    if (!plain(c.p.y) || !plain(c.p.x))
        return c;
    fl_conv_nd f = c;
    f.d = f.od = 1;
    f.z = c.p.y;
    f.p.y = c.z;
    f.p.x = c.p.y;
    f.p.h = c.d;
    f.p.oh = c.od;
    f.p.w = f.p.ow = fl_conv_pixels(c.p);
    return f;
}

Job job_of(const fl_conv_nd &conv, int kind) {
    fl_conv_nd c = flattened(conv);
    Job job = {c, fl_dtype_of_kind[kind], fl_kind_size[kind], 1};
    int64_t images = TARGET_GATHERED_ELEMENTS / (job.gathered() + 1) + 1;
    job.images = images < c.p.n ? images : c.p.n;
    return job;
}

/* The convolution over planes that serves `images` images. */
fl_conv planes_of(const Job &job, int64_t images) {
    fl_conv p = job.c.p;
    p.n = images * job.c.od;
    p.c *= job.c.z.size;
    p.batched = 1;
    return p;
}

/* Call body(channel plane of the input, tap, output depth, depth met or -1) for the taps of some
 * images; channel planes in parallel. */
template <class Body> void each_tap(const Job &job, int64_t images, const Body &body) {
    const fl_window &z = job.c.z;
    int64_t work = z.size * job.c.od * job.plane();
    fl_parallel(images * job.in_channels(), fl_row_grain(work), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++)
            for (int64_t t = 0; t < z.size; t++)
                for (int64_t od = 0; od < job.c.od; od++) {
                    int64_t depth = od * z.stride - z.padding + t * z.dilation;
                    body(i, t, od, depth >= 0 && depth < job.c.d ? depth : -1);
                }
    });
}

/* Offset of a gathered plane: image and output depth, channel, tap. */
int64_t gathered_at(const Job &job, int64_t channel, int64_t tap, int64_t od) {
    int64_t image = channel / job.in_channels();
    channel %= job.in_channels();
    return (((image * job.c.od + od) * job.in_channels() + channel) * job.c.z.size + tap) *
           job.plane() * job.size;
}

void gather(const Job &job, int64_t images, const char *input, char *to) {
    size_t bytes = (size_t)(job.plane() * job.size);
    each_tap(job, images, [&](int64_t i, int64_t t, int64_t od, int64_t depth) {
        char *plane = to + gathered_at(job, i, t, od);
        if (depth < 0)
            memset(plane, 0, bytes);
        else
            memcpy(plane, input + (i * job.c.d + depth) * (int64_t)bytes, bytes);
    });
}

/* The transpose of `gather`: planes that met the same element add up. */
template <class T> void scatter(const Job &job, int64_t images, const char *from, T *out) {
    int64_t n = job.plane();
    memset((void *)out, 0, (size_t)(images * job.input()) * sizeof(T));
    each_tap(job, images, [&](int64_t i, int64_t t, int64_t od, int64_t depth) {
        if (depth < 0)
            return;
        const T *plane = (const T *)(from + gathered_at(job, i, t, od));
        T *to = out + (i * job.c.d + depth) * n;
        for (int64_t j = 0; j < n; j++)
            to[j] += plane[j];
    });
}

/* Copy outputs of [channels, depth] to [depth, channels]. */
void exchange(const Job &job, int64_t images, const char *from, char *to) {
    int64_t channels = job.out_channels(), bytes = job.pixels() * job.size;
    fl_parallel(images * channels, fl_row_grain(job.c.od * job.pixels()), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++)
            for (int64_t od = 0; od < job.c.od; od++) {
                int64_t deep = (i * job.c.od + od) * bytes;
                int64_t flat = ((i / channels * job.c.od + od) * channels + i % channels) * bytes;
                memcpy(to + flat, from + deep, (size_t)bytes);
            }
    });
}

/* Gathered planes and outputs of the images that are worked on together. */
struct Room {
    Scratch planes, outputs;
    explicit Room(const Job &job)
        : planes(fl_bytes(job.images * job.gathered(), job.size)),
          outputs(fl_bytes(job.images * job.output(), job.size)) {}
    bool ok() const { return planes.ok() && outputs.ok(); }
};

/* Call step(first image, images) until all are done or one fails. */
template <class Step> int in_steps(const Job &job, const Step &step) {
    for (int64_t i = 0; i < job.c.p.n; i += job.images) {
        int64_t rest = job.c.p.n - i;
        if (step(i, rest < job.images ? rest : job.images) < 0)
            return -1;
    }
    return 0;
}

int forward(const Job &job, const char *input, const char *weight, const char *bias, char *out) {
    fl_conv p = planes_of(job, job.c.p.n);
    int64_t taps = fl_conv_taps(p), window = p.y.size * p.x.size;
    fl_conv_weight rows = {weight, p.o * taps, taps, window, p.x.size, 1};
    fl_conv_depth depth = {job.c.d, job.c.od, job.c.z};
    return fl_conv_forward(p, job.dtype, input, rows, bias, out, flat(job.c) ? nullptr : &depth);
}

int input_grad(const Job &job, const char *grad, const char *weight, char *out) {
    if (flat(job.c))
        return fl_conv_input_grad(job.c.p, job.dtype, grad, weight, out);
    Room room(job);
    if (!room.ok())
        return -1;
    return in_steps(job, [&](int64_t first, int64_t images) {
        char *to = out + first * job.input() * job.size;
        exchange(job, images, grad + first * job.output() * job.size,
                 room.outputs.as<char>());
        if (fl_conv_input_grad(planes_of(job, images), job.dtype, room.outputs.as<char>(), weight,
                               room.planes.as<char>()) < 0)
            return -1;
        if (job.dtype == FL_F64)
            scatter(job, images, room.planes.as<char>(), (double *)to);
        else
            scatter(job, images, room.planes.as<char>(), (float *)to);
        return 0;
    });
}

template <class T> void add_to(T *sum, const T *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        sum[i] += x[i];
}

int weight_grad(const Job &job, const char *grad, const char *input, char *out) {
    if (flat(job.c))
        return fl_conv_weight_grad(job.c.p, job.dtype, grad, input, out);
    Room room(job);
    Scratch part(job.images < job.c.p.n ? fl_bytes(job.weight(), job.size) : 0);
    if (!room.ok() || !part.ok())
        return -1;
    return in_steps(job, [&](int64_t first, int64_t images) {
        char *to = first ? part.as<char>() : out;
        exchange(job, images, grad + first * job.output() * job.size,
                 room.outputs.as<char>());
        gather(job, images, input + first * job.input() * job.size, room.planes.as<char>());
        if (fl_conv_weight_grad(planes_of(job, images), job.dtype, room.outputs.as<char>(),
                                room.planes.as<char>(), to) < 0)
            return -1;
        if (first && job.dtype == FL_F64)
            add_to((double *)out, (const double *)to, job.weight());
        else if (first)
            add_to((float *)out, (const float *)to, job.weight());
        return 0;
    });
}

}  // namespace

extern "C" int fl_infer_conv3d(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return fl_conv_infer(op, in, n, 3, outs);
}

extern "C" int fl_run_conv3d(const fl_op *op, const fl_value *in, int n,
                             fl_tensor *const *outs) {
    if (in[1].t->numel == 0)
        return fl_conv_bias_alone(fl_t(in[2]), 3, outs[0]);
    if (fl_is_complex(outs[0]->dtype))
        return fl_run_bilinear_parts(fl_run_conv3d, op, in, n, outs[0]);
    fl_conv_nd c;
    if (outs[0]->numel == 0)
        return 0;
    if (fl_conv_read_forward(op, in, 3, &c) < 0)
        return -1;
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    In input(in[0].t, kind), weight(in[1].t, kind);
    OptionalIn bias(in[2], kind);
    Out out(outs[0], kind);
    if (!input.ok() || !weight.ok() || !bias.ok() || !out.ok())
        return -1;
    if (kind == FL_K_I64)
        fl_conv_integers(c, input.as<int64_t>(), weight.as<int64_t>(), bias.as<int64_t>(),
                         out.as<int64_t>());
    else if (forward(job_of(c, kind), input.as<char>(), weight.as<char>(), bias.data(),
                     out.as<char>()) < 0)
        return -1;
    out.commit();
    return 0;
}

typedef int (*gradient_fn)(const Job &job, const char *grad, const char *other, char *out);

static int run_gradient(const fl_op *op, const fl_value *in, fl_tensor *result,
                        fl_conv_read_fn read, gradient_fn gradient) {
    fl_conv_nd c;
    if (result->numel == 0)
        return 0;
    if (read(op, in, 3, &c) < 0)
        return -1;
    int kind = fl_kind_of_dtype[result->dtype];
    In grad(in[0].t, kind), other(in[1].t, kind);
    Out out(result, kind);
    if (!grad.ok() || !other.ok() || !out.ok())
        return -1;
    if (in[0].t->numel == 0 || in[1].t->numel == 0)
        memset(out.as<char>(), 0, (size_t)(result->numel * fl_kind_size[kind]));
    else if (kind == FL_K_I64)
        fl_conv_integers_input_grad(c, grad.as<int64_t>(), other.as<int64_t>(),
                                    out.as<int64_t>());
    else if (gradient(job_of(c, kind), grad.as<char>(), other.as<char>(), out.as<char>()) < 0)
        return -1;
    out.commit();
    return 0;
}

extern "C" int fl_infer_conv3d_input_grad(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    return fl_conv_infer_grad(op, in, n, 3, outs, fl_conv_read_input_grad);
}

extern "C" int fl_run_conv3d_input_grad(const fl_op *op, const fl_value *in, int n,
                                        fl_tensor *const *outs) {
    if (fl_is_complex(outs[0]->dtype))
        return fl_run_bilinear_parts(fl_run_conv3d_input_grad, op, in, n, outs[0]);
    return run_gradient(op, in, outs[0], fl_conv_read_input_grad, input_grad);
}

extern "C" int fl_infer_conv3d_weight_grad(const fl_op *op, const fl_value *in, int n,
                                           fl_spec *outs) {
    return fl_conv_infer_grad(op, in, n, 3, outs, fl_conv_read_weight_grad);
}

extern "C" int fl_run_conv3d_weight_grad(const fl_op *op, const fl_value *in, int n,
                                         fl_tensor *const *outs) {
    if (fl_is_complex(outs[0]->dtype))
        return fl_run_bilinear_parts(fl_run_conv3d_weight_grad, op, in, n, outs[0]);
    return run_gradient(op, in, outs[0], fl_conv_read_weight_grad, weight_grad);
}
