/* Rows of few elements, reduced as columns: a kernel of rows takes as long for three elements as
 * for thirty, one of columns takes as many rows at once as a register has lanes. */
#pragma once
#include "common/args.h"
#include "reduce/kernels/reduce.h"
#include "reduce/reduce.h"

/* Rows of fewer elements than a block has room for, and of floating point numbers than a set of
 * lanes has: longer ones are reduced in another order. */
static inline bool fl_has_short_rows(const fl_reduce_plan &p, int type) {
    return p.inner == 1 && p.n < (type == FL_K_F64 ? 8 : 16);
}

/* Call use(x, first, count) for blocks of rows: element i of row first + r is x[i * count + r],
 * gathered as elements of at most 8 bytes. */
template <class Use>
void fl_each_short_rows(const fl_reduce_plan &p, fl_gather_fn gather, const Use &use) {
    const int64_t ROWS = 128;
    fl_parallel(p.outer, fl_row_grain(p.n), [&](int64_t b, int64_t e) {
        alignas(64) char x[16 * ROWS * 8];
        for (int64_t first = b; first < e; first += ROWS) {
            const int64_t count = e - first < ROWS ? e - first : ROWS;
            gather(x, p.data + first * p.outer_step * fl_itemsize(p.dtype), p.n, count, 1,
                   p.outer_step);
            use(x, first, count);
        }
    });
}

/* The same of few short columns: element i of column c of outer index first + r is
 * x[(i * inner + c) * count + r]. The results, x[c * count + r] of `to`, go back in order. */
static const int64_t FL_SHORT_COLUMNS_ELEMENTS = 128;
static inline bool fl_has_short_columns(const fl_reduce_plan &p) {
    return p.inner < 16 && p.n * p.inner <= FL_SHORT_COLUMNS_ELEMENTS && p.outer >= 16;
}
template <class Use>
void fl_each_short_columns(const fl_reduce_plan &p, int64_t size, fl_gather_fn gather, char *out,
                         const Use &use) {
    const int64_t some = 16 * FL_SHORT_COLUMNS_ELEMENTS / (p.n * p.inner);
    fl_parallel(p.outer, fl_row_grain(p.n * p.inner), [&](int64_t b, int64_t e) {
        alignas(64) char x[16 * FL_SHORT_COLUMNS_ELEMENTS * 8], to[16 * FL_SHORT_COLUMNS_ELEMENTS * 8];
        for (int64_t first = b; first < e; first += some) {
            const int64_t count = e - first < some ? e - first : some;
            const char *from = p.data + first * p.outer_step * size;
            const int64_t side_by_side = p.step == p.inner ? p.n : 1;
            const int64_t elements = side_by_side * p.inner;
            for (int64_t i = 0; i < p.n; i += side_by_side)
                gather(x + i * p.inner * count * size, from + i * p.step * size, elements, count, 1,
                       p.outer_step);
            use((const char *)x, p.inner * count, to);
            gather(out + first * p.inner * size, to, count, p.inner, 1, count);
        }
    });
}

/* n elements of each of `count` columns, one after the other as a kernel of short rows takes them:
 * fewer at a time than kernels of columns reduce as a tree. */
static inline void fl_reduce_in_turn(const fl_reduce_kernels *kernels, int reduce, int type,
                                     int64_t size, const char *x, int64_t n, int64_t count,
                                     char *out) {
    const int64_t ROWS_AT_ONCE = FL_REDUCE_ROWS - 1;
    for (int64_t i = 0; i < n; i += ROWS_AT_ONCE) {
        auto kernel = i ? kernels->more : kernels->columns;
        const int64_t rows = n - i < ROWS_AT_ONCE ? n - i : ROWS_AT_ONCE;
        kernel[reduce][type](x + i * count * size, rows, count, count, out);
    }
}
