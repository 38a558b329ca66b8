/* cat: tensors side by side along a dimension. */
#include "common/kernels/blocks.h"
#include "common/args.h"

namespace {

/* An empty one-dimensional tensor joins anything, as in PyTorch. */
bool skipped(const fl_tensor *t) { return t->ndim == 1 && t->shape[0] == 0; }

/* The tensor whose shape the others must match: the first that counts. */
const fl_tensor *model_of(const fl_value &list) {
    for (uint32_t i = 0; i < list.len; i++)
        if (!skipped(list.ts[i]))
            return list.ts[i];
    return list.ts[0];
}

int joined_dtype(const fl_value &list) {
    int dtype = list.ts[0]->dtype;
    for (uint32_t i = 1; i < list.len; i++)
        dtype = fl_promote(dtype, list.ts[i]->dtype);
    return dtype;
}

int fits(const fl_op *op, const fl_tensor *model, const fl_tensor *t, uint32_t number, int dim) {
    if (t->ndim != model->ndim)
        return fl_error(FL_RUNTIME_ERROR, "%s: Tensors must have same number of dimensions: got "
                        "shape %s and, at position %u, %s", fl_op_title(op),
                        fl_shape_text(model->shape, model->ndim), number,
                        fl_shape_text(t->shape, t->ndim));
    for (int d = 0; d < t->ndim; d++)
        if (d != dim && t->shape[d] != model->shape[d])
            return fl_error(FL_RUNTIME_ERROR, "%s: Sizes of tensors must match except in dimension "
                            "%d. Expected size %lld but got size %lld in dimension %d, for tensor "
                            "number %u of shape %s", fl_op_title(op), dim,
                            (long long)model->shape[d], (long long)t->shape[d], d, number,
                            fl_shape_text(t->shape, t->ndim));
    return 0;
}

int join_dim(const fl_op *op, const fl_value *in, int *dim) {
    const fl_value &list = in[0];
    if (list.len == 0)
        return fl_error(FL_VALUE_ERROR, "%s: expected a non-empty list of tensors",
                        fl_op_title(op));
    const fl_tensor *model = model_of(list);
    if (model->ndim == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: zero-dimensional tensors cannot be concatenated; "
                        "use stack(), which adds a dimension", fl_op_title(op));
    if (skipped(model)) {       /* nothing is joined: any dimension will do, as in PyTorch */
        *dim = 0;
        return 0;
    }
    return fl_wrap_dim(op, in[1].i, model->ndim, dim);
}

/* One after the other: whole tensors, each copied in parallel pieces. */
void copy_whole(const fl_value &list, fl_tensor *out) {
    int64_t size = fl_itemsize(out->dtype);
    char *to = out->data;
    for (uint32_t i = 0; i < list.len; i++) {
        const char *from = list.ts[i]->data;
        int64_t bytes = list.ts[i]->numel * size;
        fl_parallel(bytes, 8 * FL_GRAIN, [&](int64_t b, int64_t e) {
            fl_copy_bytes(to + b, from + b, e - b);
        });
        to += bytes;
    }
}

const int64_t MIN_MEMCPY_BYTES = 1 << 14;     /* bytes from which on memcpy is as fast */

/* Blocks b .. e of one tensor, `step` bytes apart in the result. */
void copy_column(char *to, int64_t step, const char *from, int64_t bytes, int64_t b, int64_t e) {
    if (bytes <= MIN_MEMCPY_BYTES)
        return FL_PICK(fl_block_kernels)->copy(to + b * step, step, from + b * bytes, bytes, bytes,
                                               e - b);
    for (int64_t o = b; o < e; o++)
        fl_copy_bytes(to + o * step, from + o * bytes, bytes);
}

const int64_t NEAR_CACHE_BYTES = 1 << 17;       /* bytes of the result that stay in a near cache */

/* Blocks of bytes that lie side by side in the result, one per tensor. */
void copy_blocks(const fl_value &list, fl_tensor *out, const fl_middle &m) {
    int64_t size = fl_itemsize(out->dtype), whole = m.n * m.inner * size;
    int64_t grain = fl_row_grain(m.n * m.inner);
    fl_parallel(m.outer, grain, [&](int64_t b, int64_t e) {
        int64_t near = NEAR_CACHE_BYTES / whole + 1;
        for (int64_t first = b; first < e; first += near) {
            int64_t last = e - first < near ? e : first + near, at = 0;
            for (uint32_t i = 0; i < list.len; i++) {
                int64_t bytes = list.ts[i]->numel / m.outer * size;
                copy_column(out->data + at, whole, list.ts[i]->data, bytes, first, last);
                at += bytes;
            }
        }
    });
}

void copy_each(const fl_value &list, fl_tensor *out, int dim) {
    char *to = out->data;
    for (uint32_t i = 0; i < list.len; i++) {
        const fl_tensor *t = list.ts[i];
        if (t->numel == 0)
            continue;
        fl_copy_strided(fl_strided{to, out->dtype, out->strides},
                        fl_strided{t->data, t->dtype, t->strides}, t->ndim, t->shape);
        to += t->shape[dim] * out->strides[dim] * fl_itemsize(out->dtype);
    }
}

/* A list may hold None for indexing; here there is nothing to join then. */
int all_tensors(const fl_op *op, const fl_value &list) {
    for (uint32_t i = 0; i < list.len; i++)
        if (!list.ts[i])
            return fl_error(FL_TYPE_ERROR, "%s(): expected a list of tensors, but element %u is "
                            "None", op->name, i);
    return 0;
}

/* The memory format that all tensors suggest; NULL for C order. */
const char *shared_format(const fl_value &list) {
    const char *format = nullptr;
    for (uint32_t i = 0; i < list.len; i++) {
        format = fl_suggested_format(list.ts[i]);
        if (!format)
            return nullptr;
    }
    return format;
}

/* A shape and strides without one dimension. */
struct Without {
    int64_t shape[FL_MAX_DIMS], strides[FL_MAX_DIMS];
    fl_tensor view = {};

