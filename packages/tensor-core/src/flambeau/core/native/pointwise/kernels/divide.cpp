/* Quotients of int64, see divide.h. The quotient of floats is exact enough: it can only round up to
 * an integer that it does not reach where the dividend needs all bits of the fraction, and
 * processors divide floats several at a time. */
#include "pointwise/kernels/divide.h"

namespace {

inline int64_t floor_exact(int64_t x, int64_t by) {
    if (by == -1)
        return (int64_t)(0 - (uint64_t)x);
    int64_t quotient = x / by;
    return quotient - (x % by != 0 && (x < 0) != (by < 0));
}

const int64_t BLOCK_ELEMENTS = 512;
const int64_t MAX_EXACT = (int64_t)1 << 51;

/* Blocks of numbers that doubles hold, or one by one. */
void floors(const int64_t *x, int64_t divisor, int64_t *to, int64_t n) {
    const double by = (double)divisor;
    for (int64_t i = 0; i < n; i += BLOCK_ELEMENTS) {
        int64_t count = n - i < BLOCK_ELEMENTS ? n - i : BLOCK_ELEMENTS;
        uint64_t beyond = 0;
        for (int64_t j = i; j < i + count; j++)
            beyond |= (uint64_t)x[j] + (uint64_t)MAX_EXACT;
        if (beyond < 2 * (uint64_t)MAX_EXACT && divisor > -MAX_EXACT && divisor < MAX_EXACT)
#pragma GCC ivdep
            for (int64_t j = i; j < i + count; j++)
                to[j] = (int64_t)__builtin_floor((double)x[j] / by);
        else
            for (int64_t j = i; j < i + count; j++)
                to[j] = floor_exact(x[j], divisor);
    }
}

}  // namespace

extern const fl_divide_kernels FL_LEVEL(fl_divide_kernels) = {floors};
