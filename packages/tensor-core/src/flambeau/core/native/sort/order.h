/* Order statistics of lines: what median, nanmedian, kthvalue and mode share. */
#pragma once
#include "common/args.h"
#include "common/raw.h"

/* One element of a line and where it stood. */
template <class T> struct fl_numbered {
    T value;
    int64_t position;
};

/* Call one(x, n, room, &value, &position) for every line of `self` along a dimension (all elements
 * as one line when dim < 0); room holds n fl_numbered elements. outs: values, indices (or none). */
template <class T, class One>
int fl_each_line(const fl_tensor *self, int dim, int kind, fl_tensor *const *outs, int nouts,
                 const One &one) {
    int64_t n = dim < 0 ? self->numel : self->ndim ? self->shape[dim] : 1;
    int64_t lines = n ? self->numel / n : 0;
    if (n == 0 || lines == 0)
        return 0;
    LinesIn lines_in(self, dim < 0 ? self->ndim - 1 : dim, kind);
    Out values(outs[0], kind);
    Scratch indices((size_t)lines * 8);
    if (!lines_in.ok() || !values.ok() || !indices.ok())
        return -1;
    const T *x = lines_in.as<T>();
    T *best = values.as<T>();
    int64_t *at = indices.as<int64_t>();
    bool failed = false;
    fl_parallel(lines, fl_row_grain(4 * n), [&](int64_t b, int64_t e) {
        Scratch room((size_t)n * sizeof(fl_numbered<T>));
        if (!room.ok()) {
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
            return;
        }
        for (int64_t i = b; i < e; i++)
            one(x + i * n, n, room.as<fl_numbered<T>>(), best + i, at + i);
    });
    if (failed)
        return fl_error(FL_MEMORY_ERROR, "no memory to order lines of %lld elements",
                        (long long)n);
    values.commit();
    if (nouts > 1) {
        Out positions(outs[1], FL_K_I64);
        if (!positions.ok())
            return -1;
        memcpy(positions.as<int64_t>(), at, (size_t)lines * 8);
        positions.commit();
    }
    return 0;
}