    Without(const fl_tensor *t, int dim) {
        for (int d = 0; d < t->ndim; d++)
            if (d != dim) {
                shape[view.ndim] = t->shape[d];
                strides[view.ndim++] = t->strides[d];
            }
        view.shape = shape;
        view.strides = strides;
    }
};

/* Results of stack(): the tensors have one element along the new dimension, and without it suggest
 * a memory format. They are laid out as if joined along the next dimension, which is then split. */
void spec_in_stacked_format(const fl_value &list, int dim, fl_spec *s) {
    const char *format = nullptr;
    if (s->ndim < 5 || dim == s->ndim - 1)
        return;
    for (uint32_t i = 0; i < list.len; i++) {
        if (list.ts[i]->ndim != s->ndim || list.ts[i]->shape[dim] != 1)
            return;
        const Without bare(list.ts[i], dim);
        format = fl_suggested_format(&bare.view);
        if (!format)
            return;
    }
    fl_spec joined = *s;
    joined.ndim--;
    for (int d = dim; d < joined.ndim; d++)
        joined.shape[d] = s->shape[d + 1];
    joined.shape[dim] *= s->shape[dim];
    fl_spec_in_format(&joined, format);
    for (int d = 0; d < s->ndim; d++)
        s->strides[d] = joined.strides[d > dim ? d - 1 : d];
    s->strides[dim] *= s->shape[dim + 1];
    s->layout = FL_L_STRIDED;
}

}  // namespace

extern "C" int fl_infer_cat(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_value &list = in[0];
    int dim;
    if (all_tensors(op, list) < 0 || join_dim(op, in, &dim) < 0 || fl_same_device(op, in, n) < 0)
        return -1;
    const fl_tensor *model = model_of(list);
    int64_t total = 0;
    for (uint32_t i = 0; i < list.len; i++) {
        if (skipped(list.ts[i]))
            continue;
        if (fits(op, model, list.ts[i], i, dim) < 0)
            return -1;
        if (__builtin_add_overflow(total, list.ts[i]->shape[dim], &total))
            return fl_error(FL_RUNTIME_ERROR, "%s: the sizes along dimension %d add up to more "
                            "than 64 bits hold", fl_op_title(op), dim);
    }
    fl_spec_like(outs, model);
    outs->shape[dim] = total;
    outs->dtype = (uint8_t)joined_dtype(list);
    fl_spec_in_format(outs, shared_format(list));
    spec_in_stacked_format(list, dim, outs);
    return 0;
}

extern "C" int fl_run_cat(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_value &list = in[0];
    fl_tensor *out = outs[0];
    int dim;
    if (join_dim(op, in, &dim) < 0)
        return -1;
    if (out->numel == 0)
        return 0;
    bool plain = out->flags & FL_CONTIGUOUS;
    for (uint32_t i = 0; i < list.len; i++)
        plain &= list.ts[i]->dtype == out->dtype && (list.ts[i]->flags & FL_CONTIGUOUS);
    fl_middle m = fl_middle_of(out, dim);
    if (plain && m.outer == 1)
        copy_whole(list, out);
    else if (plain)
        copy_blocks(list, out, m);
    else
        copy_each(list, out, dim);
    return 0;
}
