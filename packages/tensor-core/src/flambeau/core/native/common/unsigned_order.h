/* Operators that compare elements, for uint64: flipping the top bit turns its order into int64's.
 * */
#pragma once
#include "dispatch/core.h"

static inline bool fl_is_unsigned64(const fl_tensor *t) { return t->dtype == FL_U64; }

/* Run an operator on in[0] with flipped top bits as int64, and flip the uint64 results back. */
int fl_run_in_signed_order(fl_run_fn run, const fl_op *op, const fl_value *in, int n,
                           fl_tensor *const *outs);
