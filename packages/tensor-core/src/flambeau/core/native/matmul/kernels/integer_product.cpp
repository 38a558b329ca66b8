/* Products of integers: tiles of four rows by two sets of lanes are summed in registers. */
#include "matmul/kernels/integer_product.h"
#include "common/kernels/lanes.h"

namespace {

constexpr int ROWS = 4, SETS = 2;

template <class T> struct Operands {
    const T *a, *b, *bias;
    T *c;
    explicit Operands(const fl_integer_product &p)
        : a((const T *)p.a), b((const T *)p.b), bias((const T *)p.bias), c((T *)p.c) {}
};

/* `bias` has the width of a tile. */
template <class T, int COUNT>
void tile(const fl_integer_product &p, const T *a, const T *b, const T *bias, T *c, int64_t left) {
    typedef Lanes<T> Whole;
    Whole sums[COUNT][SETS];
    for (int r = 0; r < COUNT; r++)
        for (int s = 0; s < SETS; s++)
            sums[r][s] = Whole::load(bias + s * Whole::COUNT);
    for (int64_t q = 0; q < p.k; q++, b += SETS * Whole::COUNT) {
        Whole y[SETS];
        for (int s = 0; s < SETS; s++)
            y[s] = Whole::load(b + s * Whole::COUNT);
        for (int r = 0; r < COUNT; r++) {
            Whole x = Whole::fill(a[r * p.lda + q]);
            for (int s = 0; s < SETS; s++)
                sums[r][s] = sums[r][s] + x * y[s];
        }
    }
    for (int r = 0; r < COUNT; r++)
        for (int s = 0; s < SETS && s * Whole::COUNT < left; s++) {
            T *to = c + r * p.n + s * Whole::COUNT;
            if (left < (s + 1) * Whole::COUNT)
                sums[r][s].store_part(to, left - s * Whole::COUNT);
            else
                sums[r][s].store(to);
        }
}

template <class T> void tiles(const fl_integer_product *p, int64_t begin, int64_t end) {
    constexpr int64_t COLS = SETS * Lanes<T>::COUNT;
    static_assert(COLS * sizeof(T) == FL_INTEGER_TILE, "the width of a panel");
    Operands<T> o(*p);
    for (int64_t j = 0; j < p->n; j += COLS, o.b += p->k * COLS) {
        int64_t left = p->n - j, i = begin;
        T bias[COLS] = {};
        for (int64_t s = 0; o.bias && s < COLS && s < left; s++)
            bias[s] = o.bias[j + s];
        for (; i + ROWS <= end; i += ROWS)
            tile<T, ROWS>(*p, o.a + i * p->lda, o.b, bias, o.c + i * p->n + j, left);
        for (; i < end; i++)
            tile<T, 1>(*p, o.a + i * p->lda, o.b, bias, o.c + i * p->n + j, left);
    }
}

template <class T> T dot(const T *x, const T *y, int64_t k) {
    typedef Lanes<T> Whole;
    Whole sums[SETS] = {Whole::fill(0), Whole::fill(0)};
    int64_t q = 0;
    for (; q + SETS * Whole::COUNT <= k; q += SETS * Whole::COUNT)
        for (int s = 0; s < SETS; s++) {
            int64_t at = q + s * Whole::COUNT;
            sums[s] = sums[s] + Whole::load(x + at) * Whole::load(y + at);
        }
    T lane[Whole::COUNT], total = 0;
    (sums[0] + sums[1]).store(lane);
    for (int i = 0; i < Whole::COUNT; i++)
        total = (T)(total + lane[i]);
    for (; q < k; q++)
        total = (T)(total + (uint64_t)x[q] * y[q]);
    return total;
}

template <class T> void dots(const fl_integer_product *p, int64_t begin, int64_t end) {
    Operands<T> o(*p);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < p->n; j++) {
            T sum = dot<T>(o.a + i * p->lda, o.b + j * p->k, p->k);
            o.c[i * p->n + j] = (T)(sum + (o.bias ? o.bias[j] : 0));
        }
}

/* c += x[0] b[0] + ... + x[3] b[3] for four rows of b. A product of 16 bits is one of ints, which
 * do not overflow where they are unsigned. */
template <class T> void add_rows(const T *x, const T *b, int64_t ldb, T *c, int64_t n) {
    typedef decltype(T() + 0u) Factor;
    const T *b1 = b + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb;
    const Factor x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++)
        c[j] = (T)(c[j] + x0 * b[j] + x1 * b1[j] + x2 * b2[j] + x3 * b3[j]);
}

template <class T> void sums(const fl_integer_product *p, int64_t begin, int64_t end) {
    Operands<T> o(*p);
    for (int64_t i = 0; i < p->m; i++) {
        const T *a = o.a + i * p->lda, *b = o.b + begin;
        T *c = o.c + i * p->n + begin;
        for (int64_t j = 0; j < end - begin; j++)
            c[j] = o.bias ? o.bias[begin + j] : 0;
        int64_t q = 0;
        for (; q + ROWS <= p->k; q += ROWS)
            add_rows(a + q, b + q * p->ldb, p->ldb, c, end - begin);
        for (; q < p->k; q++) {
            const T single[ROWS] = {a[q]};
            add_rows(single, b + q * p->ldb, 0, c, end - begin);
        }
    }
}

void widen(const uint8_t *__restrict x, uint16_t *__restrict to, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        to[i] = x[i];
}

}  // namespace

extern const fl_integer_kernels FL_LEVEL(fl_integer_kernels) = {
    {tiles<uint16_t>, tiles<uint32_t>, tiles<uint64_t>},
    {dots<uint16_t>, dots<uint32_t>, dots<uint64_t>},
    {sums<uint16_t>, sums<uint32_t>, sums<uint64_t>}, widen};
