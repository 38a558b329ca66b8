/* The slices of a tensor that an index names, in memory of their own. */
#include "index/named_slices.h"
#include <algorithm>

/* Offsets stand where the ranks will: each is read before its rank is written. */
NamedSlices::NamedSlices(const fl_tensor *t, int dim, const int64_t *index, int64_t n,
                         const int64_t *shape)
    : home_(t->data), sorted_(fl_bytes(n, 8)), ranks_(fl_bytes(n, 8)), tensor_(*t) {
    positions_.offsets = ranks_.as<int64_t>();
    positions_.n = n;
    positions_.ndim = 0;
    positions_.before = dim;
    for (int d = 0; d < t->ndim; d++) {
        if (d == dim)
            continue;
        positions_.shape[positions_.ndim] = shape ? shape[d] : t->shape[d];
        positions_.strides[positions_.ndim++] = t->strides[d];
    }
    if (!ranks_.ok())
        return;
    for (int64_t i = 0; i < n; i++)
        positions_.offsets[i] = (index[i] + (index[i] < 0 ? t->shape[dim] : 0)) * t->strides[dim];
    take();
}

NamedSlices::NamedSlices(const fl_tensor *t, const fl_slice_positions &positions)
    : positions_(positions), home_(t->data), sorted_(fl_bytes(positions.n, 8)),
      ranks_(fl_bytes(positions.n, 8)), tensor_(*t) {
    take();
}

void NamedSlices::take() {
    if (!sorted_.ok() || !ranks_.ok())
        return;
    int64_t *sorted = sorted_.as<int64_t>(), *ranks = ranks_.as<int64_t>(), n = positions_.n;
    memcpy(sorted, positions_.offsets, (size_t)n * 8);
    std::sort(sorted, sorted + n);
    count_ = std::unique(sorted, sorted + n) - sorted;
    for (int64_t i = 0; i < n; i++)
        ranks[i] = std::lower_bound(sorted, sorted + count_, positions_.offsets[i]) - sorted;
    int nd = 0;
    for (int d = 0; d <= positions_.ndim; d++) {
        if (d == positions_.before)
            shape_[nd++] = count_;
        if (d < positions_.ndim)
            shape_[nd++] = positions_.shape[d];
    }
    fl_contiguous_strides(nd, shape_, strides_);
    tensor_.shape = shape_;
    tensor_.strides = strides_;
    tensor_.ndim = nd;
    tensor_.numel = fl_numel_of(nd, shape_);
    tensor_.flags |= FL_CONTIGUOUS;
    bytes_ = fl_bytes(tensor_.numel, fl_itemsize(tensor_.dtype));
    tensor_.data = data_ = room_.take(bytes_);
    if (data_)
        copy(false);
}

void NamedSlices::copy(bool back) {
    int64_t inside[FL_MAX_DIMS], size = fl_itemsize(tensor_.dtype);
    const int64_t *sorted = sorted_.as<int64_t>();
    for (int d = 0; d < positions_.ndim; d++)
        inside[d] = strides_[d < positions_.before ? d : d + 1];
    for (int64_t i = 0; i < count_; i++) {
        fl_strided there = {home_ + sorted[i] * size, tensor_.dtype, positions_.strides};
        fl_strided here = {data_ + i * strides_[positions_.before] * size, tensor_.dtype, inside};
        fl_copy_strided(back ? there : here, back ? here : there, positions_.ndim,
                        positions_.shape);
    }
}

void NamedSlices::put_back() { copy(true); }

fl_tensor *NamedSlices::index(const fl_tensor *like, int ndim, const int64_t *shape) {
    index_ = *like;
    memcpy(index_shape_, shape, sizeof(int64_t) * (size_t)ndim);
    fl_contiguous_strides(ndim, index_shape_, index_strides_);
    index_.data = ranks_.as<char>();
    index_.dtype = FL_I64;
    index_.ndim = ndim;
    index_.numel = positions_.n;
    index_.shape = index_shape_;
    index_.strides = index_strides_;
    index_.flags |= FL_CONTIGUOUS;
    return &index_;
}

int fl_run_on_slices(const fl_op *op, const fl_value *in, const fl_tensor *t, int dim,
                     const int64_t *index, const int64_t *shape, fl_tensor *const *outs) {
    NamedSlices slices(t, dim, index, in[2].t->numel, shape);
    if (!slices.ok())
        return -1;
    fl_value args[FL_MAX_PARAMS];
    memcpy(args, in, sizeof(fl_value) * (size_t)op->nparams);
    fl_tensor *target = slices.tensor();
    args[0].t = target;
    args[2].t = slices.index(in[2].t);
    if (op->run_cpu(op, args, op->nparams, outs ? outs : &target) < 0)
        return -1;
    if (!outs)
        slices.put_back();
    return 0;
}
