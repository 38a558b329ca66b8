/* grid_sampler: images and volumes read between their pixels, and the gradients. */
#include "resample/kernels/grid.h"
#include "common/args.h"

namespace {

const fl_grid_kernels *const kernels = FL_PICK(fl_grid_kernels);

void sample_run(const fl_grid *g, int64_t n, const float *input, const float *points, float *out) {
    kernels->sample_f32(g, n, input, points, out);
}

void sample_run(const fl_grid *g, int64_t n, const double *input, const double *points,
                double *out) {
    kernels->sample_f64(g, n, input, points, out);
}

void spread_run(const fl_grid *g, int64_t n, const float *input, const float *points,
                const float *grad, float *dinput, float *dpoints) {
    kernels->spread_f32(g, n, input, points, grad, dinput, dpoints);
}

void spread_run(const fl_grid *g, int64_t n, const double *input, const double *points,
                const double *grad, double *dinput, double *dpoints) {
    kernels->spread_f64(g, n, input, points, grad, dinput, dpoints);
}

int64_t run_length(const fl_grid &g, int64_t first) {
    return g.positions - first < FL_GRID_RUN ? g.positions - first : FL_GRID_RUN;
}

template <class T>
void sample(const fl_grid &g, int64_t batch, const T *input, const T *grid, T *out) {
    int64_t runs = fl_chunk_count(g.positions, FL_GRID_RUN);
    int64_t grain = fl_row_grain(FL_GRID_RUN * (g.channels + 4));
    fl_parallel(batch * runs, grain, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; r++) {
            int64_t item = r / runs, first = r % runs * FL_GRID_RUN;
            sample_run(&g, run_length(g, first), input + item * g.channels * g.plane,
                       grid + (item * g.positions + first) * g.axes,
                       out + item * g.channels * g.positions + first);
        }
    });
}

template <class T>
void sample_grad(const fl_grid &g, int64_t batch, const T *grad, const T *input, const T *grid,
                 T *dinput, T *dgrid) {
    fl_parallel(batch, 1, [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; item++)
            for (int64_t first = 0; first < g.positions; first += FL_GRID_RUN) {
                int64_t point = (item * g.positions + first) * g.axes;
                int64_t planes = item * g.channels * g.plane;
                spread_run(&g, run_length(g, first), input + planes, grid + point,
                           grad + item * g.channels * g.positions + first, dinput + planes,
                           dgrid + point);
            }
    });
}

/* ---- checks ---------------------------------------------------------------------------------- */

int check_grid(const fl_op *op, const fl_tensor *input, const fl_tensor *grid, const fl_value *in) {
    if (fl_expect_dtype(op, "input", input, fl_floating, "floating point") < 0 ||
        fl_expect_same_dtype(op, input, "grid", grid) < 0)
        return -1;
    int axes = input->ndim - 2;
    if ((axes != 2 && axes != 3) || grid->ndim != input->ndim || grid->shape[axes + 1] != axes ||
        grid->shape[0] != input->shape[0])
        return fl_error(FL_RUNTIME_ERROR, "grid_sample(): expected an input [batch, channels, h, w] "
                        "with a grid [batch, H, W, 2], or [batch, channels, d, h, w] with "
                        "[batch, D, H, W, 3], got shapes %s and %s",
                        fl_shape_text(input->shape, input->ndim),
                        fl_shape_text(grid->shape, grid->ndim));
    for (int d = 2; d < input->ndim; d++)
        if (input->shape[d] < 1 || input->shape[d] >= (int64_t)1 << 30)
            return fl_error(FL_RUNTIME_ERROR, "grid_sample(): expected input to have non-empty "
                            "spatial dimensions of less than 2**30, but input has sizes %s",
                            fl_shape_text(input->shape, input->ndim));
    if (in[0].i < 0 || in[0].i > 2 || in[1].i < 0 || in[1].i > 2)
        return fl_error(FL_VALUE_ERROR, "grid_sample(): interpolation_mode and padding_mode are 0, "
                        "1 or 2, got %lld and %lld", (long long)in[0].i, (long long)in[1].i);
    if (in[0].i == FL_GRID_CUBIC && axes != 2)
        return fl_error(FL_RUNTIME_ERROR, "grid_sample(): bicubic interpolation only supports 4D "
                        "input, got shape %s", fl_shape_text(input->shape, input->ndim));
    return 0;
}

