/* Householder reflectors of small real matrices, column-major, as LAPACK's geqrf and orgqr leave
 * them: there a call costs more than the arithmetic. */
#pragma once
#include <cmath>
#include <stdint.h>

/* Makes a column of n elements a multiple of the first unit vector. Returns tau; the reflector's
 * other elements stand in place of the column's. Squares are of numbers scaled to at most 1. */
template <class T> T fl_small_reflector(T *x, int n) {
    T largest = 0, squares = 0;
    for (int i = 1; i < n; i++)
        largest = std::abs(x[i]) > largest || x[i] != x[i] ? std::abs(x[i]) : largest;
    if (largest == 0)
        return 0;
    largest = std::abs(x[0]) > largest || x[0] != x[0] ? std::abs(x[0]) : largest;
    for (int i = 0; i < n; i++)
        squares += (x[i] / largest) * (x[i] / largest);
    const T first = x[0], beta = -std::copysign(largest * std::sqrt(squares), first);
    for (int i = 1; i < n; i++)
        x[i] /= first - beta;
    x[0] = beta;
    return (beta - first) / beta;
}

/* x := H x for columns of n elements, `step` elements apart. */
template <class T>
void fl_small_reflect(const T *reflector, T tau, int n, T *x, int columns, int64_t step) {
    for (int c = 0; c < columns && tau != 0; c++, x += step) {
        T sum = x[0];
        for (int i = 1; i < n; i++)
            sum += reflector[i] * x[i];
        sum *= tau;
        x[0] -= sum;
        for (int i = 1; i < n; i++)
            x[i] -= sum * reflector[i];
    }
}

template <class T> void fl_small_geqrf(T *a, int rows, int columns, T *tau) {
    for (int k = 0; k < rows && k < columns; k++) {
        T *x = a + k * rows + k;
        tau[k] = fl_small_reflector(x, rows - k);
        fl_small_reflect(x, tau[k], rows - k, x + rows, columns - k - 1, rows);
    }
}

/* The first columns of the product of `reflectors` reflectors. */
template <class T>
void fl_small_orgqr(T *a, int rows, int columns, int reflectors, const T *tau) {
    for (int c = reflectors; c < columns; c++)
        for (int i = 0; i < rows; i++)
            a[c * rows + i] = i == c;
    for (int k = reflectors - 1; k >= 0; k--) {
        T *x = a + k * rows + k;
        fl_small_reflect(x, tau[k], rows - k, x + rows, columns - k - 1, rows);
        for (int i = 1; i < rows - k; i++)
            x[i] *= -tau[k];
        x[0] = 1 - tau[k];
        for (int i = 1; i <= k; i++)
            x[-i] = 0;
    }
}
