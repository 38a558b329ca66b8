/* How scans are shared out: lines where the dimension is the innermost, strips of columns
 * elsewhere. */
#pragma once
#include "common/args.h"

/* The dtype of running sums and products: the one asked for, or int64 for integers. */
static inline int fl_scan_dtype(const fl_tensor *self, const fl_value &dtype) {
    if (dtype.tag == FL_DTYPE)
        return (int)dtype.i;
    bool is_integral = fl_is_int(self->dtype) || self->dtype == FL_BOOL;
    return is_integral ? (int)FL_I64 : self->dtype;
}

/* infer of running sums and products: (self, dim, dtype). */
static inline int fl_infer_scan(const fl_op *op, const fl_value *in, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dim;
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_spec_like(outs, self);
    outs->dtype = (uint8_t)fl_scan_dtype(self, in[2]);
    return 0;
}

/* Their run: scan(middle, kind, x, y) is called where there are elements, with bools as int64. */
template <class Scan>
int fl_run_scan(const fl_op *op, const fl_value *in, int kind, fl_tensor *result,
                const Scan &scan) {
    const fl_tensor *self = in[0].t;
    int dim;
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    kind = kind == FL_K_BOOL ? (int)FL_K_I64 : kind;
    In x(self, kind);
    Out y(result, kind);
    if (!x.ok() || !y.ok())
        return -1;
    if (self->numel)
        scan(fl_middle_of(self, dim), kind, x.as<char>(), y.as<char>());
    y.commit();
    return 0;
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
