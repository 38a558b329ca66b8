/* Rows of a table, and the gradient for the table. */
#include "common/args.h"
#include "common/range_error.h"
#include "common/raw.h"
#include "index/rows.h"

namespace {

int check_positions(const fl_op *op, const In &positions, const fl_tensor *indices, int64_t size) {
    if (!positions.ok())
        return -1;
    return fl_check_index_range(op, FL_RANGE_ERROR, positions.as<int64_t>(), indices->numel, size,
                                0,
                                false);
}

}  // namespace

extern "C" int fl_infer_embedding_lookup(const fl_op *op, const fl_value *in, int n,
                                         fl_spec *outs) {
    const fl_tensor *weight = in[0].t, *indices = in[1].t;
    if (fl_same_device(op, in, n) < 0 || fl_expect_index(op, "indices", indices) < 0)
        return -1;
    if (weight->ndim != 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: 'weight' must be 2-D (one row per entry), got shape "
                        "%s", fl_op_title(op), fl_shape_text(weight->shape, weight->ndim));
    if (indices->ndim + 1 > FL_MAX_DIMS)
        return fl_error(FL_RUNTIME_ERROR, "%s: 'indices' has %d dimensions; at most %d fit",
                        fl_op_title(op), indices->ndim, FL_MAX_DIMS - 1);
    fl_spec_like(outs, indices);
    outs->shape[outs->ndim++] = weight->shape[1];
    outs->dtype = weight->dtype;
    return 0;
}

extern "C" int fl_run_embedding_lookup(const fl_op *op, const fl_value *in, int,
                                       fl_tensor *const *outs) {
    const fl_tensor *weight = in[0].t, *indices = in[1].t;
    In positions(indices, FL_K_I64);
    RawIn table(weight, weight->dtype);
    RawOut out(outs[0], weight->dtype);
    if (!table.ok() || !out.ok() || check_positions(op, positions, indices, weight->shape[0]) < 0)
        return -1;
    if (outs[0]->numel == 0)
        return 0;
    fl_pick_blocks(out.data(), table.data(), positions.as<int64_t>(), indices->numel, 1,
                   weight->shape[0], weight->shape[1] * fl_itemsize(weight->dtype));
    out.commit();
    return 0;
}

extern "C" int fl_infer_embedding_grad(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *grad = in[0].t, *indices = in[1].t;
    if (fl_same_device(op, in, n) < 0 || fl_expect_index(op, "indices", indices) < 0)
        return -1;
    if (grad->ndim != indices->ndim + 1 ||
        memcmp(grad->shape, indices->shape, sizeof(int64_t) * (size_t)indices->ndim))
        return fl_error(FL_RUNTIME_ERROR, "%s: 'grad' must have the shape of 'indices' and one "
                        "more dimension, got %s and %s", fl_op_title(op),
                        fl_shape_text(grad->shape, grad->ndim),
                        fl_shape_text(indices->shape, indices->ndim));
    int64_t shape[2] = {in[2].i, grad->shape[grad->ndim - 1]};
    fl_spec_set(outs, grad->dtype, fl_device_code(grad), 2, shape);
    return 0;
}

extern "C" int fl_run_embedding_grad(const fl_op *op, const fl_value *in, int,
                                     fl_tensor *const *outs) {
    const fl_tensor *grad = in[0].t, *indices = in[1].t;
    int kind = fl_kind_of_dtype[grad->dtype];
    In positions(indices, FL_K_I64), source(grad, kind);
    Out out(outs[0], kind);
    if (!source.ok() || !out.ok() || check_positions(op, positions, indices, in[2].i) < 0)
        return -1;
    int64_t width = outs[0]->shape[1];
    memset(out.as<char>(), 0, (size_t)(outs[0]->numel * fl_kind_size[kind]));
    if (grad->numel)
        fl_add_blocks({positions.as<int64_t>(), indices->numel, width, width, in[2].i, in[3].i, kind,
                       1}, out.as<char>(), source.as<char>(), 1);
    out.commit();
    return 0;
}
