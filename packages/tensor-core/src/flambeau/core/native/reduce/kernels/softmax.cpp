/* softmax, log_softmax, logsumexp and their gradients along contiguous rows.
 *
 * A row is read for its maximum, then once more for exp(x - max) and the sum; both readings find
 * it in the nearest cache. The maximum forgets NaN, which comes back through the sum. */
#include "reduce/kernels/softmax.h"
#include "reduce/kernels/softmax_columns.h"

namespace {

template <class T> FL_TIGHT T largest(const T *p, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT, SETS = 4;
    Lanes<T> set[SETS];
    for (int s = 0; s < SETS; s++)
        set[s] = Lanes<T>::fill(limits<T>::low);
    int64_t i = 0;
    for (; i + SETS * COUNT <= n; i += SETS * COUNT)
        for (int s = 0; s < SETS; s++)
            set[s] = quick_max(Lanes<T>::load(p + i + s * COUNT), set[s]);
    for (; i + COUNT <= n; i += COUNT)
        set[0] = quick_max(Lanes<T>::load(p + i), set[0]);
    if (i < n)
        set[1] = quick_max(Lanes<T>::load_part(p + i, n - i, limits<T>::low), set[1]);
    return reduce_lanes<Greatest<T>, T>(quick_max(quick_max(set[0], set[1]),
                                                quick_max(set[2], set[3])));
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
        Lanes<T> e = exp_lanes(get(p + i, left, limits<T>::low) - m);
        if (keep)
            put(e, out + i, left);
        a = a + e;
    }
    return reduce_lanes<Sum<T>, T>(a + b);
}

template <class T> FL_TIGHT void softmax_row(const T *p, T *out, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const T total = sum_exp<true>(p, out, n, largest(p, n));
    const Lanes<T> scale = Lanes<T>::fill(1 / total);
    int64_t i = 0;
    for (; i + COUNT <= n; i += COUNT)
        (Lanes<T>::load(out + i) * scale).store(out + i);
    if (i < n)
        (Lanes<T>::load_part(out + i, n - i, 0) * scale).store_part(out + i, n - i);
}

template <class T> FL_TIGHT void log_softmax_row(const T *p, T *out, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const T max = largest(p, n);
    const T rest = log_total(sum_exp<false, T>(p, nullptr, n, max));
    const Lanes<T> m = Lanes<T>::fill(max), r = Lanes<T>::fill(rest);
    int64_t i = 0;
    for (; i + COUNT <= n; i += COUNT)
        (Lanes<T>::load(p + i) - m - r).store(out + i);
    if (i < n)
        (Lanes<T>::load_part(p + i, n - i, 0) - m - r).store_part(out + i, n - i);
}

template <bool logs, class T> void softmax_rows(const void *x, void *y, int64_t rows, int64_t n) {
    const T *p = (const T *)x;
    T *out = (T *)y;
    for (int64_t r = 0; r < rows; r++, p += n, out += n) {
        if (logs)
            log_softmax_row(p, out, n);
        else
            softmax_row(p, out, n);
    }
}

template <class T>
void log_softmax_at(const void *x, const int64_t *index, void *y, int64_t rows, int64_t n) {
    const T *p = (const T *)x;
    T *out = (T *)y;
    for (int64_t r = 0; r < rows; r++, p += n) {
        const T max = largest(p, n);
        const T rest = log_total(sum_exp<false, T>(p, nullptr, n, max));
        out[r] = index[r] >= 0 && index[r] < n ? p[index[r]] - max - rest : 0;
    }
}

template <class T> void lse_row(const void *x, int64_t n, double *shift, double *sum) {
    const T *p = (const T *)x;
    const T m = largest(p, n), finite = m - m == 0 ? m : 0;
    *shift = (double)finite;
    *sum = (double)sum_exp<false, T>(p, nullptr, n, finite);
}

template <bool logs, class T> FL_TIGHT void grad_row(const T *g, const T *y, T *o, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    Lanes<T> a = Lanes<T>::fill(0), b = a;
    int64_t i = 0;
    for (; i + 2 * COUNT <= n; i += 2 * COUNT) {
        Lanes<T> u = Lanes<T>::load(g + i), v = Lanes<T>::load(g + i + COUNT);
        a = a + (logs ? u : u * Lanes<T>::load(y + i));
        b = b + (logs ? v : v * Lanes<T>::load(y + i + COUNT));
    }
    for (; i < n; i += COUNT) {
        int64_t left = n - i < COUNT ? n - i : COUNT;
        Lanes<T> u = get(g + i, left, (T)0);
        a = a + (logs ? u : u * get(y + i, left, (T)0));
    }
    const Lanes<T> total = Lanes<T>::fill(reduce_lanes<Sum<T>, T>(a + b));
    for (i = 0; i < n; i += COUNT) {
        int64_t left = n - i < COUNT ? n - i : COUNT;
        put(grad_of<logs>(get(g + i, left, (T)0), get(y + i, left, (T)0), total), o + i, left);
    }
}

template <bool logs, class T>
void grad_rows(const void *gx, const void *yx, void *out, int64_t rows, int64_t n) {
    for (int64_t at = 0; at < rows * n; at += n)
        grad_row<logs>((const T *)gx + at, (const T *)yx + at, (T *)out + at, n);
}

}  // namespace

#define BOTH(f) {{f<false, float>, f<false, double>}, {f<true, float>, f<true, double>}}
extern const fl_softmax_kernels FL_LEVEL(fl_softmax_kernels) = {
    BOTH(softmax_rows), BOTH(softmax_columns),
    {log_softmax_at<float>, log_softmax_at<double>},
    {lse_row<float>, lse_row<double>}, {lse_columns<float>, lse_columns<double>},
    BOTH(grad_rows), BOTH(grad_columns)};
