/* Positions of the maxima over windows whose steps are drawn at random, plane by plane. */
#include "common/kernels/convert.h"
#include "common/args.h"

namespace {

const int MAX_SPATIAL_DIMS = 3;                     /* dimensions of an image */

/* An image as a block: a plane has depth 1. */
struct Job {
    int nd;
    int64_t planes;
    int64_t size[MAX_SPATIAL_DIMS], windows[MAX_SPATIAL_DIMS], kernel[MAX_SPATIAL_DIMS];

    Job(const fl_tensor *x, const fl_value &kernels, const fl_value &outputs)
        : nd((int)kernels.len), planes(fl_numel_of(x->ndim - nd, x->shape)) {
        for (int i = 0; i < MAX_SPATIAL_DIMS; i++) {
            int own = i - (MAX_SPATIAL_DIMS - nd);
            size[i] = own < 0 ? 1 : x->shape[x->ndim - nd + own];
            windows[i] = own < 0 ? 1 : outputs.is[own];
            kernel[i] = own < 0 ? 1 : kernels.is[own];
        }
    }
    int64_t inputs() const { return size[0] * size[1] * size[2]; }
    int64_t outputs() const { return windows[0] * windows[1] * windows[2]; }
    int64_t starts() const { return windows[0] + windows[1] + windows[2]; }
};

/* A number as the samples' dtype holds it: every step of the sum is rounded to that. */
template <class T> T rounded(T x, int dtype) {
    if (dtype == FL_F16)
        return (T)widen(narrow_f16((float)x));
    return dtype == FL_BF16 ? (T)widen(narrow_bf16((float)x)) : x;
}

/* Where windows begin: steps of about equal length, shifted by the sample; the last window ends
 * with the image. False where a sample leads out of it. */
template <class T>
bool find_starts(int64_t size, int64_t kernel, int64_t count, T sample, int dtype, int64_t *to) {
    int64_t last = size - kernel;
    T step = count > 1 ? rounded<T>(rounded<T>((T)last, dtype) / rounded<T>((T)(count - 1), dtype),
                                    dtype) : 0;
    T shift = rounded<T>(sample * step, dtype);
    if (!(shift > (T)-1e9 && shift < (T)1e9))
        return count == 1 && (to[0] = last, true);
    for (int64_t i = 0; i < count - 1; i++) {
        T at = rounded<T>(rounded<T>(rounded<T>((T)i, dtype) + sample, dtype) * step, dtype);
        to[i] = (int64_t)at - (int64_t)shift;
        if (to[i] < 0 || to[i] > last)
            return false;
    }
    to[count - 1] = last;
    return true;
}

/* A plane takes its samples from the right, a block from the left. */
template <class T>
bool find_all(const Job &job, const T *samples, int dtype, int64_t *starts) {
    for (int i = MAX_SPATIAL_DIMS - job.nd; i < MAX_SPATIAL_DIMS; i++) {
        T sample = samples[job.nd == 2 ? MAX_SPATIAL_DIMS - 1 - i : i];
        int64_t *to = starts + (i > 0 ? job.windows[0] : 0) + (i > 1 ? job.windows[1] : 0);
        if (!find_starts<T>(job.size[i], job.kernel[i], job.windows[i], sample, dtype, to))
            return false;
    }
    if (job.nd == 2)
        starts[0] = 0;
    return true;
}

/* The first of equal maxima; the last NaN is greater than all. */
template <class T> int64_t best_of(const Job &job, const T *x, int64_t corner) {
    int64_t position = corner, row = job.size[2], area = job.size[1] * row;
    T best = x[corner];
    for (int64_t d = 0; d < job.kernel[0]; d++)
        for (int64_t h = 0; h < job.kernel[1]; h++) {
            int64_t at = corner + d * area + h * row;
            for (int64_t w = at; w < at + job.kernel[2]; w++) {
                bool better = !(x[w] <= best) && (x[w] > best || x[w] != x[w]);
                position = better ? w : position;
                best = better ? x[w] : best;
            }
        }
    return position;
}

template <class T> void plane(const Job &job, const T *x, const int64_t *starts, int64_t *out) {
    const int64_t *depths = starts, *rows = depths + job.windows[0], *cols = rows + job.windows[1];
    for (int64_t d = 0; d < job.windows[0]; d++)
        for (int64_t h = 0; h < job.windows[1]; h++) {
            int64_t line = (depths[d] * job.size[1] + rows[h]) * job.size[2];
            for (int64_t w = 0; w < job.windows[2]; w++)
                *out++ = best_of(job, x, line + cols[w]);
        }
}

template <class T>
int run(const fl_op *op, const Job &job, const T *x, const T *samples, int dtype, int64_t *out) {
    bool memory = true, inside = true;
    fl_parallel(job.planes, fl_row_grain(job.inputs()), [&](int64_t begin, int64_t end) {
        Scratch room(fl_bytes(job.starts(), sizeof(int64_t)));
        if (!room.ok())
            return __atomic_store_n(&memory, false, __ATOMIC_RELAXED);
        for (int64_t i = begin; i < end; i++) {
            if (!find_all<T>(job, samples + i * job.nd, dtype, room.as<int64_t>()))
                return __atomic_store_n(&inside, false, __ATOMIC_RELAXED);
            plane(job, x + i * job.inputs(), room.as<int64_t>(), out + i * job.outputs());
        }
    });
    if (memory && !inside)
        return fl_error(FL_RUNTIME_ERROR, "%s: a sample leads to a window outside of the image; "
                        "samples must lie in [0, 1)", fl_op_title(op));
    return memory ? 0 : -1;
}

}  // namespace

