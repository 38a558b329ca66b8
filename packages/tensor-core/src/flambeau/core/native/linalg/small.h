/* LU and Cholesky decompositions of small real matrices, column-major, as LAPACK's getrf, getrs
 * and potrf leave them: there a call costs more than the arithmetic. */
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

/* The same for as many columns as there are rows, all in step: the loops over them are of fixed
 * length, and the operations on each column those of one alone. */
template <int N, class T>
void fl_small_solve_square(const T *lu, int order, const int32_t *pivots, T *x) {
    const int n = N ? N : order;
    constexpr int COLUMNS = N ? N : (int)FL_SMALL_MATRIX;
    T row[COLUMNS][COLUMNS] = {};
    for (int c = 0; c < n; c++)
        for (int i = 0; i < n; i++)
            row[i][c] = x[i + c * n];
    for (int k = 0; k < n; k++)
        if (pivots[k] - 1 != k)
            std::swap(row[k], row[pivots[k] - 1]);
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
            for (int c = 0; c < COLUMNS; c++)
                row[i][c] -= lu[i + k * n] * row[k][c];
    for (int k = n - 1; k >= 0; k--) {
        for (int c = 0; c < COLUMNS; c++)
            row[k][c] /= lu[k + k * n];
        for (int i = 0; i < k; i++)
            for (int c = 0; c < COLUMNS; c++)
                row[i][c] -= lu[i + k * n] * row[k][c];
    }
    for (int c = 0; c < n; c++)
        for (int i = 0; i < n; i++)
            x[i + c * n] = row[i][c];
}

/* x := A^-1 x for columns of x and a triangle A, whose elements are `by_row` and `by_column` apart. */
template <int N, class T>
void fl_small_triangular(const T *a, int order, int64_t by_row, int64_t by_column, bool upper,
                         bool unit, T *x, int columns) {
    const int n = N ? N : order;
    for (int c = 0; c < columns; c++, x += n)
        for (int step = 0; step < n; step++) {
            const int k = upper ? n - 1 - step : step;
            const T *column = a + k * by_column;
            if (!unit)
                x[k] /= column[k * by_row];
            for (int i = upper ? 0 : k + 1; i < (upper ? k : n); i++)
                x[i] -= column[i * by_row] * x[k];
        }
}

/* The lower factor in the lower triangle. Returns 0 or the order of the first leading minor that is
 * not positive. */
template <int N, class T> int fl_small_cholesky(T *a, int order) {
    const int n = N ? N : order;
    for (int k = 0; k < n; k++) {
        T *column = a + k * n;
        if (!(column[k] > 0))
            return k + 1;
        column[k] = std::sqrt(column[k]);
        for (int i = k + 1; i < n; i++)
            column[i] /= column[k];
        for (int j = k + 1; j < n; j++)
            for (int i = j; i < n; i++)
                a[i + j * n] -= column[i] * column[j];
    }
    return 0;
}

/* From the triangle that is read to the other: the upper factor is the lower one's transpose. */
template <class T> void fl_mirror_small(T *a, int n, bool from_upper) {
    for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++) {
            T &upper = a[j + i * n], &lower = a[i + j * n];
            (from_upper ? lower : upper) = from_upper ? upper : lower;
        }
}

template <class T> int fl_cholesky_small(T *a, int n, bool upper) {
    int status;
    if (upper)
        fl_mirror_small(a, n, true);
    switch (n) {
    case 2: status = fl_small_cholesky<2>(a, n); break;
    case 3: status = fl_small_cholesky<3>(a, n); break;
    case 4: status = fl_small_cholesky<4>(a, n); break;
    default: status = fl_small_cholesky<0>(a, n);
    }
    if (upper)
        fl_mirror_small(a, n, false);
    return status;
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
    switch (columns == n ? n : 0) {
    case 2: return fl_small_solve_square<2>(lu, n, pivots, x);
    case 3: return fl_small_solve_square<3>(lu, n, pivots, x);
    case 4: return fl_small_solve_square<4>(lu, n, pivots, x);
    case 0: break;
    default: return fl_small_solve_square<0>(lu, n, pivots, x);
    }
    switch (n) {
    case 2: return fl_small_solve<2>(lu, n, pivots, x, columns);
    case 3: return fl_small_solve<3>(lu, n, pivots, x, columns);
    case 4: return fl_small_solve<4>(lu, n, pivots, x, columns);
    default: return fl_small_solve<0>(lu, n, pivots, x, columns);
    }
}

template <class T>
void fl_solve_small_triangle(const T *a, int n, int64_t by_row, int64_t by_column, bool upper,
                             bool unit, T *x, int columns) {
    switch (n) {
    case 2: return fl_small_triangular<2>(a, n, by_row, by_column, upper, unit, x, columns);
    case 3: return fl_small_triangular<3>(a, n, by_row, by_column, upper, unit, x, columns);
    case 4: return fl_small_triangular<4>(a, n, by_row, by_column, upper, unit, x, columns);
    default: return fl_small_triangular<0>(a, n, by_row, by_column, upper, unit, x, columns);
    }
}
