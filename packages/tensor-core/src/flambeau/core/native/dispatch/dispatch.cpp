/* The dispatcher: what watches, then the tape, then the device.
 *
 * fl_dispatch -> interposers in order -> tape -> op->call -> infer, memory, run. */
#include "common/compose.h"
#include "common/range_error.h"
#include "dispatch/caller.h"
#include "dispatch/history.h"

__thread fl_thread_state fl_thread __attribute__((tls_model("initial-exec"))) = {FL_M_GRAD, 0, 0,
                                                                                  {}, nullptr};
const fl_tape *fl_the_tape = nullptr;
PyObject *fl_index_range_error = nullptr;

/* Failures on worker threads say what could not be done: what was asked and held is added here. */
static void raise_text(PyObject *kind, const char *text) {
    char held[FL_ALLOC_TEXT];
    if (kind != PyExc_MemoryError || strstr(text, "live tensors hold")) {
        PyErr_SetString(kind, text);
        return;
    }
    fl_alloc_text(held);
    PyErr_Format(kind, "%s: %s", text, held);
}

int fl_raise(void) {
    PyObject *kinds[] = {PyExc_RuntimeError, fl_python.argument_error, PyExc_TypeError,
                         PyExc_IndexError, PyExc_RuntimeError, PyExc_MemoryError,
                         PyExc_NotImplementedError, PyExc_OverflowError, fl_python.linalg_error,
                         fl_python.zero_division, fl_index_range_error};
    int kind = fl_error_kind_get();
    if (!PyErr_Occurred())
        raise_text(kinds[kind >= 0 && kind < 11 ? kind : 0], fl_error_text());
    fl_error_clear();
    return -1;
}

static inline int below_tape(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_thread_state &T = fl_thread;
    if (FL_LIKELY(T.level >= T.watchers))
        return op->call(op, in, n, out);
    int level = T.level++;
    const fl_interposer &w = T.stack[level];
    int status = w.call(w.ctx, op, in, n, out);
    fl_thread.level = level;
    return status;
}

void fl_tell_of_write(const fl_op *op, fl_tensor *t) {
    __atomic_and_fetch(t->version, ~FL_VERSION_SAVED, __ATOMIC_RELAXED);
    const fl_tape *tape = fl_the_tape;
    if (tape && tape->struct_size >= sizeof(fl_tape) && tape->wrote)
        tape->wrote(op, t);
}

static void drop_results(const fl_op *op, fl_value *out) {
    for (int i = 0; i < op->nouts; i++)
        if (out[i].tag == FL_TENSOR)
            Py_CLEAR(out[i].t);
}

static int write_on_tape(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    PyObject *token = fl_the_tape->prepare(op, in, n, out, op->nouts);
    if (!token)
        return -1;
    int status = below_tape(op, in, n, out);
    if (status == 0)
        status = fl_the_tape->commit(token, op, in, n, out, op->nouts);
    Py_DECREF(token);
    return status;
}

static int through_tape(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_the_tape || !(fl_thread.mode & FL_M_GRAD))
        return below_tape(op, in, n, out);
    bool writes = out[0].tag == FL_TENSOR;
    bool needs = fl_any_requires_grad(in, n);
    if (FL_UNLIKELY(writes)) {
        for (int i = 0; i < op->nouts; i++)
            needs |= out[i].tag == FL_TENSOR && fl_write_concerns_tape(out[i].t);
        return needs ? write_on_tape(op, in, n, out) : below_tape(op, in, n, out);
    }
    if (!needs || !(op->flags & FL_O_DIFFERENTIABLE))
        return below_tape(op, in, n, out);
    if (below_tape(op, in, n, out) < 0)
        return -1;
    if (fl_the_tape->record(op, in, n, out, op->nouts) == 0)
        return 0;
    drop_results(op, out);
    return -1;
}

/* Errors of what a composite calls are about the composite that the user called. */
static int call_named(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_op *outer = fl_caller;
    if (!(op->flags & FL_O_HELPER)) {
        fl_caller = op;
        fl_outermost = outer ? fl_outermost : op;
    }
    int status = op->call(op, in, n, out);
    fl_caller = outer;
    if (FL_UNLIKELY(status < 0) && !outer && !(op->flags & FL_O_HELPER))
        fl_name_in_error(op);
    return status;
}

/* Those above the tape first. What one below it calls has passed the tape: it is recorded once. */
static int past_watchers(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_thread_state &T = fl_thread;
    bool is_below = T.level > 0 && T.stack[T.level - 1].kind > FL_I_TAPE;
    bool shows = T.level < T.watchers && T.stack[T.level].kind < FL_I_TAPE;
    return is_below || shows ? below_tape(op, in, n, out) : through_tape(op, in, n, out);
}

/* Whether a composite is shown as a whole to the watcher that is next: autocast has a policy for
 * some. */
static inline bool autocasts(const fl_thread_state &T, const fl_op *op) {
    return FL_UNLIKELY(T.level < T.watchers) && (op->flags & FL_O_AUTOCAST) &&
           T.stack[T.level].kind == FL_I_AUTOCAST;
}

int fl_dispatch(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_value full[FL_MAX_PARAMS];
    if (FL_UNLIKELY(n < op->nparams)) {
        memcpy(full, in, sizeof(fl_value) * (size_t)n);
        for (int i = n; i < op->nparams; i++)
            full[i] = op->params[i].fallback;
        in = full;
        n = op->nparams;
    }
    fl_thread_state &T = fl_thread;
    if (op->category == FL_COMPOSITE && FL_LIKELY(!autocasts(T, op)))
        return call_named(op, in, n, out);
    if (FL_UNLIKELY(T.watchers))
        return past_watchers(op, in, n, out);
    return through_tape(op, in, n, out);
}
