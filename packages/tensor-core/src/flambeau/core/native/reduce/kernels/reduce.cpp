/* Reductions of rows and columns.
 *
 * A row runs through four sets of lanes, emptied into a second level every 64 rounds: chains
 * stay short, so that long sums lose no more than pairwise summation does. Columns are added in
 * groups of eight rows that are summed as a tree before they meet the accumulator. */
#include "reduce/kernels/reduce.h"
#include "reduce/kernels/reducers.h"

namespace {

constexpr int SETS = 4, ROWS = FL_REDUCE_ROWS;
constexpr int64_t ROUNDS = 64;

template <class Op, class T> FL_TIGHT Lanes<T> four(const Lanes<T> *set) {
    return both<Op>(both<Op>(set[0], set[1]), both<Op>(set[2], set[3]));
}

template <class T> FL_TIGHT Lanes<T> load_lanes(const T *p) { return Lanes<T>::load(p); }
template <class T> FL_TIGHT Lanes<T> load_part(const T *p, int64_t n, T rest) {
    return Lanes<T>::load_part(p, n, rest);
}

/* bfloat16, widened in registers; what follows a part is 0. */
struct Bf16 {
    uint16_t bits;
};
FL_TIGHT Lanes<float> load_lanes(const Bf16 *p) {
    constexpr int PARTS = Lanes<float>::PARTS, COUNT = Lanes<float>::COUNT / PARTS;
    typedef uint16_t narrow __attribute__((vector_size(FL_REGISTER / 2)));
    typedef uint32_t wide __attribute__((vector_size(FL_REGISTER)));
    Lanes<float> v;
    for (int i = 0; i < PARTS; i++) {
        narrow bits;
        memcpy(&bits, p + i * COUNT, sizeof bits);
        v.r[i] = (typename Lanes<float>::reg)(__builtin_convertvector(bits, wide) << 16);
    }
    return v;
}
FL_TIGHT Lanes<float> load_part(const Bf16 *p, int64_t n, float) {
    Bf16 lane[Lanes<float>::COUNT] = {};
    memcpy(lane, p, (size_t)n * sizeof *p);
    return load_lanes(lane);
}

/* What is left after whole rounds: fewer than SETS * COUNT elements. */
template <class Op, class T, class E> FL_TIGHT Lanes<T> reduce_rest(const E *p, int64_t n) {
    constexpr int COUNT = Lanes<T>::COUNT;
    Lanes<T> acc = Lanes<T>::fill(Op::neutral());
    for (; n >= COUNT; n -= COUNT, p += COUNT)
        acc = both<Op>(acc, load_lanes(p));
    if (n)
        acc = both<Op>(acc, load_part(p, n, Op::neutral()));
    return acc;
}

template <class Op, class T, class E> Lanes<T> reduce_long(const E *p, int64_t rounds) {
    constexpr int COUNT = Lanes<T>::COUNT;
    Lanes<T> total = Lanes<T>::fill(Op::neutral());
    while (rounds > 0) {
        int64_t now = rounds < ROUNDS ? rounds : ROUNDS;
        Lanes<T> set[SETS];
        for (int s = 0; s < SETS; s++)
            set[s] = load_lanes(p + s * COUNT);
        for (int64_t r = 1; r < now; r++) {
            const E *q = p + r * SETS * COUNT;
            for (int s = 0; s < SETS; s++)
                set[s] = both<Op>(set[s], load_lanes(q + s * COUNT));
        }
        total = both<Op>(total, four<Op>(set));
        p += now * SETS * COUNT;
        rounds -= now;
    }
    return total;
}

/* A row of at least one set of lanes. */
template <class Op, class T, class E> FL_TIGHT Lanes<T> reduce_to_lanes(const E *p, int64_t n) {
    constexpr int64_t STEP = SETS * Lanes<T>::COUNT;
    int64_t rounds = n / STEP;
    Lanes<T> v = reduce_rest<Op, T>(p + rounds * STEP, n - rounds * STEP);
    return rounds ? both<Op>(reduce_long<Op, T>(p, rounds), v) : v;
}

template <class Op, class T> void reduce_row(const void *x, int64_t n, void *acc) {
    const T *p = (const T *)x;
    if (n < Lanes<T>::COUNT) {
        T value = Op::neutral();
        for (int64_t i = 0; i < n; i++)
            value = Op::of(value, p[i]);
        *(T *)acc = value;
        return;
    }
    *(T *)acc = reduce_lanes<Op, T>(reduce_to_lanes<Op, T>(p, n));
}

/* Extremes of floating-point numbers, NaN aside. */
template <class Op, class T> void extreme_row(const void *x, int64_t n, void *acc) {
    if (n < Lanes<T>::COUNT)
        return reduce_row<Op, T>(x, n, acc);
    bool nan;
    const T value = extreme<Op, T>((const T *)x, n, &nan);
    *(T *)acc = nan ? (T)__builtin_nan("") : value;
}

void sum_bf16(const void *x, int64_t n, void *acc) {
    *(float *)acc = reduce_lanes<Sum<float>, float>(
        reduce_to_lanes<Sum<float>, float>((const Bf16 *)x, n));
}

/* A register added up by halves, to two numbers. */
template <class T, int BYTES>
FL_TIGHT void add_to_pair(const typename vector_of<T, BYTES>::type &v, T *pair) {
    if constexpr (BYTES == 2 * sizeof(T)) {
        memcpy(pair, &v, sizeof v);
    } else {
        typename vector_of<T, BYTES / 2>::type low, high;
        memcpy(&low, &v, sizeof low);
        memcpy(&high, (const char *)&v + sizeof low, sizeof high);
        add_to_pair<T, BYTES / 2>(low + high, pair);
    }
}

/* The even and the odd lanes apart: a row of complex numbers. */
template <class T> void sum_pairs(const void *x, int64_t n, void *acc) {
    Lanes<T> v = reduce_to_lanes<Sum<T>, T>((const T *)x, n);
    for (int half = Lanes<T>::PARTS / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            v.r[i] += v.r[i + half];
    add_to_pair<T, FL_REGISTER>(v.r[0], (T *)acc);
}

/* Eight rows as a tree. */
template <class Op, class T> FL_TIGHT Lanes<T> eight_rows(const T *p, int64_t stride) {
    Lanes<T> set[ROWS];
    for (int s = 0; s < ROWS; s++)
        set[s] = Lanes<T>::load(p + s * stride);
    return both<Op>(four<Op>(set), four<Op>(set + 4));
}

template <class Op, class T> FL_TIGHT T eight_numbers(const T *p, int64_t stride) {
    T a = Op::of(Op::of(p[0], p[stride]), Op::of(p[2 * stride], p[3 * stride]));
    T b = Op::of(Op::of(p[4 * stride], p[5 * stride]), Op::of(p[6 * stride], p[7 * stride]));
    return Op::of(a, b);
}

/* The last columns, fewer than a set of lanes: with masks where there are any. */
#if defined(__AVX512F__)
template <class T> constexpr bool has_masks = sizeof(T) >= 4;
#else
template <class T> constexpr bool has_masks = false;
#endif

template <class Op, class T>
FL_TIGHT void last_columns_masked(const T *p, int64_t n, int64_t stride, int64_t width, T *acc) {
    const auto row = [&](int64_t i) { return Lanes<T>::load_part(p + i * stride, width, 0); };
    Lanes<T> total = Lanes<T>::load_part(acc, width, 0);
    int64_t i = 0;
    for (; i + ROWS <= n; i += ROWS) {
        Lanes<T> set[ROWS];
        for (int s = 0; s < ROWS; s++)
            set[s] = row(i + s);
        total = both<Op>(total, both<Op>(four<Op>(set), four<Op>(set + 4)));
    }
    for (; i < n; i++)
        total = both<Op>(total, row(i));
    total.store_part(acc, width);
}

template <class Op, class T>
FL_TIGHT void last_columns(const T *p, int64_t n, int64_t stride, int64_t width, T *acc) {
    if constexpr (has_masks<T>)
        return last_columns_masked<Op>(p, n, stride, width, acc);
    int64_t i = 0;
    for (; i + ROWS <= n; i += ROWS, p += ROWS * stride)
#pragma GCC ivdep
        for (int64_t j = 0; j < width; j++)
            acc[j] = Op::of(acc[j], eight_numbers<Op, T>(p + j, stride));
    for (; i < n; i++, p += stride)
#pragma GCC ivdep
        for (int64_t j = 0; j < width; j++)
            acc[j] = Op::of(acc[j], p[j]);
}

template <class Op, class T>
void more_columns(const void *x, int64_t n, int64_t stride, int64_t width, void *out) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const T *p = (const T *)x;
    T *acc = (T *)out;
    int64_t whole = width - width % COUNT;
    if (whole < width)
        last_columns<Op>(p + whole, n, stride, width - whole, acc + whole);
    int64_t i = 0;
    for (; i + ROWS <= n; i += ROWS, p += ROWS * stride)
        for (int64_t j = 0; j < whole; j += COUNT)
            both<Op>(Lanes<T>::load(acc + j), eight_rows<Op>(p + j, stride)).store(acc + j);
    for (; i < n; i++, p += stride)
        for (int64_t j = 0; j < whole; j += COUNT)
            both<Op>(Lanes<T>::load(acc + j), Lanes<T>::load(p + j)).store(acc + j);
}

template <class Op, class T>
void reduce_columns(const void *x, int64_t n, int64_t stride, int64_t width, void *out) {
    T *acc = (T *)out;
    for (int64_t j = 0; j < width; j++)
        acc[j] = Op::neutral();
    more_columns<Op, T>(x, n, stride, width, out);
}

}  // namespace

