/* The slices of a tensor that an index names, in memory of their own.
 *
 * Operators that write where an index says work on contiguous memory of a compute kind. For a
 * tensor that is strided or of another dtype that would mean to convert all of it, there and back,
 * for a few slices. Instead the slices are taken out, the operator runs on them with the index
 * counting among them, and they are put back. */
#pragma once
#include "dispatch/core.h"

/* Where the slices lie: offsets in elements, one per element of the index, and the dimensions of a
 * slice, of which `before` come before the one that the index counts. */
struct fl_slice_positions {
    int64_t *offsets;
    int64_t n;
    int ndim, before;
    int64_t shape[FL_MAX_DIMS], strides[FL_MAX_DIMS];
};

class NamedSlices {
  public:
    /* The index counts along `dim`; other dimensions have the sizes `shape`, those of t if NULL.
     * Positions are checked; negative ones count from the end. */
    NamedSlices(const fl_tensor *t, int dim, const int64_t *index, int64_t n,
                const int64_t *shape);
    NamedSlices(const fl_tensor *t, const fl_slice_positions &positions);
    bool ok() const { return sorted_.ok() && ranks_.ok() && (data_ || !bytes_); }
    fl_tensor *tensor() { return &tensor_; }
    /* The index among the slices, in the shape of an index tensor. */
    fl_tensor *index(const fl_tensor *like) { return index(like, like->ndim, like->shape); }
    fl_tensor *index(const fl_tensor *like, int ndim, const int64_t *shape);
    void put_back();
    NamedSlices(const NamedSlices &) = delete;
  private:
    void take();
    void copy(bool back);
    fl_slice_positions positions_;
    char *home_;
    Scratch sorted_, ranks_;
    int64_t count_ = 0;
    CallRoom room_;
    char *data_ = nullptr;
    size_t bytes_ = 0;
    fl_tensor tensor_, index_;
    int64_t shape_[FL_MAX_DIMS], strides_[FL_MAX_DIMS];
    int64_t index_shape_[FL_MAX_DIMS], index_strides_[FL_MAX_DIMS];
};

/* Run an operator (self, dim, index, ...) on the slices of t, instead of self, that its index
 * names. What it writes goes to `outs`, or to the slices, which are put back, where that is NULL.
 * */
int fl_run_on_slices(const fl_op *op, const fl_value *in, const fl_tensor *t, int dim,
                     const int64_t *index, const int64_t *shape, fl_tensor *const *outs);

/* Whether slices should be taken out: `named` elements of t, whose memory is not as the operator
 * wants it (contiguous, and in this dtype). */
static inline bool fl_names_small_share(const fl_tensor *t, int64_t named, int dtype) {
    /* Each element that is taken out, sorted and put back costs as much as so many of t. */
    const int64_t MIN_ELEMENTS_PER_INDEX = 8;
    bool as_wanted = (t->flags & FL_CONTIGUOUS) && t->dtype == dtype;
    return FL_UNLIKELY(!as_wanted) && t->ndim > 0 && named > 0 &&
           named < t->numel / MIN_ELEMENTS_PER_INDEX;
}
