/* Booleans whose bytes are neither 0 nor 1, as x.view(bool) of other bytes has them: every byte but
 * 0 is true. Formulas read them so; kernels that compare or combine the bytes need plain ones. */
#pragma once
#include "dispatch/core.h"

static inline bool fl_is_bool(const fl_tensor *t) { return t->dtype == FL_BOOL; }

/* Run an operator on copies of its bool tensors that hold 0 and 1. */
int fl_run_on_plain_bools(fl_run_fn run, const fl_op *op, const fl_value *in, int n,
                          fl_tensor *const *outs);
