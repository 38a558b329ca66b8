/* conv2d: each block of output rows is a product of the weight with unfolded input. */
#include "ops/conv2d.h"
#include "ops/pool_error.h"
#include "runtime/blas.h"
#include <optional>

namespace {

const int64_t COLUMN_ELEMENTS = 1 << 16;    /* of an unfolded block: fits the second-level cache */

struct Job {
    fl_conv p;
    int dtype;
    const fl_conv_dtype *kernels;
    int64_t size;               /* of an element */
    const char *input, *weight, *bias;
    char *out;
    int64_t rows;               /* output rows of a block */
    int64_t blocks;             /* of an image */
};

void fill_bias(const Job &job, int64_t image, int64_t group, int64_t first, int64_t count) {
    const fl_conv &p = job.p;
    for (int64_t o = 0; o < p.o; o++) {
        int64_t channel = group * p.o + o;
        int64_t at = (image * p.groups * p.o + channel) * fl_conv_pixels(p) + first;
        job.kernels->fill(job.out + at * job.size, job.bias + channel * job.size, count);
    }
}

/* One block of output rows of one group of one image. */
int run_block(const Job &job, int64_t image, int64_t group, int64_t block, char *columns) {
    const fl_conv &p = job.p;
    int64_t y0 = block * job.rows, rows = p.oh - y0 < job.rows ? p.oh - y0 : job.rows;
    int64_t count = rows * p.ow, first = y0 * p.ow;
    const char *plane = job.input + (image * p.groups + group) * p.c * p.h * p.w * job.size;
    int64_t ldb = count;
    if (fl_conv_pointwise(p)) {
        columns = const_cast<char *>(plane) + first * job.size;
        ldb = p.h * p.w;
    } else {
        job.kernels->unfold(&p, plane, y0, rows, columns);
    }
    if (job.bias)
        fill_bias(job, image, group, first, count);
    char *to = job.out + ((image * p.groups + group) * p.o * fl_conv_pixels(p) + first) * job.size;
    return fl_gemm(job.dtype, 0, 0, p.o, count, fl_conv_taps(p), 1.0,
                   job.weight + group * p.o * fl_conv_taps(p) * job.size, fl_conv_taps(p), columns, ldb,
                   job.bias ? 1.0 : 0.0, to, fl_conv_pixels(p));
}

int run_job(Job &job) {
    const fl_conv &p = job.p;
    int64_t per_row = fl_conv_taps(p) * p.ow;
    job.rows = COLUMN_ELEMENTS / (per_row + 1) + 1;
    if (fl_conv_pointwise(p) || job.rows > p.oh)
        job.rows = p.oh;
    job.blocks = (p.oh - 1) / job.rows + 1;
    PoolError error;
    fl_parallel(p.n * p.groups * job.blocks, 1, [&](int64_t begin, int64_t end) {
        Scratch columns(fl_conv_pointwise(p) ? 0 : (size_t)(per_row * job.rows * job.size));
        for (int64_t i = begin; i < end; i++) {
            int64_t block = i % job.blocks, plane = i / job.blocks;
            if (!columns.ok() || run_block(job, plane / p.groups, plane % p.groups, block,
                                           columns.as<char>()) < 0)
                return error.capture();
        }
    });
    return error.result();
}

}  // namespace

extern "C" int fl_infer_conv2d(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *input = in[0].t, *weight = in[1].t, *bias = fl_t(in[2]);
    fl_conv p;
    if (fl_conv_check_dtypes(op, in, 3) < 0 || fl_same_device(op, in, n) < 0 ||
        fl_conv_read(op, in, 3, "input", input->ndim, input->shape, "weight", weight->ndim,
                     weight->shape, &p) < 0)
        return -1;
    if (bias && (bias->ndim != 1 || bias->shape[0] != weight->shape[0]))
        return fl_error(FL_RUNTIME_ERROR, "%s: bias has shape %s; for a weight of shape %s it must "
                        "be [%lld]", fl_op_title(op), fl_shape_text(bias->shape, bias->ndim),
                        fl_shape_text(weight->shape, 4), (long long)weight->shape[0]);
    int64_t shape[4];
    int nd = fl_conv_output_shape(p, shape);
    fl_spec_set(outs, input->dtype, fl_device_code(input), nd, shape);
    return 0;
}

extern "C" int fl_run_conv2d(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *input = in[0].t, *weight = in[1].t, *bias = fl_t(in[2]);
    if (outs[0]->numel == 0)
        return 0;
    Job job;
    if (fl_conv_read(op, in, 3, "input", input->ndim, input->shape, "weight", weight->ndim,
                     weight->shape, &job.p) < 0)
        return -1;
    int kind = fl_kind_of_dtype[input->dtype];
    In x(input, kind), w(weight, kind);
    std::optional<In> b;
    if (bias)
        b.emplace(bias, kind);
    Out out(outs[0], kind);
    if (!x.ok() || !w.ok() || !out.ok() || (b && !b->ok()))
        return -1;
    job.dtype = fl_dtype_of_kind[kind];
    job.kernels = fl_conv_kernels_of(job.dtype);
    job.size = fl_kind_size[kind];
    job.input = x.as<char>();
    job.weight = w.as<char>();
    job.bias = b ? b->as<char>() : nullptr;
    job.out = out.as<char>();
    int status = run_job(job);
    if (status == 0)
        out.commit();
    return status;
}
