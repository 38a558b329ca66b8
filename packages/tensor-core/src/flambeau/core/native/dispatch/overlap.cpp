/* Memory that a call reads and writes at once: what PyTorch refuses, and expanded tensors that are
 * written to through an index all the same. */
#include "dispatch/overlap.h"
#include "dispatch/caller.h"
#include "dispatch/objects.h"
#include "op_index.h"

int fl_dims_by_stride(const fl_tensor *t, int *order) {
    int nd = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 1)
            continue;
        int j = nd++;
        for (; j > 0 && t->strides[order[j - 1]] > t->strides[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    return nd;
}

bool fl_is_dense(const fl_tensor *t) {
    int order[FL_MAX_DIMS], nd = fl_dims_by_stride(t, order);
    int64_t step = 1;
    for (int i = 0; i < nd; i++) {
        if (t->strides[order[i]] != step)
            return false;
        step *= t->shape[order[i]];
    }
    return true;
}

namespace {

enum Overlap { NONE, PARTIAL, FULL };

/* Of tensors with gaps it is not known: they are computed apart. */
Overlap overlap_of(const fl_tensor *a, const fl_tensor *b) {
    if (a == b)
        return FULL;
    if (!fl_is_dense(a) || !fl_is_dense(b))
        return NONE;
    const char *a_end = a->data + a->numel * fl_itemsize(a->dtype);
    const char *b_end = b->data + b->numel * fl_itemsize(b->dtype);
    if (a->data == b->data && a_end == b_end) {
        size_t bytes = sizeof(int64_t) * (size_t)a->ndim;
        bool is_same = a->ndim == b->ndim && memcmp(a->strides, b->strides, bytes) == 0;
        return is_same || a->numel == 1 ? FULL : PARTIAL;
    }
    return a->data < b_end && b->data < a_end ? PARTIAL : NONE;
}

}  // namespace

/* What the user called decides: composites call on others with temporaries. */
int fl_refuse_overlap(const fl_op *op, const fl_tensor *t, const fl_tensor *x, bool is_self) {
    op = fl_caller ? fl_caller : op;
    if (!(op->flags & FL_O_NO_PARTIAL_OVERLAP))
        return 0;
    Overlap meet = overlap_of(t, x);
    if (meet == NONE || (meet == FULL && (is_self || !(op->flags & FL_O_NO_OVERLAP))))
        return 0;
    fl_error(FL_RUNTIME_ERROR, "%s(): unsupported operation: some elements of the input tensor and "
             "the written-to tensor refer to a single memory location (input of shape %s, "
             "written-to tensor of shape %s). Please clone() the input before performing the "
             "operation.", op->name, fl_shape_text(x->shape, x->ndim),
             fl_shape_text(t->shape, t->ndim));
    return fl_raise();
}

/* ---- expanded tensors ---------------------------------------------------------------------------- */

/* The operators that write through an index or a mask, under the name that the user called. */
const fl_op *fl_indexed_write(const fl_op *op) {
    const fl_op *fill = &fl_builtin_ops[FL_OP_masked_fill];
    if (op->index == FL_OP_where && fl_caller == fill)
        return fill;
    bool is_own_call = !fl_caller || fl_caller->index == op->index;
    return is_own_call && (op->index == FL_OP_index_put || op->index == FL_OP_index_fill) ? op
                                                                                         : nullptr;
}

bool fl_writes_expanded(const fl_op *op, const fl_value *in, int n, const fl_tensor *t) {
    const fl_op *asked = fl_indexed_write(op);
    const fl_tensor *self = asked ? fl_t(in[asked == op ? 0 : n - 1]) : nullptr;
    return self == t;
}
