/* Python in the middle of a kernel: on a thread of its own, where no handler of signals, debugger or
 * profiler runs, which might want what is not computed yet or leave with an error that is none of
 * the call's, and where Python's stack is empty. */
#pragma once
#include "dispatch/python.h"
#include <system_error>
#include <thread>

static inline bool fl_is_finalizing(void) {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

/* Call body() with Python's lock, which this thread has, and wait for it; it leaves no exception. */
template <class Body> static inline void fl_call_apart(const Body &body) {
    std::thread worker;
    try {
        if (!fl_is_finalizing())
            worker = std::thread([&] {
                PyGILState_STATE state = PyGILState_Ensure();
                body();
                PyGILState_Release(state);
            });
    } catch (const std::system_error &) {   /* there are too many */
    }
    if (!worker.joinable())
        return body();
    Py_BEGIN_ALLOW_THREADS
    worker.join();
    Py_END_ALLOW_THREADS
}
