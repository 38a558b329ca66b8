/* Integer products: tiles of four rows by two sets of lanes are summed in registers. */
#include "kernels/whole_product.h"
#include "kernels/lanes.h"

namespace {

typedef Lanes<uint64_t> Whole;
constexpr int ROWS = 4, SETS = 2;
constexpr int64_t COLS = SETS * Whole::COUNT;

template <int COUNT> void tile(const fl_whole_product &p, int64_t i, int64_t j) {
    Whole sums[COUNT][SETS];
    for (int r = 0; r < COUNT; r++)
        for (int s = 0; s < SETS; s++)
            sums[r][s] = Whole::fill(0);
    const uint64_t *a = p.a + i * p.k, *b = p.b + j;
    for (int64_t q = 0; q < p.k; q++, b += p.n) {
        Whole y[SETS];
        for (int s = 0; s < SETS; s++)
            y[s] = Whole::load(b + s * Whole::COUNT);
        for (int r = 0; r < COUNT; r++) {
            Whole x = Whole::fill(a[r * p.k + q]);
            for (int s = 0; s < SETS; s++)
                sums[r][s] = sums[r][s] + x * y[s];
        }
    }
    for (int r = 0; r < COUNT; r++)
        for (int s = 0; s < SETS; s++)
            sums[r][s].store(p.c + (i + r) * p.n + j + s * Whole::COUNT);
}

/* Columns that fill no tile. */
void edge(const fl_whole_product &p, int64_t i, int64_t first) {
    for (int64_t j = first; j < p.n; j++) {
        uint64_t sum = 0;
        for (int64_t q = 0; q < p.k; q++)
            sum += p.a[i * p.k + q] * p.b[q * p.n + j];
        p.c[i * p.n + j] = sum;
    }
}

void rows(const fl_whole_product *p, int64_t begin, int64_t end) {
    int64_t whole = p->n - p->n % COLS, i = begin;
    for (; i + ROWS <= end; i += ROWS)
        for (int64_t j = 0; j < whole; j += COLS)
            tile<ROWS>(*p, i, j);
    for (; i < end; i++)
        for (int64_t j = 0; j < whole; j += COLS)
            tile<1>(*p, i, j);
    for (i = begin; i < end; i++)
        edge(*p, i, whole);
}

}  // namespace

extern const fl_whole_kernels FL_LEVEL(fl_whole_kernels) = {rows};
