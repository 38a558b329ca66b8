/* Random numbers whose parameters are tensors: bernoulli, poisson, binomial, multinomial.
 *
 * Element i of poisson and binomial draws from blocks of its own: the Philox counter is (offset +
 * i, draw), so how often other elements draw does not matter. */
#include "formula/include/rates.h"
#include "random/draws.h"
#include "random/kernels/random.h"
#include "common/args.h"
#include "common/raw.h"
#include <algorithm>
#include <math.h>

namespace {

const fl_random_kernels *const kernels = FL_PICK(fl_random_kernels);

void put(Out &out, int kind, int64_t i, double value) {
    if (kind == FL_K_F32)
        out.as<float>()[i] = (float)value;
    else
        out.as<double>()[i] = value;
}

int expect_floating(const fl_op *op, const char *name, const fl_tensor *t) {
    return fl_expect_dtype(op, name, t, fl_is_float, "floating point; write x.float() first");
}

/* Every element within [low, high], NaN refused. */
int expect_range(const fl_op *op, const char *name, const double *x, int64_t n, double low,
                 double high) {
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] >= low && x[i] <= high))
            return fl_error(FL_RUNTIME_ERROR, "%s: %s must lie from %g to %g, but element %lld is "
                            "%g", fl_op_title(op), name, low, high, (long long)i, x[i]);
    return 0;
}

/* 1 or 0 without a branch, which would be guessed wrong half of the time. */
template <class F, class Bits> inline F one_if(bool is_one) {
    const F one = 1;
    Bits bits;
    memcpy(&bits, &one, sizeof bits);
    bits &= (Bits)0 - (Bits)is_one;
    F chosen;
    memcpy(&chosen, &bits, sizeof bits);
    return chosen;
}

const double *doubles(const RawIn &x) { return (const double *)x.data(); }

/* bernoulli with a twister. */
int toss(fl_mersenne *m, const double *p, Out &out, int kind, int64_t n, int dtype) {
    Scratch tosses((size_t)n * 8);
    if (!tosses.ok())
        return -1;
    fl_mersenne_tosses(m, p, tosses.as<double>(), n, dtype == FL_F64);
    for (int64_t i = 0; i < n; i++)
        put(out, kind, i, tosses.as<double>()[i]);
    out.commit();
    return 0;
}

/* ---- multinomial ------------------------------------------------------------------------------- */

struct Weighted {
    double key;
    int64_t index;
    bool operator<(const Weighted &o) const {
        return key < o.key || (key == o.key && index < o.index);
    }
};

/* Draws with replacement: the running sum of the weights is searched. */
void draw_again(const double *running, int64_t n, const double *u, int64_t count, int64_t *out) {
    for (int64_t i = 0; i < count; i++) {
        double at = u[i] * running[n - 1];
        int64_t k = std::upper_bound(running, running + n, at) - running;
        while (k >= n || (k > 0 && running[k] == running[k - 1]))
            k--;        /* rounding may lead past the last weight that is not zero */
        out[i] = k;
    }
}

/* Draws without replacement: exponential waiting times at the rates of the weights, in order. */
void draw_once(const double *weights, int64_t n, const double *u, Weighted *room, int64_t count,
               int64_t *out) {
    for (int64_t i = 0; i < n; i++)
        room[i] = {weights[i] > 0 ? -log1p(-u[i]) / weights[i] : INFINITY, i};
    std::partial_sort(room, room + count, room + n);
    for (int64_t i = 0; i < count; i++)
        out[i] = room[i].index;
}

/* Running sums of a row of weights; refuses what is no distribution. */
int weigh(const double *weights, int64_t n, double *running, int64_t wanted) {
    double sum = 0;
    int64_t positive = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0) || isinf(weights[i]))
            return fl_error(FL_RUNTIME_ERROR, "multinomial(): probability tensor contains either "
                            "inf, nan or element < 0: %g in column %lld", weights[i],
                            (long long)i);
        positive += weights[i] > 0;
        running[i] = sum += weights[i];
    }
    if (positive == 0)
        return fl_error(FL_RUNTIME_ERROR, "multinomial(): invalid multinomial distribution (sum of "
                        "probabilities <= 0)");
    if (positive < wanted)
        return fl_error(FL_RUNTIME_ERROR, "multinomial(): invalid multinomial distribution: %lld "
                        "draws without replacement from %lld categories that are not zero",
                        (long long)wanted, (long long)positive);
    return 0;
}

}  // namespace

