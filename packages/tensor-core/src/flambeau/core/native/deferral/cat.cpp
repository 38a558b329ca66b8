/* cat in compiled calls: a copy of each input to its place in the result, which waits. It joins the
 * loop that makes the input, so that what is written is the result alone. */
#include "deferral/cat.h"
#include "deferral/queue.h"
#include "deferral/watch.h"
#include "common/args.h"
#include "dispatch/python.h"
#include "op_index.h"

extern "C" int fl_run_cat(const fl_op *, const fl_value *, int, fl_tensor *const *);

/* More would not share a loop, and one kernel is faster than as many copies. */
static const uint32_t MOST_INPUTS = 12;
/* The part of the result, one in so many, that what waits has to write: the rest is copied. */
static const int64_t LEAST_WRITTEN = 4;

bool fl_is_cat(const fl_op *op) { return op->run_cpu == fl_run_cat; }

static fl_storage *root_of(const fl_tensor *t) { return fl_root_storage(t->storage); }

static bool is_written_enough(const fl_queue *q, const fl_value &list, int64_t numel) {
    if (q->is_running || list.len > MOST_INPUTS)
        return false;
    int64_t written = 0;
    for (uint32_t i = 0; i < list.len; i++)
        if (q->writes(root_of(list.ts[i])))
            written += list.ts[i]->numel;
    return written > 0 && LEAST_WRITTEN * written >= numel;
}

static bool is_pointless(const fl_queue *q, uint64_t place) {
    return !fl_is_watched() && q->habits.is_pointless(place);
}

bool fl_may_cat_wait(const fl_op *op, const fl_value *in, int64_t numel, int dtype) {
    const fl_queue *q = fl_thread.queue;
    return is_written_enough(q, in[0], numel) && !is_pointless(q, q->habits.next(op, numel, dtype));
}

/* Arguments of a copy. */
static void set_source(fl_value *copy, fl_tensor *source) {
    copy[0].tag = FL_TENSOR;
    copy[0].t = source;
    copy[1].tag = FL_NONE;
}

static bool may_all_wait(const fl_op *clone, const fl_value &list, fl_tensor *const *outs) {
    fl_value copy[2] = {};
    for (uint32_t i = 0; i < list.len; i++) {
        set_source(copy, list.ts[i]);
        if (list.ts[i]->numel && !fl_is_fusible(clone, copy, 2, outs, true))
            return false;
    }
    return true;
}

/* Of an input, or the result: as many elements as the input has, `at` bytes further on. Without a
 * dimension of one entry that a view was given: a loop over what it views has that shape. */
static fl_tensor *alias(const fl_tensor *t, const fl_tensor *source, int dim, int64_t at) {
    int64_t shape[FL_MAX_DIMS], strides[FL_MAX_DIMS];
    const bool leaves_out = source->shape[dim] == 1 && source->flags & FL_VIEW;
    int n = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (d == dim && leaves_out)
            continue;
        shape[n] = source->shape[d];
        strides[n++] = t->strides[d];
    }
    fl_storage *s = root_of(t);
    return fl_tensor_on(s, t->dtype, n, shape, strides, t->data - s->ptr + at);
}

/* Copies one input to its place, `at` bytes from the result's start. The habit is that of the
 * concatenation, which gains where one of its copies does. */
static int copy_input(const fl_op *clone, const fl_tensor *source, const fl_tensor *out, int dim,
                      int64_t at, fl_habit *habit) {
    fl_tensor *from = alias(source, source, dim, 0);
    fl_tensor *to = from ? alias(out, source, dim, at) : nullptr;
    int waits = -1;
    if (to) {
        fl_value copy[2] = {};
        set_source(copy, from);
        waits = fl_defer_or_run(clone, copy, 2, &to);
    }
    if (waits > 0)
        fl_thread.queue->calls.back().habit = habit;
    Py_XDECREF(from);
    Py_XDECREF(to);
    return waits < 0 ? -1 : 0;
}

static int copy_inputs(const fl_op *clone, const fl_value *in, fl_tensor *out, fl_habit *habit) {
    const fl_value &list = in[0];
    const int dim = (int)(in[1].i < 0 ? in[1].i + out->ndim : in[1].i);
    const int64_t step = out->strides[dim] * fl_itemsize(out->dtype);
    int64_t at = 0;
    for (uint32_t i = 0; i < list.len; i++) {
        fl_tensor *source = list.ts[i];
        if (source->numel && copy_input(clone, source, out, dim, at, habit) < 0)
            return -1;
        at += source->numel ? source->shape[dim] * step : 0;
    }
    return 1;
}

int fl_defer_cat(const fl_op *op, const fl_value *in, fl_tensor *const *outs) {
    const fl_op *clone = &fl_builtin_ops[FL_OP_clone];
    fl_queue *q = fl_thread.queue;
    if (!is_written_enough(q, in[0], outs[0]->numel) || !may_all_wait(clone, in[0], outs))
        return 0;
    const uint64_t place = q->habits.next(op, outs[0]->numel, outs[0]->dtype);
    fl_habit *habit = q->habits.move(place);
    const int status = is_pointless(q, place) ? 0 : copy_inputs(clone, in, outs[0], habit);
    q->habits.move(place);          /* whatever became of it, what follows is at the same place */
    return status;
}
