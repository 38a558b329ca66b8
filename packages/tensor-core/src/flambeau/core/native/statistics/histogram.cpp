/* Counting: histc, bincount and histograms with edges. Counts are added in the order of the
 * elements, so that sums of weights do not depend on threads. */
#include "common/args.h"
#include "index/kernels/indices.h"
#include <algorithm>
#include <math.h>

namespace {

int order_kind(const fl_tensor *t) { return fl_kind_of_dtype[t->dtype]; }

/* ---- histc ------------------------------------------------------------------------------------- */

template <class T> int extent(const fl_op *op, const T *x, int64_t n, T *low, T *high) {
    T least = x[0], most = x[0];
    for (int64_t i = 0; i < n; i++) {
        least = x[i] < least || x[i] != x[i] ? x[i] : least;
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    }
    *low = least;
    *high = most;
    if (isfinite((double)least) && isfinite((double)most))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: the range of [%g, %g] is not finite; give min= and "
                    "max=", fl_op_title(op), (double)least, (double)most);
}

template <class T>
int count_even(const fl_op *op, const T *x, int64_t n, T low, T high, int64_t bins, T *out) {
    for (int64_t b = 0; b < bins; b++)
        out[b] = 0;
    if (low == high && n > 0 && extent(op, x, n, &low, &high) < 0)
        return -1;
    if (low == high) {
        low -= 1;
        high += 1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!(x[i] >= low && x[i] <= high))
            continue;
        int64_t at = (int64_t)((x[i] - low) * (T)bins / (high - low));
        out[at < bins ? at : bins - 1] += 1;
    }
    return 0;
}

/* ---- bincount ---------------------------------------------------------------------------------- */

template <class W>
void count_numbers(const int64_t *x, const W *weights, int64_t n, W *out, int64_t size) {
    for (int64_t i = 0; i < size; i++)
        out[i] = 0;
    for (int64_t i = 0; i < n; i++)
        out[x[i]] += weights ? weights[i] : (W)1;
}

/* Few different numbers repeat, and an addition to the same place waits for the one before: so turns
 * are taken in four places. Returns how many numbers are none of those to be counted. */
const int64_t MOST_IN_TURNS = 1024;

int64_t count_in_turns(const int64_t *x, int64_t n, int64_t *out, int64_t size) {
    int64_t turns[4][MOST_IN_TURNS + 1] = {};
    const uint64_t others = (uint64_t)size;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t number = (uint64_t)x[i];
        turns[i & 3][number < others ? number : others]++;
    }
    for (int64_t k = 0; k <= size; k++)
        turns[0][k] += turns[1][k] + turns[2][k] + turns[3][k];
    memcpy(out, turns[0], (size_t)size * sizeof(int64_t));
    return turns[0][size];
}

/* The same for bytes, which are no more than 256 numbers whatever `size` is. */
int64_t count_bytes(const uint8_t *x, int64_t n, int64_t *out, int64_t size) {
    int64_t turns[4][256] = {}, others = 0;
    for (int64_t i = 0; i + 4 <= n; i += 4)
        for (int64_t k = 0; k < 4; k++)
            turns[k][x[i + k]]++;
    for (int64_t i = n & ~(int64_t)3; i < n; i++)
        turns[0][x[i]]++;
    for (int64_t number = 0; number < 256; number++) {
        int64_t count = turns[0][number] + turns[1][number] + turns[2][number] + turns[3][number];
        if (number < size)
            out[number] = count;
        else
            others += count;
    }
    for (int64_t number = 256; number < size; number++)
        out[number] = 0;
    return others;
}

int expect_numbers(const int64_t *x, int64_t n, int64_t size) {
    if (FL_PICK(fl_index_kernels)->within(x, n, 0, size))
        return 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i] < 0 || x[i] >= size)
            return fl_error(FL_RUNTIME_ERROR, "bincount(): expected non-negative integers, found %lld "
                            "at position %lld", (long long)x[i], (long long)i);
    return 0;
}

/* ---- histograms with edges --------------------------------------------------------------------- */

/* Edges of one dimension. `scale` is how many bins there are for a distance of 1, which finds the
 * bin at once where edges are evenly spaced; 0 where it is not finite. */
