/* grid_sampler: images and volumes read between their pixels, and the gradients.
 *
 * The taps of a run of places are worked out once and used for all channels. */
#include "kernels/grid.h"
#include "ops/args.h"
#include "ops/grid_taps.h"

namespace {

const int64_t RUN = FL_GRID_RUN;    /* places whose taps are kept */
const int MOST = 16;                /* taps of one place */

/* The taps of one place: products over the axes, those outside left out. */
template <class T> struct PlaceTaps {
    int count;
    int64_t offset[MOST];
    T weight[MOST], slope[3][MOST];
};

struct Sampler {
    fl_grid grid;
    int64_t batch, channels, plane, places;
};

template <class T> void start_product(PlaceTaps<T> *p) {
    p->count = 1;
    p->offset[0] = 0;
    p->weight[0] = 1;
    for (int d = 0; d < 3; d++)
        p->slope[d][0] = 1;
}

/* Add one more, inner axis. Each slope is that of its own axis times the weights of the others. */
template <class T> void times(PlaceTaps<T> *p, const AxisTaps<T> &axis, int number, int64_t size) {
    PlaceTaps<T> before = *p;
    p->count = 0;
    for (int i = 0; i < before.count; i++)
        for (int k = 0; k < axis.count; k++) {
            if (axis.index[k] < 0)
                continue;
            int at = p->count++;
            p->offset[at] = before.offset[i] * size + axis.index[k];
            p->weight[at] = before.weight[i] * axis.weight[k];
            for (int d = 0; d < 3; d++)
                p->slope[d][at] = before.slope[d][i] * (d == number ? axis.slope[k]
                                                                    : axis.weight[k]);
        }
}

/* `point` holds x, y (, z): the innermost axis first. slope[d] belongs to point[d]. */
template <class T> void place_taps(const fl_grid &g, const T *point, PlaceTaps<T> *p) {
    start_product(p);
    for (int axis = 0; axis < g.axes; axis++) {
        AxisTaps<T> taps;
        int number = g.axes - 1 - axis;
        axis_taps(g, point[number], g.size[axis], &taps);
        times(p, taps, number, g.size[axis]);
    }
}

template <class T> T tapped(const T *plane, const PlaceTaps<T> &p) {
    T sum = 0;
    for (int k = 0; k < p.count; k++)
        sum += p.weight[k] * plane[p.offset[k]];
    return sum;
}

/* The taps of a run side by side: tap k of place i at [k][i]. */
template <class T> struct RunTaps {
    int taps;
    int32_t offset[MOST][RUN];
    T weight[MOST][RUN];

    void set(const fl_grid &g, const T *point, int64_t i);
};

/* Products over the axes; an offset of -1 stands for what lies outside. */
template <class T> void RunTaps<T>::set(const fl_grid &g, const T *point, int64_t i) {
    int count = 1;
    int64_t at[MOST] = {0};
    T product[MOST] = {1};
    for (int axis = 0; axis < g.axes; axis++) {
        AxisTaps<T> one;
        axis_taps(g, point[g.axes - 1 - axis], g.size[axis], &one);
        for (int j = count - 1; j >= 0; j--)        /* from the end: results lie behind */
            for (int k = one.count - 1; k >= 0; k--) {
                bool inside = at[j] >= 0 && one.index[k] >= 0;
                int64_t place = inside ? at[j] * g.size[axis] + one.index[k] : -1;
                T weight = product[j] * one.weight[k];
                at[j * one.count + k] = place;
                product[j * one.count + k] = weight;
            }
        count *= one.count;
    }
    for (int k = 0; k < count; k++) {
        offset[k][i] = (int32_t)at[k];
        weight[k][i] = product[k];
    }
    taps = count;
}

const fl_grid_kernels *const kernels = FL_PICK(fl_grid_kernels);

void pick(const float *plane, const RunTaps<float> &r, int64_t n, float *out) {
    kernels->f32(plane, r.offset[0], r.weight[0], r.taps, n, out);
}

void pick(const double *plane, const RunTaps<double> &r, int64_t n, double *out) {
    kernels->f64(plane, r.offset[0], r.weight[0], r.taps, n, out);
}

/* Planes too large for offsets of 32 bits. */
template <class T>
void sample_places(const Sampler &s, int64_t n, const T *input, const T *points, T *out) {
    PlaceTaps<T> taps;
    for (int64_t i = 0; i < n; i++) {
        place_taps(s.grid, points + i * s.grid.axes, &taps);
        for (int64_t c = 0; c < s.channels; c++)
            out[c * s.places + i] = tapped(input + c * s.plane, taps);
    }
}

template <class T>
void sample_run(const Sampler &s, int64_t n, const T *input, const T *points, T *out) {
    RunTaps<T> run;
    for (int64_t i = 0; i < n; i++)
        run.set(s.grid, points + i * s.grid.axes, i);
    for (int64_t c = 0; c < s.channels; c++)
        pick(input + c * s.plane, run, n, out + c * s.places);
}

template <class T> void sample(const Sampler &s, const T *input, const T *grid, T *out) {
    bool wide = s.plane >= (int64_t)1 << 31;
    int64_t runs = fl_chunk_count(s.places, RUN);
    int64_t grain = fl_row_grain(RUN * (s.channels + 4));
    fl_parallel(s.batch * runs, grain, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; r++) {
            int64_t item = r / runs, first = r % runs * RUN;
            int64_t n = s.places - first < RUN ? s.places - first : RUN;
            const T *planes = input + item * s.channels * s.plane;
            const T *points = grid + (item * s.places + first) * s.grid.axes;
            T *to = out + item * s.channels * s.places + first;
            if (wide)
                sample_places(s, n, planes, points, to);
            else
                sample_run(s, n, planes, points, to);
        }
    });
}

