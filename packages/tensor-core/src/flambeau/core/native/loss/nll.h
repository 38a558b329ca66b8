/* Class numbers, for those who compute with them later. */
#pragma once
#include "dispatch/objects.h"

/* Whether all targets are classes of the input, or ignored: 0, or -1 with the error of nll_loss;
 * of integers of 64 bits without gaps. */
int fl_check_classes(const fl_tensor *self, const fl_tensor *target, int64_t ignore);
/* Write the second result of nll_loss_rows alone: how many targets count, or their weight;
 * -1 where there is no memory. */
int fl_count_classes(const fl_value *in, fl_tensor *total);
