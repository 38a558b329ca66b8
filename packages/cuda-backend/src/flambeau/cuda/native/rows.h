/* Compiled rows: kernels whose operands are rows, one behind the other. */
#pragma once
#include "device.h"

/* What Python says of such a plan: its name and two functions. */
#define FL_ROWS_FIELDS 3

/* Launch one over tensors and numbers, of which the last value is the geometry: rows, elements of a
 * row, and for each tensor, results last, bytes from row to row, after how many rows these start
 * anew (0: never), and bytes from one such run of rows to the next. */
int fl_run_fused_rows(Device &d, const Plan &plan, const fl_value *in, int n,
                      fl_tensor *const *outs, int nouts);
