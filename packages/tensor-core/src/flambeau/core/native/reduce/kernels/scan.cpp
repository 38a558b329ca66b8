/* Running sums.
 *
 * A line advances by eight elements: their own running sums take three rounds (add the element 1,
 * 2 and 4 positions before), then the sum of all before them is added. One element at a time would
 * wait for each addition. The rounds associate the same way at every ISA level. */
#include "reduce/kernels/scan.h"
#include "common/kernels/lanes.h"
#include "common/kernels/shuffle.h"

namespace {

#if defined(__AVX512F__)
typedef double Eight __attribute__((vector_size(64)));
typedef long long Places __attribute__((vector_size(64)));

FL_TIGHT Eight own_sums(Eight v) {
    const Eight zero = {};
    v += fl_shuffle(zero, v, (Places){0, 8, 9, 10, 11, 12, 13, 14});
    v += fl_shuffle(zero, v, (Places){0, 0, 8, 9, 10, 11, 12, 13});
    return v + fl_shuffle(zero, v, (Places){0, 0, 0, 0, 8, 9, 10, 11});
}

template <class T> FL_TIGHT Eight widen(const T *x) {
    T lane __attribute__((vector_size(8 * sizeof(T))));
    memcpy(&lane, x, sizeof lane);
    return __builtin_convertvector(lane, Eight);
}

template <class T> FL_TIGHT void narrow(const Eight &v, T *out) {
    typedef T Few __attribute__((vector_size(8 * sizeof(T))));
    Few lane = __builtin_convertvector(v, Few);
    memcpy(out, &lane, sizeof lane);
}

/* The first n of eight elements; the others are 0, and stay as they are in memory. */
FL_TIGHT __mmask8 first_of_eight(int64_t n) { return (__mmask8)((1u << n) - 1); }
FL_TIGHT Eight widen_some(const float *x, int64_t n) {
    return (Eight)_mm512_cvtps_pd(_mm256_maskz_loadu_ps(first_of_eight(n), x));
}
FL_TIGHT Eight widen_some(const double *x, int64_t n) {
    return (Eight)_mm512_maskz_loadu_pd(first_of_eight(n), x);
}
FL_TIGHT void narrow_some(const Eight &v, float *out, int64_t n) {
    _mm256_mask_storeu_ps(out, first_of_eight(n), _mm512_cvtpd_ps((__m512d)v));
}
FL_TIGHT void narrow_some(const Eight &v, double *out, int64_t n) {
    _mm512_mask_storeu_pd(out, first_of_eight(n), (__m512d)v);
}

FL_TIGHT Eight last_of(const Eight &v) {
    return fl_shuffle(v, (Places){7, 7, 7, 7, 7, 7, 7, 7});
}
#else
struct Eight {
    double lane[8];
    FL_TIGHT Eight operator+(const Eight &o) const {
        Eight v;
        for (int i = 0; i < 8; i++)
            v.lane[i] = lane[i] + o.lane[i];
        return v;
    }
};

FL_TIGHT Eight own_sums(const Eight &x) {
    Eight y, z, w;
    for (int i = 0; i < 8; i++)
        y.lane[i] = i >= 1 ? x.lane[i] + x.lane[i - 1] : x.lane[i];
    for (int i = 0; i < 8; i++)
        z.lane[i] = i >= 2 ? y.lane[i] + y.lane[i - 2] : y.lane[i];
    for (int i = 0; i < 8; i++)
        w.lane[i] = i >= 4 ? z.lane[i] + z.lane[i - 4] : z.lane[i];
    return w;
}

template <class T> FL_TIGHT Eight widen(const T *x) {
    Eight v;
    for (int i = 0; i < 8; i++)
        v.lane[i] = (double)x[i];
    return v;
}

template <class T> FL_TIGHT void narrow(const Eight &v, T *out) {
    for (int i = 0; i < 8; i++)
        out[i] = (T)v.lane[i];
}

template <class T> FL_TIGHT Eight widen_some(const T *x, int64_t n) {
    Eight v;
    for (int i = 0; i < 8; i++)
        v.lane[i] = i < n ? (double)x[i] : 0;
    return v;
}

template <class T> FL_TIGHT void narrow_some(const Eight &v, T *out, int64_t n) {
    for (int i = 0; i < n; i++)
        out[i] = (T)v.lane[i];
}

FL_TIGHT Eight last_of(const Eight &v) {
    Eight w;
    for (int i = 0; i < 8; i++)
        w.lane[i] = v.lane[7];
    return w;
}
#endif

template <class T> void float_line(const T *x, T *out, int64_t n) {
    Eight before = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const Eight own = own_sums(widen(x + i));
        narrow(own + before, out + i);
        before = before + last_of(own);
    }
    if (i < n)
        narrow_some(own_sums(widen_some(x + i, n - i)) + before, out + i, n - i);
}

