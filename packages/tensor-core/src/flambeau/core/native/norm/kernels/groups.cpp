/* Short channels and small groups: see groups.h. */
#include "norm/kernels/groups.h"
#include <math.h>

namespace {

constexpr int GROUPS = 64;      /* that are normalized side by side */

/* Groups as columns, so that every step is a loop over groups. */
template <class T> struct Block {
    alignas(64) T x[FL_SMALL_GROUP][GROUPS];
    alignas(64) T scale[GROUPS], shift[GROUPS];
    alignas(64) double mean[GROUPS], rstd[GROUPS];
};

template <class T> void turn_in(Block<T> &b, const T *x, int64_t count, int64_t size) {
    for (int64_t k = 0; k < count; k++)
        for (int64_t j = 0; j < size; j++)
            b.x[j][k] = x[k * size + j];
    for (int64_t j = 0; j < size && count < GROUPS; j++)
        for (int64_t k = count; k < GROUPS; k++)
            b.x[j][k] = 0;
}

template <class T> void turn_out(const Block<T> &b, T *out, int64_t count, int64_t size) {
    for (int64_t k = 0; k < count; k++)
        for (int64_t j = 0; j < size; j++)
            out[k * size + j] = b.x[j][k];
}

/* As for rows: deviations from the mean in two passes, and the rounding of the mean taken out. */
template <class T> void find_moments(Block<T> &b, int64_t size, double eps) {
    alignas(64) T mean[GROUPS], first[GROUPS] = {}, second[GROUPS] = {};
    for (int k = 0; k < GROUPS; k++)
        mean[k] = b.x[0][k];
    for (int64_t j = 1; j < size; j++)
        for (int k = 0; k < GROUPS; k++)
            mean[k] += b.x[j][k];
    for (int k = 0; k < GROUPS; k++)
        mean[k] /= (T)size;
    for (int64_t j = 0; j < size; j++)
        for (int k = 0; k < GROUPS; k++) {
            const T d = b.x[j][k] - mean[k];
            first[k] += d;
            second[k] += d * d;
        }
    for (int k = 0; k < GROUPS; k++) {
        const double off = (double)first[k] / (double)size;
        const double m2 = (double)second[k] - (double)first[k] * off;
        b.mean[k] = (double)mean[k] + off;
        b.rstd[k] = 1 / sqrt((m2 < 0 ? 0 : m2) / (double)size + eps);
    }
}

/* Factors of channel c of every group. */
template <class T>
void find_factors(Block<T> &b, const fl_small_groups &job, int64_t first, int64_t count,
                  int64_t c) {
    int64_t at = first % job.groups * job.channels + c;
    const int64_t end = job.groups * job.channels;
    for (int64_t k = 0; k < count; k++) {
        const double scale = job.weight ? b.rstd[k] * job.weight[at] : b.rstd[k];
        b.scale[k] = (T)scale;
        b.shift[k] = (T)((job.bias ? job.bias[at] : 0) - b.mean[k] * scale);
        at = at + job.channels < end ? at + job.channels : c;
    }
}

template <class T>
void small(const void *xs, void *ys, const fl_small_groups *job, int64_t first, int64_t count,
           double *mean, double *rstd) {
    const T *x = (const T *)xs;
    T *y = (T *)ys;
    const int64_t size = job->channels * job->inner;
    Block<T> b;
    for (int64_t i = 0; i < count; i += GROUPS) {
        const int64_t n = count - i < GROUPS ? count - i : GROUPS;
        turn_in(b, x + i * size, n, size);
        find_moments(b, size, job->eps);
        for (int64_t j = 0; j < size; j++) {
            if (j % job->inner == 0 && (j == 0 || job->weight || job->bias))
                find_factors(b, *job, first + i, n, j / job->inner);
            for (int k = 0; k < GROUPS; k++)
                b.x[j][k] = b.x[j][k] * b.scale[k] + b.shift[k];
        }
        turn_out(b, y + i * size, n, size);
        for (int64_t k = 0; k < n; k++) {
            mean[i + k] = b.mean[k];
            rstd[i + k] = b.rstd[k];
        }
    }
}

/* Call body(channel, element) for all elements; of one each, a loop that becomes vectors. */
template <class Body> inline void each(int64_t channels, int64_t inner, const Body &body) {
    if (inner == 1) {
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; c++)
            body(c, c);
        return;
    }
    for (int64_t c = 0; c < channels; c++)
        for (int64_t k = c * inner; k < (c + 1) * inner; k++)
            body(c, k);
}

/* As one factor and one summand, which are rounded first, as those of long channels are. */
template <class T>
void affine(const void *xs, void *ys, int64_t channels, int64_t inner, double mean, double rstd,
            const double *weight, const double *bias) {
    const T *x = (const T *)xs;
    T *y = (T *)ys;
    if (!weight && !bias) {
        const T a = (T)rstd, b = (T)(-mean * rstd);
        for (int64_t k = 0; k < channels * inner; k++)
            y[k] = x[k] * a + b;
    } else if (weight && bias) {
        each(channels, inner, [&](int64_t c, int64_t k) {
            const double scale = rstd * weight[c];
            y[k] = x[k] * (T)scale + (T)(bias[c] - mean * scale);
        });
    } else {
        each(channels, inner, [&](int64_t c, int64_t k) {
            const double scale = weight ? rstd * weight[c] : rstd;
            y[k] = x[k] * (T)scale + (T)((bias ? bias[c] : 0) - mean * scale);
        });
    }
}

template <class T>
void sums(const void *gs, const void *xs, int64_t channels, int64_t inner, double mean,
          double *sum_g, double *sum_gx) {
    const T *g = (const T *)gs, *x = (const T *)xs, m = (T)mean;
    if (inner == 1) {
        for (int64_t c = 0; c < channels; c++) {
            sum_g[c] = (double)g[c];
            sum_gx[c] = (double)(g[c] * (x[c] - m));
        }
        return;
    }
    for (int64_t c = 0; c < channels; c++) {
        T a = 0, b = 0;
        for (int64_t k = c * inner; k < (c + 1) * inner; k++) {
            a += g[k];
            b += g[k] * (x[k] - m);
        }
        sum_g[c] = (double)a;
        sum_gx[c] = (double)b;
    }
}

template <class T>
void dx(const void *gs, const void *xs, void *out, int64_t channels, int64_t inner, double mean,
        const double *as, double b, double c) {
    const T *g = (const T *)gs, *x = (const T *)xs, m = (T)mean, tb = (T)b, tc = (T)c;
    T *y = (T *)out;
    each(channels, inner,
         [&](int64_t i, int64_t k) { y[k] = (T)as[i] * g[k] + tb * (x[k] - m) + tc; });
}

}  // namespace

#define BOTH(f) {f<float>, f<double>}
extern const fl_group_kernels FL_LEVEL(fl_group_kernels) = {BOTH(small), BOTH(affine), BOTH(sums),
                                                            BOTH(dx)};
