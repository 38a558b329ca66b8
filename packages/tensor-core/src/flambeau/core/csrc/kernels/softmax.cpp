/* softmax, log_softmax and logsumexp of rows and columns, and their gradients.
 *
 * A row is read for its maximum, then once more for exp(x - max) and the sum; both readings find
 * it in the nearest cache. Columns are taken one set of lanes at a time. */
#include "kernels/softmax.h"
#include "kernels/vexp.h"
#include <math.h>

namespace {

constexpr int SETS = 4;

template <class T> FL_TIGHT T largest(const T *p, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    typedef Greatest<T> Op;
    Lanes<T> set[SETS];
    for (int s = 0; s < SETS; s++)
        set[s] = Lanes<T>::fill(limits<T>::low);
    int64_t i = 0;
    for (; i + SETS * COUNT <= n; i += SETS * COUNT)
        for (int s = 0; s < SETS; s++)
            set[s] = Op::of(set[s], Lanes<T>::load(p + i + s * COUNT));
    for (; i + COUNT <= n; i += COUNT)
        set[0] = Op::of(set[0], Lanes<T>::load(p + i));
    if (i < n)
        set[1] = Op::of(set[1], Lanes<T>::load_part(p + i, n - i, limits<T>::low));
    return fold_lanes<Op, T>(Op::of(Op::of(set[0], set[1]), Op::of(set[2], set[3])));
}

/* Sum of exp(x - shift); the exponentials are also stored when `keep` says so. */
template <bool keep, class T> FL_TIGHT T sum_exp(const T *p, T *out, int64_t n, T shift) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const Lanes<T> m = Lanes<T>::fill(shift);
    Lanes<T> a = Lanes<T>::fill(0), b = a;
    int64_t i = 0;
    for (; i + 2 * COUNT <= n; i += 2 * COUNT) {
        Lanes<T> e = exp_lanes(Lanes<T>::load(p + i) - m);
        Lanes<T> f = exp_lanes(Lanes<T>::load(p + i + COUNT) - m);
        if (keep) {
            e.store(out + i);
            f.store(out + i + COUNT);
        }
        a = a + e;
        b = b + f;
    }
    for (; i < n; i += COUNT) {
        int64_t left = n - i < COUNT ? n - i : COUNT;
        Lanes<T> e = exp_lanes(Lanes<T>::load_part(p + i, left, limits<T>::low) - m);
        if (keep)
            e.store_part(out + i, left);
        a = a + e;
    }
    return fold_lanes<Sum<T>, T>(a + b);
}

template <class T> void softmax_row(const void *x, void *y, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const T *p = (const T *)x;
    T *out = (T *)y;
    const T total = sum_exp<true>(p, out, n, largest(p, n));
    const T scale = 1 / total;
    const Lanes<T> s = Lanes<T>::fill(scale);
    int64_t i = 0;
    for (; i + COUNT <= n; i += COUNT)
        (Lanes<T>::load(out + i) * s).store(out + i);
    for (; i < n; i++)
        out[i] *= scale;
}

template <class T> void log_softmax_row(const void *x, void *y, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const T *p = (const T *)x;
    T *out = (T *)y;
    const T max = largest(p, n);
    const T rest = (T)log((double)sum_exp<false, T>(p, nullptr, n, max));
    const Lanes<T> m = Lanes<T>::fill(max), r = Lanes<T>::fill(rest);
    int64_t i = 0;
    for (; i + COUNT <= n; i += COUNT)
        (Lanes<T>::load(p + i) - m - r).store(out + i);
    for (; i < n; i++)
        out[i] = p[i] - max - rest;
}

/* An infinite maximum would give inf - inf: count the places where it stands instead. */
template <class T> void lse_row(const void *x, int64_t n, double *max, double *sum) {
    const T *p = (const T *)x;
    const T m = largest(p, n);
    *max = (double)m;
    if (m == limits<T>::low || m == limits<T>::high) {
        *sum = 0;
        for (int64_t i = 0; i < n; i++)
            *sum += p[i] == m;
        return;
    }
    *sum = (double)sum_exp<false, T>(p, nullptr, n, m);
}

/* ---- columns: one set of lanes wide --------------------------------------------------------- */

/* Reads and writes `width` <= COUNT elements of a strip. */
template <class T> struct Strip {
    int64_t width;
    FL_TIGHT bool whole() const { return width == Lanes<T>::COUNT; }
    FL_TIGHT Lanes<T> load(const T *p) const {
        return whole() ? Lanes<T>::load(p) : Lanes<T>::load_part(p, width, 0);
    }
    FL_TIGHT void store(const Lanes<T> &v, T *p) const {
        if (whole())
            v.store(p);
        else
            v.store_part(p, width);
    }
};

