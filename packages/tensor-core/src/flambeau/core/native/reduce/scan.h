/* How running folds are shared out: lines where the dimension is the innermost, strips of columns
 * elsewhere. */
#pragma once
#include "common/args.h"

/* The dtype of running sums and products: the one asked for, or int64 for whole numbers. */
static inline int fl_scan_dtype(const fl_tensor *self, const fl_value &dtype) {
    if (dtype.tag == FL_DTYPE)
        return (int)dtype.i;
    bool whole = fl_is_int(self->dtype) || self->dtype == FL_BOOL;
    return whole ? (int)FL_I64 : self->dtype;
}

/* Columns per piece of parallel work. */
static const int64_t FL_SCAN_STRIP = 1024;

/* Call lines(first, count) for groups of lines of m.n contiguous elements, or
 * columns(at, width) for groups of columns whose first element has number `at`. */
template <class Lines, class Columns>
void fl_scan_drive(const fl_middle &m, const Lines &lines, const Columns &columns) {
    if (m.inner == 1) {
        fl_parallel(m.outer, fl_row_grain(m.n), [&](int64_t b, int64_t e) { lines(b, e - b); });
        return;
    }
    int64_t strips = fl_chunk_count(m.inner, FL_SCAN_STRIP);
    int64_t grain = fl_row_grain(m.n * (m.inner < FL_SCAN_STRIP ? m.inner : FL_SCAN_STRIP));
    fl_parallel(m.outer * strips, grain, [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            int64_t column = t % strips * FL_SCAN_STRIP;
            int64_t width = m.inner - column < FL_SCAN_STRIP ? m.inner - column : FL_SCAN_STRIP;
            columns(t / strips * m.n * m.inner + column, width);
        }
    });
}
