/* Checks and walks that gather and scatter share. */
#include "index/gather_walk.h"
#include "common/range_error.h"

int fl_check_aligned(const fl_op *op, const fl_tensor *self, const fl_tensor *index, int dim,
                     const char *name, bool skip_dim) {
    int nd_self = self->ndim ? self->ndim : 1, nd_index = index->ndim ? index->ndim : 1;
    if (index->numel == 0)
        return 0;
    if (nd_self != nd_index)
        return fl_error(FL_RUNTIME_ERROR, "%s: 'index' must have as many dimensions as '%s': got "
                        "shapes %s and %s", fl_op_title(op), name,
                        fl_shape_text(index->shape, index->ndim),
                        fl_shape_text(self->shape, self->ndim));
    for (int d = 0; d < self->ndim && d < index->ndim; d++)
        if ((d != dim || !skip_dim) && index->shape[d] > self->shape[d])
            return fl_error(FL_RUNTIME_ERROR, "%s: 'index' of shape %s reaches beyond '%s' of "
                            "shape %s in dimension %d; apart from dim=%d it may not be larger",
                            fl_op_title(op), fl_shape_text(index->shape, index->ndim), name,
                            fl_shape_text(self->shape, self->ndim), d, dim);
    return 0;
}

fl_gather_walk fl_walk_of(const fl_tensor *pointed, const fl_tensor *aligned,
                          const fl_tensor *index, int dim) {
    fl_gather_walk w = {1, -1, {1}, {0}, {0}, index->numel, 0};
    int n = 0;
    if (pointed->ndim)
        w.at_dim = pointed->strides[dim];
    for (int d = 0; d < index->ndim; d++) {
        const int64_t size = index->shape[d];
        const int64_t at = d == dim || pointed->ndim == 0 ? 0 : pointed->strides[d];
        const int64_t by = aligned && aligned->ndim ? aligned->strides[d] : 0;
        if (size == 1)
            continue;
        if (n && d != dim && n - 1 != w.dim && w.at[n - 1] == size * at &&
            w.by[n - 1] == size * by) {
            w.shape[n - 1] *= size;
        } else {
            w.dim = d == dim ? n : w.dim;
            w.shape[n++] = size;
        }
        w.at[n - 1] = at;
        w.by[n - 1] = by;
    }
    w.ndim = n ? n : 1;
    return w;
}

fl_gather_walk fl_dense_walk_of(const fl_tensor *pointed, const fl_tensor *aligned,
                                const fl_tensor *index, int dim) {
    int64_t strides[2][FL_MAX_DIMS];
    fl_tensor dense[] = {*pointed, *aligned};
    for (int i = 0; i < 2; i++) {
        fl_contiguous_strides(dense[i].ndim, dense[i].shape, strides[i]);
        dense[i].strides = strides[i];
    }
    return fl_walk_of(&dense[0], &dense[1], index, dim);
}

int64_t fl_most_named(const fl_tensor *self, const fl_tensor *index, int dim) {
    int64_t slices = index->numel, each = 1;
    if (self->ndim == 0 || index->ndim != self->ndim)
        return 0;
    if (slices > self->shape[dim])
        slices = self->shape[dim];
    for (int d = 0; d < index->ndim; d++)
        each *= d == dim ? 1 : index->shape[d];
    return slices * each;
}

int fl_dim_of(const fl_op *op, const fl_value *in, int *dim) {
    return fl_wrap_dim(op, in[1].i, in[0].t->ndim, dim);
}

int fl_check_positions(const fl_op *op, const In &index, const fl_tensor *t, const fl_tensor *self,
                    int dim) {
    if (!index.ok())
        return -1;
    int64_t size = self->ndim ? self->shape[dim] : 1;
    return fl_check_index_range(op, FL_RANGE_ERROR, index.as<int64_t>(), t->numel, size, dim,
                                false);
}
