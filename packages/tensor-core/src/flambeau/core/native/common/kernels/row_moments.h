/* Sums, and sums of deviations, of contiguous rows. */
#pragma once
#include "reduce/kernels/reducers.h"

namespace {

constexpr int SETS = 4;

template <class T> FL_TIGHT T tree(const Lanes<T> *s) {
    return reduce_lanes<Sum<T>, T>((s[0] + s[1]) + (s[2] + s[3]));
}

template <class T> FL_TIGHT T sum(const T *p, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    Lanes<T> set[SETS];
    for (int s = 0; s < SETS; s++)
        set[s] = Lanes<T>::fill(0);
    int64_t i = 0;
    for (; i + SETS * COUNT <= n; i += SETS * COUNT)
        for (int s = 0; s < SETS; s++)
            set[s] = set[s] + Lanes<T>::load(p + i + s * COUNT);
    for (; i + COUNT <= n; i += COUNT)
        set[0] = set[0] + Lanes<T>::load(p + i);
    if (i < n)
        set[1] = set[1] + Lanes<T>::load_part(p + i, n - i, 0);
    return tree(set);
}

template <class T> FL_TIGHT T deviations(const T *p, int64_t n, T mean, T *first) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const Lanes<T> m = Lanes<T>::fill(mean);
    Lanes<T> d1[SETS], d2[SETS];
    for (int s = 0; s < SETS; s++)
        d1[s] = d2[s] = Lanes<T>::fill(0);
    int64_t i = 0;
    for (; i + SETS * COUNT <= n; i += SETS * COUNT)
        for (int s = 0; s < SETS; s++) {
            Lanes<T> d = Lanes<T>::load(p + i + s * COUNT) - m;
            d1[s] = d1[s] + d;
            d2[s] = d2[s] + d * d;
        }
    for (; i < n; i += COUNT) {
        int64_t left = n - i < COUNT ? n - i : COUNT;
        Lanes<T> d = Lanes<T>::load_part(p + i, left, mean) - m;
        d1[0] = d1[0] + d;
        d2[0] = d2[0] + d * d;
    }
    *first = tree(d1);
    return tree(d2);
}

}  // namespace
