/* Means and squared deviations, in two passes over memory that is still in the nearest cache.
 *
 * The second pass also sums the deviations themselves, which takes out the rounding of the mean:
 * m2 = sum((x - m)^2) - sum(x - m)^2 / n. */
#include "statistics/kernels/moments.h"
#include "common/kernels/row_moments.h"

namespace {

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
                     double *__restrict mean, double *__restrict m2, void *sums) {
    const T *__restrict p = (const T *)x;
    T *__restrict m = (T *)sums;
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
