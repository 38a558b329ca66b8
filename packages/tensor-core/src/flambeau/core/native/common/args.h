/* Checks that several infer functions share, and short names for arguments. */
#pragma once
#include "dispatch/core.h"

static inline bool fl_value_true(const fl_value &v) { return v.tag != FL_NONE && v.i != 0; }
static inline bool fl_not_complex(int dtype) { return !fl_is_complex(dtype); }
static inline bool fl_floating(int dtype) { return fl_is_float(dtype); }
static inline bool fl_floating_or_complex(int dtype) {
    return fl_is_float(dtype) || fl_is_complex(dtype);
}

/* Words for one tensor in a message: "float32 of shape [2, 3]". */
const char *fl_tensor_text(const fl_tensor *t);

/* Refuse complex numbers where elements are compared; fl_expect_ordered refuses uint64 as well, for
 * kernels that see it as int64 (others: unsigned_order.h). */
int fl_expect_order(const fl_op *op, const char *param, const fl_tensor *t);
int fl_expect_ordered(const fl_op *op, const char *param, const fl_tensor *t);
/* A number must fit the dtype it is written to; -1 is the greatest unsigned one. */
int fl_check_number(const char *title, const char *param, const fl_value &v, int dtype);
/* The integer that stands for zero, among those of uint8 or int8. */
int fl_check_zero_point(const fl_op *op, const char *name, int64_t zero, int dtype);
/* int32 or int64. */
int fl_expect_index(const fl_op *op, const char *param, const fl_tensor *t);
int fl_expect_int64(const fl_op *op, const char *param, const fl_tensor *t);
int fl_expect_same_dtype(const fl_op *op, const fl_tensor *a, const char *param,
                         const fl_tensor *b);
int fl_expect_same_shape(const fl_op *op, const char *name_a, const fl_tensor *a,
                         const char *name_b, const fl_tensor *b);
/* A tensor of statistics must hold `count` elements, whatever its shape. */
int fl_expect_numel(const fl_op *op, const char *name, const fl_tensor *t, int64_t count);
int fl_expect_shape(const fl_op *op, const char *param, const fl_tensor *t, int ndim,
                    const int64_t *shape);

/* All of index[0..n) within [0, size), or within [-size, size) when `negative` is allowed;
 * `kind` is the kind of error, which follows PyTorch. */
int fl_check_index_range(const fl_op *op, int kind, const int64_t *index, int64_t n, int64_t size,
                         int dim, bool negative);

/* A number as one element of a dtype. */
void fl_number_as(const fl_value &v, int dtype, char *out);

/* The sizes before, at and after a dimension; a 0-d tensor counts as one element. */
struct fl_middle {
    int64_t outer, n, inner;
};
static inline fl_middle fl_middle_of(const fl_tensor *t, int dim) {
    fl_middle m = {1, 1, 1};
    for (int i = 0; i < t->ndim; i++)
        (i < dim ? m.outer : i == dim ? m.n : m.inner) *= t->shape[i];
    return m;
}

/* How many rows make one piece of parallel work, when each has n elements. */
static inline int64_t fl_row_grain(int64_t n) {
    return n >= FL_GRAIN ? 1 : n > 0 ? FL_GRAIN / n : FL_GRAIN;
}
