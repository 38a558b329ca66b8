/* logsumexp: the accumulator is (max, sum of exp(x - max)). */
#include "kernels/softmax.h"
#include "ops/args.h"
#include "ops/reduce.h"
#include <math.h>

namespace {

const fl_softmax_kernels *const kernels = FL_PICK(fl_softmax_kernels);

/* Join two pairs; an empty one has max = -inf and sum = 0. */
void join(double *max, double *sum, double part_max, double part_sum) {
    if (part_max == *max || part_max != part_max || *max != *max) {
        *sum += part_sum;
        *max = part_max != part_max ? part_max : *max;
        return;
    }
    if (part_max > *max) {
        *sum = *sum * exp(*max - part_max) + part_sum;
        *max = part_max;
    } else {
        *sum += part_sum * exp(part_max - *max);
    }
}

double row_lse(const fl_fold_plan &p, int64_t row, int64_t *buffer) {
    double max = -INFINITY, sum = 0;
    for (int64_t begin = 0; begin < p.n; begin += FL_FOLD_PIECE) {
        int64_t n = p.n - begin < FL_FOLD_PIECE ? p.n - begin : FL_FOLD_PIECE;
        double part_max, part_sum;
        const void *x = fl_fold_load(p, row * p.outer_step + begin, n, buffer);
        kernels->lse[p.kind](x, n, &part_max, &part_sum);
        if (begin == 0)
            max = part_max, sum = part_sum;
        else
            join(&max, &sum, part_max, part_sum);
    }
    return log(sum) + max;
}

void lse_rows(const fl_fold_plan &p, void *out) {
    fl_parallel(p.outer, fl_row_grain(p.n), [&](int64_t b, int64_t e) {
        alignas(64) int64_t buffer[FL_FOLD_PIECE];
        for (int64_t row = b; row < e; row++) {
            double value = row_lse(p, row, buffer);
            if (p.kind == FL_K_F32)
                ((float *)out)[row] = (float)value;
            else
                ((double *)out)[row] = value;
        }
    });
}

/* log(sum) + max, where an infinite max is its own answer. */
template <class T> void finish(const T *max, const T *sum, T *out, int64_t width) {
    for (int64_t j = 0; j < width; j++) {
        bool infinite = max[j] - max[j] != 0;
        bool nan = sum[j] != sum[j] && !infinite;
        out[j] = nan ? sum[j] : infinite ? max[j] : (T)(log((double)sum[j]) + (double)max[j]);
    }
}

}  // namespace

int fl_run_logsumexp(const fl_op *op, const fl_value *in, fl_tensor *out) {
    const fl_tensor *self = in[0].t;
    int kind = fl_is_float(self->dtype) ? fl_kind_of_dtype[self->dtype]
                                        : fl_kind_of_dtype[fl_default_dtype];
    uint64_t mask;
    if (fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    Out result(out, kind);
    if (!result.ok())
        return -1;
    for (int64_t i = 0; self->numel == 0 && i < out->numel; i++) {
        if (kind == FL_K_F32)
            result.as<float>()[i] = -INFINITY;
        else
            result.as<double>()[i] = -INFINITY;
    }
    if (self->numel && lse_source(fl_fold_source_of(self, kind, mask), result.as<void>()) < 0)
        return -1;
    result.commit();
    return 0;
}