/* Lines of up to four elements, in the order of own_sums. */
template <int N, class T> void short_lines(const T *x, T *out, int64_t lines) {
    for (; lines > 0; lines--, x += N, out += N) {
        double a = x[0], b = N > 1 ? x[1] : 0, c = N > 2 ? x[2] : 0, d = N > 3 ? x[3] : 0;
        const double sums[4] = {a, b + a, (c + b) + a, (d + c) + (b + a)};
        for (int i = 0; i < N; i++)
            out[i] = (T)(sums[i] + 0.0);
    }
}

template <class T> void float_lines(const void *x, void *out, int64_t lines, int64_t n) {
    switch (n) {
    case 1: return short_lines<1>((const T *)x, (T *)out, lines);
    case 2: return short_lines<2>((const T *)x, (T *)out, lines);
    case 3: return short_lines<3>((const T *)x, (T *)out, lines);
    case 4: return short_lines<4>((const T *)x, (T *)out, lines);
    }
    for (int64_t at = 0; at < lines * n; at += n)
        float_line((const T *)x + at, (T *)out + at, n);
}

void integer_lines(const void *x, void *out, int64_t lines, int64_t n) {
    const uint64_t *p = (const uint64_t *)x;
    uint64_t *q = (uint64_t *)out;
    for (; lines > 0; lines--) {
        uint64_t sum = 0;
        for (int64_t i = 0; i < n; i++)
            *q++ = sum += *p++;
    }
}

/* Sums of so few columns stay in registers. */
template <int WIDTH, class T, class A>
void narrow_columns(const T *p, T *q, int64_t n, int64_t stride) {
    A sum[WIDTH] = {};
    for (int64_t i = 0; i < n; i++, p += stride, q += stride)
        for (int c = 0; c < WIDTH; c++) {
            sum[c] += (A)p[c];
            q[c] = (T)sum[c];
        }
}

constexpr int64_t STRIP_COLUMNS = 256;

template <class T, class A>
void columns(const void *x, void *out, int64_t n, int64_t stride, int64_t width) {
    switch (width) {
    case 2: return narrow_columns<2, T, A>((const T *)x, (T *)out, n, stride);
    case 3: return narrow_columns<3, T, A>((const T *)x, (T *)out, n, stride);
    case 4: return narrow_columns<4, T, A>((const T *)x, (T *)out, n, stride);
    }
    for (int64_t j = 0; j < width; j += STRIP_COLUMNS) {
        const T *p = (const T *)x + j;
        T *q = (T *)out + j;
        int64_t w = width - j < STRIP_COLUMNS ? width - j : STRIP_COLUMNS;
        A sum[STRIP_COLUMNS] = {};
        for (int64_t i = 0; i < n; i++, p += stride, q += stride)
            for (int64_t c = 0; c < w; c++) {
                sum[c] += (A)p[c];
                q[c] = (T)sum[c];
            }
    }
}

}  // namespace

extern const fl_scan_kernels FL_LEVEL(fl_scan_kernels) = {
    {float_lines<float>, float_lines<double>, integer_lines},
    {columns<float, double>, columns<double, double>, columns<uint64_t, uint64_t>}};
