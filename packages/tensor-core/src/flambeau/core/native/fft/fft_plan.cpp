/* Making plans of Fourier transforms. */
#include "fft/fft_plan.h"
#include "fft/fft_lines.h"
#include <initializer_list>
#include <math.h>
#include <new>

template <> const fl_fft_table<float> &fft_kernels<float>() {
    static const fl_fft_kernels *const kernels = FL_PICK(fl_fft_kernels);
    return kernels->f32;
}
template <> const fl_fft_table<double> &fft_kernels<double>() {
    static const fl_fft_kernels *const kernels = FL_PICK(fl_fft_kernels);
    return kernels->f64;
}

namespace {

const int64_t MAX_COLUMN_LENGTH = 8192;   /* longer lengths are not done side by side as a whole */
const int64_t MIN_SPLIT_LENGTH = 64;

struct Root {
    double re, im;
};

/* e^(-2 pi i k / n), 0 <= k < n, from an angle of at most pi / 4: symmetric bit for bit. */
Root root(int64_t k, int64_t n) {
    const double pi = 3.14159265358979323846;
    int64_t eighth = (int64_t)((__int128)k * 8 / n);
    int64_t quarter = (eighth + 1) / 2;                 /* the nearest multiple of pi / 2 */
    __int128 rest = (__int128)k * 4 - (__int128)quarter * n;
    double angle = 2 * pi * ((double)rest / (4.0 * (double)n));
    double c = cos(angle), s = sin(angle);
    switch (quarter & 3) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
    }
}

int next_factor(int64_t n) {
    if (n % 8 == 0 && n != 16)
        return 8;
    for (int r : {4, 2, 3, 5, 7})
        if (n % r == 0)
            return r;
    for (int r = 11; r <= FL_FFT_MAX_RADIX; r += 2)
        if (n % r == 0)
            return r;
    return 0;
}

bool smooth(int64_t n) {
    for (int r; n > 1; n /= r)
        if (!(r = next_factor(n)))
            return false;
    return true;
}

/* The divisor of n nearest to its root from below, that gives full vectors where one does. */
int64_t best_divisor(int64_t n, int64_t lanes) {
    int64_t best = 0;
    double least = 0;
    for (int64_t a = 2; a * a <= n; a++) {
        if (n % a)
            continue;
        for (int64_t b : {a, n / a}) {
            double c = (double)(n / b);         /* b first: c lanes, then b lanes */
            double work = (double)fft_padded(n / b, lanes) / c +
                          (double)fft_padded(b, lanes) / (double)b;
            double cost = work + 0.02 * log2((double)n / (double)a / (double)a);
            if (!best || cost < least) {
                best = b;
                least = cost;
            }
        }
    }
    return best;
}

int64_t convolution_length(int64_t least) {
    int64_t best = 0;
    for (int64_t base : {1, 3, 5, 9, 15}) {
        int64_t m = base;
        while (m < least)
            m *= 2;
        if (!best || m < best)
            best = m;
    }
    return best;
}

template <class T>
void put_root(FftNumbers<T> &re, FftNumbers<T> &im, int64_t at, const Root &w) {
    re.at[at] = (T)w.re;
    im.at[at] = (T)w.im;
}

template <class T> bool make_turns(FftPlan<T> &plan, int64_t n1, int64_t n2) {
    int64_t row = fft_padded(n2, FL_FFT_LANES<T>);
    if (!plan.turn_re.make(n1 * row) || !plan.turn_im.make(n1 * row))
        return false;
    for (int64_t k = 0; k < n1; k++)
        for (int64_t j = 0; j < row; j++)
            put_root(plan.turn_re, plan.turn_im, k * row + j,
                     j < n2 ? root(k * j, plan.n) : Root{0, 0});
    return true;
}

