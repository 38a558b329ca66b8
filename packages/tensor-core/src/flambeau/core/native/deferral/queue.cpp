/* The queue of a thread: noting calls, and finding out whom they concern. */
#include "deferral/deferral.h"
#include "deferral/queue.h"
#include "deferral/batch_norm.h"
#include "deferral/cat.h"
#include "deferral/classes.h"
#include "deferral/lookup.h"
#include "deferral/waits.h"
#include "deferral/watch.h"
#include "common/args.h"
#include "dispatch/core.h"
#include "dispatch/pointwise.h"
#include "op_index.h"
#include "random/taken.h"
#include "replay/replay.h"

int fl_waiting_queues = 0;
int64_t fl_least_elements = FL_GRAIN + 1;
static const size_t MAX_CALLS = 256;            /* that wait at once */

/* Small calls have ways around the queue, which are closed as long as something waits. */
void fl_deferral_configure(PyObject *planner, int64_t least) {
    Py_XINCREF(planner);
    Py_XSETREF(fl_deferral_planner, planner);
    int closed = (least <= FL_GRAIN) - (fl_least_elements <= FL_GRAIN);
    __atomic_add_fetch(&fl_waiting_queues, closed, __ATOMIC_RELAXED);
    fl_least_elements = least;
}

static fl_storage *root_of(const fl_tensor *t) { return fl_root_storage(t->storage); }

bool fl_queue::writes(const fl_storage *s) const {
    return s->queue == this && slots[s->slot].written;
}

bool fl_queue::is_pointless(uint64_t at, const fl_value *in, int n, fl_tensor *const *outs,
                            int nouts) const {
    if (!habits.is_pointless(at) || fl_is_watched())
        return false;
    for (int i = 0; i < n; i++)
        if (fl_t(in[i]) && writes(root_of(in[i].t)))
            return false;
    for (int i = 0; i < nouts; i++)
        if (root_of(outs[i])->queue)
            return false;
    return true;
}

uint32_t fl_queue::slot_of(fl_storage *s) {
    if (s->queue == this)
        return s->slot;
    s->queue = this;
    s->slot = (uint32_t)slots.size();
    slots.push_back({s, false, false, 0});
    return s->slot;
}

void fl_queue_keep(fl_storage *s) {
    Py_SET_REFCNT((PyObject *)s, 1);
    s->queue->keep(s);
}

void fl_queue::keep(fl_storage *s) {
    slots[s->slot].is_kept = true;
    slots[s->slot].kept_at = calls.size();
}

/* Remember a tensor; the reference becomes the queue's, that of the tensor to its storage nobody's.
 */
void fl_queue::add_tensor(fl_tensor *t, bool writes) {
    fl_storage *s = (fl_storage *)t->storage;
    uint32_t slot = slot_of(s);
    slots[slot].written |= writes;
    Py_DECREF(s);
    fl_value v;
    v.tag = FL_TENSOR;
    v.len = slot;
    v.t = t;
    values.push_back(v);
    int64_t head[4] = {slot, t->dtype | fl_device_code(t) << 8, t->ndim, t->data - s->ptr};
    key.append((const char *)head, sizeof head);
    key.append((const char *)t->shape, sizeof(int64_t) * (size_t)t->ndim);
    key.append((const char *)t->strides, sizeof(int64_t) * (size_t)t->ndim);
}

/* Tensors over the same elements that the queue alone holds. Making them may run Python's collector
 * and so anything, the queue included: it is not touched before they are there. */
static int make_aliases(const fl_value *in, int n, fl_tensor *const *outs, int nouts,
                        fl_tensor **made) {
    for (int i = 0; i < n + nouts; i++) {
        const fl_tensor *t = i < n ? fl_t(in[i]) : outs[i - n];
        made[i] = nullptr;
        if (!t)
            continue;
        fl_storage *s = root_of(t);
        made[i] = fl_tensor_on(s, t->dtype, t->ndim, t->shape, t->strides, t->data - s->ptr);
        if (made[i])
            continue;
        while (i > 0)
            Py_XDECREF(made[--i]);
        return -1;
    }
    return 0;
}

/* Numbers are none of a plan's business, unless the formula is another one with them. */
void fl_queue::add_literal(const fl_pointwise *pw, int param, const fl_value &v) {
    double value = fl_as_double(v);
    if (!pw->literals || param != pw->literal_param)
        return;
    for (int k = 0; k < pw->n_literals; k++)
        if (pw->literals[k].value == value)
            key.append((const char *)&value, sizeof value);
}

