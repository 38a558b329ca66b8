/* Memory formats: the order of the dimensions in memory, by PyTorch's names. */
#include "core/core.h"

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

void by_stride(const fl_tensor *t, int *order) {
    for (int i = 0; i < t->ndim; i++) {
        int j = i;
        for (; j > 0 && t->strides[order[j - 1]] > t->strides[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

/* Whether the dimensions, in this order, fill memory without gaps. */
bool fills(const fl_tensor *t, const int *order) {
    int64_t step = 1;
    for (int i = 0; i < t->ndim; i++) {
        int d = order[i];
        if (t->shape[d] != 1 && t->strides[d] != step)
            return false;
        step *= t->shape[d];
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

}  // namespace

bool fl_has_format(const fl_tensor *t, const char *format) {
    int order[FL_MAX_DIMS];
    if (!strcmp(format, "contiguous_format"))
        return t->flags & FL_CONTIGUOUS;
    return order_of(format, t->ndim, order) && (t->numel == 0 || fills(t, order));
}

int fl_format_strides(const fl_tensor *t, const char *format, int64_t *strides) {
    int order[FL_MAX_DIMS];
    bool keep = !strcmp(format, "preserve_format");
    if (!strcmp(format, "contiguous_format") || (keep && (t->flags & FL_CONTIGUOUS))) {
        fl_contiguous_strides(t->ndim, t->shape, strides);
        return 0;
    }
    if (keep) {
        by_stride(t, order);
        bool dense = fills(t, order);
        fl_contiguous_strides(t->ndim, t->shape, strides);
        for (int i = 0; i < t->ndim && dense; i++)
            strides[i] = t->strides[i];
        return dense;
    }
    if (!order_of(format, t->ndim, order))
        return unknown(t, format);
    int64_t step = 1;
    for (int i = 0; i < t->ndim; i++) {
        strides[order[i]] = step;
        step *= t->shape[order[i]] > 1 ? t->shape[order[i]] : 1;
    }
    return 1;
}
