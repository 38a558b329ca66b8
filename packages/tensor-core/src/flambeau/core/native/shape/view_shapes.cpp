/* Views in another shape: view, and as_strided with its bounds check. */
#include "dispatch/core.h"

/* Replace one -1 in a wanted shape; check that the element count stays. */
static int complete_shape(const fl_op *op, const fl_tensor *t, const fl_value &size,
                          int64_t *shape) {
    int64_t known;
    int hole = -1, nd = (int)size.len;
    if (nd > FL_MAX_DIMS)
        return fl_error(FL_VALUE_ERROR, "%s: at most %d dimensions", fl_op_title(op), FL_MAX_DIMS);
    for (int i = 0; i < nd; i++) {
        shape[i] = size.is[i];
        if (shape[i] == -1 && hole < 0) {
            hole = i;
            shape[i] = 1;
            continue;
        }
        if (shape[i] < 0)
            return fl_error(FL_RUNTIME_ERROR, "%s: invalid shape dimension %lld in %s; sizes are "
                            "at least 0 and one of them may be -1", fl_op_title(op),
                            (long long)shape[i], fl_shape_text(size.is, nd));
    }
    if (!fl_count_elements(nd, shape, &known))
        return fl_count_error(op->name, nd, size.is);
    if (hole >= 0 && known > 0 && t->numel % known == 0)
        shape[hole] = t->numel / known;
    else if (hole >= 0 && known == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: cannot reshape tensor of %lld elements into shape %s "
                        "because the unspecified dimension size -1 can be any value",
                        fl_op_title(op), (long long)t->numel, fl_shape_text(size.is, nd));
    else if (hole >= 0 || known != t->numel)
        return fl_error(FL_RUNTIME_ERROR, "%s: shape '%s' is invalid for input of size %lld (shape "
                        "%s); the product of the sizes must stay the same", fl_op_title(op),
                        fl_shape_text(size.is, nd), (long long)t->numel,
                        fl_shape_text(t->shape, t->ndim));
    return 0;
}

/* Strides of `shape` over the memory of t, or false when a copy would be needed. Old dimensions
 * are taken in maximal runs that step together; each run must be filled by new dimensions. */
static bool view_strides(const fl_tensor *t, int nd, const int64_t *shape, int64_t *strides) {
    if (t->numel == 0) {
        fl_contiguous_strides(nd, shape, strides);
        return true;
    }
    int view_d = nd - 1;
    int64_t chunk_stride = t->ndim ? t->strides[t->ndim - 1] : 1;
    int64_t t_numel = 1, v_numel = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        t_numel *= t->shape[d];
        bool ends = d == 0 || (t->shape[d - 1] != 1 &&
                               t->strides[d - 1] != t_numel * chunk_stride);
        if (!ends)
            continue;
        while (view_d >= 0 && (v_numel < t_numel || shape[view_d] == 1)) {
            strides[view_d] = v_numel * chunk_stride;
            v_numel *= shape[view_d];
            view_d--;
        }
        if (v_numel != t_numel)
            return false;
        if (d > 0) {
            chunk_stride = t->strides[d - 1];
            t_numel = 1;
            v_numel = 1;
        }
    }
    for (; view_d >= 0; view_d--)
        strides[view_d] = chunk_stride;
    return true;
}

bool fl_view_possible(const fl_tensor *t, int nd, const int64_t *shape) {
    if (fl_numel_of(nd, shape) != t->numel)
        return false;
    int64_t strides[FL_MAX_DIMS];
    return view_strides(t, nd, shape, strides);
}

extern "C" int fl_infer_view(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    int64_t shape[FL_MAX_DIMS] = {};
    if (complete_shape(op, t, in[1], shape) < 0)
        return -1;
    fl_spec_set(s, t->dtype, fl_device_code(t), (int)in[1].len, shape);
    s->layout = FL_L_ALIAS;
    s->alias = 0;
    if (t->flags & FL_CONTIGUOUS) {
        fl_contiguous_strides(s->ndim, shape, s->strides);
        return 0;
    }
    if (!view_strides(t, s->ndim, shape, s->strides))
        return fl_error(FL_RUNTIME_ERROR, "view(): view size %s is not compatible with input "
                        "tensor's size %s and stride %s (at least one dimension spans across two "
                        "contiguous subspaces). Use .reshape(...) instead.",
                        fl_shape_text(shape, s->ndim), fl_shape_text(t->shape, t->ndim),
                        fl_shape_text(t->strides, t->ndim));
    return 0;
}

