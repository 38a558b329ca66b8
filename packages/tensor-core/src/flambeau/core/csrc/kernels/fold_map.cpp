/* Elements prepared for a fold, a piece at a time while it lies in the nearest cache. */
#include "kernels/fold_map.h"
#include <math.h>

namespace {

template <class T> struct NanToZero {
    static inline T of(T x, T) { return x != x ? 0 : x; }
};
template <class T> struct Abs {
    static inline T of(T x, T) { return x < 0 ? -x : x == 0 ? 0 : x; }
};
template <class T> struct Square {
    static inline T of(T x, T) { return x * x; }
};
template <class T> struct Nonzero {
    static inline T of(T x, T) { return x != 0 ? (T)1 : (T)0; }
};
template <class T> struct Power {
    static inline T of(T x, T p) { return (T)pow(x < 0 ? -x : x, p); }
};

template <class Map, class T> void run(const void *x, void *out, int64_t n, double p) {
    const T *from = (const T *)x;
    T *to = (T *)out;
    for (int64_t i = 0; i < n; i++)
        to[i] = Map::of(from[i], (T)p);
}

template <class T> void magnitude(const void *x, void *out, int64_t n, double) {
    const T *from = (const T *)x;
    T *to = (T *)out;
    for (int64_t i = 0; i < n; i++)
        to[i] = (T)hypot(from[2 * i], from[2 * i + 1]);
}

}  // namespace

#define MAP(M) {run<M<float>, float>, run<M<double>, double>}

extern const fl_map_kernels FL_LEVEL(fl_map_kernels) = {
    {MAP(NanToZero), MAP(Abs), MAP(Square), MAP(Nonzero), MAP(Power)},
    {magnitude<float>, magnitude<double>}};