/* All arguments but reals say what a kernel of rows does, and the power of a norm; lists are the
 * queue's from here on. */
void fl_queue::add_argument(const fl_op *op, const fl_value &v) {
    values.push_back(v);
    key.push_back((char)v.tag);
    if (v.tag == FL_INTS) {
        lists.emplace_back(v.is, v.is + v.len);
        values.back().is = lists.back().data();
        key.append((const char *)&v.len, sizeof v.len);
        key.append((const char *)v.is, sizeof(int64_t) * v.len);
    } else if (v.tag == FL_FLOAT && op->index == FL_OP_norm_of) {
        key.append((const char *)&v.d, sizeof v.d);
    } else if (v.tag == FL_INT || v.tag == FL_BOOLEAN || v.tag == FL_DTYPE) {
        key.append((const char *)&v.i, sizeof v.i);
    }
}

int fl_queue::add(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    fl_tensor *made[FL_MAX_PARAMS + FL_MAX_OUTS];
    if (make_aliases(in, n, outs, op->nouts, made) < 0)
        return -1;
    if (calls.empty())
        __atomic_add_fetch(&fl_waiting_queues, 1, __ATOMIC_RELAXED);
    calls.push_back({op, (uint32_t)values.size(), (uint16_t)n, (uint16_t)op->nouts, key.size(),
                     nullptr});
    key.append((const char *)&op, sizeof op);
    for (int i = 0; i < n + op->nouts; i++) {
        if (made[i]) {
            add_tensor(made[i], i >= n);
        } else if (op->category != FL_POINTWISE) {
            add_argument(op, in[i]);
        } else {
            values.push_back(in[i]);
            key.push_back((char)in[i].tag);
            add_literal((const fl_pointwise *)op->kernels, i, in[i]);
        }
    }
    return 0;
}

/* A gradient that is added to a sum: it was just computed, what follows is mostly the next one, and
 * to keep them all until then would only take memory, and fetch them again. */
static bool accumulates(const fl_op *op, const fl_value *in, fl_tensor *const *outs) {
    return op->index == FL_OP_add && !(fl_thread.mode & FL_M_GRAD) && in[0].tag == FL_TENSOR &&
           in[0].t == outs[0] && fl_t(in[1]) && !root_of(in[0].t)->queue &&
           !root_of(in[1].t)->queue;
}

static int note(fl_queue *q, const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (q->add(op, in, n, outs) < 0)
        return -1;
    q->calls.back().habit = q->habits.move(q->habits.next(op, outs[0]->numel, outs[0]->dtype));
    return 1;
}

/* Go past a call that gained nothing by waiting so far. */
static bool passes(fl_queue *q, const fl_op *op, const fl_value *in, int n,
                   fl_tensor *const *outs) {
    const uint64_t place = q->habits.next(op, outs[0]->numel, outs[0]->dtype);
    if (!q->is_pointless(place, in, n, outs, op->nouts))
        return false;
    q->habits.move(place);
    return true;
}

/* Over small tensors, where nothing waits: most calls of most functions. */
static bool is_small_alone(const fl_queue *q, const fl_value *in, int n, fl_tensor *const *outs,
                           int nouts) {
    if (!q->calls.empty() || fl_least_elements <= FL_GRAIN)
        return false;
    for (int i = 0; i < n; i++)
        if (in[i].tag == FL_TENSOR && in[i].t && fl_is_large(in[i].t))
            return false;
    for (int i = 0; i < nouts; i++)
        if (fl_is_large(outs[i]))
            return false;
    return true;
}

int fl_defer(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    fl_queue *q = fl_thread.queue;
    if (q && is_small_alone(q, in, n, outs, op->nouts))
        return 0;
    const bool is_here = outs[0]->device_type == FL_CPU;
    if (q && is_here && fl_is_batch_norm(op))
        return q->is_running ? 0 : fl_defer_batch_norm(op, in, outs);
    if (q && is_here && fl_is_cat(op))
        return fl_defer_cat(op, in, outs);
    if (q && fl_is_class_gradient(op))
        return fl_defer_class_gradient(op, in, n, outs);
    if (q && fl_is_lookup(op))
        return fl_defer_lookup(op, in, n, outs);
    if (q && fl_is_class_loss(op, in))
        return fl_defer_class_loss(op, in, n, outs);
    if (!q)
        return 0;
    const bool first = fl_is_large(outs[0]);       /* most others cannot wait */
    if (first && passes(q, op, in, n, outs))
        return 0;
    if (!fl_may_wait(op, in, n, outs) || accumulates(op, in, outs))
        return 0;
    if (!first && passes(q, op, in, n, outs))
        return 0;
    return fl_note_call(op, in, n, outs);
}

