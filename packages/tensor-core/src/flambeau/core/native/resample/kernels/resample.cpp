/* Weighted sums of a few lines, which the compiler turns into vector code. */
#include "resample/kernels/resample.h"
#include "common/kernels/repeat.h"
#include <string.h>

namespace {

/* Sums of some neighbours; TIMES is 0 where only `times` says how many. */
template <int TIMES, class T> void add_each(const T *g, int64_t n, int64_t times, T *x) {
    const int64_t each = TIMES ? TIMES : times;
    for (int64_t i = 0; i < n; i++) {
        T sum = 0;
        for (int64_t k = 0; k < each; k++)
            sum += g[i * each + k];
        x[i] = sum;
    }
}

template <class T> void add_elements(const T *g, T *x, const fl_taps &t) {
    if (t.repeats == 2)
        add_each<2>(g, t.in, 2, x);
    else
        add_each<0>(g, t.in, t.repeats, x);
}

template <class T> void repeat_lines(const T *x, T *y, const fl_taps &t, int64_t inner) {
    for (int64_t i = 0; i < t.in; i++, x += inner)
        for (int64_t k = 0; k < t.repeats; k++, y += inner)
            memcpy(y, x, (size_t)inner * sizeof(T));
}

/* Lines of one element: the taps are read side by side. */
template <class T> void gather_elements(const T *x, T *y, const fl_taps &t) {
    const T *weight = (const T *)t.weight;
    if (t.width == 2) {
        for (int64_t j = 0; j < t.out; j++)
            y[j] = weight[2 * j] * x[t.index[2 * j]] +
                   (t.count[j] > 1 ? weight[2 * j + 1] * x[t.index[2 * j + 1]] : 0);
        return;
    }
    for (int64_t j = 0; j < t.out; j++) {
        T sum = 0;
        for (int64_t k = j * t.width; k < j * t.width + t.count[j]; k++)
            sum += weight[k] * x[t.index[k]];
        y[j] = sum;
    }
}

template <class T>
void combine(const T *__restrict a, const T *__restrict b, T *__restrict y, int64_t n, T u, T v) {
    for (int64_t i = 0; i < n; i++)
        y[i] = u * a[i] + v * b[i];
}

template <class T> void scale(const T *__restrict a, T *__restrict y, int64_t n, T u) {
    for (int64_t i = 0; i < n; i++)
        y[i] = u * a[i];
}

template <class T> void add(const T *__restrict a, T *__restrict y, int64_t n, T u) {
    for (int64_t i = 0; i < n; i++)
        y[i] += u * a[i];
}

template <class T> void gather(const void *xs, void *ys, const fl_taps *taps, int64_t inner) {
    const T *x = (const T *)xs, *weight = (const T *)taps->weight;
    T *y = (T *)ys;
    if (taps->repeats)
        return inner == 1 ? repeat_each(x, taps->in, taps->repeats, y)
                          : repeat_lines(x, y, *taps, inner);
    if (inner == 1)
        return gather_elements(x, y, *taps);
    for (int64_t j = 0; j < taps->out; j++, y += inner) {
        const int64_t *index = taps->index + j * taps->width;
        const T *w = weight + j * taps->width;
        int32_t n = taps->count[j], k = n > 1 ? 2 : 1;
        if (n == 0)
            for (int64_t i = 0; i < inner; i++)
                y[i] = 0;
        else if (n == 1)
            scale(x + index[0] * inner, y, inner, w[0]);
        else
            combine(x + index[0] * inner, x + index[1] * inner, y, inner, w[0], w[1]);
        for (; k < n; k++)
            add(x + index[k] * inner, y, inner, w[k]);
    }
}

/* One tap for each element of the line. Neighbours often go to the same position: their sum is kept
 * in a register, since waiting for the position itself takes longer than the addition. */
template <class T> void scatter_single(const T *g, T *x, const fl_taps &t) {
    const T *weight = (const T *)t.weight;
    int64_t position = -1;
    T sum = 0;
    for (int64_t j = 0; j < t.out; j++) {
        if (t.count[j] == 0)
            continue;
        if (t.index[j] != position) {
            if (position >= 0)
                x[position] = sum;
            position = t.index[j];
            sum = x[position];
        }
        sum += weight[j] * g[j];
    }
    if (position >= 0)
        x[position] = sum;
}

template <class T> void scatter(const void *gs, void *xs, const fl_taps *taps, int64_t inner) {
    const T *g = (const T *)gs, *weight = (const T *)taps->weight;
    T *x = (T *)xs;
    if (taps->repeats && inner == 1)
        return add_elements(g, x, *taps);
    for (int64_t i = 0; i < taps->in * inner; i++)
        x[i] = 0;
    if (inner == 1 && taps->width == 1)
        return scatter_single(g, x, *taps);
    for (int64_t j = 0; j < taps->out; j++, g += inner)
        for (int64_t k = j * taps->width; k < j * taps->width + taps->count[j]; k++) {
            T *to = x + taps->index[k] * inner;
            if (inner == 1)
                *to += weight[k] * *g;
            else
                add(g, to, inner, weight[k]);
        }
}

}  // namespace

extern const fl_resample_kernels FL_LEVEL(fl_resample_kernels) = {
    {gather<float>, gather<double>}, {scatter<float>, scatter<double>}};
