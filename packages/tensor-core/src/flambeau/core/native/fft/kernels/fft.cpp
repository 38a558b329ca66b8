/* Passes of Fourier transforms, and what comes before and after them. */
#include "fft/kernels/fft_radix.h"

namespace {

template <class T> constexpr int64_t WIDTH = FL_REGISTER / (int64_t)sizeof(T);

/* ---- passes ---------------------------------------------------------------------------------- */

template <class T, int R>
void pass_of(const fl_fft_pass<T> &f, const fl_split<T> &y, const fl_split<T> &x) {
    for (int64_t p = 0; p < f.m; p++) {
        const T *w = f.twiddles + p * 2 * (R - 1);
        for (int64_t q = 0; q < f.s; q += WIDTH<T>) {
            Pair<T> v[R];
#pragma GCC unroll 8
            for (int j = 0; j < R; j++)
                v[j] = load_pair(x, (p + f.m * j) * f.x_row + q);
            Butterfly<T, R>::run(v, f.roots);
            store_pair(y, R * p * f.s + q, v[0]);
            if (p == 0) {
#pragma GCC unroll 8
                for (int k = 1; k < R; k++)
                    store_pair(y, k * f.s + q, v[k]);
                continue;
            }
#pragma GCC unroll 8
            for (int k = 1; k < R; k++)
                store_pair(y, (R * p + k) * f.s + q, times(v[k], w[2 * k - 2], w[2 * k - 1]));
        }
    }
}

/* Any odd radix: the sums in loops. */
template <class T>
void pass_any(const fl_fft_pass<T> &f, const fl_split<T> &y, const fl_split<T> &x) {
    const int r = f.radix, half = r / 2;
    typename Pair<T>::reg zero = {};
    for (int64_t p = 0; p < f.m; p++) {
        const T *w = f.twiddles + p * 2 * (r - 1);
        for (int64_t q = 0; q < f.s; q += WIDTH<T>) {
            Pair<T> sum[FL_FFT_MAX_RADIX / 2], difference[FL_FFT_MAX_RADIX / 2];
            Pair<T> first = load_pair(x, p * f.x_row + q), total = first;
            for (int j = 1; j <= half; j++) {
                Pair<T> a = load_pair(x, (p + f.m * j) * f.x_row + q);
                Pair<T> b = load_pair(x, (p + f.m * (r - j)) * f.x_row + q);
                sum[j - 1] = a + b;
                difference[j - 1] = a - b;
                total = total + sum[j - 1];
            }
            store_pair(y, r * p * f.s + q, total);
            for (int k = 1; k <= half; k++) {
                Pair<T> even = first, odd = {zero, zero};
                for (int j = 0, turn = k; j < half; j++, turn = turn + k >= r ? turn + k - r
                                                                              : turn + k) {
                    typename Pair<T>::reg c = f.roots[2 * turn] - zero;
                    typename Pair<T>::reg s = f.roots[2 * turn + 1] - zero;
                    even = {fused(sum[j].re, c, even.re), fused(sum[j].im, c, even.im)};
                    odd = {fused(difference[j].re, s, odd.re), fused(difference[j].im, s, odd.im)};
                }
                Pair<T> low = minus_i(even, odd), high = plus_i(even, odd);
                store_pair(y, (r * p + k) * f.s + q, times(low, w[2 * k - 2], w[2 * k - 1]));
                int other = r - k;
                store_pair(y, (r * p + other) * f.s + q,
                           times(high, w[2 * other - 2], w[2 * other - 1]));
            }
        }
    }
}

template <class T> void pass(const fl_fft_pass<T> *f, fl_split<T> y, fl_split<T> x) {
    switch (f->radix) {
    case 2: return pass_of<T, 2>(*f, y, x);
    case 3: return pass_of<T, 3>(*f, y, x);
    case 4: return pass_of<T, 4>(*f, y, x);
    case 5: return pass_of<T, 5>(*f, y, x);
    case 7: return pass_of<T, 7>(*f, y, x);
    case 8: return pass_of<T, 8>(*f, y, x);
    default: return pass_any<T>(*f, y, x);
    }
}

/* One lane of `fused`: results must not depend on which elements fill a register. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
FL_TIGHT float fused_one(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FL_TIGHT double fused_one(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
template <class T> FL_TIGHT T fused_one(T a, T b, T c) { return a * b + c; }
#endif

/* ---- before and after ------------------------------------------------------------------------ */

template <class T>
void split(T *__restrict re, T *__restrict im, const T *__restrict x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        re[i] = x[2 * i];
        im[i] = x[2 * i + 1];
    }
}

template <class T>
void join(T *__restrict out, const T *__restrict re, const T *__restrict im, int64_t n, T scale) {
    for (int64_t i = 0; i < n; i++) {
        out[2 * i] = re[i] * scale;
        out[2 * i + 1] = im[i] * scale;
    }
}

