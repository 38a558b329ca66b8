/* What waits on one thread, and the plans by which it runs. */
#pragma once
#include "deferral/deferral.h"
#include "deferral/habits.h"
#include "runtime/mutex.h"
#include <deque>
#include <string>
#include <vector>

struct fl_queue {
    struct Slot {               /* memory that the waiting calls use */
        fl_storage *storage;    /* no reference, so that all can see who else holds the memory */
        bool is_kept;           /* nobody does: one reference, and no result in it is needed */
        bool written;
        size_t kept_at;         /* how many calls waited when the last holder let go of it */
    };
    struct Call {
        const fl_op *op;
        uint32_t first;         /* of its values: n arguments, then nouts results */
        uint16_t n, nouts;
        size_t key_at;          /* where the key has the operator's address */
        fl_habit *habit = nullptr;
    };
    std::vector<Call> calls;
    std::vector<fl_value> values;       /* of a tensor, len is its slot */
    std::deque<std::vector<int64_t>> lists;     /* that values point to */
    std::vector<Slot> slots;
    std::string key;                    /* equal for calls that run by the same plan */
    fl_habits habits;                   /* no place is forgotten while a call waits */
    std::vector<PyObject *> ran;        /* plans of the last compiled call */
    std::vector<const char *> reasons;
    Mutex mutex;
    bool has_product = false;           /* one of the calls is a product or convolution */
    int64_t trial_runs = 0;             /* of plans of which it is not known what they gain */
    int depth = 0;
    bool is_running = false;
    unsigned long runner = 0;           /* the thread that runs it */
    bool is_elsewhere = false;          /* a backend runs one of the calls, maybe by others */

    int add(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
    void clear(void);                   /* let go of everything that waits */
    bool is_launching(void) const;      /* on this thread a backend runs one of the calls */
    bool writes(const fl_storage *s) const;     /* what waits writes the memory */
    /* Whether a call may as well run at once: it gained nothing so far, and nothing has to run
     * before it. */
    bool is_pointless(uint64_t at, const fl_value *in, int n, fl_tensor *const *outs,
                      int nouts) const;
    void keep(fl_storage *s);           /* that nobody else holds any more */

  private:
    uint32_t slot_of(fl_storage *s);
    void add_tensor(fl_tensor *t, bool writes);
    void add_literal(const struct fl_pointwise *pw, int param, const fl_value &v);
    void add_argument(const fl_op *op, const fl_value &v);
};

/* Whether a call is fusible, and is large or would otherwise have the list run. */
bool fl_may_wait(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
/* Whether a call over a tensor may be noted: of the CPU, and nobody else can reach its memory. */
bool fl_may_hold(const fl_tensor *t);
/* Note a call that may wait, after what others have to run before it: 1, 0 where the queue runs at
 * this moment, -1 on failure. */
int fl_note_call(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
/* Have a call that stands for a part of another wait: 1, or run it where it cannot: 0. */
int fl_defer_or_run(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
extern PyObject *fl_deferral_planner;
/* Run everything that waits in a queue, on this thread. */
int fl_run_queue(fl_queue *q, const char *why);
