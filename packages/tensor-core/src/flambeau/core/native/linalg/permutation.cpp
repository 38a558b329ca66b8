/* The order of rows that the exchanges of an LU decomposition give. */
#include "common/args.h"
#include "linalg/linalg.h"
#include <string.h>
#include <utility>

/* ---- lu_permutation(pivots, n): the order of rows that the exchanges give -------------------- */

extern "C" int fl_infer_lu_permutation(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *pivots = in[0].t;
    if (pivots->dtype != FL_I32 || pivots->ndim < 1)
        return fl_error(FL_RUNTIME_ERROR, "%s: pivots must be an int32 tensor as lu_factor returns "
                        "it; got %s", fl_op_title(op), fl_tensor_text(pivots));
    int64_t shape[FL_MAX_DIMS];
    memcpy(shape, pivots->shape, sizeof(int64_t) * (size_t)pivots->ndim);
    shape[pivots->ndim - 1] = in[1].i;
    fl_spec_set(outs, FL_I64, fl_device_code(pivots), pivots->ndim, shape);
    return 0;
}

extern "C" int fl_run_lu_permutation(const fl_op *op, const fl_value *in, int,
                                     fl_tensor *const *outs) {
    In pivots(in[0].t, FL_K_I64);
    Out order(outs[0], FL_K_I64);
    if (!pivots.ok() || !order.ok())
        return -1;
    int64_t k = in[0].t->shape[in[0].t->ndim - 1], n = in[1].i;
    int64_t count = n ? outs[0]->numel / n : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t *row = order.as<int64_t>() + i * n;
        for (int64_t j = 0; j < n; j++)
            row[j] = j;
        for (int64_t j = 0; j < k; j++) {
            int64_t with = pivots.as<int64_t>()[i * k + j] - 1;
            if (j >= n || with < 0 || with >= n)
                return fl_error(FL_RUNTIME_ERROR, "%s: pivots passed to lu_solve must be greater "
                                "or equal to 1 and at most the number of rows, %lld; got %lld",
                                fl_op_title(op), (long long)n, (long long)with + 1);
            std::swap(row[j], row[with]);
        }
    }
    order.commit();
    return 0;
}
