/* Entering and leaving compiled calls, each thread's queue, and what ran in its last call. */
#include "deferral/plan.h"
#include "deferral/queue.h"

static thread_local fl_queue *queue_of_thread = nullptr;

static void forget_report(fl_queue *q) {
    for (PyObject *plan : q->ran)
        Py_DECREF(plan);
    q->ran.clear();
    q->reasons.clear();
}

static bool is_off = false;                 /* for all threads: compiled calls run as others do */
static thread_local bool is_off_here = false;   /* inside fl_deferral_pause(true) */

int fl_deferral_enter(const void *function) {
    fl_queue *q = queue_of_thread;
    if (!q)
        q = queue_of_thread = new fl_queue;     /* as long as the process: others may look at it */
    if (q->depth++ == 0) {
        forget_report(q);
        if (q->calls.empty())
            q->habits.enter(function);
    }
    int before = fl_thread.queue != nullptr;
    if (!is_off && !is_off_here)
        fl_thread.queue = q;
    return before;
}

int fl_deferral_exit(int before) {
    fl_queue *q = queue_of_thread;
    if (!before)
        fl_thread.queue = nullptr;
    return --q->depth > 0 || q->calls.empty() ? 0 : fl_run_queue(q, "");
}

int fl_deferral_pause(bool recursive) {
    int before = (fl_thread.queue != nullptr) | is_off_here << 1;
    fl_thread.queue = nullptr;
    is_off_here |= recursive;
    return before;
}

void fl_deferral_resume(int before) {
    fl_thread.queue = before & 1 ? queue_of_thread : nullptr;
    is_off_here = before >> 1;
}

void fl_deferral_turn(bool on) { is_off = !on; }

bool fl_deferral_is_on(void) { return !is_off && !is_off_here; }

int fl_settle_thread(const char *why) {
    fl_queue *q = queue_of_thread;
    return !q || q->calls.empty() || q->is_launching() ? 0 : fl_run_queue(q, why);
}

size_t fl_deferral_waiting(void) { return queue_of_thread ? queue_of_thread->calls.size() : 0; }

int64_t fl_deferral_trial_runs(void) { return queue_of_thread ? queue_of_thread->trial_runs : 0; }

void fl_deferral_forget(void) {
    fl_forget_plans();
    if (queue_of_thread && queue_of_thread->calls.empty())
        queue_of_thread->habits.forget();
}

bool fl_deferral_ran(void) { return !queue_of_thread->ran.empty(); }

PyObject *fl_deferral_report(void) {
    fl_queue *q = queue_of_thread;
    PyObject *ran = PyList_New(0), *reasons = PyList_New(0);
    for (size_t i = 0; q && i < q->ran.size(); i++)
        PyList_Append(ran, q->ran[i]);
    for (size_t i = 0; q && i < q->reasons.size(); i++) {
        PyObject *text = PyUnicode_FromString(q->reasons[i]);
        PyList_Append(reasons, text);
        Py_XDECREF(text);
    }
    return Py_BuildValue("NN", ran, reasons);
}