extern "C" int fl_infer_fractional_indices(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    const fl_tensor *x = in[0].t, *samples = in[1].t;
    int nd = (int)in[2].len;
    bool fits = (nd == 2 || nd == 3) && (int)in[3].len == nd && x->ndim == nd + 2 &&
                samples->ndim == 3 && samples->shape[0] == x->shape[0] &&
                samples->shape[1] == x->shape[1] && samples->shape[2] == nd;
    for (int i = 0; fits && i < nd; i++)
        fits = in[2].is[i] > 0 && in[3].is[i] > 0 && in[2].is[i] <= x->shape[2 + i] &&
               in[3].is[i] <= x->shape[2 + i] - in[2].is[i] + 1;
    if (fl_expect_dtype(op, "self", x, fl_is_float, "floating") < 0 ||
        fl_same_device(op, in, n) < 0)
        return -1;
    if (!fits || samples->dtype != x->dtype)
        return fl_error(FL_RUNTIME_ERROR, "%s: kernel_size and output_size do not fit an input of "
                        "shape %s and samples of shape %s in its dtype", fl_op_title(op),
                        fl_shape_text(x->shape, x->ndim),
                        fl_shape_text(samples->shape, samples->ndim));
    int64_t shape[FL_MAX_DIMS] = {x->shape[0], x->shape[1]};
    memcpy(shape + 2, in[3].is, sizeof(int64_t) * (size_t)nd);
    fl_spec_set(outs, FL_I64, fl_device_code(x), nd + 2, shape);
    return 0;
}

extern "C" int fl_run_fractional_indices(const fl_op *op, const fl_value *in, int,
                                        fl_tensor *const *outs) {
    int dtype = in[0].t->dtype, kind = fl_kind_of_dtype[dtype];
    if (outs[0]->numel == 0)
        return 0;
    Job job(in[0].t, in[2], in[3]);
    In x(in[0].t, kind), samples(in[1].t, kind);
    Out out(outs[0], FL_K_I64);
    if (!x.ok() || !samples.ok() || !out.ok())
        return -1;
    int64_t *positions = out.as<int64_t>();
    int status = kind == FL_K_F64
        ? run(op, job, x.as<double>(), samples.as<double>(), dtype, positions)
        : run(op, job, x.as<float>(), samples.as<float>(), dtype, positions);
    if (status == 0)
        out.commit();
    return status;
}
