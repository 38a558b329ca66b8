/* Products of integers, computed in the narrowest width that wraps as the dtype does. */
#pragma once
#include "dispatch/core.h"

/* A matrix of a dtype; strides in elements. */
struct fl_integer_matrix {
    const char *data;
    int64_t row, col;
};

/* The dtype that products of an integer dtype are computed in. */
int fl_integer_dtype(int dtype);
/* c = a b + bias for m x k by k x n elements of `dtype`; `c` has rows of n elements, and `bias` n
 * (or NULL), in fl_integer_dtype(dtype). */
int fl_integer_multiply(int dtype, int64_t m, int64_t n, int64_t k, const fl_integer_matrix &a,
                        const fl_integer_matrix &b, const void *bias, void *c);
/* The same for operands in place: rows of k, and panels of columns (kernels/integer_product.h). */
void fl_integer_panels(int dtype, int64_t m, int64_t n, int64_t k, const void *a, const void
                       *panels, const void *bias, void *c);

/* A result as products of integers write it: in place where its memory is like that. */
class WholeOut {
  public:
    explicit WholeOut(fl_tensor *t)
        : t_(t), dtype_(fl_integer_dtype(t->dtype)),
          in_place_(fl_itemsize(t->dtype) == fl_itemsize(dtype_) && fl_is_contiguous(t)),
          room_(in_place_ ? 0 : fl_bytes(t->numel, (size_t)fl_itemsize(dtype_))) {}
    bool ok() const { return in_place_ || room_.ok(); }
    char *data() { return in_place_ ? (char *)t_->data : room_.as<char>(); }
    void commit() {
        int64_t strides[FL_MAX_DIMS];
        fl_contiguous_strides(t_->ndim, t_->shape, strides);
        if (!in_place_)
            fl_copy_strided(fl_strided{(char *)t_->data, t_->dtype, t_->strides},
                            fl_strided{room_.as<char>(), dtype_, strides}, t_->ndim, t_->shape);
    }

  private:
    fl_tensor *t_;
    int dtype_;
    bool in_place_;
    Scratch room_;
};
