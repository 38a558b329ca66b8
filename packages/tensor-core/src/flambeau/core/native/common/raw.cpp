/* Contiguous memory in a tensor's own dtype, and lines along a dimension. */
#include "common/raw.h"

namespace {

bool plain(const fl_tensor *t, int dtype) {
    return t->dtype == dtype && (t->flags & FL_CONTIGUOUS);
}

/* Shape and strides with `dim` moved to the end. */
int move_last(const fl_tensor *t, int dim, int64_t *shape, int64_t *strides) {
    int nd = 0;
    for (int d = 0; d < t->ndim; d++)
        if (d != dim) {
            shape[nd] = t->shape[d];
            strides[nd++] = t->strides[d];
        }
    if (t->ndim) {
        shape[nd] = t->shape[dim];
        strides[nd++] = t->strides[dim];
    }
    return nd;
}

void copy_lines(const fl_tensor *t, int dim, char *lines, int kind, bool to_tensor) {
    int64_t shape[FL_MAX_DIMS], strides[FL_MAX_DIMS], dense[FL_MAX_DIMS];
    int nd = move_last(t, dim, shape, strides);
    fl_contiguous_strides(nd, shape, dense);
    fl_strided a = {lines, fl_dtype_of_kind[kind], dense}, b = {t->data, t->dtype, strides};
    fl_copy_strided(to_tensor ? b : a, to_tensor ? a : b, nd, shape);
}

}  // namespace

RawIn::RawIn(const fl_tensor *t, int dtype, int ndim, const int64_t *shape)
    : ptr_(t->data), owned_(nullptr), bytes_(0) {
    int64_t n = fl_numel_of(ndim, shape);
    bytes_ = fl_bytes(n, fl_itemsize(dtype));
    if (n == t->numel && plain(t, dtype))
        return;
    ptr_ = owned_ = room_.take(bytes_);
    if (!owned_)
        return;
    int64_t dense[FL_MAX_DIMS], from[FL_MAX_DIMS];
    int pad = ndim - t->ndim;
    for (int i = 0; i < ndim; i++)
        from[i] = i >= pad && t->shape[i - pad] != 1 ? t->strides[i - pad] : 0;
    fl_contiguous_strides(ndim, shape, dense);
    fl_copy_strided(fl_strided{owned_, dtype, dense}, fl_strided{t->data, t->dtype, from}, ndim,
                    shape);
}

RawOut::RawOut(fl_tensor *t, int dtype)
    : t_(t), ptr_(t->data), owned_(nullptr), dtype_(dtype),
      bytes_(fl_bytes(t->numel, fl_itemsize(dtype))) {
    if (!plain(t, dtype))
        ptr_ = owned_ = room_.take(bytes_);
}

void RawOut::commit() {
    if (!owned_)
        return;
    fl_unpack(t_, dtype_, owned_);
}

LinesIn::LinesIn(const fl_tensor *t, int dim, int kind)
    : ptr_(t->data), owned_(nullptr), bytes_(fl_bytes(t->numel, fl_kind_size[kind])) {
    if (plain(t, fl_dtype_of_kind[kind]) && dim >= t->ndim - 1)
        return;
    ptr_ = owned_ = room_.take(bytes_);
    if (owned_)
        copy_lines(t, dim, owned_, kind, false);
}

LinesOut::LinesOut(fl_tensor *t, int dim, int kind)
    : t_(t), dim_(dim), kind_(kind), ptr_(t->data), owned_(nullptr),
      bytes_(fl_bytes(t->numel, fl_kind_size[kind])) {
    if (!plain(t, fl_dtype_of_kind[kind]) || dim < t->ndim - 1)
        ptr_ = owned_ = room_.take(bytes_);
}

void LinesOut::commit() {
    if (owned_)
        copy_lines(t_, dim_, owned_, kind_, true);
}

void fl_load_out(RawOut &out, const fl_tensor *target, const fl_tensor *self) {
    if (out.data() == self->data || target->numel == 0)
        return;
    int64_t dense[FL_MAX_DIMS], from[FL_MAX_DIMS];
    int pad = target->ndim - self->ndim;
    for (int i = 0; i < target->ndim; i++)
        from[i] = i >= pad && self->shape[i - pad] != 1 ? self->strides[i - pad] : 0;
    fl_contiguous_strides(target->ndim, target->shape, dense);
    fl_copy_strided(fl_strided{out.data(), target->dtype, dense},
                    fl_strided{self->data, self->dtype, from}, target->ndim, target->shape);
}
