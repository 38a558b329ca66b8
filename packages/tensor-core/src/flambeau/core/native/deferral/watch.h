/* What ran, for those who ask: explain() and profiles. */
#pragma once
#include "deferral/queue.h"
#include <functional>

/* Whether somebody wants to know of runs on this thread. */
bool fl_is_watched(void);
/* Run a plan, and tell of it: (plan, why, begin, end, nanoseconds of the calls one by one, memory).
 * Where the watcher compares, both are run twice over memory as it was before. */
int fl_watch_run(const fl_queue *q, const char *why, PyObject *plan,
                 const std::function<int()> &run, const std::function<int()> &run_calls);
