/* Ways to reduce numbers into one: for two numbers (`of`), two registers (`reg`) and the lanes of a
 * set. */
#pragma once
#include "common/kernels/lanes.h"

namespace {

template <class T> struct Sum {
    template <class R> static FL_TIGHT R reg(R a, R b) { return a + b; }
    static FL_TIGHT T of(T a, T b) { return a + b; }
    static constexpr T neutral() { return 0; }
};

template <class T> struct Product {
    template <class R> static FL_TIGHT R reg(R a, R b) { return a * b; }
    static FL_TIGHT T of(T a, T b) { return a * b; }
    static constexpr T neutral() { return 1; }
};

/* The greater one; NaN wins over everything. `above` instead forgets NaN. */
template <class T> struct Greatest {
    template <class R> static FL_TIGHT R reg(R a, R b) { return (a > b) | (a != a) ? a : b; }
    template <class R> static FL_TIGHT R quick(R a, R b) { return above(a, b); }
    static FL_TIGHT T of(T a, T b) { return (a > b) | (a != a) ? a : b; }
    static constexpr T neutral() { return limits<T>::low; }
};

template <class T> struct Least {
    template <class R> static FL_TIGHT R reg(R a, R b) { return (a < b) | (a != a) ? a : b; }
    template <class R> static FL_TIGHT R quick(R a, R b) { return below(a, b); }
    static FL_TIGHT T of(T a, T b) { return (a < b) | (a != a) ? a : b; }
    static constexpr T neutral() { return limits<T>::high; }
};

/* Two sets of lanes. */
template <class Op, class T> FL_TIGHT Lanes<T> both(const Lanes<T> &a, const Lanes<T> &b) {
    Lanes<T> v;
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        v.r[i] = Op::reg(a.r[i], b.r[i]);
    return v;
}

/* One register reduced by halves; by its bytes and the bytes of an element. */
template <class T, int BYTES> struct vector_of {
    typedef T type __attribute__((vector_size(BYTES)));
};
/* Elements of one and two bytes: there are many, and the halves are made in memory. */
template <int BYTES, int SIZE> struct halves {
    template <class Op, class T> static FL_TIGHT T reduce(typename vector_of<T, BYTES>::type v) {
        T lane[BYTES / SIZE];
        memcpy(lane, &v, BYTES);
        for (int half = BYTES / SIZE / 2; half > 0; half /= 2)
            for (int i = 0; i < half; i++)
                lane[i] = Op::of(lane[i], lane[i + half]);
        return lane[0];
    }
};
#define FL_LIST(...) __VA_ARGS__

#define FL_HALVES(BYTES, SIZE, LOW, HIGH)                                                        \
    template <> struct halves<BYTES, SIZE> {                                                     \
        template <class Op, class T>                                                             \
        static FL_TIGHT T reduce(typename vector_of<T, BYTES>::type v) {                           \
            return halves<BYTES / 2, SIZE>::template reduce<Op, T>(                                \
                Op::reg(__builtin_shufflevector(v, v, FL_LIST LOW),                              \
                        __builtin_shufflevector(v, v, FL_LIST HIGH)));                           \
        }                                                                                        \
    }
template <> struct halves<16, 4> {
    template <class Op, class T> static FL_TIGHT T reduce(typename vector_of<T, 16>::type v) {
        v = Op::reg(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
        v = Op::reg(v, __builtin_shufflevector(v, v, 1, 0, 3, 2));
        return v[0];
    }
};
template <> struct halves<16, 8> {
    template <class Op, class T> static FL_TIGHT T reduce(typename vector_of<T, 16>::type v) {
        return Op::reg(v, __builtin_shufflevector(v, v, 1, 0))[0];
    }
};
#if FL_REGISTER >= 32
FL_HALVES(32, 4, (0, 1, 2, 3), (4, 5, 6, 7));
FL_HALVES(32, 8, (0, 1), (2, 3));
#endif
#if FL_REGISTER >= 64
FL_HALVES(64, 4, (0, 1, 2, 3, 4, 5, 6, 7), (8, 9, 10, 11, 12, 13, 14, 15));
FL_HALVES(64, 8, (0, 1, 2, 3), (4, 5, 6, 7));
#endif

/* All lanes reduced into one value, by halves. */
template <class Op, class T> FL_TIGHT T reduce_lanes(const Lanes<T> &v) {
    typename Lanes<T>::reg r[Lanes<T>::PARTS];
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        r[i] = v.r[i];
    for (int half = Lanes<T>::PARTS / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            r[i] = Op::reg(r[i], r[i + half]);
    return halves<FL_REGISTER, sizeof(T)>::template reduce<Op, T>(r[0]);
}

/* Whether any lane of a comparison holds. */
template <class M> FL_TIGHT bool any_lane(const M &m) {
    int64_t word[FL_REGISTER / 8], any = 0;
    memcpy(word, &m, FL_REGISTER);
    for (int i = 0; i < FL_REGISTER / 8; i++)
        any |= word[i];
    return any != 0;
}

/* Whether numbers that were seen, two sets of lanes at a time, had NaN among them; integers have
 * none. */
template <class T> struct NanWatch {
    FL_TIGHT void see(const Lanes<T> &, const Lanes<T> &) {}
    FL_TIGHT bool any() const { return false; }
};
#if defined(__AVX512F__)
template <> struct NanWatch<float> {
    unsigned odd = 0;
    FL_TIGHT void see(const Lanes<float> &a, const Lanes<float> &b) {
        odd |= _mm512_cmp_ps_mask((__m512)a.r[0], (__m512)b.r[0], _CMP_UNORD_Q);
    }
    FL_TIGHT bool any() const { return odd != 0; }
};
template <> struct NanWatch<double> {
    unsigned odd = 0;
    FL_TIGHT void see(const Lanes<double> &a, const Lanes<double> &b) {
        odd |= _mm512_cmp_pd_mask((__m512d)a.r[0], (__m512d)b.r[0], _CMP_UNORD_Q);
    }
    FL_TIGHT bool any() const { return odd != 0; }
};
#else
template <class T> struct NanComparisons {
    typename Lanes<T>::mask odd = {};
    FL_TIGHT void see(const Lanes<T> &a, const Lanes<T> &b) {
        for (int i = 0; i < Lanes<T>::PARTS; i++)
            odd |= (a.r[i] != a.r[i]) | (b.r[i] != b.r[i]);
    }
    FL_TIGHT bool any() const { return any_lane(odd); }
};
template <> struct NanWatch<float> : NanComparisons<float> {};
template <> struct NanWatch<double> : NanComparisons<double> {};
#endif

/* Extremes of a row at one and a half instructions a set of lanes: `quick` forgets NaN, which is
 * watched for on the side. `nan` says whether there was one. n > 0. */
template <class Op, class T> FL_TIGHT T extreme(const T *p, int64_t n, bool *nan) {
    constexpr int COUNT = Lanes<T>::COUNT, SETS = 4;
    Lanes<T> set[SETS], x[SETS];
    NanWatch<T> watch;
    for (int s = 0; s < SETS; s++)
        set[s] = Lanes<T>::fill(Op::neutral());
    auto take = [&](Lanes<T> &acc, const Lanes<T> &v) {
        for (int i = 0; i < Lanes<T>::PARTS; i++)
            acc.r[i] = Op::quick(v.r[i], acc.r[i]);
    };
    int64_t i = 0;
    for (; i + SETS * COUNT <= n; i += SETS * COUNT) {
        for (int s = 0; s < SETS; s++) {
            x[s] = Lanes<T>::load(p + i + s * COUNT);
            take(set[s], x[s]);
        }
        watch.see(x[0], x[1]);
        watch.see(x[2], x[3]);
    }
    for (int s = 0; i < n; i += COUNT, s = 1 - s) {
        const int64_t left = n - i;
        x[s] = left < COUNT ? Lanes<T>::load_part(p + i, left, Op::neutral())
                            : Lanes<T>::load(p + i);
        take(set[s], x[s]);
        watch.see(x[s], x[s]);
    }
    *nan = watch.any();
    return reduce_lanes<Op, T>(both<Op>(both<Op>(set[0], set[1]), both<Op>(set[2], set[3])));
}

}  // namespace
