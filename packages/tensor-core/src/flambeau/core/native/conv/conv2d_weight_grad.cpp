/* Gradient of conv2d for its weight: products of the output's gradient with unfolded input. */
#include "conv/conv2d.h"
#include "conv/pairs.h"

namespace {

const int64_t TAPS = 144;           /* of a block, about: its sums and strips fit in L2 */
const int64_t CHANNELS = 256;       /* output channels of a block, at most */
const int64_t TARGET_BLOCKS = 16;   /* blocks that keep all threads busy */
const int64_t MAX_PARTIAL_SUM_ELEMENTS = 4 << 20;    /* elements of partial sums, at most */
const int64_t MIN_BLOCKS_PER_THREAD = 2;  /* when each block has all images */

struct Job {
    fl_conv p;
    int dtype;
    int64_t size;               /* of an element */
    const char *grad, *input;
    char *out;
    int64_t c, c_parts, o, o_parts, n, n_parts;     /* sizes of blocks, and how many */
    int64_t weight() const { return p.groups * p.o * fl_conv_taps(p); }
    int64_t blocks() const { return p.groups * o_parts * c_parts; }     /* of the same images */
};

/* Images are split only when channels make too few blocks. */
void cut(Job *job) {
    const fl_conv &p = job->p;
    int64_t window = p.y.size * p.x.size;
    job->c_parts = fl_chunk_count(p.c, TAPS / window > 1 ? TAPS / window : 1);
    job->c = fl_chunk_count(p.c, job->c_parts);
    job->c_parts = fl_chunk_count(p.c, job->c);
    job->o_parts = fl_chunk_count(p.o, CHANNELS);
    job->o = fl_chunk_count(p.o, job->o_parts);
    job->o_parts = fl_chunk_count(p.o, job->o);
    int64_t wanted = fl_chunk_count(TARGET_BLOCKS, job->blocks());
    int64_t most = MAX_PARTIAL_SUM_ELEMENTS / job->weight() + 1;
    wanted = wanted < most ? wanted : most;
    job->n = fl_chunk_count(p.n, wanted < p.n ? wanted : p.n);
    job->n_parts = fl_chunk_count(p.n, job->n);
}

/* Block number `index` of the images of part `n`. */
fl_conv_sum block_of(const Job &job, int64_t index, int64_t n, char *out) {
    const fl_conv &p = job.p;
    int64_t c = index % job.c_parts, o = index / job.c_parts % job.o_parts;
    int64_t group = index / (job.c_parts * job.o_parts);
    fl_conv_sum s = {};
    s.p = &p;
    s.input_step = p.groups * p.c * p.h * p.w;
    s.grad_step = p.groups * p.o * fl_conv_pixels(p);
    s.readable = p.n * s.input_step - group * p.c * p.h * p.w;
    s.grad = job.grad + group * p.o * fl_conv_pixels(p) * job.size;
    s.input = job.input + group * p.c * p.h * p.w * job.size;
    s.out = out + group * p.o * fl_conv_taps(p) * job.size;
    s.n0 = n * job.n;
    s.n1 = p.n - s.n0 < job.n ? p.n : s.n0 + job.n;
    s.c0 = c * job.c;
    s.c1 = p.c - s.c0 < job.c ? p.c : s.c0 + job.c;
    s.o0 = o * job.o;
    s.o1 = p.o - s.o0 < job.o ? p.o : s.o0 + job.o;
    return s;
}

/* Add the partial sums of later images, in order. */
template <class T> void add_partial(const Job &job, T *out, const T *partial) {
    int64_t n = job.weight();
    fl_parallel(n, FL_GRAIN, [&](int64_t begin, int64_t end) {
        for (int64_t part = 0; part < job.n_parts - 1; part++)
            for (int64_t i = begin; i < end; i++)
                out[i] += partial[part * n + i];
    });
}

/* Run `count` pieces of work; run(i, scratch) does piece i, of about `work` products. */
template <class Run>
int run_pieces(const Job &job, const fl_conv_dtype *kernels, int64_t count, int64_t work,
               const Run &run) {
    fl_conv_sum first = block_of(job, 0, 0, job.out);
    size_t bytes = (size_t)kernels->sum_bytes(&first);
    bool failed = false;
    fl_parallel(count, (1 << 18) / (work + 1) + 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        if (!scratch.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t i = begin; i < end; i++)
            run(i, scratch.as<char>());
    });
    if (failed)
        return fl_error(FL_MEMORY_ERROR, "conv2d_weight_grad(): no memory for scratch");
    return 0;
}

