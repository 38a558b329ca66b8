/* Pointwise operators on integers narrower than 64 bits, without the way through int64, and on half
 * precision, without tiles of float32. */
#pragma once
#include "dispatch/pointwise.h"

/* Compute, if there is a kernel and all operands are tensors of `dtype` or numbers that fit; else
 * return false. Tensors are contiguous with the result's elements; beside two operands they may be
 * broadcast and strided where long rows lie side by side, or are one element. */
bool fl_narrow_run(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int dtype,
                   const fl_tensor *out);