/* Elements of another size: the last dimension, whose elements must be adjacent, shrinks or grows,
 * and all other steps must be whole in the new size. */
static int resize_elements(const fl_op *op, const fl_tensor *t, int64_t from, int64_t to,
                           fl_spec *s) {
    int last = t->ndim - 1;
    bool fits = last >= 0 && (t->strides[last] == 1 || t->shape[last] == 1);
    if (fits && to > from) {
        int64_t ratio = to / from;
        fits = t->shape[last] % ratio == 0 && fl_storage_offset(t) % ratio == 0;
        for (int d = 0; d < last; d++) {
            fits &= t->strides[d] % ratio == 0 || t->shape[d] <= 1;
            s->strides[d] = t->strides[d] / ratio;
        }
        s->shape[last] = t->shape[last] / ratio;
    } else if (fits) {
        int64_t ratio = from / to;
        for (int d = 0; d < last; d++)
            s->strides[d] = t->strides[d] * ratio;
        s->shape[last] = t->shape[last] * ratio;
    }
    if (fits) {
        s->strides[last] = 1;
        return 0;
    }
    return fl_error(FL_RUNTIME_ERROR, "%s: elements of %lld bytes can be seen as %s only where the "
                    "last dimension is adjacent and whole multiples fit, also in the offset and "
                    "the other strides; got shape %s, stride %s: write x.contiguous() first",
                    fl_op_title(op), (long long)from, fl_dtype_name(s->dtype),
                    fl_shape_text(t->shape, t->ndim), fl_shape_text(t->strides, t->ndim));
}

extern "C" int fl_infer_view__dtype(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    int64_t from = fl_itemsize(t->dtype), to = fl_itemsize((int)in[1].i);
    fl_spec_like(s, t);
    s->dtype = (uint8_t)in[1].i;
    s->layout = FL_L_ALIAS;
    s->alias = 0;
    for (int i = 0; i < t->ndim; i++)
        s->strides[i] = t->strides[i];
    return from == to ? 0 : resize_elements(op, t, from, to, s);
}

static int storage_room(const fl_op *op, const fl_tensor *t, const fl_value &size,
                        const fl_value &stride, int64_t offset);

extern "C" int fl_infer_as_strided(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    if (in[1].len != in[2].len)
        return fl_error(FL_RUNTIME_ERROR, "as_strided(): size has %u numbers and stride %u; they "
                        "must be as many", in[1].len, in[2].len);
    for (uint32_t i = 0; i < in[2].len; i++)
        if (in[2].is[i] < 0 || in[1].is[i] < 0)
            return fl_error(FL_RUNTIME_ERROR, "as_strided(): sizes and strides must not be negative, "
                            "got size %s and stride %s", fl_shape_text(in[1].is, (int)in[1].len),
                            fl_shape_text(in[2].is, (int)in[2].len));
    fl_spec_set(s, t->dtype, fl_device_code(t), (int)in[1].len, in[1].is);
    s->layout = FL_L_ALIAS;
    s->alias = 0;
    for (int i = 0; i < s->ndim; i++)
        s->strides[i] = in[2].is[i];
    /* the offset counts from the start of the storage; the default keeps the tensor's own */
    int64_t own = fl_storage_offset(t);
    int64_t offset = in[3].tag == FL_INT ? in[3].i : own;
    s->offset = offset - own;
    return storage_room(op, t, in[1], in[2], offset);
}

static int storage_room(const fl_op *op, const fl_tensor *t, const fl_value &size,
                        const fl_value &stride, int64_t offset) {
    int64_t last = offset;
    bool empty = false, overflow = offset < 0;
    for (uint32_t i = 0; i < size.len; i++) {
        int64_t span;
        empty |= size.is[i] == 0;
        overflow |= __builtin_mul_overflow(size.is[i] - 1, stride.is[i], &span);
        overflow |= __builtin_add_overflow(last, span, &last);
    }
    int64_t room = (int64_t)(fl_storage_bytes(t) / (uint64_t)fl_itemsize(t->dtype));
    if (empty || (!overflow && last < room))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: size %s, stride %s and storage_offset %lld reach outside "
                    "the storage of %lld elements", fl_op_title(op),
                    fl_shape_text(size.is, (int)size.len), fl_shape_text(stride.is, (int)stride.len),
                    (long long)offset, (long long)room);
}
