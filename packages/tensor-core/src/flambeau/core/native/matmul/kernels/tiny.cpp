/* Products of tiny matrices: each lane has one of them. */
#include "matmul/kernels/tiny.h"
#include "common/kernels/lanes.h"

namespace {

/* An element of as many products as there are lanes. */
template <class T>
FL_TIGHT Lanes<T> element(const T *a, const T *b, int64_t count, int64_t n, int64_t k,
                          int64_t lanes) {
    Lanes<T> sum = Lanes<T>::fill(0);
    for (int64_t l = 0; l < k; l++) {
        const T *x = a + l * count, *y = b + l * n * count;
        const bool all = lanes == Lanes<T>::COUNT;
        const Lanes<T> p = all ? Lanes<T>::load(x) : Lanes<T>::load_part(x, lanes, 0);
        const Lanes<T> q = all ? Lanes<T>::load(y) : Lanes<T>::load_part(y, lanes, 0);
        for (int i = 0; i < Lanes<T>::PARTS; i++)
            sum.r[i] = fused(p.r[i], q.r[i], sum.r[i]);
    }
    return sum;
}

template <class T>
void products(const void *a, const void *b, void *c, int64_t count, int64_t m, int64_t n,
              int64_t k) {
    constexpr int COUNT = Lanes<T>::COUNT;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const T *x = (const T *)a + i * k * count, *y = (const T *)b + j * count;
            T *z = (T *)c + (i * n + j) * count;
            int64_t r = 0;
            for (; r + COUNT <= count; r += COUNT)
                element<T>(x + r, y + r, count, n, k, COUNT).store(z + r);
            if (r < count)
                element<T>(x + r, y + r, count, n, k, count - r).store_part(z + r, count - r);
        }
}

}  // namespace

extern const fl_tiny_kernels FL_LEVEL(fl_tiny_kernels) = {{products<float>, products<double>}};
