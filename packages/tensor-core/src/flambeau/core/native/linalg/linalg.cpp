/* Stacks of matrices for LAPACK: see linalg.h. */
#include "linalg/linalg.h"
#include "common/args.h"
#include <stdio.h>

fl_stack fl_stack_of(const fl_tensor *t) {
    return fl_stack{fl_numel_of(t->ndim - 2, t->shape), t->shape[t->ndim - 2],
                    t->shape[t->ndim - 1]};
}

int fl_expect_small(const fl_op *op, const fl_tensor *t, int64_t size) {
    if (size <= INT_MAX)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: matrices of shape %s are larger than LAPACK can count "
                    "with 32-bit integers; work on blocks of them", fl_op_title(op),
                    fl_shape_text(t->shape, t->ndim));
}

static int expect_two_dimensions(const fl_op *op, const char *param, const fl_tensor *t) {
    if (t->ndim >= 2)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: The input tensor '%s' must have at least 2 dimensions, "
                    "the last two being rows and columns; got shape %s", fl_op_title(op), param,
                    fl_shape_text(t->shape, t->ndim));
}

int fl_expect_square(const fl_op *op, const char *param, const fl_tensor *t) {
    if (expect_two_dimensions(op, param, t) < 0)
        return -1;
    fl_stack s = fl_stack_of(t);
    if (s.rows != s.cols)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s must be batches of square matrices, but they "
                        "are %lld by %lld matrices", fl_op_title(op), param, (long long)s.rows,
                        (long long)s.cols);
    return fl_expect_small(op, t, s.rows);
}

int fl_expect_matrices(const fl_op *op, const char *param, const fl_tensor *t, bool square) {
    if (expect_two_dimensions(op, param, t) < 0)
        return -1;
    if (t->dtype == FL_F16 || t->dtype == FL_BF16)
        return fl_error(FL_RUNTIME_ERROR, "%s: Low precision dtypes not supported: '%s' is %s; "
                        "convert it with %s.float()", fl_op_title(op), param,
                        fl_dtype_name(t->dtype), param);
    if (t->dtype < FL_F32 || t->dtype > FL_C128)
        return fl_error(FL_RUNTIME_ERROR, "%s: Expected a floating point or complex tensor as "
                        "input: '%s' is %s; convert it with %s.float()", fl_op_title(op), param,
                        fl_dtype_name(t->dtype), param);
    if (square)
        return fl_expect_square(op, param, t);
    fl_stack s = fl_stack_of(t);
    return fl_expect_small(op, t, std::max(s.rows, s.cols));
}

void fl_column_strides(int ndim, const int64_t *shape, int64_t *strides) {
    int64_t rows = shape[ndim - 2], cols = shape[ndim - 1];
    int64_t step = std::max<int64_t>(rows, 1) * std::max<int64_t>(cols, 1);
    for (int i = ndim - 3; i >= 0; i--) {
        strides[i] = step;
        step *= std::max<int64_t>(shape[i], 1);
    }
    strides[ndim - 2] = 1;
    strides[ndim - 1] = std::max<int64_t>(rows, 1);
}

void fl_spec_columns(fl_spec *s, int dtype, const fl_tensor *like, int nbatch,
                     const int64_t *batch, int64_t rows, int64_t cols) {
    int64_t shape[FL_MAX_DIMS];
    memcpy(shape, batch, sizeof(int64_t) * (size_t)nbatch);
    shape[nbatch] = rows;
    shape[nbatch + 1] = cols;
    fl_spec_set(s, dtype, fl_device_code(like), nbatch + 2, shape);
    s->layout = FL_L_STRIDED;
    fl_column_strides(nbatch + 2, shape, s->strides);
}

void fl_spec_beside(fl_spec *s, int dtype, const fl_tensor *like, int64_t length) {
    int64_t shape[FL_MAX_DIMS];
    int ndim = like->ndim - 2;
    memcpy(shape, like->shape, sizeof(int64_t) * (size_t)ndim);
    if (length >= 0)
        shape[ndim++] = length;
    fl_spec_set(s, dtype, fl_device_code(like), ndim, shape);
}

static bool lies_in_columns(const fl_tensor *t, const int64_t *strides) {
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] != 1 && t->strides[i] != strides[i])
            return false;
    return true;
}

ColumnsOut::ColumnsOut(fl_tensor *t)
    : t_(t), owned_(nullptr), bytes_((size_t)(t->numel * fl_itemsize(t->dtype))) {
    fl_column_strides(t->ndim, t->shape, strides_);
    if (lies_in_columns(t, strides_) && fl_is_aligned(t->data)) {
        data_ = t->data;
        return;
    }
    data_ = owned_ = bytes_ ? (char *)fl_alloc_or_error(bytes_) : nullptr;
}

