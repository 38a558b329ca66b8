/* Losses of class numbers and their gradients in compiled calls. Their kernels can fail on numbers
 * that are no classes, which are looked at when they are called; then they wait. The loss asks for
 * the targets' log-probabilities alone (log_softmax_at), and its gradient is one over rows, all but
 * one element of which are 0: neither log-probabilities nor their gradients need be in memory. */
#include "deferral/classes.h"
#include "deferral/queue.h"
#include "common/args.h"
#include "dispatch/core.h"
#include "dispatch/python.h"
#include "loss/nll.h"
#include "op_index.h"

extern "C" int fl_run_nll_loss_grad(const fl_op *, const fl_value *, int, fl_tensor *const *);
extern "C" int fl_run_nll_loss_rows(const fl_op *, const fl_value *, int, fl_tensor *const *);

bool fl_is_class_gradient(const fl_op *op) { return op->run_cpu == fl_run_nll_loss_grad; }

static bool has_classes(const fl_tensor *target) {
    return target->dtype == FL_I64 && target->ndim == 1 && fl_is_contiguous(target);
}

static const int64_t *numbers_of(const fl_value &target) { return (const int64_t *)target.t->data; }

/* One row of floating numbers for each class number, side by side. */
static bool has_rows(const fl_tensor *self, const fl_tensor *target) {
    return self->ndim == 2 && fl_is_float(self->dtype) && self->numel >= fl_deferral_least() &&
           fl_is_contiguous(self) && has_classes(target);
}

static bool may_hold_all(const fl_value *in, int n) {
    for (int i = 0; i < n; i++)
        if (fl_t(in[i]) && !fl_may_hold(in[i].t))
            return false;
    return true;
}

/* (grad, self, target, weight, reduction, ignore_index, total_weight) */
int fl_defer_class_gradient(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    fl_queue *q = fl_thread.queue;
    if (q->is_running || !has_rows(in[1].t, in[2].t) || !fl_is_contiguous(outs[0]) ||
        !may_hold_all(in, n) || !fl_may_hold(outs[0]))
        return 0;
    const uint64_t place = q->habits.next(op, outs[0]->numel, outs[0]->dtype);
    if (q->is_pointless(place, in, n, outs, 1)) {
        q->habits.move(place);
        return 0;
    }
    if (fl_settle(op->name, in[2].t, true) < 0)
        return -1;
    if (fl_check_classes(in[1].t, numbers_of(in[2]), in[5].i) < 0)
        return fl_raise();
    return fl_note_call(op, in, n, outs);
}

/* Two more fit the queue. */
static const size_t MOST_CALLS = 128;

/* ---- the loss -------------------------------------------------------------------------------- */

static bool are_same(const fl_tensor *one, const fl_tensor *other) {
    return one->data == other->data && one->dtype == other->dtype && one->ndim == other->ndim &&
           !memcmp(one->shape, other->shape, sizeof(int64_t) * (size_t)one->ndim) &&
           fl_is_contiguous(one) && fl_is_contiguous(other);
}

/* The log-probabilities of all classes, of which the loss takes those of the targets. */
static bool picks_from(const fl_value *values, int n, const fl_value *in) {
    const fl_tensor *scores = values[0].t, *made = values[n].t;
    return has_rows(in[0].t, in[1].t) && (values[1].i == 1 || values[1].i == -1) &&
           are_same(made, in[0].t) && scores->dtype == made->dtype;
}

/* The targets' own, which stand for those of all classes where no gradient is asked for. */
static bool has_picked(const fl_value *values, int n, const fl_value *in) {
    const fl_tensor *picked = values[n].t, *all = in[0].t;
    return has_classes(in[1].t) && picked->data == all->data && picked->dtype == all->dtype &&
           fl_is_float(all->dtype) && all->ndim == 2 &&
           all->strides[1] == 0 && picked->shape[0] == all->shape[0];
}

/* Whether memory is still to be written, or another thread's queue uses it. */
static bool is_unsettled(const fl_queue *q, const fl_value &v) {
    const fl_storage *s = fl_t(v) ? fl_root_storage(v.t->storage) : nullptr;
    return s && s->queue && (s->queue != q || q->writes(s));
}

