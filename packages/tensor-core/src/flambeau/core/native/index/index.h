/* Advanced indexing: some dimensions are replaced by the broadcast shape of index tensors. */
#pragma once
#include "dispatch/core.h"

/* The result reads [before, points, after]: dimensions that stay, the index's shape, dimensions
 * that stay. With indices that are not neighbours the points come first, as in NumPy. */
struct fl_index_shape {
    int n_points, n_before, n_after;
    int64_t points[FL_MAX_DIMS];
    int before[FL_MAX_DIMS], after[FL_MAX_DIMS];    /* dimensions of self */
    int ndim;
    int64_t shape[FL_MAX_DIMS];                     /* of the result */
};

/* The index of a list that has one for the first dimension alone, else NULL. Compiled calls give it
 * without the list. */
static inline const fl_tensor *fl_only_index(const fl_value &indices) {
    if (indices.tag == FL_TENSOR)
        return indices.t;
    for (uint32_t i = 1; i < indices.len; i++)
        if (indices.ts[i])
            return nullptr;
    return indices.len ? indices.ts[0] : nullptr;
}

/* Checks self and indices; in[0] and in[1] of the call. */
int fl_index_infer(const fl_op *op, const fl_tensor *self, const fl_value &indices,
                   fl_index_shape *shape);

/* Strides of a result whose points come first: what is behind them keeps the order in which self
 * lies, outermost first in `after` then. False for C order, and nothing done. */
bool fl_index_keep_order(const fl_tensor *self, fl_index_shape *shape, int64_t *strides);

/* Offset of every point in elements, for self's geometry with these strides; checks bounds. */
int fl_index_offsets(const fl_op *op, const fl_tensor *self, const int64_t *strides,
                     const fl_value &indices, const fl_index_shape &shape, int64_t *offsets);

/* The memory behind the points: blocks of `after`, repeated over `before`. */
struct fl_index_walk {
    int64_t n_before, n_points, block;      /* counts; block: elements of one `after` */
    int nb, na;
    int64_t before_shape[FL_MAX_DIMS], before_strides[FL_MAX_DIMS];
    int64_t after_shape[FL_MAX_DIMS], after_strides[FL_MAX_DIMS];   /* merged, innermost last */
    const int64_t *offsets;
};
fl_index_walk fl_index_walk_of(const fl_tensor *self, const int64_t *strides,
                               const fl_index_shape &shape, const int64_t *offsets);
int64_t fl_index_before(const fl_index_walk &w, int64_t number);
/* Offset of element `number` of a block. */
int64_t fl_index_after(const fl_index_walk &w, int64_t number);
static inline bool fl_index_dense(const fl_index_walk &w) {
    return w.na == 0 || (w.na == 1 && w.after_strides[0] == 1);
}
