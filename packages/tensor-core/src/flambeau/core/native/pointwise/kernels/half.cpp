/* Half precision: see half.h. A few elements at a time pass through registers, which spares the
 * tiles of float32 between conversions. */
#include "pointwise/kernels/half.h"
#include "common/kernels/convert.h"
#ifdef __F16C__
#include <immintrin.h>
#endif

namespace {

constexpr int RUN_ELEMENTS = 64;     /* elements that stay in the registers or the nearest cache */
constexpr int LAST_ELEMENTS = 16;    /* of the runs that end a row */

#define FL_HALF_SIGN(NAME, SIGN)                                                                 \
    struct NAME {                                                                                \
        template <class R> static inline R of(R a, R b) { return a SIGN b; }                     \
    }
FL_HALF_SIGN(Add, +);
FL_HALF_SIGN(Sub, -);
FL_HALF_SIGN(Mul, *);
FL_HALF_SIGN(Div, /);
/* The first where they are equal, as in the formulas: zeros have signs. */
struct Max {
    template <class R> static inline R of(R a, R b) { return (b > a) | (b != b) ? b : a; }
};
struct Min {
    template <class R> static inline R of(R a, R b) { return (b < a) | (b != b) ? b : a; }
};

/* Loops of a fixed length are kept as loops, which become vectors: written out they would not. */
template <int N = RUN_ELEMENTS, class T> inline void widen_run(const T *x, float *out) {
#pragma GCC unroll 1
    for (int i = 0; i < N; i++)
        out[i] = widen(x[i]);
}
template <int N = RUN_ELEMENTS> inline void narrow_run(const float *x, fl_bf16 *out) {
#pragma GCC unroll 1
    for (int i = 0; i < N; i++)
        out[i] = narrow_bf16(x[i]);
}
template <int N = RUN_ELEMENTS> inline void narrow_run(const float *x, fl_f16 *out) {
#pragma GCC unroll 1
    for (int i = 0; i < N; i++)
        out[i] = narrow_f16(x[i]);
}

/* N elements; a side that stays was widened before. */
template <class Op, int N, class T>
inline void one_run(const T *a, bool walk_a, const T *b, bool walk_b, T *out, float *x, float *y) {
    if (walk_a)
        widen_run<N>(a, x);
    if (walk_b)
        widen_run<N>(b, y);
#pragma GCC unroll 1
    for (int i = 0; i < N; i++)
        x[i + RUN_ELEMENTS] = Op::of(x[i], y[i]);
    narrow_run<N>(x + RUN_ELEMENTS, out);
}

/* bfloat16 in pairs: the even and the odd elements of a register are its two halves, shifted and
 * masked, which takes fewer instructions than to spread them over two registers and back. */
#if defined(__AVX512F__)
constexpr int REGISTER_BYTES = 64;
#elif defined(__AVX2__)
constexpr int REGISTER_BYTES = 32;
#else
constexpr int REGISTER_BYTES = 16;
#endif
template <int BYTES> struct Pairs {
    typedef uint32_t bits __attribute__((vector_size(BYTES)));
    typedef float wide __attribute__((vector_size(BYTES)));
    static constexpr uint32_t HIGH = 0xffff0000u;
    wide even, odd;

    static inline Pairs load(const fl_bf16 *p) {
        bits v;
        memcpy(&v, p, sizeof v);
        return {(wide)(v << 16), (wide)(v & HIGH)};
    }
    static inline Pairs fill(float x) {
        const wide v = x - wide{};
        return {v, v};
    }
    /* As narrow_bf16 has it, in the upper halves. */
    static inline bits rounded(wide v) {
        const bits u = (bits)v;
        return v != v ? bits{} + 0x7fc00000u : u + 0x7fff + (u >> 16 & 1);
    }
    inline void store(fl_bf16 *p) const {
        const bits v = rounded(even) >> 16 | (rounded(odd) & HIGH);
        memcpy(p, &v, sizeof v);
    }
};

template <class Op, int N>
inline void one_run(const fl_bf16 *a, bool walk_a, const fl_bf16 *b, bool walk_b, fl_bf16 *out,
                    float *x, float *y) {
    constexpr int BYTES = 2 * N < REGISTER_BYTES ? 2 * N : REGISTER_BYTES;
    typedef Pairs<BYTES> P;
#pragma GCC unroll 1
    for (int i = 0; i < N; i += BYTES / 2) {
        const P v = walk_a ? P::load(a + i) : P::fill(*x), w = walk_b ? P::load(b + i) : P::fill(*y);
        P{Op::of(v.even, w.even), Op::of(v.odd, w.odd)}.store(out + i);
    }
}

template <class T> inline void clamp_run(const T *in, float low, float high, T *out, float *x) {
    widen_run(in, x);
    for (int i = 0; i < RUN_ELEMENTS; i++)
        x[i] = Min::of(Max::of(x[i], low), high);
    narrow_run(x, out);
}

inline void clamp_run(const fl_bf16 *in, float low, float high, fl_bf16 *out, float *) {
    typedef Pairs<REGISTER_BYTES> P;
    const P least = P::fill(low), most = P::fill(high);
#pragma GCC unroll 1
    for (int i = 0; i < RUN_ELEMENTS; i += REGISTER_BYTES / 2) {
        const P v = P::load(in + i);
        P{Min::of(Max::of(v.even, least.even), most.even),
          Min::of(Max::of(v.odd, least.odd), most.odd)}.store(out + i);
    }
}

#ifdef __F16C__
constexpr int VECTOR_ELEMENTS = 8;
inline __m256 load(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128((__m128i *)p)); }
inline void store(void *p, __m256 v) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
inline __m256 load_wide(const float *p) { return _mm256_loadu_ps(p); }

