/* Windows that cover a dimension, as equal as they can be: means, their gradient, maxima. */
#include "reduce/kernels/reduce.h"
#include "common/args.h"

namespace {

const fl_reduce_kernels *const reduce_kernels = FL_PICK(fl_reduce_kernels);
const fl_argmax_kernels *const argmax_kernels = FL_PICK(fl_argmax_kernels);

/* Window i of `count` over `n` elements: neighbours share an element where n does not divide. */
struct Span {
    int64_t begin, end;
};

Span span_of(int64_t i, int64_t n, int64_t count) {
    __int128 begin = (__int128)i * n, end = (__int128)(i + 1) * n;
    return Span{(int64_t)(begin / count), (int64_t)((end + count - 1) / count)};
}

/* The dimension, and its size afterwards: in[1] and in[2]. */
int infer(const fl_op *op, const fl_value *in, int64_t least, fl_spec *out) {
    const fl_tensor *t = in[0].t;
    int dim;
    if (fl_wrap_dim(op, in[1].i, t->ndim, &dim) < 0)
        return -1;
    if (t->ndim == 0 || (t->shape[dim] < 1 && in[2].i > 0) || in[2].i < least)
        return fl_error(FL_RUNTIME_ERROR, "%s: %lld outputs from %s; the input needs a dimension "
                        "that is not empty, and there must be at least %lld outputs",
                        fl_op_title(op), (long long)in[2].i, fl_tensor_text(t), (long long)least);
    fl_spec_like(out, t);
    out->shape[dim] = in[2].i;
    int64_t numel;
    if (fl_count_elements(t->ndim, out->shape, &numel)) {
        fl_spec_in_format(out, fl_suggested_format(t));
        return 0;
    }
    return fl_count_error(op->name, t->ndim, out->shape);
}

/* The longer side seen along one dimension, and its windows, worked out once for all lines. */
struct Job {
    fl_middle m;
    int64_t count;
    Scratch room;
    Span *windows;

