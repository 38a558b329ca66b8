/* Choices and distributions of a Mersenne Twister, as PyTorch's CPU kernels make them. */
#include "common/kernels/convert.h"
#include "common/raw.h"
#include "random/mersenne.h"
#include <algorithm>
#include <math.h>
#include <numeric>

namespace {

/* What composites/random/random.py calls the distributions. */
enum { FL_EXPONENTIAL, FL_CAUCHY, FL_LOG_NORMAL, FL_GEOMETRIC };

/* A number rounded to a dtype. */
double rounded(int dtype, double x) {
    switch (dtype) {
    case FL_F16: return widen(narrow_f16((float)x));
    case FL_BF16: return widen(narrow_bf16((float)x));
    case FL_F32: return (float)x;
    default: return x;
    }
}

/* A number of a distribution from a uniform one. */
double transformed(int kind, double u, double a, double b) {
    const double EPSILON = 0x1p-52;
    switch (kind) {
    case FL_EXPONENTIAL: return -1.0 / a * log1p(-u);
    case FL_CAUCHY:
        u = std::min(std::max(u, EPSILON), 1 - EPSILON);
        return fma(b, tan(M_PI * (u - 0.5)), a);
    default: return ceil(log(u) / log1p(-a));
    }
}

/* Uniform numbers one after the other, then transformed by several threads. */
void draw(fl_mersenne *m, int kind, double a, double b, int64_t n, double *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = kind == FL_LOG_NORMAL ? exp(fma(m->normal(), b, a)) : m->uniform();
    if (kind != FL_LOG_NORMAL)
        fl_parallel(n, 2048, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++)
                out[i] = transformed(kind, out[i], a, b);
        });
}

/* With replacement: the running sum of the weights, up to 1, is searched. */
void choose_again(fl_mersenne *m, const double *weights, int64_t n, int dtype, int64_t count,
                  double *running, int64_t *out) {
    int sums = dtype == FL_F64 ? FL_F64 : FL_F32;
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        running[j] = sum = rounded(sums, sum + weights[j]);
    for (int64_t j = 0; j < n; j++)
        running[j] = rounded(sums, running[j] / sum);
    running[n - 1] = 1;
    for (int64_t i = 0; i < count; i++)
        out[i] = std::lower_bound(running, running + n, m->uniform()) - running;
}

/* Without: the greatest quotients of weights and exponential numbers. */
void choose_once(fl_mersenne *m, const double *weights, int64_t n, int dtype, int64_t count,
                 double *quotients, int64_t *out) {
    draw(m, FL_EXPONENTIAL, 1, 0, n, quotients);
    for (int64_t j = 0; j < n; j++)
        quotients[j] = rounded(dtype, weights[j] / rounded(dtype, quotients[j]));
    auto before = [&](int64_t a, int64_t b) {
        return quotients[a] > quotients[b] || (quotients[a] == quotients[b] && a < b);
    };
    int64_t *order = (int64_t *)(quotients + n);
    std::iota(order, order + n, (int64_t)0);
    std::nth_element(order, order + count - 1, order + n, before);
    std::sort(order, order + count, before);
    std::copy(order, order + count, out);
}

}  // namespace

void fl_mersenne_tosses(fl_mersenne *m, const double *p, double *out, int64_t n, bool wide) {
    std::lock_guard<std::mutex> held(m->lock);
    for (int64_t i = 0; i < n; i++)
        out[i] = wide ? m->uniform() < p[i] : (m->word() & 0xffffff) * 0x1p-24 < p[i];
}

void fl_mersenne_choices(fl_mersenne *m, const double *weights, int64_t n, int dtype, bool again,
                         int64_t count, double *room, int64_t *out) {
    std::lock_guard<std::mutex> held(m->lock);
    if (again && count > 1)
        choose_again(m, weights, n, dtype, count, room, out);
    else
        choose_once(m, weights, n, dtype, count, room, out);
}

extern "C" {

int fl_infer_random_distribution(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    int dtype = in[0].t->dtype;
    if (fl_is_complex(dtype) || dtype >= FL_F8_E4M3)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected real numbers, got %s", fl_op_title(op),
                        fl_dtype_name(dtype));
    fl_spec_like(outs, in[0].t);
    return 0;
}

int fl_run_random_distribution(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    fl_mersenne *m = fl_mersenne_of(in[4]);
    if (!m)
        return fl_error(FL_RUNTIME_ERROR, "%s: wants a generator of the algorithm mt19937",
                        fl_op_title(op));
    MemoryOrder ordered(outs[0]);
    int64_t n = outs[0]->numel;
    RawOut out(&ordered.tensor, FL_F64);
    if (!out.ok())
        return -1;
    {
        std::lock_guard<std::mutex> held(m->lock);
        draw(m, (int)in[1].i, fl_as_double(in[2]), fl_as_double(in[3]), n, (double *)out.data());
    }
    out.commit();
    return 0;
}

}  // extern "C"