ColumnsOut::~ColumnsOut() {
    if (owned_)
        fl_free(owned_, bytes_);
}

void ColumnsOut::load(const fl_tensor *from) {
    int64_t strides[FL_MAX_DIMS];
    int missing = t_->ndim - from->ndim;
    for (int i = 0; i < t_->ndim; i++)
        strides[i] = i < missing || from->shape[i - missing] == 1 ? 0 : from->strides[i - missing];
    if (t_->numel)
        fl_copy_strided({data_, t_->dtype, strides_}, {from->data, from->dtype, strides}, t_->ndim,
                        t_->shape);
}

void ColumnsOut::commit() {
    if (owned_)
        fl_copy_strided({t_->data, t_->dtype, t_->strides}, {data_, t_->dtype, strides_}, t_->ndim,
                        t_->shape);
}

ColumnsCopy::ColumnsCopy(const fl_tensor *t)
    : room_((size_t)(t->numel * fl_itemsize(t->dtype))) {
    int64_t strides[FL_MAX_DIMS];
    fl_column_strides(t->ndim, t->shape, strides);
    if (room_.ok() && t->numel)
        fl_copy_strided({room_.as<char>(), t->dtype, strides}, {t->data, t->dtype, t->strides},
                        t->ndim, t->shape);
}

void fl_store_int32(fl_tensor *target, const int32_t *numbers) {
    int64_t strides[FL_MAX_DIMS];
    fl_contiguous_strides(target->ndim, target->shape, strides);
    if (target->numel)
        fl_copy_strided({target->data, FL_I32, target->strides},
                        {(char *)numbers, FL_I32, strides}, target->ndim, target->shape);
}

void Int32Out::commit() {
    if (!fl_is_contiguous(t_))
        fl_store_int32(t_, room_.as<int32_t>());
}

int64_t fl_broadcast_matrix(const fl_tensor *t, int nbatch, const int64_t *batch, int64_t index) {
    int own = t->ndim - 2;
    int64_t at = 0, step = 1;
    for (int i = nbatch - 1; i >= nbatch - own; i--) {
        int64_t size = t->shape[i - (nbatch - own)];
        at += size == 1 ? 0 : index % batch[i] * step;
        step *= size;
        index /= batch[i];
    }
    return at;
}

const char *fl_element_text(const fl_tensor *t, int64_t index) {
    static thread_local char text[48];
    text[0] = 0;
    if (t->ndim > 2)
        snprintf(text, sizeof text, "(Batch element %lld): ", (long long)index);
    return text;
}

int fl_infer_square(const fl_op *op, const fl_tensor *a, fl_spec *result, fl_spec *info) {
    if (fl_expect_matrices(op, "A", a, true) < 0)
        return -1;
    fl_stack s = fl_stack_of(a);
    fl_spec_columns(result, a->dtype, a, a->ndim - 2, a->shape, s.rows, s.cols);
    fl_spec_beside(info, FL_I32, a, -1);
    return 0;
}

int fl_spec_solution(const fl_op *op, const fl_tensor *a, const fl_tensor *b, int64_t rows,
                     fl_spec *x) {
    int64_t batch[FL_MAX_DIMS];
    int nbatch;
    if (fl_broadcast_shape(fl_op_title(op), a->ndim - 2, a->shape, b->ndim - 2, b->shape, &nbatch,
                           batch) < 0)
        return -1;
    fl_spec_columns(x, a->dtype, a, nbatch, batch, rows, fl_stack_of(b).cols);
    return 0;
}

int fl_infer_equation(const fl_op *op, const fl_value *in, int n, bool left, fl_spec *x) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    if (fl_expect_matrices(op, "A", a, true) < 0 || fl_expect_matrices(op, "B", b, false) < 0 ||
        fl_expect_same_dtype(op, a, "B", b) < 0 || fl_same_device(op, in, n) < 0)
        return -1;
    fl_stack sb = fl_stack_of(b);
    if ((left ? sb.rows : sb.cols) != a->shape[a->ndim - 1])
        return fl_error(FL_RUNTIME_ERROR, "%s: Incompatible shapes of A and B for the equation "
                        "%s: A is %s and B is %s", fl_op_title(op), left ? "AX = B" : "XA = B",
                        fl_shape_text(a->shape, a->ndim), fl_shape_text(b->shape, b->ndim));
    return fl_spec_solution(op, a, b, sb.rows, x);
}
