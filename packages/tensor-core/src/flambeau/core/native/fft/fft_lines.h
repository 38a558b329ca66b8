/* Single Fourier transforms, and blocks of them side by side. All transforms are forward: with
 * the parts of source and target swapped they are backward ones. */
#pragma once
#include "fft/fft_plan.h"

/* Complex numbers in memory: the addresses of both parts of the first, and how many elements it
 * is to the next. A source without `im` is real; a target lacks the part that is not wanted. */
template <class T> struct FftLine {
    T *re, *im;
    int64_t step;
};

template <class T> static inline FftLine<T> fft_swapped(const FftLine<T> &x) {
    return {x.im, x.re, x.step};
}

/* `count` numbers from number `start` of a line on. */
template <class T>
void fft_read(const FftLine<T> &x, int64_t start, int64_t count, fl_split<T> to);
template <class T>
void fft_write(const FftLine<T> &y, int64_t start, int64_t count, fl_split<T> from, T scale);

/* out[r * out_row + c] = in[r + c * in_row]; writes up to FL_FFT_LANES elements beyond a row. */
template <class T>
void fft_transpose(T *out, int64_t out_row, const T *in, int64_t in_row, int64_t rows,
                   int64_t cols);

/* One transform; 0, or -1 when there is no memory (no error is set). */
template <class T>
int fft_line(const FftPlan<T> &plan, const FftLine<T> &x, const FftLine<T> &y, T scale);

/* Transforms side by side: x in rows of `lanes` numbers, `x_row` from one to the next. `a` and `b`
 * have room for all of it; the result is in the one that is returned. x may be b. */
template <class T>
fl_split<T> fft_columns(const FftColumns<T> &columns, fl_split<T> x, int64_t x_row, int64_t lanes,
                        fl_split<T> a, fl_split<T> b);
