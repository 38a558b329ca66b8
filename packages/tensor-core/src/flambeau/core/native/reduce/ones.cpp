/* Sums of bools, which are counted as they lie. */
#include "index/kernels/indices.h"
#include "common/args.h"
#include "reduce/reduce.h"
#include "reduce/short_rows.h"

int fl_count_rows(const fl_tensor *self, uint64_t mask, fl_tensor *out) {
    if (self->dtype != FL_BOOL || out->dtype != FL_I64 || !(out->flags & FL_CONTIGUOUS) ||
        self->numel == 0)
        return 1;
    fl_reduce_source s = fl_reduce_source_of(self, FL_K_I64, mask);
    fl_reduce_plan p;
    if (fl_reduce_plan_in_place(&s, false, &p) != FL_PLAN_READY || p.inner != 1 ||
        fl_has_short_rows(p, FL_K_I64))
        return 1;
    const fl_index_kernels *const kernels = FL_PICK(fl_index_kernels);
    const int64_t pieces = fl_chunk_count(p.n, FL_GRAIN);
    int64_t *counts = (int64_t *)out->data;
    memset(counts, 0, (size_t)p.outer * sizeof *counts);
    fl_parallel(p.outer * pieces, fl_row_grain(p.n), [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            const int64_t row = t / pieces, from = t % pieces * FL_GRAIN;
            const int64_t n = p.n - from < FL_GRAIN ? p.n - from : FL_GRAIN;
            const uint8_t *x = (const uint8_t *)p.data + row * p.outer_step + from;
            const int64_t count = kernels->count(x, n);
            if (pieces == 1)
                counts[row] = count;
            else
                __atomic_fetch_add(counts + row, count, __ATOMIC_RELAXED);
        }
    });
    return 0;
}
