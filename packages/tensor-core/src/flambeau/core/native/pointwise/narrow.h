/* Pointwise operators on integers narrower than 64 bits, without the way through int64, and on half
 * precision, without tiles of float32. */
#pragma once
#include "dispatch/pointwise.h"

/* Compute, if there is a kernel and all operands are contiguous tensors of `dtype` with the
 * result's elements, or numbers that fit; else return false. */
bool fl_narrow_run(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int dtype,
                   const fl_tensor *out);
