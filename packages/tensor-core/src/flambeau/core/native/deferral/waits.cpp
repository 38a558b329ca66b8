/* Which calls may wait: what kind of operator, over what memory, and how large. */
#include "deferral/waits.h"
#include "deferral/queue.h"
#include "common/args.h"
#include "common/stored.h"
#include "dispatch/core.h"
#include "dispatch/pointwise.h"
#include "dispatch/python.h"
#include "op_index.h"
#include "random/taken.h"
#include "runtime/host.h"

extern "C" int fl_run_pointwise(const fl_op *, const fl_value *, int, fl_tensor *const *);

/* Products wait where their result is a good part of the last cache: a loop over smaller ones finds
 * them there. */
static const int64_t LEAST_PRODUCT_PART = 4;

static fl_storage *root_of(const fl_tensor *t) { return fl_root_storage(t->storage); }

/* Memory that nobody else can reach: not another library's, which on devices is told by a bit. */
static bool is_private(const fl_storage *s) {
    return (s->kind != FL_S_FOREIGN || s->device_type != FL_CPU) &&
           !(s->is_shared & FL_S_WRITABLE_OUTSIDE);
}

bool fl_is_private(const fl_tensor *t) { return is_private(root_of(t)); }

/* A plain formula, whose results go nowhere else. */
bool fl_is_formula(const fl_op *op) {
    if (op->category != FL_POINTWISE || op->run_cpu != fl_run_pointwise || op->flags & FL_O_RANDOM)
        return false;
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    for (int i = 0; i < pw->n_out; i++)
        if (pw->writes[i] != 255)
            return false;
    return true;
}

static bool is_number(const fl_value &v) {
    return v.tag == FL_INT || v.tag == FL_FLOAT || v.tag == FL_COMPLEX || v.tag == FL_BOOLEAN;
}

/* A kernel each of whose rows needs its own rows of the arguments alone; random numbers only what
 * it takes from the generator at once. */
bool fl_is_row_kernel(const fl_op *op) {
    return op->flags & FL_O_ROWS && op->run_cpu && !(op->flags & FL_O_RAISES_ON_VALUES) &&
           (!(op->flags & FL_O_RANDOM) || fl_draws_by_element(op));
}

/* What a kernel of rows may be called with, besides tensors. */
static bool is_plain(const fl_value &v) {
    return is_number(v) || v.tag == FL_NONE || v.tag == FL_INTS || v.tag == FL_DTYPE ||
           v.tag == FL_GENERATOR;
}

/* Device types whose backends run formulas together, by bit. */
static uint64_t fusing_devices = 1u << FL_CPU;

void fl_deferral_add_device(int device_type) { fusing_devices |= (uint64_t)1 << device_type; }

static bool may_hold(const fl_tensor *t, bool in_private) {
    if (t->numel == 0 || fl_is_stored(t->dtype))
        return false;
    if (!in_private)
        return t->device_type == FL_CPU;
    return fusing_devices >> t->device_type & 1 && is_private(root_of(t));
}

static bool is_beside(const fl_tensor *t, const fl_tensor *other) {
    return t->device_type == other->device_type && t->device_index == other->device_index;
}

/* The kernels of rows that a device's backend makes part of others: copies, and of floating numbers
 * the reductions and norms that flambeau.jit writes as formulas. */
static bool may_wait_elsewhere(const fl_op *op, const fl_tensor *out) {
    switch (op->index) {
    case FL_OP_clone:
    case FL_OP_cast:
    case FL_OP_contiguous_copy: return true;
    case FL_OP_sum:
    case FL_OP_mean:
    case FL_OP_amax:
    case FL_OP_amin:
    case FL_OP_var:
    case FL_OP_std:
    case FL_OP_logsumexp:
    case FL_OP_norm_of:
    case FL_OP_softmax:
    case FL_OP_softmax_grad:
    case FL_OP_log_softmax:
    case FL_OP_log_softmax_grad:
    case FL_OP_native_layer_norm: return fl_is_float(out->dtype);
    default: return false;
    }
}

bool fl_may_hold(const fl_tensor *t) { return t->device_type == FL_CPU && may_hold(t, true); }

bool fl_is_fusible(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs,
                   bool in_private) {
    const bool in_rows = fl_is_row_kernel(op);
    if (in_rows ? outs[0]->device_type != FL_CPU && !may_wait_elsewhere(op, outs[0])
                : !fl_is_formula(op))
        return false;
    if (op->flags & FL_O_RANDOM && (!in_private || fl_is_complex(outs[0]->dtype) ||
                                    !fl_can_take_numbers(op, in)))
        return false;
    for (int i = 0; i < op->nouts; i++)
        if (!may_hold(outs[i], in_private))
            return false;
    for (int i = 0; i < n; i++) {
        const fl_tensor *t = fl_t(in[i]);
        if (t ? !may_hold(t, in_private) || !is_beside(t, outs[0])
              : !(in_rows ? is_plain(in[i]) : is_number(in[i])))
            return false;
    }
    /* Into a target of another dtype, numbers are computed in that of the operands. */
    return in_rows || outs[0]->dtype == fl_pw_result_dtype(op, in);
}

bool fl_is_large_product(int64_t numel, int dtype) {
    static const int64_t bytes = fl_host_cache() / LEAST_PRODUCT_PART;
    return numel * fl_itemsize(dtype) >= (fl_deferral_least() <= FL_GRAIN ? 0 : bytes);
}

/* A large one, whose kernel writes to the result's own memory. */
static bool may_product_wait(const fl_value *in, int n, const fl_tensor *out) {
    if ((out->dtype != FL_F32 && out->dtype != FL_F64) ||
        !fl_is_large_product(out->numel, out->dtype) ||
        !fl_is_contiguous(out) || out->device_type != FL_CPU || !may_hold(out, true))
        return false;
    for (int i = 0; i < n; i++) {
        const fl_tensor *t = fl_t(in[i]);
        if (t ? t->dtype != out->dtype || !is_beside(t, out) || !may_hold(t, true)
              : !is_plain(in[i]))
            return false;
    }
    return true;
}

bool fl_may_wait(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    const fl_queue *q = fl_thread.queue;
    if (q && fl_takes_epilogue(op))
        return may_product_wait(in, n, outs[0]);
    if (!q || !fl_is_fusible(op, in, n, outs, true))
        return false;
    for (int i = 0; i < op->nouts; i++)
        if (fl_is_large(outs[i]) || root_of(outs[i])->queue == q)
            return true;
    for (int i = 0; i < n; i++) {
        const fl_tensor *t = fl_t(in[i]);
        if (t && (q->writes(root_of(t)) ||
                  (fl_is_row_kernel(op) && t->numel >= fl_deferral_least())))
            return true;
    }
    return false;
}