template <class T> struct Edges {
    const T *at;
    int64_t count;
    T scale;

    void set(const T *edges, int64_t n) {
        T per_unit = (T)(n - 1) / (edges[n - 1] - edges[0]);
        at = edges;
        count = n;
        scale = per_unit > 0 && isfinite(per_unit) ? per_unit : 0;
    }
    bool holds(int64_t bin, T x) const { return at[bin] <= x && x < at[bin + 1]; }

    /* The bin of a value, -1 outside; the last one holds its right edge too. */
    int64_t bin_of(T x) const {
        if (!(x >= at[0] && x <= at[count - 1]))
            return -1;
        if (scale > 0 && x < at[count - 1]) {
            int64_t guess = (int64_t)((x - at[0]) * scale);
            guess = guess < count - 1 ? guess : count - 2;
            guess += guess > 0 && x < at[guess] ? -1 : guess < count - 2 && x >= at[guess + 1];
            if (holds(guess, x))
                return guess;
        }
        int64_t bin = std::upper_bound(at, at + count, x) - at - 1;
        return bin == count - 1 ? bin - 1 : bin;
    }
};

/* A vector as contiguous numbers of the kind. */
void copy_vector(const fl_tensor *t, int kind, void *to) {
    const int64_t one = 1;
    fl_copy_strided(fl_strided{(char *)to, fl_dtype_of_kind[kind], &one},
                    fl_strided{t->data, t->dtype, t->strides}, 1, t->shape);
}

/* The bin of a point among all bins, -1 outside. */
template <class T> int64_t flat_bin(const Edges<T> *axes, int64_t dims, const T *point) {
    int64_t flat = 0;
    for (int64_t d = 0; d < dims; d++) {
        int64_t bin = axes[d].bin_of(point[d]);
        if (bin < 0)
            return -1;
        flat = flat * (axes[d].count - 1) + bin;
    }
    return flat;
}

template <class T> int count_points(const fl_value *in, fl_tensor *target) {
    int kind = sizeof(T) == 4 ? FL_K_F32 : FL_K_F64;
    int64_t m = in[0].t->shape[0], dims = in[0].t->shape[1];
    bool weighted = in[2].tag == FL_TENSOR;
    In points(in[0].t, kind);
    Out hist(target, kind);
    int64_t total = 0;
    for (int64_t d = 0; d < dims; d++)
        total += in[1].ts[d]->numel;
    Scratch memory((size_t)total * sizeof(T));
    Scratch counts((size_t)(weighted ? m : 0) * sizeof(T));
    if (!points.ok() || !hist.ok() || !memory.ok() || !counts.ok())
        return -1;
    Edges<T> axes[FL_MAX_DIMS];
    T *edges = memory.as<T>(), *weights = counts.as<T>(), *out = hist.as<T>();
    for (int64_t d = 0; d < dims; d++) {
        copy_vector(in[1].ts[d], kind, edges);
        axes[d].set(edges, in[1].ts[d]->numel);
        edges += in[1].ts[d]->numel;
    }
    if (weighted)
        copy_vector(in[2].t, kind, weights);
    for (int64_t i = 0; i < target->numel; i++)
        out[i] = 0;
    for (int64_t i = 0; i < m; i++) {
        int64_t flat = flat_bin(axes, dims, points.as<T>() + i * dims);
        if (flat >= 0)
            out[flat] += weighted ? weights[i] : (T)1;
    }
    hist.commit();
    return 0;
}

}  // namespace