template <bool logs, class T>
void softmax_strip(const T *p, T *out, int64_t n, int64_t stride, Strip<T> strip) {
    constexpr int COUNT = Lanes<T>::COUNT;
    Lanes<T> m = Lanes<T>::fill(limits<T>::low);
    for (int64_t i = 0; i < n; i++)
        m = Greatest<T>::of(m, strip.load(p + i * stride));
    Lanes<T> total = Lanes<T>::fill(0);
    for (int64_t i = 0; i < n; i++) {
        Lanes<T> e = exp_lanes(strip.load(p + i * stride) - m);
        total = total + e;
        if (!logs)
            strip.store(e, out + i * stride);
    }
    alignas(64) T lane[COUNT];
    total.store(lane);
    for (int c = 0; c < COUNT; c++)
        lane[c] = logs ? (T)log((double)lane[c]) : 1 / lane[c];
    Lanes<T> last = Lanes<T>::load(lane);
    for (int64_t i = 0; i < n; i++)
        strip.store(logs ? strip.load(p + i * stride) - m - last
                         : strip.load(out + i * stride) * last, out + i * stride);
}

template <bool logs, class T>
void softmax_columns(const void *x, void *y, int64_t n, int64_t stride, int64_t width) {
    constexpr int COUNT = Lanes<T>::COUNT;
    for (int64_t j = 0; j < width; j += COUNT) {
        Strip<T> strip = {width - j < COUNT ? width - j : COUNT};
        softmax_strip<logs>((const T *)x + j, (T *)y + j, n, stride, strip);
    }
}

/* ---- gradients -------------------------------------------------------------------------------- */

/* softmax: y (g - sum(g y)); log_softmax: g - exp(y) sum(g). */
template <bool logs, class T>
FL_TIGHT Lanes<T> grad_of(const Lanes<T> &g, const Lanes<T> &y, const Lanes<T> &total) {
    if (logs)
        return g - exp_lanes(y) * total;
    return y * (g - total);
}

template <bool logs, class T> void grad_row(const void *gx, const void *yx, void *out, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const T *g = (const T *)gx, *y = (const T *)yx;
    T *o = (T *)out;
    Lanes<T> a = Lanes<T>::fill(0), b = a;
    int64_t i = 0;
    for (; i + 2 * COUNT <= n; i += 2 * COUNT) {
        Lanes<T> u = Lanes<T>::load(g + i), v = Lanes<T>::load(g + i + COUNT);
        a = a + (logs ? u : u * Lanes<T>::load(y + i));
        b = b + (logs ? v : v * Lanes<T>::load(y + i + COUNT));
    }
    for (; i < n; i += COUNT) {
        int64_t left = n - i < COUNT ? n - i : COUNT;
        Lanes<T> u = Lanes<T>::load_part(g + i, left, 0);
        a = a + (logs ? u : u * Lanes<T>::load_part(y + i, left, 0));
    }
    const Lanes<T> total = Lanes<T>::fill(fold_lanes<Sum<T>, T>(a + b));
    for (i = 0; i < n; i += COUNT) {
        int64_t left = n - i < COUNT ? n - i : COUNT;
        if (left == COUNT)
            grad_of<logs>(Lanes<T>::load(g + i), Lanes<T>::load(y + i), total).store(o + i);
        else
            grad_of<logs>(Lanes<T>::load_part(g + i, left, 0), Lanes<T>::load_part(y + i, left, 0),
                          total).store_part(o + i, left);
    }
}

template <bool logs, class T>
void grad_columns(const void *gx, const void *yx, void *out, int64_t n, int64_t stride,
                  int64_t width) {
    constexpr int COUNT = Lanes<T>::COUNT;
    for (int64_t j = 0; j < width; j += COUNT) {
        Strip<T> strip = {width - j < COUNT ? width - j : COUNT};
        const T *g = (const T *)gx + j, *y = (const T *)yx + j;
        T *o = (T *)out + j;
        Lanes<T> total = Lanes<T>::fill(0);
        for (int64_t i = 0; i < n; i++) {
            Lanes<T> u = strip.load(g + i * stride);
            total = total + (logs ? u : u * strip.load(y + i * stride));
        }
        for (int64_t i = 0; i < n; i++)
            strip.store(grad_of<logs>(strip.load(g + i * stride), strip.load(y + i * stride),
                                      total), o + i * stride);
    }
}

}  // namespace

extern const fl_softmax_kernels FL_LEVEL(fl_softmax_kernels) = {
    {{softmax_row<float>, softmax_row<double>}, {log_softmax_row<float>, log_softmax_row<double>}},
    {{softmax_columns<false, float>, softmax_columns<false, double>},
     {softmax_columns<true, float>, softmax_columns<true, double>}},
    {lse_row<float>, lse_row<double>},
    {{grad_row<false, float>, grad_row<false, double>},
     {grad_row<true, float>, grad_row<true, double>}},
    {{grad_columns<false, float>, grad_columns<false, double>},
     {grad_columns<true, float>, grad_columns<true, double>}}};
