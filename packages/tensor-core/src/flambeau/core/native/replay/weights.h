/* Weights of linear layers that replays read packed, as long as nobody writes to them.
 *
 * A product copies its weight into the layout of the register tiles, which for few rows takes as
 * long as a fifth to a half of the arithmetic. Programs share such copies: a decoder has one
 * program for each length of its text. A copy stands for the version that it was made of. */
#pragma once
#include "replay/recorder.h"
#include "runtime/blas.h"
#include <memory>

/* One weight, for all programs that read it, which hold its storage. */
class fl_packed_weight {
  public:
    fl_packed_weight(const fl_storage *s, const fl_extent &e, int64_t elements);
    ~fl_packed_weight();
    fl_packed_weight(const fl_packed_weight &) = delete;
    fl_packed_weight &operator=(const fl_packed_weight &) = delete;

    /* What the weight is now, packed; NULL while it changes or others may write to it uncounted.
     * Needs the GIL. */
    std::shared_ptr<const float> packed(void);
    bool is_of(const fl_storage *s, const fl_extent &e) const;

    const float *const data;
    const int64_t n, k;

  private:
    std::shared_ptr<const float> make(void) const;

    const fl_storage *const storage;
    const int64_t elements;
    uint32_t version = 0;
    int uses = 0;               /* since it was written to */
    std::shared_ptr<const float> memory;
};

/* What a kernel of a recording may read packed, or NULL. */
std::shared_ptr<fl_packed_weight> fl_find_packed_weight(const fl_recorder *r,
                                                        const fl_kernel_run &run);
/* The bytes of all copies. */
int64_t fl_packed_weight_bytes(void);

/* Offers a copy to the kernel that runs while this is there. */
class fl_weight_offer {
  public:
    explicit fl_weight_offer(fl_packed_weight *weight);
    ~fl_weight_offer();
    fl_weight_offer(const fl_weight_offer &) = delete;
    fl_weight_offer &operator=(const fl_weight_offer &) = delete;

  private:
    std::shared_ptr<const float> memory_;
    fl_packed_matrix matrix_;
};
