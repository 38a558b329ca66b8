/* softmax, logsumexp and their gradients down columns: strips of several sets of lanes, so that a
 * row of the strip fills whole cache lines and the running values stay in registers. */
#pragma once
#include "reduce/kernels/reducers.h"
#include "reduce/kernels/log_of_sum.h"
#include "common/kernels/vexp.h"

namespace {

template <class T> FL_TIGHT Lanes<T> quick_max(const Lanes<T> &a, const Lanes<T> &b) {
    Lanes<T> v;
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        v.r[i] = above(a.r[i], b.r[i]);
    return v;
}

template <class T> FL_TIGHT Lanes<T> quick_min(const Lanes<T> &a, const Lanes<T> &b) {
    Lanes<T> v;
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        v.r[i] = below(a.r[i], b.r[i]);
    return v;
}

template <class T> FL_TIGHT Lanes<T> get(const T *p, int64_t n, T rest) {
    return n >= Lanes<T>::COUNT ? Lanes<T>::load(p) : Lanes<T>::load_part(p, n, rest);
}

template <class T> FL_TIGHT void put(const Lanes<T> &v, T *p, int64_t n) {
    if (n >= Lanes<T>::COUNT)
        v.store(p);
    else
        v.store_part(p, n);
}

/* K sets of lanes side by side; the last strip has one set that may be partly empty. */
template <int K, class T> struct Strip {
    static constexpr int COUNT = Lanes<T>::COUNT, SETS = K;
    int64_t width;                      /* of the one set, when K is 1 */
    FL_TIGHT Lanes<T> load(const T *p, int k) const {
        return K > 1 ? Lanes<T>::load(p + k * COUNT) : get(p, width, (T)0);
    }
    FL_TIGHT void store(const Lanes<T> &v, T *p, int k) const {
        if (K > 1)
            v.store(p + k * COUNT);
        else
            put(v, p, width);
    }
};

/* Call body(strip, first column) for strips of K sets, then of one. */
template <class T, class Body> FL_TIGHT void each_strip(int64_t width, const Body &body) {
    constexpr int K = 4, COUNT = Lanes<T>::COUNT;
    int64_t j = 0;
    for (; j + K * COUNT <= width; j += K * COUNT)
        body(Strip<K, T>{COUNT}, j);
    for (; j < width; j += COUNT)
        body(Strip<1, T>{width - j}, j);
}

template <int K, class T>
FL_TIGHT void max_of_strip(const Strip<K, T> &strip, const T *p, int64_t n, int64_t stride,
                           Lanes<T> *max) {
    for (int k = 0; k < K; k++)
        max[k] = Lanes<T>::fill(limits<T>::low);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < K; k++)
            max[k] = quick_max(strip.load(p + i * stride, k), max[k]);
}

/* Raised by a power of two, as the rows' sums are. */
template <bool keep, int K, class T>
FL_TIGHT void sum_of_strip(const Strip<K, T> &strip, const T *p, T *out, int64_t n, int64_t stride,
                           const Lanes<T> *max, Lanes<T> *sum) {
    for (int k = 0; k < K; k++)
        sum[k] = Lanes<T>::fill(0);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < K; k++) {
            Lanes<T> e = exp_falling_lanes(strip.load(p + i * stride, k) - max[k],
                                           exp_numbers<T>::raise);
            sum[k] = sum[k] + e;
            if (keep)
                strip.store(e, out + i * stride, k);
        }
}

template <class T> FL_TIGHT Lanes<T> plain_sum(const Lanes<T> &sum) {
    return sum * Lanes<T>::fill(1 / exp_numbers<T>::raised);
}

template <bool logs, class T>
void softmax_columns(const void *x, void *y, int64_t n, int64_t stride, int64_t width) {
    each_strip<T>(width, [=](auto strip, int64_t j) __attribute__((always_inline)) {
        constexpr int K = decltype(strip)::SETS;
        const T *p = (const T *)x + j;
        T *out = (T *)y + j;
        Lanes<T> max[K], sum[K], border[K];
        max_of_strip(strip, p, n, stride, max);
        sum_of_strip<!logs>(strip, p, out, n, stride, max, sum);
        for (int k = 0; k < K; k++) {
            const Lanes<T> plain = plain_sum(sum[k]);
            border[k] = plain * Lanes<T>::fill(border_of(exp_numbers<T>::raised));
            sum[k] = logs ? log_totals(plain) : Lanes<T>::fill(1) / sum[k];
        }
        for (int64_t i = 0; i < n; i++)
            for (int k = 0; k < K; k++)
                strip.store(logs ? strip.load(p + i * stride, k) - max[k] - sum[k]
                                 : lowered(strip.load(out + i * stride, k), sum[k], border[k]),
                            out + i * stride, k);
    });
}

template <class T> FL_TIGHT Lanes<T> finite_or_zero(Lanes<T> v) {
    typedef typename Lanes<T>::reg reg;
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        v.r[i] = v.r[i] - v.r[i] == 0 ? v.r[i] : reg{};
    return v;
}

template <class T>
void lse_columns(const void *x, int64_t n, int64_t stride, int64_t width, void *shifts,
                 void *sums) {
    each_strip<T>(width, [=](auto strip, int64_t j) __attribute__((always_inline)) {
        constexpr int K = decltype(strip)::SETS;
        const T *p = (const T *)x + j;
        Lanes<T> max[K], sum[K];
        max_of_strip(strip, p, n, stride, max);
        for (int k = 0; k < K; k++)
            max[k] = finite_or_zero(max[k]);
        sum_of_strip<false>(strip, p, (T *)nullptr, n, stride, max, sum);
        for (int k = 0; k < K; k++) {
            strip.store(max[k], (T *)shifts + j, k);
            strip.store(plain_sum(sum[k]), (T *)sums + j, k);
        }
    });
}

/* softmax: y (g - sum(g y)); log_softmax: g - exp(y) sum(g). */
template <bool logs, class T>
FL_TIGHT Lanes<T> grad_of(const Lanes<T> &g, const Lanes<T> &y, const Lanes<T> &total) {
    if (logs)
        return g - exp_lanes(y) * total;
    return y * (g - total);
}

template <bool logs, class T>
void grad_columns(const void *gx, const void *yx, void *out, int64_t n, int64_t stride,
                  int64_t width) {
    each_strip<T>(width, [=](auto strip, int64_t j) __attribute__((always_inline)) {
        constexpr int K = decltype(strip)::SETS;
        const T *g = (const T *)gx + j, *y = (const T *)yx + j;
        T *o = (T *)out + j;
        Lanes<T> total[K];
        for (int k = 0; k < K; k++)
            total[k] = Lanes<T>::fill(0);
        for (int64_t i = 0; i < n; i++)
            for (int k = 0; k < K; k++) {
                Lanes<T> u = strip.load(g + i * stride, k);
                total[k] = total[k] + (logs ? u : u * strip.load(y + i * stride, k));
            }
        for (int64_t i = 0; i < n; i++)
            for (int k = 0; k < K; k++)
                strip.store(grad_of<logs>(strip.load(g + i * stride, k),
                                          strip.load(y + i * stride, k), total[k]),
                            o + i * stride, k);
    });
}

}  // namespace
