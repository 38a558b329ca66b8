/* Rows of a table (embedding, x[index], index_select) in compiled calls: that the indices are in
 * range is checked when the operator is called; then it waits, as a kernel over rows, so that what
 * reads the rows next need not find them in memory. */
#include "deferral/lookup.h"
#include "deferral/queue.h"
#include "common/args.h"
#include "common/range_error.h"
#include "dispatch/core.h"
#include "dispatch/python.h"
#include "index/index.h"
#include "op_index.h"
#include <algorithm>

namespace {

/* The call as it is noted, its table first. */
struct Lookup {
    fl_value args[FL_MAX_PARAMS];
    int n;
    const fl_tensor *indices;
    bool wraps;                 /* negative indices count from the end */
};

/* (weight, indices, padding_idx, scale_grad_by_freq) | (self, indices) | (self, dim, index) */
bool read_call(const fl_op *op, const fl_value *in, int n, Lookup &call) {
    std::copy(in, in + n, call.args);
    call.n = n;
    call.wraps = op->index == FL_OP_index;
    if (op->index == FL_OP_index) {
        call.indices = fl_only_index(in[1]);
        call.args[1].tag = FL_TENSOR;
        call.args[1].t = (fl_tensor *)call.indices;
        return call.indices && fl_is_contiguous(in[0].t);
    }
    if (op->index == FL_OP_embedding_lookup) {
        call.indices = in[1].t;
        return true;
    }
    call.indices = in[2].t;
    return in[1].i == 0 && in[0].t->ndim > 0 && in[2].t->ndim == 1 && fl_is_contiguous(in[0].t);
}

}  // namespace

bool fl_is_lookup(const fl_op *op) {
    return op->index == FL_OP_embedding_lookup || op->index == FL_OP_index ||
           op->index == FL_OP_index_select;
}

int fl_defer_lookup(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    fl_queue *q = fl_thread.queue;
    const fl_tensor *table = in[0].t, *out = outs[0];
    Lookup call;
    if (q->is_running || out->numel < fl_deferral_least() || !read_call(op, in, n, call) ||
        call.indices->dtype != FL_I64 || !fl_is_contiguous(call.indices) ||
        !fl_is_contiguous(out) || !fl_may_hold(table) || !fl_may_hold(call.indices) ||
        !fl_may_hold(out))
        return 0;
    const uint64_t place = q->habits.next(op, out->numel, out->dtype);
    if (q->is_pointless(place, call.args, call.n, outs, 1)) {
        q->habits.move(place);
        return 0;
    }
    if (fl_settle(op->name, call.indices, true) < 0)
        return -1;
    if (fl_check_index_range(op, FL_RANGE_ERROR, (const int64_t *)call.indices->data,
                             call.indices->numel, table->shape[0], 0, call.wraps) < 0)
        return fl_raise();
    return fl_note_call(op, call.args, call.n, outs);
}
