/* Whether a plan is faster than its calls one by one: the first runs tell. */
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

class fl_trial {
    using Clock = std::chrono::steady_clock;
    static const int RUNS = 10;             /* by turns; the least of each counts */
    int64_t code = INT64_MAX, kernel = INT64_MAX;
    int runs = 0;

  public:
    bool has_ended(void) const { return runs >= RUNS; }
    /* To have a call wait takes time as well: code that is only just faster gains nothing. */
    bool gained(void) const { return code + code / 32 < kernel; }

    template <class Code, class Kernel> int run(Code run_code, Kernel run_kernel) {
        const bool is_code = runs++ % 2 == 0;
        const auto begin = Clock::now();
        const int status = is_code ? run_code() : run_kernel();
        int64_t &least = is_code ? code : kernel;
        least = std::min<int64_t>(least, (Clock::now() - begin).count());
        return status;
    }
};