int fl_note_call(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    fl_queue *q = fl_thread.queue;
    for (int i = 0; i < n + op->nouts; i++) {   /* another thread's kernels come first */
        const fl_tensor *t = i < n ? fl_t(in[i]) : outs[i - n];
        fl_queue *other = t ? root_of(t)->queue : nullptr;
        if (other && other != q && fl_run_queue(other, op->name) < 0)
            return -1;
    }
    if (q->is_running || (q->calls.size() >= MAX_CALLS && fl_run_queue(q, "a full queue") < 0))
        return q->is_running ? 0 : -1;
    /* One at a time, so that the next has the memory of the one before while that is cached. */
    if (fl_takes_epilogue(op) && q->has_product && fl_run_queue(q, op->name) < 0)
        return -1;
    q->has_product |= fl_takes_epilogue(op);
    if (!(op->flags & FL_O_RANDOM))
        return note(q, op, in, n, outs);
    fl_value taken[FL_MAX_PARAMS];
    memcpy(taken, in, sizeof(fl_value) * (size_t)n);
    taken[fl_generator_param(op)] = fl_take_numbers(op, in, outs[0]);
    return note(q, op, taken, n, outs);
}

int fl_defer_or_run(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    int waits = fl_defer(op, in, n, outs);
    if (waits)
        return waits;
    if (fl_settle_call(op, in, n, outs) < 0)
        return -1;
    return op->run_cpu(op, in, n, outs) < 0 ? fl_raise() : 0;
}

static int settle(const char *why, const fl_storage *s, bool only_reads) {
    fl_queue *q = s->queue;
    if (!q || q->is_launching() || (only_reads && !q->slots[s->slot].written))
        return 0;
    return fl_run_queue(q, why);
}

int fl_settle_storage(const char *why, fl_storage *s, bool only_reads) {
    fl_record_escape(why);
    return settle(why, fl_root_storage((PyObject *)s), only_reads);
}

int fl_settle(const char *why, const fl_tensor *t, bool only_reads) {
    return fl_settle_storage(why, (fl_storage *)t->storage, only_reads);
}

static int settle_reads(const fl_op *op, const fl_value *in, int n) {
    for (int i = 0; i < n; i++) {
        if (in[i].tag == FL_TENSOR && in[i].t && settle(op->name, root_of(in[i].t), true) < 0)
            return -1;
        for (uint32_t k = 0; in[i].tag == FL_TENSORS && k < in[i].len; k++)
            if (in[i].ts[k] && settle(op->name, root_of(in[i].ts[k]), true) < 0)
                return -1;
    }
    return 0;
}

int fl_settle_call(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (settle_reads(op, in, n) < 0)
        return -1;
    for (int i = 0; i < op->nouts; i++)
        if (outs[i] && settle(op->name, root_of(outs[i]), false) < 0)
            return -1;
    return fl_record_kernel(op, in, n, outs);
}

/* Whether a call may turn out to wait; batch_norm takes its statistics at once. */
static bool can_wait(const fl_op *op, const fl_value *in, const fl_spec *result) {
    if (fl_takes_epilogue(op))
        return fl_is_large_product(fl_spec_numel(result), result->dtype);
    if (fl_is_batch_norm(op))
        return !fl_value_true(in[5]);
    if (fl_is_cat(op))
        return fl_may_cat_wait(op, in, fl_spec_numel(result), result->dtype);
    return fl_is_row_kernel(op) || fl_is_formula(op) || fl_is_class_gradient(op) ||
           fl_is_lookup(op) || fl_is_class_loss(op, in);
}

int fl_settle_ahead(const fl_op *op, const fl_value *in, int n, const fl_spec *specs) {
    if (op->category == FL_VIEW_OP || (fl_thread.queue && can_wait(op, in, specs)))
        return 0;
    return settle_reads(op, in, n);
}

int fl_settle_for_good(const char *why, const fl_tensor *t) {
    root_of(t)->is_shared |= FL_S_WRITABLE_OUTSIDE;
    return fl_any_waiting() ? fl_settle(why, t, false) : 0;
}