extern "C" {

int fl_infer_bernoulli(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (expect_floating(op, "self", in[0].t) < 0)
        return -1;
    fl_spec_like(outs, in[0].t);
    return 0;
}

int fl_run_bernoulli(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    int64_t n = in[0].t->numel;
    RawIn given(in[0].t, FL_F64);
    Out out(outs[0], kind);
    const double *p = doubles(given);
    if (!given.ok() || !out.ok() || expect_range(op, "p", p, n, 0, 1) < 0)
        return -1;
    if (fl_mersenne *m = fl_mersenne_of(in[1]))
        return toss(m, p, out, kind, n, in[0].t->dtype);
    int per_block = kind == FL_K_F64 ? 2 : 4;
    fl_stream s = take(in[1], (uint64_t)((n + per_block - 1) / per_block));
    fl_parallel(n, 8192, [&](int64_t b, int64_t e) {
        fl_stream from = {s.seed, s.block + (uint64_t)(b / per_block)};
        if (kind == FL_K_F32) {
            float *u = out.as<float>();
            kernels->uniform_f32(u + b, e - b, from, 0.0f, 1.0f, 24);
            for (int64_t i = b; i < e; i++)
                u[i] = one_if<float, uint32_t>((double)u[i] < p[i]);
        } else {
            double *u = out.as<double>();
            kernels->uniform_f64(u + b, e - b, from, 0.0, 1.0);
            for (int64_t i = b; i < e; i++)
                u[i] = one_if<double, uint64_t>(u[i] < p[i]);
        }
    });
    out.commit();
    return 0;
}

int fl_infer_poisson(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return fl_infer_bernoulli(op, in, n, outs);
}

int fl_run_poisson(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    int64_t n = in[0].t->numel;
    RawIn given(in[0].t, FL_F64);
    Out out(outs[0], kind);
    const double *rate = doubles(given);
    if (!given.ok() || !out.ok() || expect_range(op, "rate", rate, n, 0, 1e300) < 0)
        return -1;
    draw_each(in[1], n, [&](int64_t i, Draws &draws) {
        put(out, kind, i, poisson(rate[i], draws));
    });
    out.commit();
    return 0;
}

int fl_infer_binomial(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *count = in[0].t, *prob = in[1].t;
    if (expect_floating(op, "count", count) < 0 || expect_floating(op, "prob", prob) < 0 ||
        fl_expect_same_dtype(op, count, "prob", prob) < 0)
        return -1;
    int64_t shape[FL_MAX_DIMS];
    int ndim;
    if (fl_broadcast_shape("binomial", count->ndim, count->shape, prob->ndim, prob->shape, &ndim,
                           shape) < 0)
        return -1;
    fl_spec_set(outs, count->dtype, fl_device_code(count), ndim, shape);
    return 0;
}

int fl_run_binomial(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[outs[0]->dtype];
    int64_t n = outs[0]->numel;
    RawIn tries(in[0].t, FL_F64, outs[0]->ndim, outs[0]->shape);
    RawIn chances(in[1].t, FL_F64, outs[0]->ndim, outs[0]->shape);
    Out out(outs[0], kind);
    const double *count = doubles(tries), *prob = doubles(chances);
    if (!tries.ok() || !chances.ok() || !out.ok() ||
        expect_range(op, "count", count, n, 0, 1e300) < 0 ||
        expect_range(op, "prob", prob, n, 0, 1) < 0)
        return -1;
    draw_each(in[2], n, [&](int64_t i, Draws &draws) {
        put(out, kind, i, binomial(floor(count[i]), prob[i], draws));
    });
    out.commit();
    return 0;
}

int fl_infer_multinomial(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int64_t count = in[1].i;
    if (expect_floating(op, "self", self) < 0)
        return -1;
    if (self->ndim < 1 || self->ndim > 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: prob_dist must be 1 or 2 dim, got %s",
                        fl_op_title(op), fl_tensor_text(self));
    int64_t n = self->shape[self->ndim - 1];
    if (count <= 0 || n == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: cannot sample n_sample <= 0 samples, or from no "
                        "categories: num_samples=%lld, shape %s", fl_op_title(op),
                        (long long)count, fl_shape_text(self->shape, self->ndim));
    if (!fl_value_true(in[2]) && count > n)
        return fl_error(FL_RUNTIME_ERROR, "%s: cannot sample num_samples=%lld > %lld categories "
                        "without replacement; give replacement=True", fl_op_title(op),
                        (long long)count, (long long)n);
    fl_spec_like(outs, self);
    outs->dtype = FL_I64;
    outs->shape[self->ndim - 1] = count;
    return 0;
}

int fl_run_multinomial(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int64_t n = self->shape[self->ndim - 1], rows = self->numel / n, count = in[1].i;
    bool again = fl_value_true(in[2]);
    int64_t draws = again ? count : n;
    RawIn given(self, FL_F64);
    Out out(outs[0], FL_K_I64);
    fl_mersenne *m = fl_mersenne_of(in[3]);
    Scratch uniform(m ? 8 : (size_t)(rows * draws) * 8), running((size_t)n * (m ? 16 : 8));
    Scratch room(again ? 8 : (size_t)n * sizeof(Weighted));
    if (!given.ok() || !out.ok() || !uniform.ok() || !running.ok() || !room.ok())
        return -1;
    double *u = uniform.as<double>();
    if (!m)
        kernels->uniform_f64(u, rows * draws, take(in[3], (uint64_t)(rows * draws + 1) / 2), 0, 1);
    for (int64_t r = 0; r < rows; r++) {
        const double *weights = doubles(given) + r * n;
        int64_t *to = out.as<int64_t>() + r * count;
        if (weigh(weights, n, running.as<double>(), again ? 1 : count) < 0)
            return -1;
        if (m)
            fl_mersenne_choices(m, weights, n, self->dtype, again, count, running.as<double>(), to);
        else if (again)
            draw_again(running.as<double>(), n, u + r * draws, count, to);
        else
            draw_once(weights, n, u + r * draws, room.as<Weighted>(), count, to);
    }
    out.commit();
    return 0;
}

}  // extern "C"
