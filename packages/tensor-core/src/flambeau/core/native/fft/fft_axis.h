/* Fourier transforms along one dimension of contiguous memory. */
#pragma once
#include "fft/fft_lines.h"

enum FftMode {
    FFT_COMPLEX,        /* n complex numbers to n */
    FFT_REAL_HALF,      /* n real numbers to the first n / 2 + 1 terms */
    FFT_REAL_FULL,      /* n real numbers to all n terms */
    FFT_TO_REAL         /* n / 2 + 1 terms to n real numbers */
};

/* [outer, rows of the source, inner] to [outer, rows of the target, inner]. */
template <class T> struct FftAxis {
    FftMode mode;
    bool backward;
    int64_t n, outer, inner;
    const T *in;
    T *out;
    T scale;
};

/* 0, or -1 after an error. The memory of a complex transform may be the same for both. */
template <class T> int fft_axis(const FftAxis<T> &axis);
