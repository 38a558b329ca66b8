/* Telling a watcher of what ran, and how long the same calls take one by one. */
#include "deferral/watch.h"
#include <time.h>

namespace {

PyObject *watcher = nullptr;
bool compares = false;              /* also run the calls one by one */
unsigned long watched_thread = 0;

int64_t now(void) {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What the calls write, as it was before them. */
struct Before {
    std::vector<std::pair<fl_storage *, std::string>> copies;

    explicit Before(const fl_queue *q) {
        for (const fl_queue::Slot &s : q->slots)
            if (s.written)
                copies.push_back({s.storage, std::string(s.storage->ptr, s.storage->nbytes)});
    }
    void restore(void) const {
        for (auto &each : copies)
            memcpy(each.first->ptr, each.second.data(), each.second.size());
    }
};

/* The least nanoseconds of some runs, after one that brings code and memory into the caches. */
int64_t time_again(const Before &before, const std::function<int()> &run) {
    const int RUNS = 4;
    int64_t least = INT64_MAX;
    for (int i = 0; i < RUNS; i++) {
        before.restore();
        int64_t begin = now();
        if (run() < 0)
            return -1;
        int64_t spent = now() - begin;
        if (i > 0 && spent < least)
            least = spent;
    }
    return least;
}

/* Memory that the host can copy. */
bool is_all_here(const fl_queue *q) {
    for (const fl_queue::Slot &s : q->slots)
        if (s.storage->device_type != FL_CPU)
            return false;
    return true;
}

/* [(storage, whether it is written)] */
PyObject *describe_memory(const fl_queue *q) {
    PyObject *list = PyList_New(0);
    for (const fl_queue::Slot &s : q->slots) {
        PyObject *pair = Py_BuildValue("KO", (unsigned long long)(uintptr_t)s.storage,
                                       s.written ? Py_True : Py_False);
        if (pair)
            PyList_Append(list, pair);
        Py_XDECREF(pair);
    }
    return list;
}

}  // namespace

void fl_deferral_watch(PyObject *function, bool compare) {
    Py_XINCREF(function);
    Py_XSETREF(watcher, function);
    compares = compare;
    watched_thread = PyThread_get_thread_ident();
}

bool fl_is_watched(void) { return watcher && PyThread_get_thread_ident() == watched_thread; }

int fl_watch_run(const fl_queue *q, const char *why, PyObject *plan,
                 const std::function<int()> &run, const std::function<int()> &run_calls) {
    int64_t alone = 0, begin = now();
    int status;
    if (compares && is_all_here(q)) {
        Before before(q);
        int64_t together;
        alone = time_again(before, run_calls);
        together = alone < 0 ? -1 : time_again(before, run);
        status = together < 0 ? -1 : 0;
        begin = now() - together;
    } else {
        status = run();
    }
    int64_t end = now();
    PyObject *memory = status < 0 ? nullptr : describe_memory(q);
    if (!memory)
        return -1;
    PyObject *told = PyObject_CallFunction(watcher, "OsLLLN", plan, why, (long long)begin,
                                           (long long)end, (long long)alone, memory);
    Py_XDECREF(told);
    return told ? 0 : -1;
}
