/* cat in compiled calls: what makes its inputs writes them to their places in the result. */
#pragma once
#include "deferral/deferral.h"

bool fl_is_cat(const fl_op *op);
/* Whether copies to a result of so many elements are worth waiting: what waits writes a good part
 * of the inputs, and copies gained something here so far. */
bool fl_may_cat_wait(const fl_op *op, const fl_value *in, int64_t numel, int dtype);
/* 1 when its copies wait now, or ran, 0 when it has to be run, -1 on failure. */
int fl_defer_cat(const fl_op *op, const fl_value *in, fl_tensor *const *outs);
