/* Kernels that wait: inside a compiled call, pointwise kernels over many elements are noted instead
 * of run, and run together, as fused loops, when somebody needs what they compute.
 *
 * Only the kernel waits. Results have their dtype, shape, memory, version and history as ever, so
 * that nothing above this level can tell the difference; a call that could fail on values never
 * waits. Whoever reads or writes memory otherwise than through the dispatcher calls fl_settle. */
#pragma once
#include "dispatch/objects.h"

/* How many threads have kernels that wait: what everybody asks before anything else. */
extern int fl_waiting_queues;
static inline bool fl_any_waiting(void) {
    return FL_UNLIKELY(__atomic_load_n(&fl_waiting_queues, __ATOMIC_RELAXED) != 0);
}

/* Note a call whose results exist; 1 when it waits now, 0 when it has to be run, -1 on failure. */
int fl_defer(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
/* Whether a call is one of a formula or in rows; `in_private`: over memory that nobody else can
 * reach. */
bool fl_is_fusible(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs,
                   bool in_private);
/* A plain formula, whose results go nowhere else. */
bool fl_is_formula(const fl_op *op);
/* Run what waits and writes memory that this call reads, or uses memory that it writes; its kernel
 * is about to run, which a recording notes (replay/replay.h). */
int fl_settle_call(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
/* The same for a call whose results do not exist yet and that cannot wait itself: what ran lets go
 * of memory that the caches hold, which the results then take. */
int fl_settle_ahead(const fl_op *op, const fl_value *in, int n, const fl_spec *specs);
/* The same for one tensor that is about to be read by `why`, and written unless `only_reads`. */
int fl_settle(const char *why, const fl_tensor *t, bool only_reads);
int fl_settle_storage(const char *why, fl_storage *s, bool only_reads);
/* The memory may from now on be read and written by others at any time, so that no kernel over it
 * may wait. */
int fl_settle_for_good(const char *why, const fl_tensor *t);
/* Whether nobody outside can read and write the memory. */
bool fl_is_private(const fl_tensor *t);

/* Memory that waiting kernels use is about to be freed: it is theirs from now on. */
void fl_queue_keep(fl_storage *s);

/* Enter and leave a call of a compiled function on this thread; leaving the outermost one runs what
 * waits. The first says whether kernels waited before, which the second is told. */
int fl_deferral_enter(const void *function);
int fl_deferral_exit(int before);
/* Have no kernel wait, nor in compiled calls inside where `recursive`, until what was before. */
int fl_deferral_pause(bool recursive);
void fl_deferral_resume(int before);
/* Whether kernels wait in any compiled call that begins. */
void fl_deferral_turn(bool on);
bool fl_deferral_is_on(void);
/* Whether the thread's last compiled call ran plans, and which: (plans, reasons), a new
 * reference. */
bool fl_deferral_ran(void);
PyObject *fl_deferral_report(void);
/* The function that turns kernels into steps (flambeau.jit), and how few elements wait. */
void fl_deferral_configure(PyObject *planner, int64_t least);
extern int64_t fl_least_elements;
static inline int64_t fl_deferral_least(void) { return fl_least_elements; }
/* Let kernels wait on a type of device, whose backend runs what the planner makes of them. */
void fl_deferral_add_device(int device_type);
/* Run what waits on this thread: somebody asks for more than memory, such as a stream's end. */
int fl_settle_thread(const char *why);
/* Forget all plans; those that run at this moment end. */
void fl_deferral_forget(void);
/* Have a function told of the plans that run on this thread, see watch.h; NULL: none any more. */
void fl_deferral_watch(PyObject *function, bool compare);
/* How many calls wait on this thread. */
size_t fl_deferral_waiting(void);
/* How often plans ran on this thread of which it was not known yet whether they gain. */
int64_t fl_deferral_trial_runs(void);
