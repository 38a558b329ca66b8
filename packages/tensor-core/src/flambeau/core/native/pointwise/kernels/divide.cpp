/* Quotients of integers, see divide.h. The quotient of floats is exact enough: it can only
 * round up to an integer that it does not reach where the dividend needs all bits of the
 * fraction, and processors divide floats several at a time. */
#include "pointwise/kernels/divide.h"

namespace {

template <class F> inline F floor_of(F x);
template <> inline float floor_of(float x) { return __builtin_floorf(x); }
template <> inline double floor_of(double x) { return __builtin_floor(x); }

/* Through int32 or int64, so that the one quotient that does not fit, of the least number and -1,
 * wraps. */
template <class T, class F, class Wide>
void floors(const void *in, int64_t divisor, void *out, int64_t n) {
    const T *x = (const T *)in;
    T *to = (T *)out;
    const F by = (F)divisor;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        to[i] = (T)(Wide)floor_of((F)x[i] / by);
}

inline int64_t floor_exact(int64_t x, int64_t by) {
    if (by == -1)
        return (int64_t)(0 - (uint64_t)x);
    int64_t quotient = x / by;
    return quotient - (x % by != 0 && (x < 0) != (by < 0));
}

const int64_t BLOCK_ELEMENTS = 512;
const int64_t MAX_EXACT = (int64_t)1 << 51;

/* Blocks of numbers that doubles hold, or one by one. */
void integer_floors(const void *in, int64_t divisor, void *out, int64_t n) {
    const int64_t *x = (const int64_t *)in;
    int64_t *to = (int64_t *)out;
    for (int64_t i = 0; i < n; i += BLOCK_ELEMENTS) {
        int64_t count = n - i < BLOCK_ELEMENTS ? n - i : BLOCK_ELEMENTS;
        uint64_t beyond = 0;
        for (int64_t j = i; j < i + count; j++)
            beyond |= (uint64_t)x[j] + (uint64_t)MAX_EXACT;
        if (beyond < 2 * (uint64_t)MAX_EXACT && divisor > -MAX_EXACT && divisor < MAX_EXACT)
            floors<int64_t, double, int64_t>(x + i, divisor, to + i, count);
        else
            for (int64_t j = i; j < i + count; j++)
                to[j] = floor_exact(x[j], divisor);
    }
}

}  // namespace

extern const fl_divide_kernels FL_LEVEL(fl_divide_kernels) = {
    {floors<uint8_t, float, int32_t>, floors<int8_t, float, int32_t>,
     floors<int16_t, float, int32_t>, floors<int32_t, double, int64_t>, integer_floors}};
