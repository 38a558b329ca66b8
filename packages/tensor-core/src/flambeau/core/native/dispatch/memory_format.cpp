/* Memory formats: the order of the dimensions in memory, by PyTorch's names. */
#include "dispatch/core.h"
#include <utility>

namespace {

/* Dimensions from the fastest to the slowest; 0 when the format does not name them all. */
int order_of(const char *format, int ndim, int *order) {
    static const int last4[] = {1, 3, 2, 0}, last5[] = {1, 4, 3, 2, 0};
    const int *dims = !strcmp(format, "channels_last") && ndim == 4 ? last4
                    : !strcmp(format, "channels_last_3d") && ndim == 5 ? last5 : nullptr;
    for (int i = 0; i < ndim && dims; i++)
        order[i] = dims[i];
    return dims ? ndim : 0;
}

/* Whether dimension a is to lie outside b (1), inside it (-1), or the operands do not say: the first
 * one decides that is broadcast along neither. */
int compare(int a, int b, const int64_t *shape, int n, const int64_t *const *strides) {
    for (int k = 0; k < n; k++) {
        int64_t step_a = strides[k][a], step_b = strides[k][b];
        if (step_a == 0 || step_b == 0)
            continue;
        if (step_a != step_b)
            return step_a < step_b ? -1 : 1;
        if (shape[a] > shape[b])
            return 1;
    }
    return 0;
}

/* Whether the dimensions, in this order, fill memory without gaps. */
bool fills(const fl_tensor *t, const int *order) {
    int64_t step = 1;
    for (int i = 0; i < t->ndim; i++) {
        int d = order[i];
        if (t->shape[d] != 1 && t->strides[d] != step)
            return false;
        step = fl_wrapping_mul(step, t->shape[d]);
    }
    return true;
}

int unknown(const fl_tensor *t, const char *format) {
    bool known = !strcmp(format, "channels_last") || !strcmp(format, "channels_last_3d");
    if (known)
        return fl_error(FL_RUNTIME_ERROR, "memory_format=%s: required rank %d tensor to use it, but "
                        "got shape %s", format, strcmp(format, "channels_last") ? 5 : 4,
                        fl_shape_text(t->shape, t->ndim));
    return fl_error(FL_VALUE_ERROR, "memory_format %s is not known; use contiguous_format, "
                    "preserve_format, channels_last or channels_last_3d", format);
}

/* Strides of an image batch whose channels step least, then columns, rows and images; gaps are
 * allowed, and dimensions of size 1 count as they lie. */
bool channels_first_step(const fl_tensor *t, const int *order) {
    int64_t least = 0;
    if (t->strides[1] == 0)
        return false;
    for (int i = 0; i < t->ndim; i++) {
        int d = order[i];
        if (t->shape[d] == 0 || t->strides[d] < least)
            return false;
        if (d == 0 && least == t->strides[1])   /* [N, 1, 1, 1] and [N, C, 1, 1] in C order */
            return false;
        least = fl_wrapping_mul(t->strides[d], t->shape[d] > 1 ? t->shape[d] : 1);
    }
    return true;
}

}  // namespace

bool fl_memory_order(int ndim, const int64_t *shape, int n, const int64_t *const *strides,
                     int *order) {
    for (int i = 0; i < ndim; i++)
        order[i] = ndim - 1 - i;
    bool moved = false;
    for (int i = 1; i < ndim; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int sign = compare(order[j], order[at], shape, n, strides);
            if (sign < 0)
                break;
            if (sign == 0)
                continue;
            std::swap(order[j], order[at]);
            at = j;
            moved = true;
        }
    }
    return moved;
}

void fl_ordered_strides(int ndim, const int64_t *shape, const int *order, int64_t *strides) {
    int64_t step = 1;
    for (int i = 0; i < ndim; i++) {
        strides[order[i]] = step;
        step = fl_wrapping_mul(step, shape[order[i]] > 1 ? shape[order[i]] : 1);
    }
}

void fl_order_by_stride(int ndim, const int64_t *strides, int *order) {
    for (int d = 0; d < ndim; d++) {
        int at = d;
        for (; at > 0 && strides[order[at - 1]] < strides[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
}

const char *fl_suggested_format(const fl_tensor *t) {
    const char *name = t->ndim == 4 ? "channels_last" : "channels_last_3d";
    int order[FL_MAX_DIMS];
    return order_of(name, t->ndim, order) && channels_first_step(t, order) ? name : nullptr;
}

void fl_spec_in_format(fl_spec *s, const char *format) {
    int order[FL_MAX_DIMS];
    if (!format || !order_of(format, s->ndim, order))
        return;
    fl_ordered_strides(s->ndim, s->shape, order, s->strides);
    s->layout = FL_L_STRIDED;
}

/* Those of t where it has no gaps, else such in the same order; whether they are not C order's. */
static bool kept_strides(const fl_tensor *t, int64_t *strides) {
    int order[FL_MAX_DIMS];
    const int64_t *own[] = {t->strides};
    bool moved = fl_memory_order(t->ndim, t->shape, 1, own, order);
    bool dense = t->numel > 0 && fills(t, order);
    fl_ordered_strides(t->ndim, t->shape, order, strides);
    for (int i = 0; i < t->ndim && dense; i++) {
        moved |= strides[i] != t->strides[i];
        strides[i] = t->strides[i];
    }
    return moved;
}

bool fl_has_format(const fl_tensor *t, const char *format) {
    int order[FL_MAX_DIMS];
    if (!strcmp(format, "contiguous_format") || !strcmp(format, "preserve_format"))
        return t->flags & FL_CONTIGUOUS;
    return order_of(format, t->ndim, order) && fills(t, order);
}

int fl_format_strides(const fl_tensor *t, const char *format, int64_t *strides) {
    int order[FL_MAX_DIMS];
    if (!strcmp(format, "contiguous_format")) {
        fl_contiguous_strides(t->ndim, t->shape, strides);
        return 0;
    }
    if (!strcmp(format, "preserve_format"))
        return kept_strides(t, strides);
    if (!order_of(format, t->ndim, order))
        return unknown(t, format);
    fl_ordered_strides(t->ndim, t->shape, order, strides);
    return 1;
}

void fl_spec_in_order_of(fl_spec *s, const fl_tensor *t) {
    fl_spec_like(s, t);
    if (kept_strides(t, s->strides))
        s->layout = FL_L_STRIDED;
}
