/* Operands of matrix products: tensors seen as strided matrices, without copying where a product
 * routine can read them as they are. */
#pragma once
#include "dispatch/core.h"
#include "runtime/blas.h"
#include <optional>

/* A matrix as fl_gemm takes it: op(stored), with `ld` elements between stored rows. */
struct fl_matrix {
    int64_t ld;
    int trans;
};

/* Whether rows x cols elements with these strides are such a matrix, and which. */
static inline bool fl_as_matrix(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride,
                                fl_matrix *out) {
    if ((col_stride == 1 || cols == 1) && (row_stride >= cols || rows == 1)) {
        *out = fl_matrix{rows == 1 ? (cols > 0 ? cols : 1) : row_stride, FL_NO_TRANS};
        return true;
    }
    if ((row_stride == 1 || rows == 1) && (col_stride >= rows || cols == 1)) {
        *out = fl_matrix{cols == 1 ? (rows > 0 ? rows : 1) : col_stride, FL_TRANS};
        return true;
    }
    return false;
}

/* Whether dimensions (outermost first) step through memory as a single one would, and its
 * stride. Dimensions of size 1 do not count; `fallback` is the stride when none does. */
static inline bool fl_collapse(int ndim, const int64_t *shape, const int64_t *strides,
                               int64_t fallback, int64_t *stride) {
    int64_t expected = -1;
    *stride = fallback;
    for (int i = ndim - 1; i >= 0; i--) {
        if (shape[i] == 1)
            continue;
        if (expected < 0)
            *stride = strides[i];
        else if (strides[i] != expected)
            return false;
        expected = strides[i] * shape[i];
    }
    return true;
}

/* dtypes that products compute in without conversion */
static inline bool fl_is_product_dtype(int d) { return d >= FL_F32 && d <= FL_C128; }

/* dtypes without a product: bool and the 8-bit floats */
static inline bool fl_has_product(int d) { return d >= FL_U8 && d <= FL_C128; }

/* A tensor's memory as products read it: its own, or a contiguous copy in the compute kind. */
class ProductInput {
  public:
    explicit ProductInput(const fl_tensor *t)
        : t_(t), dtype(fl_dtype_of_kind[fl_kind_of_dtype[t->dtype]]), data(t->data) {
        memcpy(strides, t->strides, sizeof(int64_t) * (size_t)t->ndim);
        ok_ = t->dtype == dtype || copy();
    }
    /* Replace strides no product routine can read; false when memory ran out. */
    bool copy() {
        if (copy_)
            return true;
        copy_.emplace(t_, fl_kind_of_dtype[t_->dtype]);
        data = copy_->as<char>();
        fl_contiguous_strides(t_->ndim, t_->shape, strides);
        return copy_->ok();
    }
    bool ok() const { return ok_; }

  private:
    const fl_tensor *t_;
    std::optional<In> copy_;
    bool ok_;

  public:
    int dtype;
    const char *data;
    int64_t strides[FL_MAX_DIMS];
};
