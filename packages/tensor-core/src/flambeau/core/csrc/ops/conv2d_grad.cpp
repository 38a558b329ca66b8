/* Gradients of conv2d: products with unfolded input (weight), or folded back (input). */
#include "ops/conv2d.h"
#include "ops/pool_error.h"
#include "runtime/blas.h"

namespace {

const int64_t COLUMN_ELEMENTS = 1 << 18;

struct Job {
    fl_conv p;
    int dtype;
    const fl_conv_dtype *kernels;
    int64_t size;               /* of an element */
    const char *grad, *other;   /* other: the weight or the input */
    char *out;
    int64_t channels;           /* input channels of a block */
    int64_t blocks;             /* of a group */
};

int64_t columns_bytes(const Job &job) {
    const fl_conv &p = job.p;
    return job.channels * p.y.size * p.x.size * fl_conv_pixels(p) * job.size;
}

/* Blocks of channels whose columns stay small. */
void set_blocks(Job *job) {
    const fl_conv &p = job->p;
    int64_t per_channel = p.y.size * p.x.size * fl_conv_pixels(p);
    job->channels = COLUMN_ELEMENTS / (per_channel + 1) + 1;
    if (job->channels > p.c)
        job->channels = p.c;
    job->blocks = (p.c - 1) / job->channels + 1;
}

/* The convolution restricted to a block of input channels. */
fl_conv block_of(const Job &job, int64_t block) {
    fl_conv part = job.p;
    int64_t first = block * job.channels;
    part.c = job.p.c - first < job.channels ? job.p.c - first : job.channels;
    return part;
}

const char *grad_plane(const Job &job, int64_t image, int64_t group) {
    return job.grad + (image * job.p.groups + group) * job.p.o * fl_conv_pixels(job.p) * job.size;
}

int64_t image_offset(const Job &job, int64_t image, int64_t group, int64_t block) {
    const fl_conv &p = job.p;
    return ((image * p.groups + group) * p.c + block * job.channels) * p.h * p.w * job.size;
}

int64_t weight_offset(const Job &job, int64_t group, int64_t block) {
    const fl_conv &p = job.p;
    return (group * p.o * p.c + block * job.channels) * p.y.size * p.x.size * job.size;
}

int input_block(const Job &job, int64_t image, int64_t group, int64_t block, char *columns) {
    fl_conv part = block_of(job, block);
    int64_t pixels = fl_conv_pixels(part), taps = fl_conv_taps(part);
    const char *weight = job.other + weight_offset(job, group, block);
    char *to = job.out + image_offset(job, image, group, block);
    bool plain = fl_conv_pointwise(part);
    if (fl_gemm(job.dtype, FL_TRANS, FL_NO_TRANS, taps, pixels, part.o, 1.0, weight,
                fl_conv_taps(job.p), grad_plane(job, image, group), pixels, 0.0,
                plain ? to : columns, pixels) < 0)
        return -1;
    if (!plain) {
        memset(to, 0, (size_t)(part.c * part.h * part.w * job.size));
        job.kernels->fold(&part, to, 0, part.oh, columns);
    }
    return 0;
}

/* Images are added one after another, so the sum has one order. */
int weight_block(const Job &job, int64_t group, int64_t block, char *columns) {
    fl_conv part = block_of(job, block);
    int64_t pixels = fl_conv_pixels(part), taps = fl_conv_taps(part);
    char *to = job.out + weight_offset(job, group, block);
    for (int64_t image = 0; image < part.n; image++) {
        const char *plane = job.other + image_offset(job, image, group, block);
        bool plain = fl_conv_pointwise(part);
        if (!plain)
            job.kernels->unfold(&part, plane, 0, part.oh, columns);
        if (fl_gemm(job.dtype, FL_NO_TRANS, FL_TRANS, part.o, taps, pixels, 1.0,
                    grad_plane(job, image, group), pixels, plain ? plane : columns, pixels,
                    image ? 1.0 : 0.0, to, fl_conv_taps(job.p)) < 0)
            return -1;
    }
    return 0;
}

int run_input_grad(Job &job) {
    const fl_conv &p = job.p;
    PoolError error;
    fl_parallel(p.n * p.groups * job.blocks, 1, [&](int64_t begin, int64_t end) {
        Scratch columns((size_t)columns_bytes(job));
        for (int64_t i = begin; i < end; i++) {
            int64_t plane = i / job.blocks;
            if (!columns.ok() || input_block(job, plane / p.groups, plane % p.groups,
                                             i % job.blocks, columns.as<char>()) < 0)
                return error.capture();
        }
    });
    return error.result();
}

int run_weight_grad(Job &job) {
    PoolError error;
    fl_parallel(job.p.groups * job.blocks, 1, [&](int64_t begin, int64_t end) {
        Scratch columns((size_t)columns_bytes(job));
        for (int64_t i = begin; i < end; i++)
            if (!columns.ok() ||
                weight_block(job, i / job.blocks, i % job.blocks, columns.as<char>()) < 0)
                return error.capture();
    });
    return error.result();
}

/* in[0] is the gradient of the output, in[1] the other operand. */
int run_grad(Job &job, const fl_value *in, fl_tensor *target, int (*run)(Job &)) {
    int kind = fl_kind_of_dtype[target->dtype];
    In grad(in[0].t, kind), other(in[1].t, kind);
    Out out(target, kind);
    if (!grad.ok() || !other.ok() || !out.ok())
        return -1;
    job.dtype = fl_dtype_of_kind[kind];
    job.kernels = fl_conv_kernels_of(job.dtype);
    job.size = fl_kind_size[kind];
    job.grad = grad.as<char>();
    job.other = other.as<char>();
    job.out = out.as<char>();
    set_blocks(&job);
    int status = 0;
    if (in[0].t->numel == 0 || in[1].t->numel == 0)
        memset(job.out, 0, (size_t)(target->numel * job.size));
    else
        status = run(job);
    if (status == 0)
        out.commit();
    return status;
}

int read_input_grad(const fl_op *op, const fl_value *in, fl_conv *p) {
    return fl_conv_read(op, in, 3, "input_size", (int)in[2].len, in[2].is, "weight",
                        in[1].t->ndim, in[1].t->shape, p);
}

int read_weight_grad(const fl_op *op, const fl_value *in, fl_conv *p) {
    return fl_conv_read(op, in, 3, "input", in[1].t->ndim, in[1].t->shape, "weight_size",
                        (int)in[2].len, in[2].is, p);
}

int infer_grad(const fl_op *op, const fl_value *in, int n, const fl_conv &p, fl_spec *outs) {
    if (fl_conv_check_dtypes(op, in, 2) < 0 || fl_same_device(op, in, n) < 0 ||
        fl_conv_check_grad(op, p, in[0].t) < 0)
        return -1;
    fl_spec_set(outs, in[0].t->dtype, fl_device_code(in[0].t), (int)in[2].len, in[2].is);
    return 0;
}

}  // namespace

extern "C" int fl_infer_conv2d_input_grad(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    fl_conv p;
    return read_input_grad(op, in, &p) < 0 ? -1 : infer_grad(op, in, n, p, outs);
}

extern "C" int fl_infer_conv2d_weight_grad(const fl_op *op, const fl_value *in, int n,
                                           fl_spec *outs) {
    fl_conv p;
    return read_weight_grad(op, in, &p) < 0 ? -1 : infer_grad(op, in, n, p, outs);
}

extern "C" int fl_run_conv2d_input_grad(const fl_op *op, const fl_value *in, int,
                                        fl_tensor *const *outs) {
    Job job;
    if (outs[0]->numel == 0)
        return 0;
    return read_input_grad(op, in, &job.p) < 0 ? -1 : run_grad(job, in, outs[0], run_input_grad);
}

extern "C" int fl_run_conv2d_weight_grad(const fl_op *op, const fl_value *in, int,
                                         fl_tensor *const *outs) {
    Job job;
    if (outs[0]->numel == 0)
        return 0;
    return read_weight_grad(op, in, &job.p) < 0 ? -1 : run_grad(job, in, outs[0], run_weight_grad);
}
