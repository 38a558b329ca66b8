/* Steps of Fourier transforms on numbers whose real and imaginary parts lie apart.
 *
 * A column transform works on an array [n][lanes]: one transform per lane, lanes side by side in
 * vector registers, their count a multiple of FL_FFT_LANES. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* Lanes that fill 64 bytes: the same at every ISA level. */
template <class T> constexpr int64_t FL_FFT_LANES = 64 / (int64_t)sizeof(T);
/* The greatest prime that a pass takes. */
#define FL_FFT_MAX_RADIX 31

/* A complex array: addresses of both parts, and elements from one number to the next. */
template <class T> struct fl_split {
    T *re, *im;
};

/* One pass of Stockham's algorithm: y[(radix * p + k) * s + q] = w(p, k) * sum over j of
 * e^(-2 pi i j k / radix) * x[(p + m * j) * x_row + q], for p < m and q < s. `twiddles` holds
 * w(p, 1) .. w(p, radix - 1) of each p, `roots` e^(2 pi i k / radix). */
template <class T> struct fl_fft_pass {
    int radix;
    int64_t m, s, x_row;
    const T *twiddles, *roots;
};

template <class T> struct fl_fft_table {
    void (*pass)(const fl_fft_pass<T> *pass, fl_split<T> y, fl_split<T> x);
    /* Between interleaved complex numbers and parts apart; join also scales. */
    void (*split)(T *re, T *im, const T *x, int64_t n);
    void (*join)(T *out, const T *re, const T *im, int64_t n, T scale);
    /* y = x * w, element by element; conj: the product with conj(w). */
    void (*multiply)(fl_split<T> y, fl_split<T> x, const T *wr, const T *wi, int64_t n);
    /* From the transform z of x[2 j] + i x[2 j + 1], j < h, the first h + 1 terms of that of x;
     * `lanes` numbers in a row. w: e^(-2 pi i k / (2 h)), k <= h. */
    void (*unfold)(fl_split<T> y, fl_split<T> z, const T *wr, const T *wi, int64_t h,
                   int64_t lanes);
    /* The way back, without the factor 1/2: the inverse transform of the result is x times n. */
    void (*refold)(fl_split<T> z, fl_split<T> y, const T *wr, const T *wi, int64_t h,
                   int64_t lanes);
};

struct fl_fft_kernels {
    fl_fft_table<float> f32;
    fl_fft_table<double> f64;
};
extern "C" {
FL_LEVELS(fl_fft_kernels);
}