/* One channel at one place: the input's gradient is added to, the grid's too. */
template <class T>
void spread(const PlaceTaps<T> &p, int axes, T g, const T *plane, T *dplane, T *dpoint) {
    for (int k = 0; k < p.count; k++) {
        dplane[p.offset[k]] += p.weight[k] * g;
        T value = plane[p.offset[k]] * g;
        for (int d = 0; d < axes; d++)
            dpoint[d] += p.slope[d][k] * value;
    }
}

template <class T>
void sample_grad(const Sampler &s, const T *grad, const T *input, const T *grid, T *dinput,
                 T *dgrid) {
    fl_parallel(s.batch, 1, [&](int64_t begin, int64_t end) {
        PlaceTaps<T> taps[RUN];
        for (int64_t item = begin; item < end; item++)
            for (int64_t first = 0; first < s.places; first += RUN) {
                int64_t n = s.places - first < RUN ? s.places - first : RUN;
                int64_t point = (item * s.places + first) * s.grid.axes;
                for (int64_t i = 0; i < n; i++)
                    place_taps(s.grid, grid + point + i * s.grid.axes, &taps[i]);
                for (int64_t c = item * s.channels; c < (item + 1) * s.channels; c++)
                    for (int64_t i = 0; i < n; i++)
                        spread(taps[i], s.grid.axes, grad[c * s.places + first + i],
                               input + c * s.plane, dinput + c * s.plane,
                               dgrid + point + i * s.grid.axes);
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

Sampler sampler_of(const fl_tensor *input, const fl_tensor *grid, const fl_value *in) {
    Sampler s = {{input->ndim - 2, {1, 1, 1}, (int)in[0].i, (int)in[1].i, fl_value_true(in[2])},
                 input->shape[0], input->shape[1], 1, 1};
    for (int d = 0; d < s.grid.axes; d++) {
        s.grid.size[d] = input->shape[d + 2];
        s.plane *= input->shape[d + 2];
        s.places *= grid->shape[d + 1];
    }
    return s;
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
    Sampler s = sampler_of(in[0].t, in[1].t, in + 2);
    In input(in[0].t, kind), grid(in[1].t, kind);
    Out out(outs[0], kind);
    if (!input.ok() || !grid.ok() || !out.ok())
        return -1;
    if (kind == FL_K_F64)
        sample(s, input.as<double>(), grid.as<double>(), out.as<double>());
    else
        sample(s, input.as<float>(), grid.as<float>(), out.as<float>());
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
    Sampler s = sampler_of(in[1].t, in[2].t, in + 3);
    In grad(in[0].t, kind), input(in[1].t, kind), grid(in[2].t, kind);
    Out dinput(outs[0], kind), dgrid(outs[1], kind);
    if (!grad.ok() || !input.ok() || !grid.ok() || !dinput.ok() || !dgrid.ok())
        return -1;
    memset(dinput.as<char>(), 0, (size_t)(outs[0]->numel * fl_kind_size[kind]));
    memset(dgrid.as<char>(), 0, (size_t)(outs[1]->numel * fl_kind_size[kind]));
    if (kind == FL_K_F64)
        sample_grad(s, grad.as<double>(), input.as<double>(), grid.as<double>(),
                    dinput.as<double>(), dgrid.as<double>());
    else
        sample_grad(s, grad.as<float>(), input.as<float>(), grid.as<float>(), dinput.as<float>(),
                    dgrid.as<float>());
    dinput.commit();
    dgrid.commit();
    return 0;
}
