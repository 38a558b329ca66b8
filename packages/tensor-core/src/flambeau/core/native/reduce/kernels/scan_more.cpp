/* Running products and running extremes. Each step waits for the one before it, in lines; columns
 * run side by side. Products of floats accumulate in double. */
#include "reduce/kernels/scan_more.h"
#include "common/kernels/lanes.h"

namespace {

constexpr int64_t STRIP_COLUMNS = 256;

template <class T> struct Complex {
    T re, im;
};

template <class T, class A> struct Product {
    A value = 1;
    FL_TIGHT T step(T x) { return (T)(value *= (A)x); }
};

/* A product that is rounded: of pairs of a sum and a difference GCC 12 makes fused products, in
 * spite of -ffp-contract=off, and columns would differ from lines. */
FL_TIGHT double rounded(double product) {
    __asm__("" : "+m"(product));
    return product;
}

template <class T> struct ComplexProduct {
    double re = 1, im = 0;
    FL_TIGHT Complex<T> step(Complex<T> x) {
        const double next = rounded(re * (double)x.re) - rounded(im * (double)x.im);
        im = rounded(re * (double)x.im) + rounded(im * (double)x.re);
        re = next;
        return {(T)re, (T)im};
    }
};

template <class T, class State>
void product_lines(const void *x, void *out, int64_t lines, int64_t n) {
    const T *p = (const T *)x;
    T *q = (T *)out;
    for (; lines > 0; lines--) {
        State state;
        for (int64_t i = 0; i < n; i++)
            *q++ = state.step(*p++);
    }
}

template <class T, class State>
void product_columns(const void *x, void *out, int64_t n, int64_t stride, int64_t width) {
    for (int64_t j = 0; j < width; j += STRIP_COLUMNS) {
        const T *p = (const T *)x + j;
        T *q = (T *)out + j;
        int64_t w = width - j < STRIP_COLUMNS ? width - j : STRIP_COLUMNS;
        State state[STRIP_COLUMNS];
        for (int64_t i = 0; i < n; i++, p += stride, q += stride)
            for (int64_t c = 0; c < w; c++)
                q[c] = state[c].step(p[c]);
    }
}

/* Whether b replaces a, which came before it. */
template <bool least, class T> FL_TIGHT bool follows(T a, T b) {
    return (least ? b <= a : b >= a) ? a == a : b != b;
}

constexpr int64_t RUN_ELEMENTS = 32;      /* elements that are looked at together */

/* Whether one of the next RUN_ELEMENTS elements replaces the best. */
template <bool least, class T> FL_TIGHT bool one_follows(T best, const T *p) {
    int any = 0;
    for (int64_t j = 0; j < RUN_ELEMENTS; j++)
        any |= (least ? p[j] <= best : p[j] >= best) | (p[j] != p[j]);
    return any;
}

/* The best so far of a line, and where it was. */
template <bool least, class T> struct Extreme {
    T value;
    int64_t position;

    void step_through(const T *p, int64_t begin, int64_t end, T *out, int64_t *positions) {
        for (int64_t i = begin; i < end; i++) {
            if (follows<least>(value, p[i])) {
                value = p[i];
                position = i;
            }
            out[i] = value;
            positions[i] = position;
        }
    }

    void fill_run(T *out, int64_t *positions) const {
        for (int64_t j = 0; j < RUN_ELEMENTS; j++)
            out[j] = value;
        for (int64_t j = 0; j < RUN_ELEMENTS; j++)
            positions[j] = position;
    }
};

/* Changes are rare as a rule: runs without one are filled. */
template <bool least, class T>
void cummax_lines(const void *x, void *out, int64_t *positions, int64_t lines, int64_t n) {
    const T *p = (const T *)x;
    T *q = (T *)out;
    for (; lines > 0 && n > 0; lines--, p += n, q += n, positions += n) {
        Extreme<least, T> best = {p[0], 0};
        int64_t i = 0;
        for (; i + RUN_ELEMENTS <= n; i += RUN_ELEMENTS)
            if (i > 0 && !one_follows<least>(best.value, p + i))
                best.fill_run(q + i, positions + i);
            else
                best.step_through(p, i, i + RUN_ELEMENTS, q, positions);
        best.step_through(p, i, n, q, positions);
    }
}

template <bool least, class T>
void cummax_columns(const void *x, void *out, int64_t *positions, int64_t n, int64_t stride,
                  int64_t width) {
    const T *p = (const T *)x;
    T *q = (T *)out;
    for (int64_t j = 0; j < width; j++) {
        q[j] = p[j];
        positions[j] = 0;
    }
    for (int64_t i = 1; i < n; i++) {
        const T *row = p + i * stride, *best = q + (i - 1) * stride;
        T *to = q + i * stride;
        const int64_t *was = positions + (i - 1) * stride;
        int64_t *at = positions + i * stride;
        for (int64_t j = 0; j < width; j++) {
            const bool take = follows<least>(best[j], row[j]);
            to[j] = take ? row[j] : best[j];
            at[j] = take ? i : was[j];
        }
    }
}

}  // namespace

#define PRODUCTS(f)                                                                              \
    {f<float, Product<float, double>>, f<double, Product<double, double>>,                       \
     f<uint64_t, Product<uint64_t, uint64_t>>, nullptr,                                          \
     f<Complex<float>, ComplexProduct<float>>, f<Complex<double>, ComplexProduct<double>>}
#define CUMMAX(f, least) {f<least, float>, f<least, double>, f<least, int64_t>, f<least, uint8_t>}

extern const fl_scan_more_kernels FL_LEVEL(fl_scan_more_kernels) = {
    PRODUCTS(product_lines), PRODUCTS(product_columns),
    {CUMMAX(cummax_lines, false), CUMMAX(cummax_lines, true)},
    {CUMMAX(cummax_columns, false), CUMMAX(cummax_columns, true)}};
