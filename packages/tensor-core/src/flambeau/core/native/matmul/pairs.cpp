/* Operands of products of bfloat16 as pairs along k. */
#include "matmul/pairs.h"
#include "matmul/kernels/gemm.h"

PairsIn::PairsIn(const fl_tensor *t, int along, bool takes_halves)
    : halves(false), t_(t), along_(along), copied_(false) {
    ok_ = read_in_place() || (takes_halves && read_halves()) || copy();
}

bool PairsIn::read_halves() {
    const int other = along_ == t_->ndim - 1 ? t_->ndim - 2 : t_->ndim - 1;
    halves = t_->strides[other] == 1 && t_->strides[along_] >= t_->shape[other];
    memcpy(strides, t_->strides, sizeof(int64_t) * (size_t)t_->ndim);
    data = t_->data;
    return halves;
}

bool PairsIn::read_in_place() {
    bool fits = t_->strides[along_] == 1 && (uintptr_t)t_->data % 4 == 0;
    for (int d = 0; d < t_->ndim; d++) {
        strides[d] = d == along_ ? 1 : t_->strides[d] / 2;
        fits = fits && (d == along_ || t_->shape[d] == 1 || t_->strides[d] % 2 == 0);
    }
    data = t_->data;
    return fits;
}

bool PairsIn::copy() {
    if (copied_)
        return true;
    copied_ = true;
    halves = false;
    RawIn dense(t_, FL_BF16);
    memory_.emplace((size_t)t_->numel * 2);
    if (!dense.ok() || !memory_->ok())
        return false;
    return interleave((const uint16_t *)dense.data());
}

/* [outer, k, inner] to [outer, k / 2, inner] pairs. */
bool PairsIn::interleave(const uint16_t *from) {
    static const fl_gemm_pairs_kernels *const kernels = FL_PICK(fl_gemm_pairs_kernels);
    int64_t outer = 1, inner = 1, shape[FL_MAX_DIMS];
    for (int d = 0; d < t_->ndim; d++) {
        shape[d] = d == along_ ? t_->shape[d] / 2 : t_->shape[d];
        if (d != along_)
            (d < along_ ? outer : inner) *= t_->shape[d];
    }
    fl_contiguous_strides(t_->ndim, shape, strides);
    data = memory_->as<char>();
    uint32_t *to = memory_->as<uint32_t>();
    if (inner == 1) {
        memcpy(to, from, (size_t)t_->numel * 2);
        return true;
    }
    fl_parallel(outer * shape[along_], FL_GRAIN / inner + 1, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            kernels->interleave(to + i * inner, from + 2 * i * inner, from + (2 * i + 1) * inner,
                                inner);
    });
    return true;
}
