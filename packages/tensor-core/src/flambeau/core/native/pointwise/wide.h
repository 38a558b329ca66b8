/* Pointwise operators on float32, float64 and int64 whose operands are partly one number for a row
 * or for all, which the driver would write into a tile. */
#pragma once
#include "dispatch/pointwise.h"

/* Compute, if there is a kernel and the operands have the form; else return false. What does not
 * fit the last cache is left to the driver, which streams it. */
bool fl_wide_run(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int dtype,
                 const fl_tensor *out);
