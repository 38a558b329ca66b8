/* Rows of a table (embedding) in compiled calls: that the numbers of rows are in range is checked
 * when the operator is called; then it waits, as a kernel over rows, so that what reads the rows
 * next need not find them in memory. */
#include "deferral/lookup.h"
#include "deferral/queue.h"
#include "common/args.h"
#include "common/range_error.h"
#include "dispatch/core.h"
#include "dispatch/python.h"

extern "C" int fl_run_embedding_lookup(const fl_op *, const fl_value *, int, fl_tensor *const *);

bool fl_is_lookup(const fl_op *op) { return op->run_cpu == fl_run_embedding_lookup; }

/* (weight, indices, padding_idx, scale_grad_by_freq) */
int fl_defer_lookup(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    fl_queue *q = fl_thread.queue;
    const fl_tensor *weight = in[0].t, *indices = in[1].t, *out = outs[0];
    if (q->is_running || out->numel < fl_deferral_least() || indices->dtype != FL_I64 ||
        !fl_is_contiguous(indices) || !fl_is_contiguous(out) || !fl_may_hold(weight) ||
        !fl_may_hold(indices) || !fl_may_hold(out))
        return 0;
    const uint64_t place = q->habits.next(op, out->numel, out->dtype);
    if (q->is_pointless(place, in, n, outs, 1)) {
        q->habits.move(place);
        return 0;
    }
    if (fl_settle(op->name, indices, true) < 0)
        return -1;
    if (fl_check_index_range(op, FL_RANGE_ERROR, (const int64_t *)indices->data, indices->numel,
                             weight->shape[0], 0, false) < 0)
        return fl_raise();
    return fl_note_call(op, in, n, outs);
}