/* The parts of the images one after another, each added to those before: no partial sums. */
int run_in_order(const Job &job, const fl_conv_dtype *kernels, int64_t work) {
    return run_pieces(job, kernels, job.blocks(), work * job.n_parts, [&](int64_t i, char *scratch) {
        for (int64_t n = 0; n < job.n_parts; n++) {
            fl_conv_sum s = block_of(job, i, n, job.out);
            s.add = n > 0;
            s.scratch = scratch;
            kernels->sum(&s);
        }
    });
}

/* The parts of the images at the same time; their sums are added in the same order. */
int run_at_once(const Job &job, const fl_conv_dtype *kernels, int64_t work) {
    int64_t size = job.weight() * job.size, blocks = job.blocks();
    Scratch partial((size_t)((job.n_parts - 1) * size));
    if (!partial.ok())
        return -1;
    int done = run_pieces(job, kernels, job.n_parts * blocks, work, [&](int64_t i, char *scratch) {
        int64_t n = i / blocks;
        char *out = n ? partial.as<char>() + (n - 1) * size : job.out;
        fl_conv_sum s = block_of(job, i % blocks, n, out);
        s.scratch = scratch;
        kernels->sum(&s);
    });
    if (done < 0)
        return -1;
    if (job.dtype == FL_F64)
        add_partial(job, (double *)job.out, partial.as<double>());
    else
        add_partial(job, (float *)job.out, partial.as<float>());
    return 0;
}

/* Both ways give the same bits. */
int run_job(Job &job) {
    cut(&job);
    const fl_conv_dtype *kernels = fl_conv_kernels_of(job.dtype);
    int64_t work = job.c * job.o * job.n * job.p.y.size * job.p.x.size * fl_conv_pixels(job.p);
    bool enough = job.blocks() >= MIN_BLOCKS_PER_THREAD * fl_get_num_threads();
    return enough || job.n_parts == 1 ? run_in_order(job, kernels, work)
                                      : run_at_once(job, kernels, work);
}

}  // namespace

int fl_conv_weight_grad(const fl_conv &p, int dtype, const char *grad, const char *input,
                        char *out) {
    Job job = {};
    job.p = p;
    job.dtype = dtype;
    job.size = dtype == FL_F64 ? sizeof(double) : sizeof(float);
    job.grad = grad;
    job.input = input;
    job.out = out;
    return run_job(job);
}

extern "C" int fl_infer_conv2d_weight_grad(const fl_op *op, const fl_value *in, int n,
                                           fl_spec *outs) {
    return fl_conv_infer_grad(op, in, n, 2, outs, fl_conv_read_weight_grad);
}

extern "C" int fl_run_conv2d_weight_grad(const fl_op *op, const fl_value *in, int n,
                            fl_tensor *const *outs) {
    if (fl_is_complex(outs[0]->dtype))
        return fl_run_bilinear_parts(fl_run_conv2d_weight_grad, op, in, n, outs[0]);
    fl_conv_nd c;
    if (outs[0]->numel == 0)
        return 0;
    if (fl_conv_read_weight_grad(op, in, 2, &c) < 0)
        return -1;
    const bool pairs = fl_conv_weight_grad_goes_by_pairs(c.p, in[0].t, in[1].t);
    const int left = pairs ? fl_conv_weight_grad_by_pairs(c.p, in[0].t, in[1].t, outs[0]) : 1;
    if (left <= 0)
        return left;
    return fl_conv2d_run_grad(c, in, outs[0], fl_conv_weight_grad, nullptr);
}
