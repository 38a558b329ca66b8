/* resample: images made larger or smaller, one dimension after the other, and the adjoint.
 *
 * Every mode is linear and separable, so that a dimension is a table of taps. Dimensions that
 * shrink come first; a plane's intermediate results stay in memory of one thread. */
#include "resample/resample.h"
#include "common/args.h"
#include <atomic>
#include <new>

namespace {

const fl_resample_kernels *const kernels = FL_PICK(fl_resample_kernels);
const int MAX_AXES = 3;

/* The sizes of a plane; the second set is the result of resampling. */
struct Sizes {
    int axes;
    int64_t from[MAX_AXES], to[MAX_AXES];
    int64_t channels;               /* of a plane, side by side: 1 where each has its own */
};

struct Step {
    int axis;
    int64_t outer, inner, size;     /* blocks, elements of a line, elements of the result */
};

/* Which dimension when: shrinking ones first, from the last; growing ones from the last too, so
 * that the widest lines are made last, whole registers at a time. */
struct Plan {
    int count = 0;
    Step steps[MAX_AXES];
    int64_t most = 0;               /* elements of the largest intermediate result */

    Plan(const Sizes &s, Taps *const *taps, bool forward) {
        int64_t now[MAX_AXES];
        memcpy(now, forward ? s.from : s.to, sizeof now);
        for (int growing = 0; growing < 2; growing++)
            for (int axis = s.axes - 1; axis >= 0; axis--) {
                int64_t before = forward ? s.from[axis] : s.to[axis];
                int64_t after = forward ? s.to[axis] : s.from[axis];
                if ((after > before) == (growing != 0) && !taps[axis]->identity())
                    add(s, now, axis, after);
            }
    }
    void add(const Sizes &s, int64_t *now, int axis, int64_t after) {
        now[axis] = after;
        Step &step = steps[count++];
        step = {axis, 1, s.channels, after};
        for (int d = 0; d < s.axes; d++)
            if (d != axis)
                (d < axis ? step.outer : step.inner) *= now[d];
        step.size = step.outer * step.inner * after;
        most = step.size > most ? step.size : most;
    }
};

int check_sizes(const fl_op *op, const fl_tensor *t, const int64_t *size, int n) {
    if (t->ndim < 3 || t->ndim > 2 + MAX_AXES || n != t->ndim - 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected [batch, channels, ...] with 1 to 3 spatial "
                        "dimensions and a size for each, got shape %s and sizes %s",
                        fl_op_title(op), fl_shape_text(t->shape, t->ndim), fl_shape_text(size, n));
    for (int d = 0; d < n; d++)
        if (size[d] < 1 || size[d] >= (int64_t)1 << 31 || t->shape[d + 2] < 1)
            return fl_error(FL_RUNTIME_ERROR, "%s: Input and output sizes should be greater than 0, "
                            "but got input %s and output sizes %s", fl_op_title(op),
                            fl_shape_text(t->shape, t->ndim), fl_shape_text(size, n));
    return 0;
}

int check_mode(const fl_op *op, const fl_value *in, int axes) {
    if (fl_resample_mode_of(in[2]) < 0)
        return fl_error(FL_VALUE_ERROR, "%s: unknown mode '%.*s'", fl_op_title(op),
                        (int)in[2].len, in[2].s);
    if (in[4].tag != FL_NONE && (in[4].tag != FL_FLOATS || (int)in[4].len != axes))
        return fl_error(FL_VALUE_ERROR, "%s: scales must be one number for each of the %d spatial "
                        "dimensions", fl_op_title(op), axes);
    return 0;
}

/* The result's spec: the tensor's with other spatial sizes. */
int resized_spec(const fl_op *op, const fl_tensor *t, const int64_t *size, fl_spec *out) {
    fl_spec_like(out, t);
    memcpy(out->shape + 2, size, sizeof(int64_t) * (size_t)(t->ndim - 2));
    int64_t count;
    if (!fl_count_elements(out->ndim, out->shape, &count))
        return fl_count_error(op->name, out->ndim, out->shape);
    fl_spec_in_format(out, fl_suggested_format(t));
    return 0;
}

struct Job {
    const Sizes &sizes;
    const Plan &plan;
    Taps *const *taps;
    int kind;
    bool forward;
    int64_t from() const { return volume(forward ? sizes.from : sizes.to); }
    int64_t to() const { return volume(forward ? sizes.to : sizes.from); }
    int64_t volume(const int64_t *size) const {
        return sizes.channels * fl_numel_of(sizes.axes, size);
    }
};

/* One plane: from x by way of two buffers to y. */
void resample_plane(const Job &job, const char *x, char *y, char *buffers) {
    int64_t bytes = fl_kind_size[job.kind], half = job.plan.most * bytes;
    if (job.plan.count == 0)
        memcpy(y, x, (size_t)(job.to() * bytes));
    for (int i = 0; i < job.plan.count; i++) {
        const Step &step = job.plan.steps[i];
        const fl_taps &taps = job.taps[step.axis]->table();
        char *to = i + 1 == job.plan.count ? y : buffers + (i & 1) * half;
        int64_t in_bytes = (job.forward ? taps.in : taps.out) * step.inner * bytes;
        int64_t out_bytes = (job.forward ? taps.out : taps.in) * step.inner * bytes;
        fl_resample_fn run = job.forward ? kernels->gather[job.kind] : kernels->scatter[job.kind];
        for (int64_t o = 0; o < step.outer; o++)
            run(x + o * in_bytes, to + o * out_bytes, &taps, step.inner);
        x = to;
    }
}

int run_each(const Job &job, int64_t planes, const char *x, char *y) {
    const int64_t bytes = fl_kind_size[job.kind];
    std::atomic<bool> failed(false);
    fl_parallel(planes, fl_row_grain(job.from() + job.to()), [&](int64_t first, int64_t last) {
        Scratch buffers(fl_bytes(job.plan.count > 1 ? 2 * job.plan.most : 0, bytes));
        if (!buffers.ok()) {
            failed = true;
            return;
        }
        for (int64_t i = first; i < last; i++)
            resample_plane(job, x + i * job.from() * bytes, y + i * job.to() * bytes,
                           buffers.as<char>());
    });
    if (failed)
        return fl_error(FL_MEMORY_ERROR, "interpolate(): no memory for a plane");
    return 0;
}

int run_planes(const Job &job, const fl_tensor *from, fl_tensor *to) {
    const int64_t planes = to->shape[0] * to->shape[1] / job.sizes.channels;
    if (job.sizes.channels > 1)
        return run_each(job, planes, from->data, to->data);
    In x(from, job.kind);
    Out y(to, job.kind);
    if (!x.ok() || !y.ok() || run_each(job, planes, x.as<char>(), y.as<char>()) < 0)
        return -1;
    y.commit();
    return 0;
}

/* The channels where both sides have them side by side, as they lie, and the images are enough for
 * all threads. */
int64_t channels_of(const fl_tensor *from, const fl_tensor *to, int kind) {
    const char *format = from->ndim == 4 ? "channels_last" : "channels_last_3d";
    const int dtype = fl_dtype_of_kind[kind];
    const bool both = from->ndim > 3 && from->dtype == dtype && to->dtype == dtype &&
                      from->shape[0] >= fl_get_num_threads() && fl_has_format(from, format) &&
                      fl_has_format(to, format);
    return both ? from->shape[1] : 1;
}

int run_resample(const fl_value *in, const fl_tensor *from, fl_tensor *to, bool forward) {
    const fl_tensor *small = forward ? from : to, *large = forward ? to : from;
    int kind = fl_kind_of_dtype[from->dtype], mode = fl_resample_mode_of(in[2]);
    if (to->numel == 0)
        return 0;
    Sizes s = {small->ndim - 2, {1, 1, 1}, {1, 1, 1}, channels_of(from, to, kind)};
    alignas(Taps) char memory[MAX_AXES][sizeof(Taps)];
    Taps *taps[MAX_AXES];
    bool ok = true;
    for (int d = 0; d < s.axes; d++) {
        s.from[d] = small->shape[d + 2];
        s.to[d] = large->shape[d + 2];
        double scale = in[4].tag == FL_FLOATS ? in[4].ds[d] : 0;
        taps[d] = new (memory[d]) Taps(mode, s.from[d], s.to[d], fl_value_true(in[3]), scale, kind);
        ok = ok && taps[d]->ok();
    }
    int result = -1;
    if (ok) {
        Plan plan(s, taps, forward);
        result = run_planes({s, plan, taps, kind, forward}, from, to);
    }
    for (int d = 0; d < s.axes; d++)
        taps[d]->~Taps();
    return result;
}

}  // namespace

extern "C" int fl_infer_resample(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *input = in[0].t;
    if (fl_expect_dtype(op, "input", input, fl_floating, "floating point") < 0 ||
        check_sizes(op, input, in[1].is, (int)in[1].len) < 0 ||
        check_mode(op, in, input->ndim - 2) < 0)
        return -1;
    return resized_spec(op, input, in[1].is, outs);
}

extern "C" int fl_run_resample(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    return run_resample(in, in[0].t, outs[0], true);
}

extern "C" int fl_infer_resample_grad(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *grad = in[0].t;
    if (fl_expect_dtype(op, "grad", grad, fl_floating, "floating point") < 0 ||
        check_sizes(op, grad, in[1].is, (int)in[1].len) < 0 ||
        check_mode(op, in, grad->ndim - 2) < 0)
        return -1;
    return resized_spec(op, grad, in[1].is, outs);
}

extern "C" int fl_run_resample_grad(const fl_op *, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    return run_resample(in, in[0].t, outs[0], false);
}
