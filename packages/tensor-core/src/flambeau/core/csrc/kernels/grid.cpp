/* Weighted sums of picked elements: see grid.h. */
#include "kernels/grid.h"

namespace {

/* The number of taps is known to the compiler, so that a place's sum stays in a register. */
template <class T, int TAPS>
void sums(const T *__restrict plane, const int32_t *__restrict offset, const T *__restrict weight,
          int64_t n, T *__restrict out) {
    for (int64_t i = 0; i < n; i++) {
        T sum = 0;
#pragma GCC unroll 16
        for (int k = 0; k < TAPS; k++) {
            const int32_t at = offset[k * FL_GRID_RUN + i];
            const T element = plane[at < 0 ? 0 : at];
            sum += weight[k * FL_GRID_RUN + i] * (at < 0 ? 0 : element);
        }
        out[i] = sum;
    }
}

template <class T>
void picked(const T *plane, const int32_t *offset, const T *weight, int64_t taps, int64_t n,
            T *out) {
    switch (taps) {
    case 1: return sums<T, 1>(plane, offset, weight, n, out);
    case 4: return sums<T, 4>(plane, offset, weight, n, out);
    case 8: return sums<T, 8>(plane, offset, weight, n, out);
    default: return sums<T, 16>(plane, offset, weight, n, out);
    }
}

}  // namespace

extern const fl_grid_kernels FL_LEVEL(fl_grid_kernels) = {picked<float>, picked<double>};
