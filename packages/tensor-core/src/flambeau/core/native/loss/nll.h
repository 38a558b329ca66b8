/* Class numbers, for those who compute with them later. */
#pragma once
#include "dispatch/core.h"

enum { FL_LOSS_NONE = 0, FL_LOSS_MEAN = 1, FL_LOSS_SUM = 2 };

/* Whether targets and weights of classes fit scores [rows, classes, ...], or [classes]: 0 or -1. */
int fl_expect_classes(const fl_op *op, const fl_tensor *self, const fl_tensor *target,
                      const fl_value &weight);

/* Whether all targets are classes of the input, or ignored: 0, or -1 with the error of nll_loss;
 * one for each row, side by side. */
int fl_check_classes(const fl_tensor *self, const int64_t *target, int64_t ignore);
/* Write the second result of nll_loss_rows alone: how many targets count, or their weight;
 * -1 where there is no memory. */
int fl_count_classes(const fl_value *in, fl_tensor *total);