fl_grid grid_of(const fl_tensor *input, const fl_tensor *grid, const fl_value *in) {
    fl_grid g = {input->ndim - 2, {1, 1, 1}, (int)in[0].i, (int)in[1].i, fl_value_true(in[2]),
                 input->shape[1], 1, 1};
    for (int d = 0; d < g.axes; d++) {
        g.size[d] = input->shape[d + 2];
        g.plane *= input->shape[d + 2];
        g.positions *= grid->shape[d + 1];
    }
    return g;
}

}  // namespace

extern "C" int fl_infer_grid_sampler(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *input = in[0].t, *grid = in[1].t;
    if (fl_same_device(op, in, n) < 0 || check_grid(op, input, grid, in + 2) < 0)
        return -1;
    fl_spec_like(outs, input);
    for (int d = 2; d < input->ndim; d++)
        outs->shape[d] = grid->shape[d - 1];
    int64_t count;
    if (!fl_count_elements(outs->ndim, outs->shape, &count))
        return fl_count_error(op->name, outs->ndim, outs->shape);
    return 0;
}

extern "C" int fl_run_grid_sampler(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    fl_grid g = grid_of(in[0].t, in[1].t, in + 2);
    In input(in[0].t, kind), grid(in[1].t, kind);
    Out out(outs[0], kind);
    if (!input.ok() || !grid.ok() || !out.ok())
        return -1;
    if (kind == FL_K_F64)
        sample(g, in[0].t->shape[0], input.as<double>(), grid.as<double>(), out.as<double>());
    else
        sample(g, in[0].t->shape[0], input.as<float>(), grid.as<float>(), out.as<float>());
    out.commit();
    return 0;
}

extern "C" int fl_infer_grid_sampler_grad(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    const fl_tensor *grad = in[0].t, *input = in[1].t, *grid = in[2].t;
    if (fl_same_device(op, in, n) < 0 || check_grid(op, input, grid, in + 3) < 0 ||
        fl_expect_same_dtype(op, input, "grad", grad) < 0)
        return -1;
    int64_t shape[5] = {input->shape[0], input->shape[1]};
    for (int d = 2; d < input->ndim; d++)
        shape[d] = grid->shape[d - 1];
    if (fl_expect_shape(op, "grad", grad, input->ndim, shape) < 0)
        return -1;
    fl_spec_like(&outs[0], input);
    fl_spec_like(&outs[1], grid);
    return 0;
}

extern "C" int fl_run_grid_sampler_grad(const fl_op *, const fl_value *in, int,
                                        fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[in[1].t->dtype];
    fl_grid g = grid_of(in[1].t, in[2].t, in + 3);
    int64_t batch = in[1].t->shape[0];
    In grad(in[0].t, kind), input(in[1].t, kind), grid(in[2].t, kind);
    Out dinput(outs[0], kind), dgrid(outs[1], kind);
    if (!grad.ok() || !input.ok() || !grid.ok() || !dinput.ok() || !dgrid.ok())
        return -1;
    memset(dinput.as<char>(), 0, (size_t)(outs[0]->numel * fl_kind_size[kind]));
    if (kind == FL_K_F64)
        sample_grad(g, batch, grad.as<double>(), input.as<double>(), grid.as<double>(),
                    dinput.as<double>(), dgrid.as<double>());
    else
        sample_grad(g, batch, grad.as<float>(), input.as<float>(), grid.as<float>(),
                    dinput.as<float>(), dgrid.as<float>());
    dinput.commit();
    dgrid.commit();
    return 0;
}
