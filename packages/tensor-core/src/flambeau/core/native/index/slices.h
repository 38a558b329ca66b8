/* Slices along one dimension, named by an index: what index_select, index_add, index_copy and
 * index_fill ask of their arguments. */
#pragma once
#include "common/args.h"

/* Arguments (self, dim, index, ...) of which the index is a vector; `instead` says what to write
 * for an index of more dimensions. */
static inline int fl_expect_slices(const fl_op *op, const fl_value *in, int n, const char *instead,
                                   int *dim) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    if (fl_same_device(op, in, n) < 0 || fl_wrap_dim(op, in[1].i, self->ndim, dim) < 0 ||
        fl_expect_index(op, "index", index) < 0)
        return -1;
    if (index->ndim > 1)
        return fl_error(FL_INDEX_ERROR, "%s: 'index' must be a vector (one dimension), got shape "
                        "%s; flatten it, or %s", fl_op_title(op),
                        fl_shape_text(index->shape, index->ndim), instead);
    return 0;
}
