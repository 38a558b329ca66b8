/* Running sums. Floats accumulate in double; lines advance eight at a time, because one line
 * alone would wait for each addition. */
#include "kernels/scan.h"

namespace {

template <class T, class A> void one_line(const T *x, T *out, int64_t n) {
    A sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (A)x[i];
        out[i] = (T)sum;
    }
}

template <class T, class A> void eight_lines(const T *x, T *out, int64_t n) {
    A sum[8] = {};
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 8; k++) {
            sum[k] += (A)x[k * n + i];
            out[k * n + i] = (T)sum[k];
        }
}

template <class T, class A> void sums(const void *x, void *out, int64_t lines, int64_t n) {
    const T *p = (const T *)x;
    T *q = (T *)out;
    for (; lines >= 8; lines -= 8, p += 8 * n, q += 8 * n)
        eight_lines<T, A>(p, q, n);
    for (; lines > 0; lines--, p += n, q += n)
        one_line<T, A>(p, q, n);
}

/* Real and imaginary parts run side by side. */
template <class T> void complex_sums(const void *x, void *out, int64_t lines, int64_t n) {
    const T *p = (const T *)x;
    T *q = (T *)out;
    for (; lines > 0; lines--) {
        double re = 0, im = 0;
        for (int64_t i = 0; i < n; i++, p += 2, q += 2) {
            q[0] = (T)(re += (double)p[0]);
            q[1] = (T)(im += (double)p[1]);
        }
    }
}

}  // namespace

extern const fl_scan_kernels FL_LEVEL(fl_scan_kernels) = {
    {sums<float, double>, sums<double, double>, sums<uint64_t, uint64_t>, nullptr,
     complex_sums<float>, complex_sums<double>}};
