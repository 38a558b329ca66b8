/* logsumexp: the accumulator is (shift, sum of exp(x - shift)). */
#include "reduce/kernels/softmax.h"
#include "common/args.h"
#include "reduce/memory_order.h"
#include "reduce/reduce.h"
#include "reduce/short_rows.h"
#include "runtime/complex.h"
#include <math.h>

namespace {

const fl_softmax_kernels *const kernels = FL_PICK(fl_softmax_kernels);

/* Join a pair to the one so far; sum = 0 stands for nothing but -inf. */
void join(double *shift, double *sum, double part_shift, double part_sum) {
    if (part_sum == 0)
        return;
    if (*sum == 0) {
        *shift = part_shift;
        *sum = part_sum;
    } else if (part_shift > *shift) {
        *sum = *sum * exp(*shift - part_shift) + part_sum;
        *shift = part_shift;
    } else {
        *sum += part_sum * exp(part_shift - *shift);
    }
}

double row_lse(const fl_reduce_plan &p, int64_t row, int64_t *buffer) {
    double shift = 0, sum = 0;
    for (int64_t begin = 0; begin < p.n; begin += FL_REDUCE_PIECE) {
        int64_t n = p.n - begin < FL_REDUCE_PIECE ? p.n - begin : FL_REDUCE_PIECE;
        double part_shift, part_sum;
        const void *x = fl_reduce_load(p, row * p.outer_step + begin, n, buffer);
        kernels->lse[p.kind](x, n, &part_shift, &part_sum);
        join(&shift, &sum, part_shift, part_sum);
    }
    return log(sum) + shift;
}

void lse_rows(const fl_reduce_plan &p, void *out) {
    fl_parallel(p.outer, fl_row_grain(p.n), [&](int64_t b, int64_t e) {
        alignas(64) int64_t buffer[FL_REDUCE_PIECE];
        for (int64_t row = b; row < e; row++) {
            double value = row_lse(p, row, buffer);
            if (p.kind == FL_K_F32)
                ((float *)out)[row] = (float)value;
            else
                ((double *)out)[row] = value;
        }
    });
}

const int64_t STRIP_COLUMNS = 256;

template <class T>
void lse_strip(int kind, const void *x, int64_t n, int64_t step, int64_t width, T *out) {
    T shift[STRIP_COLUMNS], sum[STRIP_COLUMNS];
    kernels->lse_columns[kind](x, n, step, width, shift, sum);
    for (int64_t j = 0; j < width; j++)
        out[j] = (T)(log((double)sum[j]) + (double)shift[j]);
}

/* Columns of the plan's kind, into out[to] and on. */
void lse_of(const fl_reduce_plan &p, const void *x, int64_t step, int64_t width, void *out,
            int64_t to) {
    if (p.kind == FL_K_F32)
        lse_strip(p.kind, x, p.n, step, width, (float *)out + to);
    else
        lse_strip(p.kind, x, p.n, step, width, (double *)out + to);
}

void lse_columns(const fl_reduce_plan &p, void *out) {
    int64_t strips = fl_chunk_count(p.inner, STRIP_COLUMNS);
    int64_t grain = fl_row_grain(p.n * (p.inner < STRIP_COLUMNS ? p.inner : STRIP_COLUMNS));
    fl_parallel(p.outer * strips, grain, [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            int64_t o = t / strips, column = t % strips * STRIP_COLUMNS;
            int64_t width = p.inner - column < STRIP_COLUMNS ? p.inner - column : STRIP_COLUMNS;
            int64_t at = o * p.outer_step + column, to = o * p.inner + column;
            lse_of(p, p.data + at * fl_kind_size[p.kind], p.step, width, out, to);
        }
    });
}

void lse_short_rows(const fl_reduce_plan &p, void *out) {
    auto gather = fl_moves->gather[p.dtype][p.kind];
    fl_each_short_rows(p, gather, [&](const void *x, int64_t first, int64_t count) {
        lse_of(p, x, count, count, out, first);
    });
}

void lse_plan(const fl_reduce_plan &plan, void *out) {
    if (fl_has_short_rows(plan, plan.kind))
        lse_short_rows(plan, out);
    else if (plan.inner == 1)
        lse_rows(plan, out);
    else
        lse_columns(plan, out);
}

int lse_source(fl_reduce_source s, void *out) {
    fl_reduce_source original = s;
    fl_reduce_plan plan;
    if (fl_reduce_make_plan(&s, false, &plan) == FL_PLAN_READY) {
        lse_plan(plan, out);
        return 0;
    }
    Scratch dense(fl_bytes(fl_reduce_kept(s) * fl_reduce_reduced(s), fl_kind_size[s.kind]));
    if (!dense.ok())
        return -1;
    fl_reduce_gather_plan(original, dense.as<void>(), &plan);
    lse_plan(plan, out);
    return 0;
}

/* Complex numbers: shifted by the greatest real part. */
template <class T> int lse_complex(const fl_reduce_source &s, T *out) {
    int64_t kept = fl_reduce_kept(s), n = fl_reduce_reduced(s);
    Scratch dense((size_t)(kept * n) * sizeof(T));
    if (!dense.ok())
        return -1;
    fl_reduce_plan plan;
    fl_reduce_gather(s, dense.as<void>(), &plan);
    const T *x = dense.as<T>();
    for (int64_t k = 0; k < kept; k++, x += n) {
        double shift = -INFINITY;
        for (int64_t i = 0; i < n; i++)
            shift = fl_real_part(x[i]) > shift ? fl_real_part(x[i]) : shift;
        shift = isinf(shift) ? 0 : shift;
        fl_complex128 sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += __builtin_cexp((fl_complex128)x[i] - shift);
        out[k] = (T)(__builtin_clog(sum) + shift);
    }
    return 0;
}

template <class T> void fill(void *out, int64_t n, double value) {
    for (int64_t i = 0; i < n; i++)
        ((T *)out)[i] = (T)value;
}

}  // namespace

int fl_run_logsumexp(const fl_op *op, const fl_value *in, fl_tensor *out) {
    const fl_tensor *self = in[0].t;
    int kind = fl_kind_of_dtype[fl_floating_or_complex(self->dtype) ? self->dtype
                                                                   : fl_default_dtype];
    uint64_t mask;
    if (fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    Out result(out, kind);
    if (!result.ok())
        return -1;
    const ReduceInput input(self, kind, mask);
    const fl_reduce_source &source = input.source();
    if (self->numel == 0 && kind == FL_K_C64)
        fill<fl_complex64>(result.as<void>(), out->numel, -INFINITY);
    else if (self->numel == 0 && kind == FL_K_C128)
        fill<fl_complex128>(result.as<void>(), out->numel, -INFINITY);
    else if (self->numel == 0 && kind == FL_K_F32)
        fill<float>(result.as<void>(), out->numel, -INFINITY);
    else if (self->numel == 0)
        fill<double>(result.as<void>(), out->numel, -INFINITY);
    else if ((kind == FL_K_C64    ? lse_complex(source, result.as<fl_complex64>())
              : kind == FL_K_C128 ? lse_complex(source, result.as<fl_complex128>())
                                  : fl_reduce_in_order(source, fl_dtype_of_kind[kind],
                                                       result.as<void>(), lse_source)) < 0)
        return -1;
    result.commit();
    return 0;
}
