/* Quotients and remainders of int64, see divide.h. The quotient of floats is exact enough: it can
 * only round up to an integer that it does not reach where the dividend needs all bits of the
 * fraction, and processors divide floats several at a time. */
#include "pointwise/kernels/divide.h"

namespace {

/* As the formulas have it: no processor's error where the divisor is 0. */
inline int64_t rest(int64_t x, int64_t by) { return by == 0 || by == -1 ? 0 : x % by; }

struct Floor {
    static int64_t exact(int64_t x, int64_t by) {
        if (by == 0 || by == -1)
            return by ? (int64_t)(0 - (uint64_t)x) : 0;
        return x / by - (x % by != 0 && (x < 0) != (by < 0));
    }
    static double quick(double x, double by) { return __builtin_floor(x / by); }
};

struct Remainder {
    static int64_t exact(int64_t x, int64_t by) {
        const int64_t r = rest(x, by);
        return r != 0 && (r < 0) != (by < 0) ? r + by : r;
    }
    static double quick(double x, double by) { return x - __builtin_floor(x / by) * by; }
};

struct Fmod {
    static int64_t exact(int64_t x, int64_t by) { return rest(x, by); }
    static double quick(double x, double by) { return x - __builtin_trunc(x / by) * by; }
};

const int64_t BLOCK_ELEMENTS = 512;
const int64_t MAX_EXACT = (int64_t)1 << 51;

inline bool are_small(const int64_t *x, int64_t n) {
    uint64_t beyond = 0;
    for (int64_t i = 0; i < n; i++)
        beyond |= (uint64_t)x[i] + (uint64_t)MAX_EXACT;
    return beyond < 2 * (uint64_t)MAX_EXACT;
}

template <class Op, int STEP_X, int STEP_BY>
void quick(const int64_t *x, const int64_t *by, int64_t *to, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        to[i] = (int64_t)Op::quick((double)x[i * STEP_X], (double)by[i * STEP_BY]);
}

/* Blocks of numbers that doubles hold, or one by one. */
template <class Op>
void divide(const void *left, int step_x, const void *right, int step_by, void *out, int64_t n) {
    const int64_t *x = (const int64_t *)left, *by = (const int64_t *)right;
    int64_t *to = (int64_t *)out;
    const auto block = !step_x ? quick<Op, 0, 1> : !step_by ? quick<Op, 1, 0> : quick<Op, 1, 1>;
    for (int64_t i = 0; i < n; i += BLOCK_ELEMENTS) {
        const int64_t count = n - i < BLOCK_ELEMENTS ? n - i : BLOCK_ELEMENTS;
        const int64_t *a = x + i * step_x, *b = by + i * step_by;
        if (are_small(a, step_x ? count : 1) && are_small(b, step_by ? count : 1))
            block(a, b, to + i, count);
        else
            for (int64_t j = 0; j < count; j++)
                to[i + j] = Op::exact(a[j * step_x], b[j * step_by]);
    }
}

}  // namespace

extern const fl_divide_kernels FL_LEVEL(fl_divide_kernels) = {
    {divide<Floor>, divide<Remainder>, divide<Fmod>}};
