/* Transforms of a few numbers held in registers, one per lane. */
#pragma once
#include "fft/kernels/fft.h"
#include "common/kernels/lanes.h"

namespace {

template <class T> struct Pair {         /* complex numbers, one per lane */
    typedef typename register_of<T>::type reg;
    reg re, im;
};

template <class T> FL_TIGHT Pair<T> operator+(const Pair<T> &a, const Pair<T> &b) {
    return {a.re + b.re, a.im + b.im};
}
template <class T> FL_TIGHT Pair<T> operator-(const Pair<T> &a, const Pair<T> &b) {
    return {a.re - b.re, a.im - b.im};
}
/* a - i b and a + i b. */
template <class T> FL_TIGHT Pair<T> minus_i(const Pair<T> &a, const Pair<T> &b) {
    return {a.re + b.im, a.im - b.re};
}
template <class T> FL_TIGHT Pair<T> plus_i(const Pair<T> &a, const Pair<T> &b) {
    return {a.re - b.im, a.im + b.re};
}
template <class T> FL_TIGHT Pair<T> times(const Pair<T> &a, T wr, T wi) {
    typename Pair<T>::reg zero = {}, vr = wr - zero, vi = wi - zero;
    return {fused(a.re, vr, -(a.im * vi)), fused(a.re, vi, a.im * vr)};
}
template <class T> FL_TIGHT Pair<T> load_pair(const fl_split<T> &x, int64_t at) {
    Pair<T> v;
    memcpy(&v.re, x.re + at, sizeof v.re);
    memcpy(&v.im, x.im + at, sizeof v.im);
    return v;
}
template <class T> FL_TIGHT void store_pair(const fl_split<T> &y, int64_t at, const Pair<T> &v) {
    memcpy(y.re + at, &v.re, sizeof v.re);
    memcpy(y.im + at, &v.im, sizeof v.im);
}

/* The transform of R numbers in place; R odd: symmetric terms share their products. */
template <class T, int R> struct Butterfly {
    static FL_TIGHT void run(Pair<T> *x, const T *roots) {
        constexpr int H = R / 2;
        Pair<T> sum[H], difference[H], first = x[0];
        typename Pair<T>::reg zero = {};
#pragma GCC unroll 16
        for (int j = 0; j < H; j++) {
            sum[j] = x[j + 1] + x[R - 1 - j];
            difference[j] = x[j + 1] - x[R - 1 - j];
            x[0] = x[0] + sum[j];
        }
#pragma GCC unroll 16
        for (int k = 1; k <= H; k++) {
            Pair<T> even = first, odd = {zero, zero};
#pragma GCC unroll 16
            for (int j = 0; j < H; j++) {
                int turn = (j + 1) * k % R;
                typename Pair<T>::reg c = roots[2 * turn] - zero, s = roots[2 * turn + 1] - zero;
                even = {fused(sum[j].re, c, even.re), fused(sum[j].im, c, even.im)};
                odd = {fused(difference[j].re, s, odd.re), fused(difference[j].im, s, odd.im)};
            }
            x[k] = minus_i(even, odd);
            x[R - k] = plus_i(even, odd);
        }
    }
};

template <class T> struct Butterfly<T, 2> {
    static FL_TIGHT void run(Pair<T> *x, const T *) {
        Pair<T> a = x[0];
        x[0] = a + x[1];
        x[1] = a - x[1];
    }
};

template <class T> struct Butterfly<T, 4> {
    static FL_TIGHT void run(Pair<T> *x, const T *) {
        Pair<T> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
        x[0] = a + c;
        x[1] = minus_i(b, d);
        x[2] = a - c;
        x[3] = plus_i(b, d);
    }
};

template <class T> struct Butterfly<T, 8> {
    static FL_TIGHT void run(Pair<T> *x, const T *) {
        const T half = (T)0.70710678118654752440;
        typename Pair<T>::reg zero = {}, h = half - zero;
        Pair<T> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
        Butterfly<T, 4>::run(even, nullptr);
        Butterfly<T, 4>::run(odd, nullptr);
        Pair<T> turned[4];
        turned[1] = {(odd[1].re + odd[1].im) * h, (odd[1].im - odd[1].re) * h};
        turned[3] = {(odd[3].im - odd[3].re) * h, (odd[3].re + odd[3].im) * -h};
        x[0] = even[0] + odd[0];
        x[4] = even[0] - odd[0];
        x[1] = even[1] + turned[1];
        x[5] = even[1] - turned[1];
        x[2] = minus_i(even[2], odd[2]);
        x[6] = plus_i(even[2], odd[2]);
        x[3] = even[3] + turned[3];
        x[7] = even[3] - turned[3];
    }
};

}  // namespace