    Job(const fl_tensor *longer, int dim, int64_t windows_count)
        : m(fl_middle_of(longer, dim)), count(windows_count),
          room(fl_bytes(windows_count, sizeof(Span))), windows(room.as<Span>()) {
        for (int64_t i = 0; room.ok() && i < count; i++)
            windows[i] = span_of(i, m.n, count);
    }
};

/* Whether both lie with their channels side by side, in the dtype that is computed in. */
bool are_images(const fl_tensor *a, const fl_tensor *b, int kind) {
    const int dtype = fl_dtype_of_kind[kind];
    return a->ndim == 4 && a->dtype == dtype && b->dtype == dtype &&
           fl_has_format(a, "channels_last") && fl_has_format(b, "channels_last");
}

/* Along dimension 2 or 3 in that order. */
fl_middle middle_of_image(const fl_tensor *t, int dim) {
    const int64_t rows = t->shape[2], columns = t->shape[3], channels = t->shape[1];
    return dim == 2 ? fl_middle{t->shape[0], rows, columns * channels}
                    : fl_middle{t->shape[0] * rows, columns, channels};
}

/* The dimension that infer has checked. */
int dim_of(const fl_op *op, const fl_value *in) {
    int dim = 0;
    fl_wrap_dim(op, in[1].i, in[0].t->ndim, &dim);
    return dim;
}

/* Call body(outer, window) for all windows. */
template <class Body> void each_window(const Job &job, const Body &body) {
    int64_t work = (job.m.n / job.count + 1) * job.m.inner;
    fl_parallel(job.m.outer * job.count, fl_row_grain(work), [&](int64_t b, int64_t e) {
        int64_t o = b / job.count, i = b % job.count;
        for (int64_t at = b; at < e; at++) {
            body(o, i);
            if (++i == job.count) {
                i = 0;
                o++;
            }
        }
    });
}

const int64_t MIN_KERNEL_ELEMENTS = 16; /* fewer elements are read faster than a kernel is called */

template <class T> T total_of_line(const T *x, int64_t n, int kind) {
    T total = 0;
    if (n >= MIN_KERNEL_ELEMENTS) {
        reduce_kernels->row[FL_REDUCE_SUM][kind](x, n, &total);
        return total;
    }
    for (int64_t k = 0; k < n; k++)
        total += x[k];
    return total;
}

template <class T> void means(const Job &job, int kind, const T *x, T *out) {
    int64_t n = job.m.n, inner = job.m.inner;
    each_window(job, [&](int64_t o, int64_t i) {
        Span s = job.windows[i];
        const T *from = x + (o * n + s.begin) * inner;
        T *to = out + (o * job.count + i) * inner;
        const T size = (T)(s.end - s.begin);
        if (inner == 1) {
            *to = total_of_line(from, s.end - s.begin, kind) / size;
            return;
        }
        reduce_kernels->columns[FL_REDUCE_SUM][kind](from, s.end - s.begin, inner, inner, to);
        for (int64_t j = 0; j < inner; j++)
            to[j] /= size;
    });
}

/* Add each element's share of a window to `count` rows. */
template <class T>
void add_shares(const T *grad, T size, int64_t count, int64_t inner, T *out) {
    const int64_t MOST_COLUMNS = 256;
    T share[MOST_COLUMNS];
    for (int64_t first = 0; first < inner; first += MOST_COLUMNS) {
        const int64_t n = inner - first < MOST_COLUMNS ? inner - first : MOST_COLUMNS;
        for (int64_t j = 0; j < n; j++)
            share[j] = grad[first + j] / size;
        for (int64_t k = 0; k < count; k++)
            for (int64_t j = 0; j < n; j++)
                out[k * inner + first + j] += share[j];
    }
}

template <class T> void spread(const Job &job, const T *grad, T *out) {
    int64_t n = job.m.n, inner = job.m.inner;
    fl_parallel(job.m.outer, fl_row_grain(n * inner), [&](int64_t b, int64_t e) {
        memset(out + b * n * inner, 0, (size_t)((e - b) * n * inner) * sizeof(T));
        for (int64_t o = b; o < e; o++)
            for (int64_t i = 0; i < job.count; i++) {
                const Span s = job.windows[i];
                const int64_t count = s.end - s.begin;
                const T *from = grad + (o * job.count + i) * inner;
                T *to = out + (o * n + s.begin) * inner;
                if (inner > 1) {
                    add_shares(from, (T)count, count, inner, to);
                    continue;
                }
                const T share = *from / (T)count;
                for (int64_t k = 0; k < count; k++)
                    to[k] += share;
            }
    });
}

/* The first of equal maxima; the last NaN is greater than all. */
template <class T>
void argmax_of_small(const T *x, Span s, int64_t step, T *value, int64_t *position) {
    T best = x[s.begin * step];
    int64_t at = s.begin;
    for (int64_t k = s.begin + 1; k < s.end; k++) {
        T v = x[k * step];
        if (v > best || v != v) {
            best = v;
            at = k;
        }
    }
    *value = best;
    *position = at;
}

template <class T>
void best_of_line(const T *x, Span s, int kind, T *value, int64_t *position) {
    if (s.end - s.begin < MIN_KERNEL_ELEMENTS)
        return argmax_of_small(x, s, 1, value, position);
    argmax_kernels->row[0][kind](x + s.begin, s.end - s.begin, value, position);
    if (*value != *value)
        return argmax_of_small(x, s, 1, value, position);
    *position += s.begin;
}

/* The best of a window in each of `inner` columns. */
template <class T>
void best_of_columns(const T *from, Span s, int64_t inner, int kind, T *value, int64_t *position) {
    argmax_kernels->columns[0][kind](from + s.begin * inner, s.end - s.begin, inner, inner, 0,
                                     value, position);
    for (int64_t j = 0; j < inner; j++) {
        position[j] += s.begin;
        if (value[j] != value[j])
            argmax_of_small(from + j, s, inner, value + j, position + j);
    }
}

/* Lines whose elements are brought side by side, and the bytes that this may take. */
const int64_t SIDE_BY_SIDE = 32;
const int64_t MAX_BYTES = 1 << 17;

/* Columns fill vectors where lines, or few columns, do not. */
template <class T> bool fits_side_by_side(const Job &job) {
    const fl_middle &m = job.m;
    return m.inner < SIDE_BY_SIDE / 2 && m.outer * m.inner >= SIDE_BY_SIDE &&
           m.n * SIDE_BY_SIDE * (int64_t)sizeof(T) <= MAX_BYTES &&
           (m.inner > 1 || m.n / job.count < MIN_KERNEL_ELEMENTS);
}

/* Lines [first, first + lines) of all that lie along the dimension. */
template <class T>
void best_of_lines(const Job &job, int kind, int64_t first, int64_t lines, T *side, const T *x,
                   T *values, int64_t *positions) {
    const int64_t n = job.m.n, inner = job.m.inner;
    T value[SIDE_BY_SIDE];
    int64_t position[SIDE_BY_SIDE];
    for (int64_t q = 0; q < lines; q++) {
        const T *line = x + (first + q) / inner * n * inner + (first + q) % inner;
        for (int64_t k = 0; k < n; k++)
            side[k * lines + q] = line[k * inner];
    }
    for (int64_t i = 0; i < job.count; i++) {
        best_of_columns(side, job.windows[i], lines, kind, value, position);
        for (int64_t q = 0; q < lines; q++) {
            const int64_t o = (first + q) / inner, j = (first + q) % inner;
            values[(o * job.count + i) * inner + j] = value[q];
            positions[(o * job.count + i) * inner + j] = position[q];
        }
    }
}

/* false: no memory. */
template <class T>
bool best_side_by_side(const Job &job, int kind, const T *x, T *values, int64_t *positions) {
    const int64_t lines = job.m.outer * job.m.inner, blocks = (lines - 1) / SIDE_BY_SIDE + 1;
    bool failed = false;
    fl_parallel(blocks, fl_row_grain(job.m.n * SIDE_BY_SIDE), [&](int64_t b, int64_t e) {
        Scratch side((size_t)(job.m.n * SIDE_BY_SIDE) * sizeof(T));
        if (!side.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t first = b * SIDE_BY_SIDE; first < lines && first < e * SIDE_BY_SIDE;
             first += SIDE_BY_SIDE) {
            const int64_t left = lines - first;
            best_of_lines(job, kind, first, left < SIDE_BY_SIDE ? left : SIDE_BY_SIDE,
                          side.as<T>(), x, values, positions);
        }
    });
    return !failed;
}

template <class T> bool best(const Job &job, int kind, const T *x, T *values, int64_t *positions) {
    int64_t n = job.m.n, inner = job.m.inner;
    if (fits_side_by_side<T>(job))
        return best_side_by_side(job, kind, x, values, positions);
    each_window(job, [&](int64_t o, int64_t i) {
        const T *from = x + o * n * inner;
        T *value = values + (o * job.count + i) * inner;
        int64_t *position = positions + (o * job.count + i) * inner;
        if (inner == 1)
            best_of_line(from, job.windows[i], kind, value, position);
        else
            best_of_columns(from, job.windows[i], inner, kind, value, position);
    });
    return true;
}

}  // namespace

