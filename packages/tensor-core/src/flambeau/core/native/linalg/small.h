/* LU decomposition of small real matrices, column-major, as LAPACK's getrf and getrs leave it:
 * there a call costs more than the arithmetic. */
#pragma once
#include <cmath>
#include <stdint.h>
#include <utility>

static const int64_t FL_SMALL_MATRIX = 8;       /* rows: larger ones are LAPACK's */

/* N is the order, or 0 where only `n` knows it. Returns 0 or the index of the first zero pivot. */
template <int N, class T> int fl_small_lu(T *a, int order, int32_t *pivots) {
    const int n = N ? N : order;
    int zero = 0;
    for (int k = 0; k < n; k++) {
        T *column = a + k * n;
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (std::abs(column[i]) > std::abs(column[best]))
                best = i;
        pivots[k] = best + 1;
        if (column[best] == 0) {
            zero = zero ? zero : k + 1;
            continue;
        }
        for (int j = 0; j < n && best != k; j++)
            std::swap(a[k + j * n], a[best + j * n]);
        for (int i = k + 1; i < n; i++)
            column[i] /= column[k];
        for (int j = k + 1; j < n; j++)
            for (int i = k + 1; i < n; i++)
                a[i + j * n] -= column[i] * a[k + j * n];
    }
    return zero;
}

/* x := A^-1 x for columns of x. */
template <int N, class T>
void fl_small_solve(const T *lu, int order, const int32_t *pivots, T *x, int columns) {
    const int n = N ? N : order;
    for (int c = 0; c < columns; c++, x += n) {
        for (int k = 0; k < n; k++)
            std::swap(x[k], x[pivots[k] - 1]);
        for (int k = 0; k < n; k++)
            for (int i = k + 1; i < n; i++)
                x[i] -= lu[i + k * n] * x[k];
        for (int k = n - 1; k >= 0; k--) {
            x[k] /= lu[k + k * n];
            for (int i = 0; i < k; i++)
                x[i] -= lu[i + k * n] * x[k];
        }
    }
}

template <class T> int fl_factor_small(T *a, int n, int32_t *pivots) {
    switch (n) {
    case 2: return fl_small_lu<2>(a, n, pivots);
    case 3: return fl_small_lu<3>(a, n, pivots);
    case 4: return fl_small_lu<4>(a, n, pivots);
    default: return fl_small_lu<0>(a, n, pivots);
    }
}

template <class T>
void fl_solve_small(const T *lu, int n, const int32_t *pivots, T *x, int columns) {
    switch (n) {
    case 2: return fl_small_solve<2>(lu, n, pivots, x, columns);
    case 3: return fl_small_solve<3>(lu, n, pivots, x, columns);
    case 4: return fl_small_solve<4>(lu, n, pivots, x, columns);
    default: return fl_small_solve<0>(lu, n, pivots, x, columns);
    }
}
