/* Elements prepared for a reduction, a piece at a time while it lies in the nearest cache. */
#include "reduce/kernels/reduce_map.h"
#include "reduce/kernels/reducers.h"
#include <math.h>

namespace {

template <class T> struct NanToZero {
    static inline T of(T x, T) { return x != x ? 0 : x; }
    template <class R> static FL_TIGHT R reg(R x) { return x == x ? x : R{}; }
};
template <class T> struct Abs {
    static inline T of(T x, T) { return x < 0 ? -x : x == 0 ? 0 : x; }
    template <class R> static FL_TIGHT R reg(R x) { return x < 0 ? -x : x; }
};
template <class T> struct Square {
    static inline T of(T x, T) { return x * x; }
    template <class R> static FL_TIGHT R reg(R x) { return x * x; }
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

template <class Map, class T> FL_TIGHT Lanes<T> mapped(Lanes<T> v) {
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        v.r[i] = Map::reg(v.r[i]);
    return v;
}

/* What reduce.cpp does with a prepared row, in the same order, without storing it. */
template <class Map, class T> void sum(const void *x, int64_t n, void *total) {
    constexpr int COUNT = Lanes<T>::COUNT, SETS = 4;
    constexpr int64_t ROUND = SETS * COUNT, ROUNDS = 64;
    const T *p = (const T *)x;
    Lanes<T> all = Lanes<T>::fill(0), rest = all;
    for (; n >= ROUND;) {
        int64_t rounds = n / ROUND < ROUNDS ? n / ROUND : ROUNDS;
        Lanes<T> set[SETS];
        for (int s = 0; s < SETS; s++)
            set[s] = Lanes<T>::fill(0);
        for (int64_t r = 0; r < rounds; r++, p += ROUND)
            for (int s = 0; s < SETS; s++)
                set[s] = set[s] + mapped<Map>(Lanes<T>::load(p + s * COUNT));
        all = all + ((set[0] + set[1]) + (set[2] + set[3]));
        n -= rounds * ROUND;
    }
    for (; n >= COUNT; n -= COUNT, p += COUNT)
        rest = rest + mapped<Map>(Lanes<T>::load(p));
    if (n)
        rest = rest + mapped<Map>(Lanes<T>::load_part(p, n, 0));
    *(T *)total = reduce_lanes<Sum<T>, T>(all + rest);
}

}  // namespace

#define MAP(M) {run<M<float>, float>, run<M<double>, double>}
#define SUM(M) {sum<M<float>, float>, sum<M<double>, double>}

extern const fl_map_kernels FL_LEVEL(fl_map_kernels) = {
    {MAP(NanToZero), MAP(Abs), MAP(Square), MAP(Nonzero), MAP(Power)},
    {magnitude<float>, magnitude<double>},
    {SUM(NanToZero), SUM(Abs), SUM(Square)}};
