/* Distances from one row to many, which lie side by side in vectors. */
#include "kernels/distance.h"
#include "kernels/gemm_vector.h"
#include <math.h>

namespace {

const int64_t PIECE = 256;      /* squares that are added before the sums are joined */
const int BLOCK = 4;            /* vectors at once */

/* += the squares over `m` columns for BLOCK vectors of rows. */
template <class T>
inline void add_squares(const T *row, const T *columns, int64_t step, int64_t m, T *out) {
    const int L = Lanes<T>::COUNT;
    Vector<T> sum[BLOCK] = {};
    for (int64_t c = 0; c < m; c++) {
        const Vector<T> x = splat(row[c]);
#pragma GCC unroll 4
        for (int v = 0; v < BLOCK; v++) {
            const Vector<T> gap = x - load(columns + c * step + v * L);
            sum[v] = fma(gap, gap, sum[v]);
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < BLOCK; v++)
        store(out + v * L, load(out + v * L) + sum[v]);
}

template <class T>
void distances(const T *row, const T *columns, int64_t step, int64_t m, T *out) {
    for (int64_t j = 0; j < FL_DISTANCE_STRIP; j++)
        out[j] = 0;
    for (int64_t c = 0; c < m; c += PIECE)
        for (int64_t j = 0; j < FL_DISTANCE_STRIP; j += BLOCK * Lanes<T>::COUNT)
            add_squares(row + c, columns + c * step + j, step, m - c < PIECE ? m - c : PIECE,
                        out + j);
    for (int64_t j = 0; j < FL_DISTANCE_STRIP; j++)
        out[j] = sizeof(T) == 4 ? sqrtf((float)out[j]) : (T)sqrt((double)out[j]);
}

}  // namespace

extern const fl_distance_kernels FL_LEVEL(fl_distance_kernels) = {distances<float>,
                                                                  distances<double>};
