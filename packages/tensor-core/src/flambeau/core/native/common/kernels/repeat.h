/* Every element several times in a row. */
#pragma once
#include <stdint.h>

namespace {

template <int TIMES, class T> inline void repeat_elements(const T *x, int64_t n, T *y) {
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < TIMES; k++)
            y[i * TIMES + k] = x[i];
}

/* The common numbers of times are loops that the compiler unrolls. */
template <class T> inline void repeat_each(const T *x, int64_t n, int64_t times, T *y) {
    switch (times) {
    case 2: return repeat_elements<2>(x, n, y);
    case 3: return repeat_elements<3>(x, n, y);
    case 4: return repeat_elements<4>(x, n, y);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < times; k++)
            y[i * times + k] = x[i];
}

}  // namespace