template <class T>
void multiply(fl_split<T> y, fl_split<T> x, const T *wr, const T *wi, int64_t n) {
    int64_t i = 0;
    for (; i + WIDTH<T> <= n; i += WIDTH<T>) {
        Pair<T> a = load_pair(x, i);
        typename Pair<T>::reg vr, vi;
        memcpy(&vr, wr + i, sizeof vr);
        memcpy(&vi, wi + i, sizeof vi);
        store_pair(y, i, Pair<T>{fused(a.re, vr, -(a.im * vi)), fused(a.re, vi, a.im * vr)});
    }
    for (; i < n; i++) {
        T re = x.re[i], im = x.im[i];
        y.re[i] = fused_one(re, wr[i], -(im * wi[i]));
        y.im[i] = fused_one(re, wi[i], im * wr[i]);
    }
}

/* ---- real numbers ---------------------------------------------------------------------------- */

/* One term of a real transform from the terms a and b of the complex one, and the way back. */
template <class T>
FL_TIGHT void unfold_one(T &yr, T &yi, T ar, T ai, T br, T bi, T wr, T wi) {
    const T half = (T)0.5, c = wr * half, s = wi * half;
    const T dr = ar - br, di = ai + bi;
    yr = fused_one(ar + br, half, fused_one(di, c, dr * s));
    yi = fused_one(ai - bi, half, fused_one(di, s, -(dr * c)));
}

template <class T>
FL_TIGHT void refold_one(T &zr, T &zi, T ar, T ai, T br, T bi, T c, T s) {
    const T dr = ar - br, di = ai + bi;
    zr = (ar + br) + fused_one(dr, s, -(di * c));
    zi = (ai - bi) + fused_one(dr, c, di * s);
}

/* Of a single line: vectors run along the terms. */
template <class T>
void unfold_line(T *__restrict yr, T *__restrict yi, const T *__restrict zr, const T *__restrict zi,
                 const T *__restrict wr, const T *__restrict wi, int64_t h) {
    for (int64_t k = 1; k < h; k++)
        unfold_one(yr[k], yi[k], zr[k], zi[k], zr[h - k], zi[h - k], wr[k], wi[k]);
}

template <class T>
void refold_line(T *__restrict zr, T *__restrict zi, const T *__restrict yr, const T *__restrict yi,
                 const T *__restrict wr, const T *__restrict wi, int64_t h) {
    for (int64_t k = 0; k < h; k++)
        refold_one(zr[k], zi[k], yr[k], yi[k], yr[h - k], yi[h - k], wr[k], wi[k]);
}

/* Of blocks: one register of lanes after the other. */
template <class T>
FL_TIGHT void unfold_row(const fl_split<T> &y, const fl_split<T> &z, int64_t k, int64_t a,
                         int64_t b, int64_t lanes, T wr, T wi) {
    typedef typename Pair<T>::reg reg;
    const reg half = (T)0.5 - reg{}, c = wr * half, s = wi * half;
    for (int64_t l = 0; l < lanes; l += WIDTH<T>) {
        const Pair<T> one = load_pair(z, a + l), other = load_pair(z, b + l);
        const reg dr = one.re - other.re, di = one.im + other.im;
        store_pair(y, k + l, {fused(one.re + other.re, half, fused(di, c, dr * s)),
                              fused(one.im - other.im, half, fused(di, s, -(dr * c)))});
    }
}

template <class T>
FL_TIGHT void refold_row(const fl_split<T> &z, const fl_split<T> &y, int64_t a, int64_t b,
                         int64_t lanes, T wr, T wi) {
    typedef typename Pair<T>::reg reg;
    const reg c = wr - reg{}, s = wi - reg{};
    for (int64_t l = 0; l < lanes; l += WIDTH<T>) {
        const Pair<T> one = load_pair(y, a + l), other = load_pair(y, b + l);
        const reg dr = one.re - other.re, di = one.im + other.im;
        store_pair(z, a + l, {(one.re + other.re) + fused(dr, s, -(di * c)),
                              (one.im - other.im) + fused(dr, c, di * s)});
    }
}

template <class T>
void unfold(fl_split<T> y, fl_split<T> z, const T *wr, const T *wi, int64_t h, int64_t lanes) {
    if (lanes > 1) {
        for (int64_t k = 0; k <= h; k++)
            unfold_row(y, z, k * lanes, (k == h ? 0 : k) * lanes, (k == 0 ? 0 : h - k) * lanes,
                       lanes, wr[k], wi[k]);
        return;
    }
    unfold_line(y.re, y.im, z.re, z.im, wr, wi, h);
    for (int64_t k = 0; k <= h; k += h)
        unfold_one(y.re[k], y.im[k], z.re[0], z.im[0], z.re[0], z.im[0], wr[k], wi[k]);
}

template <class T>
void refold(fl_split<T> z, fl_split<T> y, const T *wr, const T *wi, int64_t h, int64_t lanes) {
    if (lanes == 1)
        return refold_line(z.re, z.im, y.re, y.im, wr, wi, h);
    for (int64_t k = 0; k < h; k++)
        refold_row(z, y, k * lanes, (h - k) * lanes, lanes, wr[k], wi[k]);
}

}  // namespace

extern const fl_fft_kernels FL_LEVEL(fl_fft_kernels) = {
    {pass<float>, split<float>, join<float>, multiply<float>, unfold<float>, refold<float>},
    {pass<double>, split<double>, join<double>, multiply<double>, unfold<double>,
     refold<double>}};
