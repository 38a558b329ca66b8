/* softmax, log_softmax, logsumexp and their gradients along contiguous rows.
 *
 * A row is read for its maximum, then once more for exp(x - max) and the sum; both readings find
 * it in the nearest cache. The maximum forgets NaN, which comes back through the sum. */
#include "reduce/kernels/softmax.h"
#include "reduce/kernels/softmax_columns.h"

namespace {

/* An extreme without regard to NaN. */
template <class Op> struct Quick {
    template <class R> static FL_TIGHT R reg(R a, R b) { return Op::quick(a, b); }
};

template <class T> FL_TIGHT T largest(const T *p, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    Lanes<T> a = Lanes<T>::fill(limits<T>::low), b = a, c = a, d = a;   /* an array would stay */
    int64_t i = 0;                                                      /* in memory */
    for (; i + 4 * COUNT <= n; i += 4 * COUNT) {
        a = quick_max(Lanes<T>::load(p + i), a);
        b = quick_max(Lanes<T>::load(p + i + COUNT), b);
        c = quick_max(Lanes<T>::load(p + i + 2 * COUNT), c);
        d = quick_max(Lanes<T>::load(p + i + 3 * COUNT), d);
    }
    for (; i + COUNT <= n; i += COUNT)
        a = quick_max(Lanes<T>::load(p + i), a);
    if (i < n)
        b = quick_max(Lanes<T>::load_part(p + i, n - i, limits<T>::low), b);
    return reduce_lanes<Quick<Greatest<T>>, T>(quick_max(quick_max(a, b), quick_max(c, d)));
}

template <class T> struct Exponentials {
    T sum, least;
};

/* Sum of exp(x - shift), the largest x being the shift, and the least term of the whole vectors, all
 * raised by a power of two, so that no term is denormal. `keep` has the terms stored. */
template <bool keep, class T>
FL_TIGHT Exponentials<T> sum_exp(const T *p, T *out, int64_t n, T shift) {
    constexpr int COUNT = Lanes<T>::COUNT;
    constexpr T up = exp_numbers<T>::raise;
    const Lanes<T> m = Lanes<T>::fill(shift);
    Lanes<T> a = Lanes<T>::fill(0), b = a, least = Lanes<T>::fill(exp_numbers<T>::raised);
    int64_t i = 0;
    for (; i + 2 * COUNT <= n; i += 2 * COUNT) {
        Lanes<T> e = exp_falling_lanes(Lanes<T>::load(p + i) - m, up);
        Lanes<T> f = exp_falling_lanes(Lanes<T>::load(p + i + COUNT) - m, up);
        if (keep) {
            e.store(out + i);
            f.store(out + i + COUNT);
            least = quick_min(f, quick_min(e, least));
        }
        a = a + e;
        b = b + f;
    }
    for (; i < n; i += COUNT) {
        int64_t left = n - i < COUNT ? n - i : COUNT;
        Lanes<T> e = exp_falling_lanes(get(p + i, left, limits<T>::low) - m, up);
        if (keep)
            put(e, out + i, left);
        a = a + e;
    }
    return {reduce_lanes<Sum<T>, T>(a + b), keep ? reduce_lanes<Quick<Least<T>>, T>(least) : 0};
}

/* The sum alone, as it is. */
template <class T> FL_TIGHT T plain_sum_exp(const T *p, int64_t n, T shift) {
    return sum_exp<false, T>(p, nullptr, n, shift).sum * (1 / exp_numbers<T>::raised);
}

template <class T> FL_TIGHT void softmax_row(const T *p, T *out, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const Exponentials<T> e = sum_exp<true>(p, out, n, largest(p, n));
    const Lanes<T> scale = Lanes<T>::fill(1 / e.sum), border = Lanes<T>::fill(border_of(e.sum));
    int64_t i = 0;
    if (e.least < border_of(e.sum))
        for (; i + COUNT <= n; i += COUNT)
            lowered(Lanes<T>::load(out + i), scale, border).store(out + i);
    for (; i + COUNT <= n; i += COUNT)
        (Lanes<T>::load(out + i) * scale).store(out + i);
    if (i < n)
        lowered(Lanes<T>::load_part(out + i, n - i, 0), scale, border).store_part(out + i, n - i);
}

template <class T> FL_TIGHT void log_softmax_row(const T *p, T *out, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const T max = largest(p, n);
    const T rest = log_total(plain_sum_exp(p, n, max));
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
        const T rest = log_total(plain_sum_exp(p, n, max));
        out[r] = index[r] >= 0 && index[r] < n ? p[index[r]] - max - rest : 0;
    }
}

template <class T> void lse_row(const void *x, int64_t n, double *shift, double *sum) {
    const T *p = (const T *)x;
    const T m = largest(p, n), finite = m - m == 0 ? m : 0;
    *shift = (double)finite;
    *sum = (double)plain_sum_exp(p, n, finite);             /* of infinite terms, infinite */
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