/* e^(-pi i j^2 / n), and the transform of its conjugate, laid out for a circular convolution. */
template <class T> bool make_chirp(FftPlan<T> &plan) {
    int64_t n = plan.n, m = convolution_length(2 * n - 1);
    plan.convolution = new (std::nothrow) FftPlan<T>;
    if (!plan.convolution || !plan.convolution->make(m, false) || !plan.chirp_re.make(n) ||
        !plan.chirp_im.make(n) || !plan.kernel_re.make(m) || !plan.kernel_im.make(m))
        return false;
    FftNumbers<T> re, im;
    if (!re.make(m) || !im.make(m))
        return false;
    memset(re.at, 0, (size_t)m * sizeof(T));
    memset(im.at, 0, (size_t)m * sizeof(T));
    for (int64_t j = 0; j < n; j++) {
        Root w = root((int64_t)((__int128)j * j % (2 * n)), 2 * n);
        put_root(plan.chirp_re, plan.chirp_im, j, w);
        for (int64_t at : {j, (m - j) % m})
            put_root(re, im, at, Root{w.re, -w.im});
    }
    FftLine<T> from = {re.at, im.at, 1}, to = {plan.kernel_re.at, plan.kernel_im.at, 1};
    return fft_line(*plan.convolution, from, to, (T)(1.0 / (double)m)) == 0;
}

template <class T> bool make_half(FftPlan<T> &plan) {
    if (!plan.half_re.make(plan.n + 1) || !plan.half_im.make(plan.n + 1))
        return false;
    for (int64_t k = 0; k <= plan.n; k++)
        put_root(plan.half_re, plan.half_im, k, root(k, 2 * plan.n));
    return true;
}

}  // namespace

template <class T> bool FftNumbers<T>::make(int64_t count) {
    bytes = fl_bytes(count, sizeof(T));
    at = (T *)fl_alloc(bytes);
    return at != nullptr;
}

template <class T> bool FftColumns<T>::make(int64_t length) {
    n = length;
    int64_t numbers = 0, tables = 0;
    for (int64_t rest = n; rest > 1; count++) {
        int r = next_factor(rest);
        passes[count].radix = r;
        rest /= r;
        passes[count].m = rest;
        passes[count].s = n / (rest * r);
        numbers += rest * 2 * (r - 1);
        tables += 2 * r;
    }
    if (!twiddles.make(numbers) || !roots.make(tables))
        return false;
    T *w = twiddles.at, *z = roots.at;
    for (int i = 0; i < count; i++) {
        fl_fft_pass<T> &f = passes[i];
        f.twiddles = w;
        f.roots = z;
        for (int64_t p = 0; p < f.m; p++)
            for (int k = 1; k < f.radix; k++) {
                Root at = root(p * k, f.m * f.radix);
                *w++ = (T)at.re;
                *w++ = (T)at.im;
            }
        for (int k = 0; k < f.radix; k++) {
            Root at = root(k, f.radix);
            *z++ = (T)at.re;
            *z++ = (T)-at.im;
        }
    }
    return true;
}

template <class T> bool FftPlan<T>::make(int64_t length, bool real) {
    n = length;
    int64_t n1 = 0;
    if (!smooth(n))
        kind = CHIRP;
    else if (n >= MIN_SPLIT_LENGTH && (n1 = best_divisor(n, FL_FFT_LANES<T>)))
        kind = SPLIT;
    if (kind == CHIRP && !make_chirp(*this))
        return false;
    if (kind != CHIRP && n <= MAX_COLUMN_LENGTH && !whole.make(n))
        return false;
    if (kind == SPLIT && !(first.make(n1) && second.make(n / n1) && make_turns(*this, n1, n / n1)))
        return false;
    return !real || make_half(*this);
}

template <class T> int64_t FftPlan<T>::bytes() const {
    size_t total = sizeof *this;
    for (const FftNumbers<T> *numbers : {&whole.twiddles, &first.twiddles, &second.twiddles,
                                         &turn_re, &turn_im, &chirp_re, &chirp_im, &kernel_re,
                                         &kernel_im, &half_re, &half_im})
        total += numbers->bytes;
    return (int64_t)total + (convolution ? convolution->bytes() : 0);
}

template struct FftNumbers<float>;
template struct FftNumbers<double>;
template struct FftColumns<float>;
template struct FftColumns<double>;
template struct FftPlan<float>;
template struct FftPlan<double>;
