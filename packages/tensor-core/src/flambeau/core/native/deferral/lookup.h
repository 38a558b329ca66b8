/* See lookup.cpp. */
#pragma once
#include "deferral/deferral.h"

bool fl_is_lookup(const fl_op *op);
/* Note a look-up of rows, whose numbers are checked now: 1 when it waits, 0 when it has to be run,
 * -1 on failure. */
int fl_defer_lookup(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