/* (self, target, weight, reduction, ignore_index) */
bool fl_is_class_loss(const fl_op *op, const fl_value *in) {
    const fl_queue *q = fl_thread.queue;
    if (op->run_cpu != fl_run_nll_loss_rows || q->is_running || q->calls.empty() ||
        q->calls.size() > MOST_CALLS || in[3].i == 0)
        return false;
    if (!may_hold_all(in, 3) || is_unsettled(q, in[1]) || is_unsettled(q, in[2]))
        return false;
    const fl_queue::Call &last = q->calls.back();
    const fl_value *values = &q->values[last.first];
    if (last.op->index == FL_OP_log_softmax_at)
        return has_picked(values, last.n, in);
    return last.op->index == FL_OP_log_softmax && picks_from(values, last.n, in);
}

static fl_tensor *alias(const fl_tensor *t, const int64_t *shape, const int64_t *strides) {
    fl_storage *s = fl_root_storage(t->storage);
    return fl_tensor_on(s, t->dtype, t->ndim, shape, strides, t->data - s->ptr);
}

/* Note what picks the targets' log-probabilities, and the loss of these. */
static int note_loss(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs,
                     fl_tensor *scores, fl_tensor *picked, fl_tensor *all, fl_tensor *total) {
    fl_value pick[3] = {in[0], in[3], in[1]}, loss[FL_MAX_PARAMS];
    pick[0].t = scores;
    pick[1].i = 1;
    memcpy(loss, in, sizeof(fl_value) * (size_t)n);
    loss[0].t = all;
    fl_tensor *results[2] = {outs[0], total};
    if (fl_note_call(&fl_builtin_ops[FL_OP_log_softmax_at], pick, 3, &picked) < 0 ||
        fl_note_call(op, loss, n, results) < 0)
        return -1;
    fl_thread.queue->calls.back().habit = nullptr;  /* it waits for others' sake */
    return 1;
}

/* Note the loss of log-probabilities that wait. */
static int note_loss_alone(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_check_classes(in[0].t, numbers_of(in[1]), in[4].i) < 0 || fl_count_classes(in, outs[1]) < 0)
        return fl_raise();
    fl_tensor *total = fl_tensor_empty(outs[1]->dtype, 0, 0, nullptr);
    fl_tensor *results[2] = {outs[0], total};
    const int status = total ? fl_note_call(op, in, n, results) : -1;
    Py_XDECREF(total);
    if (status > 0)
        fl_thread.queue->calls.back().habit = nullptr;  /* it waits for others' sake */
    return status;
}

static int defer_loss(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    const fl_queue *q = fl_thread.queue;
    const fl_tensor *made = in[0].t, *given = q->values[q->calls.back().first].t;
    if (fl_check_classes(made, numbers_of(in[1]), in[4].i) < 0 || fl_count_classes(in, outs[1]) < 0)
        return fl_raise();
    const int64_t column[2] = {made->shape[0], 1}, steps[2] = {1, 0};
    fl_tensor *scores = alias(given, given->shape, given->strides);
    fl_tensor *picked = scores ? fl_tensor_empty(made->dtype, 0, 2, column) : nullptr;
    fl_tensor *all = picked ? alias(picked, made->shape, steps) : nullptr;
    fl_tensor *total = all ? fl_tensor_empty(outs[1]->dtype, 0, 0, nullptr) : nullptr;
    int status = total ? note_loss(op, in, n, outs, scores, picked, all, total) : -1;
    Py_XDECREF(total);
    Py_XDECREF(all);
    Py_XDECREF(picked);
    Py_XDECREF(scores);
    return status;
}

/* What waits must not run meanwhile, as scores that nobody else needs would be lost: Python's
 * collector may run anything. */
int fl_defer_class_loss(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_thread.queue->calls.back().op->index == FL_OP_log_softmax_at)
        return note_loss_alone(op, in, n, outs);
    const int collects = PyGC_Disable();
    const int status = defer_loss(op, in, n, outs);
    if (collects)
        PyGC_Enable();
    return status;
}
