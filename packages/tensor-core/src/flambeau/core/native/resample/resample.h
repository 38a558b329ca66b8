/* Resampling along one dimension: which inputs an output is made of. */
#pragma once
#include "dispatch/core.h"
#include "resample/kernels/resample.h"

enum fl_resample_mode {
    FL_NEAREST, FL_NEAREST_EXACT, FL_LINEAR, FL_CUBIC, FL_AREA, FL_SMOOTH_LINEAR, FL_SMOOTH_CUBIC,
    FL_SMOOTH_LANCZOS, FL_RESAMPLE_MODES,
    FL_RESAMPLE_BYTES = 16      /* beside a mode: weights of as many bits as PyTorch's for uint8 */
};

/* The mode of this name, or -1; "bytes-linear" and the like are modes with FL_RESAMPLE_BYTES. */
int fl_resample_mode_of(const fl_value &name);

/* The taps of one dimension, in memory of its own. `scale` is the factor between the sizes that
 * the caller asked for, or 0 for the quotient of the sizes. */
class Taps {
  public:
    Taps(int mode, int64_t in, int64_t out, bool align_corners, double scale, int kind);
    bool ok() const { return memory_.ok(); }
    bool identity() const;
    const fl_taps &table() const { return table_; }
  private:
    void one(int64_t j, int64_t index);
    void put(int64_t j, int64_t index, double weight);
    double weight(int64_t k) const;
    void set_weight(int64_t k, double weight);
    void nearest(bool exact, double scale);
    void between(bool cubic, double scale, bool align_corners);
    void area();
    void smooth(int mode, double ratio);
    void merge_repeated();
    void round_to_bytes();
    static int64_t width_of(int mode, int64_t in, int64_t out, double ratio);
    int kind_;
    fl_taps table_;
    int64_t *index_;
    int32_t *count_;
    char *weight_;
    Scratch memory_;
};
