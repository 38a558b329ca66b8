/* batch_norm as statistics, which are taken at once, and a formula, which waits. */
#pragma once
#include "dispatch/python.h"

bool fl_is_batch_norm(const fl_op *op);
/* As fl_defer. */
int fl_defer_batch_norm(const fl_op *op, const fl_value *in, fl_tensor *const *outs);
