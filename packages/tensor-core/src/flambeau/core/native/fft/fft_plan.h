/* Plans of Fourier transforms: factors of a length and tables of roots of unity.
 *
 * A length whose primes are all small is done by passes, one per factor. From 64 on such a length
 * is also split in two, n = n1 * n2: a single transform then runs as n2 transforms of length n1
 * side by side, a multiplication by roots of unity, and n1 transforms of length n2. Other lengths
 * become convolutions (Bluestein). */
#pragma once
#include "dispatch/core.h"
#include "fft/kernels/fft.h"

/* The table of kernels of one type. */
template <class T> const fl_fft_table<T> &fft_kernels();

/* Memory for `count` numbers; `at` is NULL when it could not be had. */
template <class T> struct FftNumbers {
    T *at = nullptr;
    size_t bytes = 0;
    bool make(int64_t count);
    ~FftNumbers() { fl_free(at, bytes); }
};

/* The passes of transforms that lie side by side. */
template <class T> struct FftColumns {
    int64_t n = 0;
    int count = 0;
    fl_fft_pass<T> passes[64];          /* s is that of a single lane */
    FftNumbers<T> twiddles, roots;
    bool make(int64_t length);
};

template <class T> struct FftPlan {
    enum Kind { DIRECT, SPLIT, CHIRP } kind = DIRECT;
    int64_t n = 0;
    FftColumns<T> whole;                /* n itself, where it is not large */
    FftColumns<T> first, second;        /* SPLIT: n1 and n2 */
    FftNumbers<T> turn_re, turn_im;     /* SPLIT: w^(k1 * j2) as [n1][n2], rows padded */
    FftPlan *convolution = nullptr;     /* CHIRP: of a longer, smooth length */
    FftNumbers<T> chirp_re, chirp_im, kernel_re, kernel_im;
    FftNumbers<T> half_re, half_im;     /* of real transforms: e^(-pi i k / n), k <= n */
    bool make(int64_t length, bool real);
    bool has_columns() const { return whole.n > 0; }
    int64_t bytes() const;
    ~FftPlan() { delete convolution; }
};

/* A plan from the cache, held until the end of the scope; ok() is false after an error. `real`:
 * with what transforms of 2 n real numbers need. */
template <class T> class FftHeld {
  public:
    FftHeld(int64_t n, bool real);
    ~FftHeld();
    bool ok() const { return plan_ != nullptr; }
    const FftPlan<T> &operator*() const { return *plan_; }
    FftHeld(const FftHeld &) = delete;
  private:
    FftPlan<T> *plan_;
    int slot_;
};

static inline int64_t fft_padded(int64_t n, int64_t lanes) {
    return (n + lanes - 1) / lanes * lanes;
}