template <class Op, int N>
inline void one_run(const fl_f16 *a, bool walk_a, const fl_f16 *b, bool walk_b, fl_f16 *out,
                    float *x, float *y) {
    for (int i = 0; i < N; i += VECTOR_ELEMENTS)
        store(out + i, Op::of(walk_a ? load(a + i) : load_wide(x), walk_b ? load(b + i)
                                                                          : load_wide(y)));
}
inline void clamp_run(const fl_f16 *in, float low, float high, fl_f16 *out, float *) {
    const __m256 least = _mm256_set1_ps(low), most = _mm256_set1_ps(high);
    for (int i = 0; i < RUN_ELEMENTS; i += VECTOR_ELEMENTS)
        store(out + i, Min::of(Max::of(load(in + i), least), most));
}
#endif

template <class T> void clamp(const void *in, float low, float high, void *to, int64_t n) {
    const T *x = (const T *)in;
    T *out = (T *)to;
    alignas(64) float wide[RUN_ELEMENTS];
    int64_t i = 0;
    for (; i + RUN_ELEMENTS <= n; i += RUN_ELEMENTS)
        clamp_run(x + i, low, high, out + i, wide);
    T last[RUN_ELEMENTS] = {};
    memcpy(last, x + i, (size_t)(n - i) * sizeof(T));
    clamp_run(last, low, high, last, wide);
    memcpy(out + i, last, (size_t)(n - i) * sizeof(T));
}

template <class Op, class T>
void run_short(const T *a, bool walk_a, const T *b, bool walk_b, T *out, int64_t n, float *x,
               float *y) {
    T last[3][LAST_ELEMENTS] = {};
    const size_t bytes = (size_t)n * sizeof(T);
    if (walk_a)
        memcpy(last[0], a, bytes);
    if (walk_b)
        memcpy(last[1], b, bytes);
    one_run<Op, LAST_ELEMENTS>(last[0], walk_a, last[1], walk_b, last[2], x, y);
    memcpy(out, last[2], bytes);
}

template <class Op, class T>
void run(const void *left, int step_a, const void *right, int step_b, void *to, int64_t n) {
    const T *a = (const T *)left, *b = (const T *)right;
    T *out = (T *)to;
    alignas(64) float x[2 * RUN_ELEMENTS], y[RUN_ELEMENTS];
    const float first = step_a < 0 ? *(const float *)left : widen(*a);
    const float second = step_b < 0 ? *(const float *)right : widen(*b);
    const bool walk_a = step_a > 0, walk_b = step_b > 0;
    for (int i = 0; i < RUN_ELEMENTS && !(walk_a && walk_b); i++) {
        x[i] = first;
        y[i] = second;
    }
    if (n < LAST_ELEMENTS)
        return run_short<Op>(a, walk_a, b, walk_b, out, n, x, y);
    T last[LAST_ELEMENTS];      /* read before anything is written, which may be in place */
    const int64_t end = n - LAST_ELEMENTS;
    one_run<Op, LAST_ELEMENTS>(walk_a ? a + end : a, walk_a, walk_b ? b + end : b, walk_b, last, x,
                               y);
    int64_t i = 0;
    for (; i + RUN_ELEMENTS <= n; i += RUN_ELEMENTS)
        one_run<Op, RUN_ELEMENTS>(walk_a ? a + i : a, walk_a, walk_b ? b + i : b, walk_b, out + i,
                                  x, y);
    for (; i < end; i += LAST_ELEMENTS)
        one_run<Op, LAST_ELEMENTS>(walk_a ? a + i : a, walk_a, walk_b ? b + i : b, walk_b, out + i,
                                   x, y);
    memcpy(out + end, last, sizeof last);
}

/* ---- of three -------------------------------------------------------------------------------- */

struct ProductSum {
    float value;
    template <class R> inline R of(R x, R a, R b) const { return x + value * a * b; }
};
struct NearLerp {
    float weight;
    template <class R> inline R of(R x, R end, R) const { return x + weight * (end - x); }
};
struct FarLerp {
    float rest;                 /* 1 - weight */
    template <class R> inline R of(R x, R end, R) const { return end - (end - x) * rest; }
};