extern "C" {

int fl_infer_histc(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    double low = fl_as_double(in[2]), high = fl_as_double(in[3]);
    if (fl_expect_dtype(op, "self", self, fl_floating, "floating point; write x.float() first") < 0)
        return -1;
    if (in[1].i <= 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: bins must be > 0, got %lld", fl_op_title(op),
                        (long long)in[1].i);
    if (!isfinite(low) || !isfinite(high) || low > high)
        return fl_error(FL_RUNTIME_ERROR, "%s: min=%g and max=%g must be finite, and max not less "
                        "than min", fl_op_title(op), low, high);
    fl_spec_set(outs, self->dtype, fl_device_code(self), 1, &in[1].i);
    return 0;
}

int fl_run_histc(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = order_kind(in[0].t);
    double low = fl_as_double(in[2]), high = fl_as_double(in[3]);
    int64_t n = in[0].t->numel, bins = in[1].i;
    In x(in[0].t, kind);
    Out out(outs[0], kind);
    if (!x.ok() || !out.ok())
        return -1;
    int status = kind == FL_K_F32
        ? count_even(op, x.as<float>(), n, (float)low, (float)high, bins, out.as<float>())
        : count_even(op, x.as<double>(), n, low, high, bins, out.as<double>());
    if (status == 0)
        out.commit();
    return status;
}

int fl_infer_bincount_of(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *weights = fl_t(in[1]);
    if (fl_same_device(op, in, n) < 0)
        return -1;
    if (!fl_is_int(self->dtype) && self->dtype != FL_BOOL)
        return fl_error(FL_RUNTIME_ERROR, "bincount(): only integers are counted, got %s",
                        fl_tensor_text(self));
    if (self->ndim != 1 || in[2].i < 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: self must be a vector and size not negative, got "
                        "%s and %lld", fl_op_title(op), fl_tensor_text(self), (long long)in[2].i);
    if (weights && fl_expect_same_shape(op, "weights", weights, "self", self) < 0)
        return -1;
    int dtype = !weights ? FL_I64 : weights->dtype == FL_F32 ? FL_F32 : FL_F64;
    fl_spec_set(outs, dtype, fl_device_code(self), 1, &in[2].i);
    return 0;
}

int fl_run_bincount_of(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    int64_t n = in[0].t->numel, size = in[2].i;
    int kind = fl_kind_of_dtype[outs[0]->dtype];
    const bool in_turns = !fl_t(in[1]) && size <= MOST_IN_TURNS && n > 8 * MOST_IN_TURNS;
    Out out(outs[0], kind);
    if (!out.ok())
        return -1;
    if (in_turns && in[0].t->dtype == FL_U8 && fl_is_contiguous(in[0].t) &&
        count_bytes((const uint8_t *)in[0].t->data, n, out.as<int64_t>(), size) == 0) {
        out.commit();
        return 0;
    }
    In x(in[0].t, FL_K_I64);
    if (!x.ok())
        return -1;
    const int64_t *p = x.as<int64_t>();
    if ((!in_turns || count_in_turns(p, n, out.as<int64_t>(), size)) &&
        expect_numbers(p, n, size) < 0)
        return -1;
    if (!fl_t(in[1])) {
        if (!in_turns)
            count_numbers<int64_t>(p, nullptr, n, out.as<int64_t>(), size);
        out.commit();
        return 0;
    }
    In weights(in[1].t, kind);
    if (!weights.ok())
        return -1;
    if (kind == FL_K_F32)
        count_numbers(p, weights.as<float>(), n, out.as<float>(), size);
    else
        count_numbers(p, weights.as<double>(), n, out.as<double>(), size);
    out.commit();
    return 0;
}

int fl_infer_histogram_of(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *points = in[0].t, *weight = fl_t(in[2]);
    if (fl_same_device(op, in, n) < 0)
        return -1;
    if (points->ndim != 2 || (points->dtype != FL_F32 && points->dtype != FL_F64) ||
        (int64_t)in[1].len != points->shape[1] || in[1].len > FL_MAX_DIMS)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected float32 or float64 points [count, dims] and "
                        "edges for each of the dims, got %s and %u", fl_op_title(op),
                        fl_tensor_text(points), in[1].len);
    if (weight && (weight->ndim != 1 || weight->shape[0] != points->shape[0]))
        return fl_error(FL_RUNTIME_ERROR, "%s: there must be one weight for each of the %lld "
                        "points, got %s", fl_op_title(op), (long long)points->shape[0],
                        fl_tensor_text(weight));
    int64_t shape[FL_MAX_DIMS];
    for (uint32_t d = 0; d < in[1].len; d++) {
        const fl_tensor *e = in[1].ts[d];
        if (!e || e->ndim != 1 || e->numel < 1)
            return fl_error(FL_RUNTIME_ERROR, "%s: the edges of dimension %u must be a vector with "
                            "at least one element", fl_op_title(op), d);
        shape[d] = e->numel - 1;
    }
    fl_spec_set(outs, points->dtype, fl_device_code(points), (int)in[1].len, shape);
    return 0;
}

int fl_run_histogram_of(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    return in[0].t->dtype == FL_F32 ? count_points<float>(in, outs[0])
                                    : count_points<double>(in, outs[0]);
}

}  // extern "C"
