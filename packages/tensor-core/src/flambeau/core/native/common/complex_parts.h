/* Complex tensors seen as real ones: for rows whose kernels know real numbers only. */
#pragma once
#include "dispatch/core.h"

/* The real (0) or the imaginary (1) parts of a complex tensor, in place. */
class PartView {
  public:
    PartView(const fl_tensor *t, int part);
    fl_tensor tensor;
    PartView(const PartView &) = delete;
  private:
    int64_t strides_[FL_MAX_DIMS];
};

/* All parts of a complex tensor, in place: one more dimension of size 2. The tensor must have
 * fewer than FL_MAX_DIMS dimensions. */
class PairView {
  public:
    explicit PairView(const fl_tensor *t);
    fl_tensor tensor;
    PairView(const PairView &) = delete;
  private:
    int64_t shape_[FL_MAX_DIMS], strides_[FL_MAX_DIMS];
};

/* Run a row that is linear in in[0] and in in[1] on complex numbers: four runs on real ones. Where
 * the row has a third tensor (a bias), it is added once. One output. */
int fl_run_bilinear_parts(fl_run_fn run, const fl_op *op, const fl_value *in, int n,
                          fl_tensor *out);