/* Integers add and multiply as unsigned numbers, which wrap; bytes are bools, whose sum is `or`. Of
 * narrow integers there are extremes only; `g` is for those of floating-point numbers. */
#define FL_EXTREMES(f, g, Op)                                                                    \
    g<Op<float>, float>, g<Op<double>, double>, f<Op<int64_t>, int64_t>,                         \
        f<Op<uint8_t>, uint8_t>, f<Op<uint8_t>, uint8_t>, f<Op<int8_t>, int8_t>,                 \
        f<Op<int16_t>, int16_t>, f<Op<int32_t>, int32_t>
#define REDUCTIONS(f, g)                                                                         \
    {                                                                                            \
        {f<Sum<float>, float>, f<Sum<double>, double>, f<Sum<uint64_t>, uint64_t>,               \
         f<Greatest<uint8_t>, uint8_t>},                                                         \
        {f<Product<float>, float>, f<Product<double>, double>, f<Product<uint64_t>, uint64_t>,   \
         f<Least<uint8_t>, uint8_t>},                                                            \
        {FL_EXTREMES(f, g, Greatest)},                                                           \
        {FL_EXTREMES(f, g, Least)},                                                              \
    }

extern const fl_reduce_kernels FL_LEVEL(fl_reduce_kernels) = {
    REDUCTIONS(reduce_row, extreme_row), REDUCTIONS(reduce_columns, reduce_columns),
    REDUCTIONS(more_columns, more_columns), {sum_pairs<float>, sum_pairs<double>}, sum_bf16};
