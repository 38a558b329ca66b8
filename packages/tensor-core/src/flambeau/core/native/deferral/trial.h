/* Whether a plan is faster than its calls one by one: the first runs tell. */
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

/* Code and kernels run by turns, and each run is compared with the one right after it, so that work
 * of other processes, which comes and goes, slows both of a pair down. The median of all pairs
 * counts. Where it is close, or pairs disagree, there are more of them. */
class fl_trial {
    using Clock = std::chrono::steady_clock;
    static const int FEWEST_PAIRS = 5, MOST_PAIRS = 20;
    static const int PAIRS_OF_HALF = 2;         /* do where code takes less than half the time */
    static const int CALL_NANOSECONDS = 300;    /* to note a call, and to find its plan */
    float ratios[MOST_PAIRS];               /* code over kernels, in ascending order */
    int pairs = 0;
    int64_t code = 0;                       /* the time of the last run of it */
    bool is_code = true, ended = false;

    float median(void) const { return (ratios[(pairs - 1) / 2] + ratios[pairs / 2]) / 2; }

    bool is_clear(void) const {
        const float middle = median();
        const int faster = (int)(std::lower_bound(ratios, ratios + pairs, 1.0f) - ratios);
        return (middle < 7.0f / 8 || middle > 9.0f / 8) &&
               5 * std::min(faster, pairs - faster) <= pairs;
    }

    void compare(int64_t kernel) {
        if (pairs == MOST_PAIRS || code <= 0)
            return;
        const float ratio = (float)code / (float)std::max<int64_t>(kernel, 1);
        float *at = std::lower_bound(ratios, ratios + pairs, ratio);
        std::copy_backward(at, ratios + pairs, ratios + pairs + 1);
        *at = ratio;
        pairs++;
        ended = pairs == MOST_PAIRS || (pairs >= FEWEST_PAIRS && is_clear()) ||
                (pairs >= PAIRS_OF_HALF && ratios[pairs - 1] < 0.5f);
    }

  public:
    bool has_ended(void) const { return ended; }
    /* To have a call wait takes time as well: code that is only just faster gains nothing. */
    bool gained(void) const { return median() < 32.0f / 33; }

    /* They run by turns. */
    bool is_turn_of_code(void) const { return is_code; }

    /* To have waited took time for so many calls. */
    template <class Run> int run_code(Run run, size_t calls) {
        is_code = false;
        const auto begin = Clock::now();
        const int status = run();
        code = (Clock::now() - begin).count() + (int64_t)calls * CALL_NANOSECONDS;
        return status;
    }

    template <class Run> int run_kernels(Run run) {
        is_code = true;
        const auto begin = Clock::now();
        const int status = run();
        compare((Clock::now() - begin).count());
        return status;
    }
};
