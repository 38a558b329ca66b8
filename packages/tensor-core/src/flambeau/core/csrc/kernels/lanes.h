/* 64 bytes of numbers as one value: 16 floats or 8 doubles at every ISA level.
 *
 * The lanes are virtual: one AVX-512 register, two of AVX2 or four of SSE hold them. Because the
 * count is fixed, sums associate the same way everywhere and agree to the bit. */
#pragma once
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define FL_REGISTER 64
#elif defined(__AVX2__)
#define FL_REGISTER 32
#else
#define FL_REGISTER 16
#endif
#define FL_TIGHT inline __attribute__((always_inline))

namespace {

template <class T> struct register_of;
#define FL_REGISTER_OF(T, M)                                                                     \
    template <> struct register_of<T> {                                                          \
        typedef T type __attribute__((vector_size(FL_REGISTER)));                                \
        typedef M mask __attribute__((vector_size(FL_REGISTER)));                                \
    }
FL_REGISTER_OF(float, int32_t);
FL_REGISTER_OF(double, int64_t);
FL_REGISTER_OF(int64_t, int64_t);
FL_REGISTER_OF(uint64_t, int64_t);
FL_REGISTER_OF(int32_t, int32_t);
FL_REGISTER_OF(uint8_t, int8_t);
#undef FL_REGISTER_OF

template <class T> struct Lanes {
    typedef T scalar;
    typedef typename register_of<T>::type reg;
    typedef typename register_of<T>::mask mask;
    static constexpr int COUNT = 64 / sizeof(T);
    static constexpr int PARTS = 64 / FL_REGISTER;
    reg r[PARTS];

    static FL_TIGHT Lanes load(const T *p) {
        Lanes v;
        memcpy(&v, p, 64);
        return v;
    }
    static FL_TIGHT Lanes fill(T x) {
        Lanes v;
        for (int i = 0; i < PARTS; i++)
            v.r[i] = x - reg{};
        return v;
    }
    /* The first n elements of p, the other lanes set to `rest`. */
    static FL_TIGHT Lanes load_part(const T *p, int64_t n, T rest) {
        alignas(64) T lane[COUNT];
        for (int i = 0; i < COUNT; i++)
            lane[i] = i < n ? p[i] : rest;
        return load(lane);
    }
    FL_TIGHT void store(T *p) const { memcpy(p, this, 64); }
    FL_TIGHT void store_part(T *p, int64_t n) const {
        alignas(64) T lane[COUNT];
        store(lane);
        for (int64_t i = 0; i < n; i++)
            p[i] = lane[i];
    }
};

#define FL_LANES_OP(op)                                                                          \
    template <class T> FL_TIGHT Lanes<T> operator op(const Lanes<T> &a, const Lanes<T> &b) {     \
        Lanes<T> v;                                                                              \
        for (int i = 0; i < Lanes<T>::PARTS; i++)                                                \
            v.r[i] = a.r[i] op b.r[i];                                                           \
        return v;                                                                                \
    }
FL_LANES_OP(+)
FL_LANES_OP(-)
FL_LANES_OP(*)
FL_LANES_OP(/)
#undef FL_LANES_OP

/* Folds: `of` for two values or two sets of lanes, and the value that changes nothing. */
template <class T> struct Sum {
    static FL_TIGHT T of(T a, T b) { return a + b; }
    static FL_TIGHT Lanes<T> of(const Lanes<T> &a, const Lanes<T> &b) { return a + b; }
    static constexpr T neutral() { return 0; }
};

template <class T> struct Product {
    static FL_TIGHT T of(T a, T b) { return a * b; }
    static FL_TIGHT Lanes<T> of(const Lanes<T> &a, const Lanes<T> &b) { return a * b; }
    static constexpr T neutral() { return 1; }
};

template <class T> struct limits;
template <> struct limits<float> {
    static constexpr float low = -__builtin_inff(), high = __builtin_inff();
};
template <> struct limits<double> {
    static constexpr double low = -__builtin_inf(), high = __builtin_inf();
};
template <> struct limits<int64_t> {
    static constexpr int64_t low = INT64_MIN, high = INT64_MAX;
};
template <> struct limits<uint8_t> {
    static constexpr uint8_t low = 0, high = 255;
};

/* The greater one; NaN wins over everything. */
template <class T> struct Greatest {
    static FL_TIGHT T of(T a, T b) { return (a > b) | (a != a) ? a : b; }
    static FL_TIGHT Lanes<T> of(const Lanes<T> &a, const Lanes<T> &b) {
        Lanes<T> v;
        for (int i = 0; i < Lanes<T>::PARTS; i++)
            v.r[i] = (a.r[i] > b.r[i]) | (a.r[i] != a.r[i]) ? a.r[i] : b.r[i];
        return v;
    }
    static constexpr T neutral() { return limits<T>::low; }
};

template <class T> struct Least {
    static FL_TIGHT T of(T a, T b) { return (a < b) | (a != a) ? a : b; }
    static FL_TIGHT Lanes<T> of(const Lanes<T> &a, const Lanes<T> &b) {
        Lanes<T> v;
        for (int i = 0; i < Lanes<T>::PARTS; i++)
            v.r[i] = (a.r[i] < b.r[i]) | (a.r[i] != a.r[i]) ? a.r[i] : b.r[i];
        return v;
    }
    static constexpr T neutral() { return limits<T>::high; }
};

/* All lanes folded into one value, by halves. */
template <class Op, class T> FL_TIGHT T fold_lanes(const Lanes<T> &v) {
    alignas(64) T lane[Lanes<T>::COUNT];
    v.store(lane);
    for (int half = Lanes<T>::COUNT / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] = Op::of(lane[i], lane[i + half]);
    return lane[0];
}

}  // namespace
