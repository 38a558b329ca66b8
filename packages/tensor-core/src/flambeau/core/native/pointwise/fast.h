/* What the fast paths of pointwise operators share. */
#pragma once
#include "dispatch/pointwise.h"

/* Whether kernels take operands of this dtype as they are, and give results as they are. */
bool fl_pw_direct(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int dtype);
/* n times a number, as elements of a kind. */
void fl_pw_fill_number(const fl_value &v, int kind, void *tile, int64_t n);
/* Small operands that are strided, broadcast or of several dtypes. */
int fl_call_small(const fl_op *op, const fl_value *in, int n, fl_value *out);
