/* Vectors of float and double for the products: the widest of the level, with fused multiply-add
 * where the level has one. Everything has internal linkage, like all code compiled per level. */
#pragma once
#include "common/kernels/shuffle.h"
#include <stdint.h>
#include <utility>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace {

#if defined(__AVX512F__)
const int VECTOR_BYTES = 64;
const int REGISTERS = 32;
#elif defined(__AVX2__)
const int VECTOR_BYTES = 32;
const int REGISTERS = 16;
#elif defined(__aarch64__)
const int VECTOR_BYTES = 16;
const int REGISTERS = 32;
#else
const int VECTOR_BYTES = 16;
const int REGISTERS = 16;
#endif

/* x86-64-v2, for processors from before 2013: code for special cases that is long, and makes
 * faster only what runs without it as well, is left out. */
const bool BASELINE = VECTOR_BYTES == 16 && REGISTERS == 16;

template <class T> struct Lanes {};

template <> struct Lanes<float> {
    typedef float Vector __attribute__((vector_size(VECTOR_BYTES)));
    typedef int32_t Index __attribute__((vector_size(VECTOR_BYTES)));
    static const int COUNT = VECTOR_BYTES / 4;
};

template <> struct Lanes<double> {
    typedef double Vector __attribute__((vector_size(VECTOR_BYTES)));
    typedef int64_t Index __attribute__((vector_size(VECTOR_BYTES)));
    static const int COUNT = VECTOR_BYTES / 8;
};

template <class T> using Vector = typename Lanes<T>::Vector;

template <class T> inline Vector<T> load(const T *p) {
    Vector<T> v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

template <class T> inline void store(T *p, Vector<T> v) {
    __builtin_memcpy(p, &v, sizeof v);
}

/* load_part: the first `count` elements, zeros behind them; reads nothing beyond. store_part
 * writes nothing beyond. */

#if defined(__AVX512F__)
inline Vector<float> load_part(const float *p, int64_t count) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p);
}
inline Vector<double> load_part(const double *p, int64_t count) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), p);
}
inline void store_part(float *p, Vector<float> v, int64_t count) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), v);
}
inline void store_part(double *p, Vector<double> v, int64_t count) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << count) - 1), v);
}
inline Vector<float> splat(float x) { return _mm512_set1_ps(x); }
inline Vector<double> splat(double x) { return _mm512_set1_pd(x); }
inline Vector<float> fma(Vector<float> a, Vector<float> b, Vector<float> c) {
    return _mm512_fmadd_ps(a, b, c);
}
inline Vector<double> fma(Vector<double> a, Vector<double> b, Vector<double> c) {
    return _mm512_fmadd_pd(a, b, c);
}
#elif defined(__AVX2__)
inline Vector<float> load_part(const float *p, int64_t count) {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane);
    return _mm256_maskload_ps(p, wanted);
}
inline Vector<double> load_part(const double *p, int64_t count) {
    __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_maskload_pd(p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), lane));
}
inline Vector<float> splat(float x) { return _mm256_set1_ps(x); }
inline Vector<double> splat(double x) { return _mm256_set1_pd(x); }
inline Vector<float> fma(Vector<float> a, Vector<float> b, Vector<float> c) {
    return _mm256_fmadd_ps(a, b, c);
}
inline Vector<double> fma(Vector<double> a, Vector<double> b, Vector<double> c) {
    return _mm256_fmadd_pd(a, b, c);
}
#else
template <class T> inline Vector<T> load_part(const T *p, int64_t count) {
    Vector<T> v = {};
    for (int64_t i = 0; i < count; i++)
        v[i] = p[i];
    return v;
}
inline Vector<float> splat(float x) { return Vector<float>{x, x, x, x}; }
inline Vector<double> splat(double x) { return Vector<double>{x, x}; }
#if defined(__aarch64__)
inline Vector<float> fma(Vector<float> a, Vector<float> b, Vector<float> c) {
    return (Vector<float>)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
inline Vector<double> fma(Vector<double> a, Vector<double> b, Vector<double> c) {
    return (Vector<double>)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
template <class V> inline V fma(V a, V b, V c) { return a * b + c; }
#endif
#endif

#if !defined(__AVX512F__)
/* Element by element: masked stores of AVX2 are slower than this on many processors. */
template <class T, class V> inline void store_part(T *p, V v, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        p[i] = v[i];
}
#endif

/* What a product adds to its sums: in float32 and float64 element by element; where the elements
 * are pairs of bfloat16, the two products of each. */
#if defined(FL_GEMM_PAIRS)
inline Vector<float> add_product(Vector<float> a, Vector<float> b, Vector<float> sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}
#else
template <class V> inline V add_product(V a, V b, V sum) { return fma(a, b, sum); }
#endif

/* ---- lane shuffles, written once for all widths ------------------------------------------ */

template <class T> using Index = typename Lanes<T>::Index;
template <class T> using Every = std::make_integer_sequence<int, Lanes<T>::COUNT>;

/* Lane e of the results of exchange(): a and b with the blocks of S lanes off the diagonal of
 * the 2 x 2 block matrix (a; b) swapped. Lanes of b count from COUNT on. */
template <class T, int S, int... E>
inline Index<T> upper_lanes(std::integer_sequence<int, E...>) {
    return Index<T>{((E & S) ? Lanes<T>::COUNT + E - S : E)...};
}

template <class T, int S, int... E>
inline Index<T> lower_lanes(std::integer_sequence<int, E...>) {
    return Index<T>{((E & S) ? Lanes<T>::COUNT + E : E + S)...};
}

template <class T, int S> inline void exchange(Vector<T> &a, Vector<T> &b) {
    Vector<T> upper = fl_shuffle(a, b, upper_lanes<T, S>(Every<T>{}));
    Vector<T> lower = fl_shuffle(a, b, lower_lanes<T, S>(Every<T>{}));
    a = upper;
    b = lower;
}

template <class T, int S = 1> inline void transpose_lanes(Vector<T> *rows) {
    if constexpr (S < Lanes<T>::COUNT) {
#pragma GCC unroll 16
        for (int i = 0; i < Lanes<T>::COUNT; i++)
            if (!(i & S))
                exchange<T, S>(rows[i], rows[i + S]);
        transpose_lanes<T, S * 2>(rows);
    }
}

template <class T, int S, int... E> inline Index<T> partners(std::integer_sequence<int, E...>) {
    return Index<T>{(E ^ S)...};
}

/* The sum of all lanes, halves first: the order is fixed. */
template <class T, int S = Lanes<T>::COUNT / 2> inline T sum_lanes(Vector<T> v) {
    if constexpr (S == 0)
        return v[0];
    else
        return sum_lanes<T, S / 2>(v + fl_shuffle(v, partners<T, S>(Every<T>{})));
}

} // namespace
