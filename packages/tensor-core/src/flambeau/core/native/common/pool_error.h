/* The first error of work running on the pool, carried to the thread that asked for the work. */
#pragma once
#include "runtime/error.h"
#include <atomic>
#include <string.h>

class PoolError {
  public:
    /* On a worker: keep this thread's error and clear it. */
    void capture() {
        if (!taken_.exchange(true)) {
            kind_ = fl_error_kind_get();
            strncpy(text_, fl_error_text(), sizeof text_ - 1);
        }
        fl_error_clear();
    }
    bool failed() const { return taken_.load(std::memory_order_relaxed); }
    /* On the caller, after the loop: 0, or -1 with the error stored. */
    int result() const { return failed() ? fl_error(kind_, "%s", text_) : 0; }

  private:
    std::atomic<bool> taken_{false};
    int kind_ = FL_NO_ERROR;
    char text_[512] = {0};
};
