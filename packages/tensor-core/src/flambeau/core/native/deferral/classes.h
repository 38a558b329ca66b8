/* See classes.cpp. */
#pragma once
#include "deferral/deferral.h"

bool fl_is_class_gradient(const fl_op *op);
/* Note a gradient of class numbers, which are looked at now: 1 when it waits, 0 when it has to be
 * run, -1 on failure. */
int fl_defer_class_gradient(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
/* Whether a call is a loss of log-probabilities that were the last to be noted. */
bool fl_is_class_loss(const fl_op *op, const fl_value *in);
/* The same of such a loss. */
int fl_defer_class_loss(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
