/* Common divisors and multiples of integers. */
#pragma once
#include "scalar.h"

namespace fl_integers {

FL_DEVICE static uint64_t size_of(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }

FL_DEVICE static int64_t gcd(int64_t a, int64_t b) {
    uint64_t x = size_of(a), y = size_of(b);
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (int64_t)x;
}

FL_DEVICE static int64_t lcm(int64_t a, int64_t b) {
    uint64_t divisor = size_of(gcd(a, b));
    return divisor ? (int64_t)size_of((int64_t)(size_of(a) / divisor * size_of(b))) : 0;
}

}  // namespace fl_integers
