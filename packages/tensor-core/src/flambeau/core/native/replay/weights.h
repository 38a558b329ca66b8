/* Weights of linear layers and convolutions that replays read packed, as long as nobody writes to
 * them.
 *
 * A product copies its weight into the layout of the register tiles, which for few rows takes a
 * fifth to a half as long as the arithmetic. Winograd's convolution transposes windows, for few
 * pixels in late layers. Programs share such copies: a decoder has one program for each length of
 * its text. A copy stands for the version that it was made of. */
#pragma once
#include "conv/direct.h"
#include "replay/recorder.h"
#include "runtime/blas.h"
#include <memory>

/* A contiguous weight, and how a kernel reads it: as strips of a product, or as the windows of
 * Winograd's convolution (conv/winograd.h). */
struct fl_weight_layout {
    const float *data;
    int64_t outputs, inputs;    /* features or channels */
    bool has_windows;
    fl_conv_layout windows;
    int64_t elements;           /* of a copy; 0: none would be used */
};

/* One weight, for all programs that read it, which hold its storage. */
class fl_packed_weight {
  public:
    fl_packed_weight(const fl_storage *s, const fl_weight_layout &l) : layout(l), storage(s) {}
    ~fl_packed_weight();
    fl_packed_weight(const fl_packed_weight &) = delete;
    fl_packed_weight &operator=(const fl_packed_weight &) = delete;

    /* What the weight is now, packed; NULL while it changes or others may write to it uncounted.
     * Needs the GIL. */
    std::shared_ptr<const float> packed(void);
    bool is_of(const fl_storage *s, const fl_weight_layout &l) const;

    const fl_weight_layout layout;

  private:
    std::shared_ptr<const float> make(void) const;

    const fl_storage *const storage;
    uint32_t version = 0;
    int uses = 0;               /* since it was written to */
    std::shared_ptr<const float> memory;
};

/* The memory of a kernel's weight that was there before the recording, and that none of its kernels
 * writes; NULL where there is none. Before numbers of extents become tensors. */
const fl_storage *fl_constant_weight(const fl_recorder *r, const fl_kernel_run &run);
/* What the kernel may read packed, or NULL. After that. */
std::shared_ptr<fl_packed_weight> fl_find_packed_weight(const fl_storage *s,
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
    fl_packed_matrix matrix_{};
    fl_conv_packed windows_{};
};