template <class Sum, class T>
inline void sum_run(const Sum &sum, const T *x, const T *a, const T *b, T *out) {
    alignas(64) float wide[3][RUN_ELEMENTS];
    widen_run(x, wide[0]);
    widen_run(a, wide[1]);
    widen_run(b, wide[2]);
    for (int i = 0; i < RUN_ELEMENTS; i++)
        wide[0][i] = sum.of(wide[0][i], wide[1][i], wide[2][i]);
    narrow_run(wide[0], out);
}

template <class Sum>
inline void sum_run(const Sum &sum, const fl_bf16 *x, const fl_bf16 *a, const fl_bf16 *b,
                    fl_bf16 *out) {
    typedef Pairs<REGISTER_BYTES> P;
#pragma GCC unroll 1
    for (int i = 0; i < RUN_ELEMENTS; i += REGISTER_BYTES / 2) {
        const P u = P::load(x + i), v = P::load(a + i), w = P::load(b + i);
        P{sum.of(u.even, v.even, w.even), sum.of(u.odd, v.odd, w.odd)}.store(out + i);
    }
}

#ifdef __F16C__
template <class Sum>
inline void sum_run(const Sum &sum, const fl_f16 *x, const fl_f16 *a, const fl_f16 *b,
                    fl_f16 *out) {
    for (int i = 0; i < RUN_ELEMENTS; i += VECTOR_ELEMENTS)
        store(out + i, sum.of(load(x + i), load(a + i), load(b + i)));
}
#endif

template <class T, class Sum>
void sum_all(const Sum &sum, const void *first, const void *second, const void *third, void *to,
             int64_t n) {
    const T *x = (const T *)first, *a = (const T *)second, *b = (const T *)third;
    T *out = (T *)to;
    int64_t i = 0;
    for (; i + RUN_ELEMENTS <= n; i += RUN_ELEMENTS)
        sum_run(sum, x + i, a + i, b + i, out + i);
    T last[3][RUN_ELEMENTS] = {};
    const size_t bytes = (size_t)(n - i) * sizeof(T);
    memcpy(last[0], x + i, bytes);
    memcpy(last[1], a + i, bytes);
    memcpy(last[2], b + i, bytes);
    sum_run(sum, last[0], last[1], last[2], last[0]);
    memcpy(out + i, last[0], bytes);
}

template <class T>
void product_sum(const void *x, const void *a, const void *b, float value, void *out, int64_t n) {
    sum_all<T>(ProductSum{value}, x, a, b, out, n);
}

template <class T>
void lerp(const void *x, const void *end, const void *, float weight, void *out, int64_t n) {
    if (weight < 0.5f && weight > -0.5f)
        sum_all<T>(NearLerp{weight}, x, end, end, out, n);
    else
        sum_all<T>(FarLerp{1.0f - weight}, x, end, end, out, n);
}

void bits(const void *x, void *to, int64_t n, uint16_t keep, uint16_t flip) {
    const uint16_t *in = (const uint16_t *)x;
    uint16_t *out = (uint16_t *)to;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint16_t)((in[i] & keep) ^ flip);
}

/* The size of the left side with the sign of the right one, which may be a number: bits again. */
void copy_sign(const void *left, int step_a, const void *right, int step_b, void *to, int64_t n) {
    const uint16_t SIGN = 0x8000, *a = (const uint16_t *)left, *b = (const uint16_t *)right;
    uint16_t *out = (uint16_t *)to;
    if (step_a > 0 && step_b > 0) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++)
            out[i] = (uint16_t)((a[i] & ~SIGN) | (b[i] & SIGN));
        return;
    }
    if (step_b <= 0) {
        const bool negative = step_b < 0 ? __builtin_signbit(*(const float *)right) != 0
                                         : (*b & SIGN) != 0;
        if (step_a > 0)
            return bits(left, to, n, 0x7fff, negative ? SIGN : 0);
    }
    const uint16_t size = (uint16_t)(*a & ~SIGN);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint16_t)(size | (b[step_b > 0 ? i : 0] & SIGN));
}

}  // namespace

#define FL_BOTH(OP) {run<OP, fl_f16>, run<OP, fl_bf16>}

extern const fl_half_kernels FL_LEVEL(fl_half_kernels) = {
    {FL_BOTH(Add), FL_BOTH(Sub), FL_BOTH(Mul), FL_BOTH(Div), FL_BOTH(Max), FL_BOTH(Min),
     {copy_sign, copy_sign}},
    {clamp<fl_f16>, clamp<fl_bf16>}, {product_sum<fl_f16>, product_sum<fl_bf16>},
    {lerp<fl_f16>, lerp<fl_bf16>}, bits};
