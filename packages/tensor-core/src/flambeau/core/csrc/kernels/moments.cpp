/* Means and squared deviations, in two passes over memory that is still in the nearest cache.
 *
 * The second pass also sums the deviations themselves, which takes out the rounding of the mean:
 * m2 = sum((x - m)^2) - sum(x - m)^2 / n. */
#include "kernels/moments.h"
#include "kernels/folds.h"

namespace {

constexpr int SETS = 4;

template <class T> FL_TIGHT T tree(const Lanes<T> *s) {
    return fold_lanes<Sum<T>, T>((s[0] + s[1]) + (s[2] + s[3]));
}

template <class T> T sum(const T *p, int64_t n) {
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

template <class T> T deviations(const T *p, int64_t n, T mean, T *first) {
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

template <class T> void moments_row(const void *x, int64_t n, double *mean, double *m2) {
    const T *p = (const T *)x;
    T m = sum(p, n) / (T)n;
    T first = 0;
    double second = (double)deviations(p, n, m, &first);
    const double off = (double)first / (double)n;
    *mean = (double)m + off;
    second -= (double)first * off;
    *m2 = second < 0 ? 0 : second;
}

template <class T>
void moments_columns(const void *x, int64_t n, int64_t stride, int64_t width, int64_t seen,
                     double *mean, double *m2, void *sums) {
    const T *p = (const T *)x;
    T *m = (T *)sums;
    for (int64_t j = 0; j < width; j++)
        m[j] = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < width; j++)
            m[j] += p[i * stride + j];
    for (int64_t j = 0; j < width; j++)
        m[j] /= (T)n;
    T first[64], second[64];
    for (int64_t at = 0; at < width; at += 64) {
        int64_t w = width - at < 64 ? width - at : 64;
        for (int64_t j = 0; j < w; j++)
            first[j] = second[j] = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < w; j++) {
                T d = p[i * stride + at + j] - m[at + j];
                first[j] += d;
                second[j] += d * d;
            }
        for (int64_t j = 0; j < w; j++) {
            const double off = (double)first[j] / (double)n;
            const double part = (double)second[j] - (double)first[j] * off;
            if (seen == 0)
                mean[at + j] = m2[at + j] = 0;
            fl_join_moments(seen, &mean[at + j], &m2[at + j], n, (double)m[at + j] + off,
                            part < 0 ? 0 : part);
        }
    }
}

}  // namespace

extern const fl_moments_kernels FL_LEVEL(fl_moments_kernels) = {
    {moments_row<float>, moments_row<double>}, {moments_columns<float>, moments_columns<double>}};
