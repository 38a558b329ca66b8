/* Operands of products of bfloat16 as pairs of neighbours along k, for processors that multiply
 * such pairs. */
#pragma once
#include "dispatch/core.h"
#include "common/raw.h"
#include "runtime/blas.h"
#include <optional>

/* Whether a product over `k` terms of a dtype uses pairs; short sums are not worth it. */
static inline bool fl_goes_by_pairs(const fl_tensor *a, const fl_tensor *b, int64_t k) {
    return a->dtype == FL_BF16 && b->dtype == FL_BF16 && k >= 16 && k % 2 == 0 && a->ndim > 1 &&
           b->ndim > 1 && fl_has_pairs();
}

/* A tensor's memory with dimension `along` in pairs: its own, where neighbours along it are
 * neighbours in memory, else a copy. Strides count pairs; that of `along` is between pairs.
 *
 * With `halves`, where the product takes them: the memory of a tensor whose elements along the
 * other dimension of the matrix are neighbours. Strides are its own. */
class PairsIn {
  public:
    PairsIn(const fl_tensor *t, int along, bool takes_halves);
    bool ok() const { return ok_; }
    /* Pairs in a copy of their own, behind which nothing is strange. */
    bool copy();

    const char *data;
    bool halves;
    int64_t strides[FL_MAX_DIMS];

  private:
    bool read_in_place();
    bool read_halves();
    bool interleave(const uint16_t *from);
    const fl_tensor *t_;
    int along_;
    bool ok_, copied_;
    std::optional<Scratch> memory_;
};
