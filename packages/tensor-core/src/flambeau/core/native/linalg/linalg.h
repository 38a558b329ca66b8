/* What the operators on LAPACK share: stacks of matrices stored column after column, checks. */
#pragma once
#include "dispatch/core.h"
#include "common/pool_error.h"
#include "runtime/lapack.h"
#include <algorithm>
#include <limits.h>

/* A tensor as a stack of matrices. */
struct fl_stack {
    int64_t count, rows, cols;
    int64_t size() const { return rows * cols; }
};
fl_stack fl_stack_of(const fl_tensor *t);

/* At least two dimensions, float32 to complex128, sizes LAPACK can count; `square` when asked. */
int fl_expect_matrices(const fl_op *op, const char *param, const fl_tensor *t, bool square);
/* The same of square matrices, whatever their dtype. */
int fl_expect_square(const fl_op *op, const char *param, const fl_tensor *t);

/* What LAPACK is told must fit its 32-bit integers. */
int fl_expect_small(const fl_op *op, const fl_tensor *t, int64_t size);

/* Strides of a stack whose matrices are stored column after column. */
void fl_column_strides(int ndim, const int64_t *shape, int64_t *strides);
/* An output of matrices stored column after column. */
void fl_spec_columns(fl_spec *s, int dtype, const fl_tensor *like, int nbatch,
                     const int64_t *batch, int64_t rows, int64_t cols);
/* An output of vectors, or of numbers where length is -1, one for each matrix of `like`. */
void fl_spec_beside(fl_spec *s, int dtype, const fl_tensor *like, int64_t length);

/* Specs of a result with the sizes of the square matrices A, column after column, and of a number
 * for each of them. */
int fl_infer_square(const fl_op *op, const fl_tensor *a, fl_spec *result, fl_spec *info);

/* The spec of X, `rows` and as many columns as B, in the batch that A and B broadcast to. */
int fl_spec_solution(const fl_op *op, const fl_tensor *a, const fl_tensor *b, int64_t rows,
                     fl_spec *x);

/* The spec of X, column after column, in A X = B or (where `left` is not) X A = B; in[0] and in[1]
 * of the call. */
int fl_infer_equation(const fl_op *op, const fl_value *in, int n, bool left, fl_spec *x);

/* How many matrices make one piece of parallel work. */
static inline int64_t fl_matrix_grain(int64_t rows, int64_t cols) {
    double work = (double)rows * (double)cols * (double)std::min(rows, cols) + 1;
    return (int64_t)(300000.0 / work) + 1;
}

/* Kernels of LAPACK choose their loops by alignment, and with them the last bits of a result:
 * matrices begin where the allocator's blocks do, however the caller's memory lies. */
static inline bool fl_is_aligned(const void *p) { return (uintptr_t)p % FL_ALLOC_ALIGNMENT == 0; }

/* The matrices of a result, column after column: the tensor's own memory where it lies so, else
 * scratch that commit() copies back. */
class ColumnsOut {
  public:
    explicit ColumnsOut(fl_tensor *t);
    ~ColumnsOut();
    bool ok() const { return data_ != nullptr || bytes_ == 0; }
    /* Start from the numbers of another tensor, broadcast to this one's shape. */
    void load(const fl_tensor *from);
    void zero() { memset(data_, 0, bytes_); }
    void commit();
    template <class T> T *as() { return (T *)data_; }
    ColumnsOut(const ColumnsOut &) = delete;

  private:
    fl_tensor *t_;
    char *data_, *owned_;
    size_t bytes_;
    int64_t strides_[FL_MAX_DIMS];
};

/* A copy of a tensor's matrices, column after column, for LAPACK to overwrite. */
class ColumnsCopy {
  public:
    explicit ColumnsCopy(const fl_tensor *t);
    bool ok() const { return room_.ok(); }
    template <class T> T *as() { return room_.as<T>(); }

  private:
    Scratch room_;
};

/* Contiguous int32 numbers for a result: its own memory or scratch that commit() copies back. */
class Int32Out {
  public:
    explicit Int32Out(fl_tensor *t)
        : t_(t), room_(fl_is_contiguous(t) ? 0 : (size_t)t->numel * sizeof(int32_t)) {}
    bool ok() const { return room_.ok(); }
    int32_t *data() { return fl_is_contiguous(t_) ? (int32_t *)t_->data : room_.as<int32_t>(); }
    void commit();
    Int32Out(const Int32Out &) = delete;

  private:
    fl_tensor *t_;
    Scratch room_;
};
void fl_store_int32(fl_tensor *target, const int32_t *numbers);

/* The number of the matrix in a tensor's stack that meets matrix `index` of a broadcast stack. */
int64_t fl_broadcast_matrix(const fl_tensor *t, int nbatch, const int64_t *batch, int64_t index);

/* NaN and infinity: some routines never end with them. */
template <class T> static inline bool fl_all_finite(const T *x, int64_t n) {
    using real = typename fl_number<T>::real;
    const real *numbers = (const real *)x;
    real sum = 0;
    for (int64_t i = 0; i < n * (fl_number<T>::is_complex + 1); i++)
        sum += numbers[i] * 0;
    return sum == 0;
}

/* The length of work space that a query reported, rounded up where a float32 cannot hold it. */
template <class T> static inline int64_t fl_work_length(T reported) {
    double length = (double)fl_real_part(reported);
    return (int64_t)(length * (1.0 + 1e-6)) + 1;
}

/* Words for a matrix of a stack in an error: "" for a single one, "(batch element 3) ". */
const char *fl_element_text(const fl_tensor *t, int64_t index);
