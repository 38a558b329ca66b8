/* What gather and scatter share: one position along a dimension for every element of an index. */
#pragma once
#include "common/args.h"

/* A walk over the index, line by line along its last dimension. The strides belong to the tensor
 * that the positions point into, and to the other one, whose elements line up with the index.
 * Dimensions of size 1 are left out, and neighbours that step together are one. */
struct fl_gather_walk {
    int ndim, dim;                      /* dim: the one that positions count, or -1 if left out */
    int64_t shape[FL_MAX_DIMS], at[FL_MAX_DIMS], by[FL_MAX_DIMS];
    int64_t numel;
    int64_t at_dim;                     /* stride of the dimension that positions count */
};

fl_gather_walk fl_walk_of(const fl_tensor *pointed, const fl_tensor *aligned,
                          const fl_tensor *index, int dim);

/* The same for tensors that were copied into C order. */
fl_gather_walk fl_dense_walk_of(const fl_tensor *pointed, const fl_tensor *aligned,
                                const fl_tensor *index, int dim);

/* Call run(element, count, at, by) for the index's elements b .. e: `count` of one line from
 * `element` on, the first of which is at these offsets in both tensors. */
template <class Run>
inline void fl_walk_runs(const fl_gather_walk &w, int64_t b, int64_t e, const Run &run) {
    const int last = w.ndim - 1;
    int64_t number[FL_MAX_DIMS], rest = b, at = 0, by = 0;
    for (int d = last; d >= 0; rest /= w.shape[d--]) {
        number[d] = rest % w.shape[d];
        at += number[d] * w.at[d];
        by += number[d] * w.by[d];
    }
    while (b < e) {
        const int64_t left = w.shape[last] - number[last], count = left < e - b ? left : e - b;
        run(b, count, at, by);
        b += count;
        number[last] += count;
        at += count * w.at[last];
        by += count * w.by[last];
        for (int d = last; d > 0 && number[d] == w.shape[d]; d--) {
            at += w.at[d - 1] - w.shape[d] * w.at[d];
            by += w.by[d - 1] - w.shape[d] * w.by[d];
            number[d] = 0;
            number[d - 1]++;
        }
    }
}

/* Writers may run side by side only where no two of them meet: along the first dimension, unless
 * positions count that one. Every line belongs to one chunk, so order within it is fixed. */
template <class Body> void fl_walk_writers(const fl_gather_walk &w, const Body &body) {
    if (w.dim == 0 || w.numel == 0) {
        body(0, w.numel);
        return;
    }
    int64_t group = w.numel / w.shape[0];
    fl_parallel(w.shape[0], fl_row_grain(group), [&](int64_t b, int64_t e) {
        body(b * group, e * group);
    });
}

/* The index may be smaller than `self`, called `name`, in every dimension but `dim`; with
 * `skip_dim` its size there is free. */
int fl_check_aligned(const fl_op *op, const fl_tensor *self, const fl_tensor *index, int dim,
                     const char *name, bool skip_dim);

/* Elements of the slices along a dimension that an index may name, within its other sizes. */
int64_t fl_most_named(const fl_tensor *self, const fl_tensor *index, int dim);

/* Argument 1, the dimension, counted from the front. */
int fl_dim_of(const fl_op *op, const fl_value *in, int *dim);

/* Positions of a scatter or gather, checked before anything is written. */
int fl_check_positions(const fl_op *op, const In &index, const fl_tensor *t, const fl_tensor *self,
                    int dim);