extern "C" int fl_infer_adaptive_mean(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (fl_expect_dtype(op, "self", in[0].t, fl_is_float, "floating; convert it with .float()") < 0)
        return -1;
    return infer(op, in, 0, outs);
}

extern "C" int fl_run_adaptive_mean(const fl_op *op, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    if (outs[0]->numel == 0)
        return 0;
    const int dim = dim_of(op, in);
    Job job(in[0].t, dim, in[2].i);
    if (dim >= 2 && job.room.ok() && are_images(in[0].t, outs[0], kind)) {
        job.m = middle_of_image(in[0].t, dim);
        if (kind == FL_K_F64)
            means(job, kind, (const double *)in[0].t->data, (double *)outs[0]->data);
        else
            means(job, kind, (const float *)in[0].t->data, (float *)outs[0]->data);
        return 0;
    }
    In x(in[0].t, kind);
    Out out(outs[0], kind);
    if (!job.room.ok() || !x.ok() || !out.ok())
        return -1;
    if (kind == FL_K_F64)
        means(job, kind, x.as<double>(), out.as<double>());
    else
        means(job, kind, x.as<float>(), out.as<float>());
    out.commit();
    return 0;
}

extern "C" int fl_infer_adaptive_mean_grad(const fl_op *op, const fl_value *in, int,
                                           fl_spec *outs) {
    if (fl_expect_dtype(op, "grad", in[0].t, fl_is_float, "floating") < 0)
        return -1;
    fl_value shape[3] = {in[0], in[1], in[2]};
    int dim;
    if (fl_wrap_dim(op, in[1].i, in[0].t->ndim, &dim) < 0)
        return -1;
    if (in[0].t->ndim && in[0].t->shape[dim] == 0 && in[2].i > 0) {    /* no windows at all */
        fl_spec_like(outs, in[0].t);
        outs->shape[dim] = in[2].i;
        return 0;
    }
    return infer(op, shape, 1, outs);
}

extern "C" int fl_run_adaptive_mean_grad(const fl_op *op, const fl_value *in, int,
                                         fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[in[0].t->dtype], dim = dim_of(op, in);
    if (outs[0]->numel == 0)
        return 0;
    Job job(outs[0], dim, in[0].t->shape[dim]);
    In grad(in[0].t, kind);
    Out out(outs[0], kind);
    if (!job.room.ok() || !grad.ok() || !out.ok())
        return -1;
    if (kind == FL_K_F64)
        spread(job, grad.as<double>(), out.as<double>());
    else
        spread(job, grad.as<float>(), out.as<float>());
    out.commit();
    return 0;
}

extern "C" int fl_infer_adaptive_max(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (fl_expect_ordered(op, "self", in[0].t) < 0 || infer(op, in, 0, &outs[0]) < 0)
        return -1;
    outs[1] = outs[0];
    outs[1].dtype = FL_I64;
    return 0;
}

extern "C" int fl_run_adaptive_max(const fl_op *op, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    if (kind == FL_K_BOOL)
        kind = FL_K_I64;
    if (outs[0]->numel == 0)
        return 0;
    Job job(in[0].t, dim_of(op, in), in[2].i);
    In x(in[0].t, kind);
    Out values(outs[0], kind), positions(outs[1], FL_K_I64);
    if (!job.room.ok() || !x.ok() || !values.ok() || !positions.ok())
        return -1;
    int64_t *at = positions.as<int64_t>();
    const bool done =
        kind == FL_K_F64 ? best(job, kind, x.as<double>(), values.as<double>(), at)
        : kind == FL_K_F32 ? best(job, kind, x.as<float>(), values.as<float>(), at)
                           : best(job, kind, x.as<int64_t>(), values.as<int64_t>(), at);
    if (!done)
        return fl_error(FL_MEMORY_ERROR, "%s: no memory for scratch", fl_op_title(op));
    values.commit();
    positions.commit();
    return 0;
}
