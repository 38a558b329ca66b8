/* Distances from one row to many, which lie side by side in vectors. */
#include "matmul/kernels/distance.h"
#include "matmul/kernels/gemm_vector.h"
#include <math.h>

namespace {

const int64_t PIECE_SQUARES = 256;      /* squares that are added before the sums are joined */
const int BLOCK_VECTORS = 4;            /* vectors at once */

/* How the gaps of two rows become their distance. */
struct Euclidean {
    template <class V> static V add(V sum, V gap) { return fma(gap, gap, sum); }
    template <class V> static V join(V a, V b) { return a + b; }
    template <class T> static T finish(T x) {
        return sizeof(T) == 4 ? sqrtf((float)x) : (T)sqrt((double)x);
    }
};

template <class V> inline V size_of(V gap) { return gap > 0 ? gap : -gap; }

struct Manhattan {
    template <class V> static V add(V sum, V gap) { return sum + size_of(gap); }
    template <class V> static V join(V a, V b) { return a + b; }
    template <class T> static T finish(T x) { return x; }
};

/* The greatest gap; a NaN stays. */
struct Chebyshev {
    template <class V> static V join(V a, V b) { return (a > b) | (a != a) ? a : b; }
    template <class V> static V add(V most, V gap) { return join(size_of(gap), most); }
    template <class T> static T finish(T x) { return x; }
};

/* Meet what `m` columns give for BLOCK_VECTORS vectors of rows. */
template <class Way, class T>
inline void add_gaps(const T *row, const T *columns, int64_t step, int64_t m, T *out) {
    const int L = Lanes<T>::COUNT;
    Vector<T> sum[BLOCK_VECTORS] = {};
    for (int64_t c = 0; c < m; c++) {
        const Vector<T> x = splat(row[c]);
#pragma GCC unroll 4
        for (int v = 0; v < BLOCK_VECTORS; v++)
            sum[v] = Way::add(sum[v], x - load(columns + c * step + v * L));
    }
#pragma GCC unroll 4
    for (int v = 0; v < BLOCK_VECTORS; v++)
        store(out + v * L, Way::join(load(out + v * L), sum[v]));
}

template <class Way, class T>
void distances(const T *row, const T *columns, int64_t step, int64_t m, T *out) {
    for (int64_t j = 0; j < FL_DISTANCE_STRIP; j++)
        out[j] = 0;
    for (int64_t c = 0; c < m; c += PIECE_SQUARES)
        for (int64_t j = 0; j < FL_DISTANCE_STRIP; j += BLOCK_VECTORS * Lanes<T>::COUNT)
            add_gaps<Way>(row + c, columns + c * step + j, step,
                          m - c < PIECE_SQUARES ? m - c : PIECE_SQUARES,
                          out + j);
    for (int64_t j = 0; j < FL_DISTANCE_STRIP; j++)
        out[j] = Way::finish(out[j]);
}

}  // namespace

#define WAYS(T) {distances<Euclidean, T>, distances<Manhattan, T>, distances<Chebyshev, T>}

extern const fl_distance_kernels FL_LEVEL(fl_distance_kernels) = {WAYS(float), WAYS(double)};
