/* Operators whose result's size depends on values: masked_select, nonzero.
 *
 * The dispatcher counts first, with the functions below, and leaves the number in
 * fl_dynamic_size for infer. A negative number means that nobody counted (meta tensors,
 * recording): then infer raises. */
#pragma once
#include "dispatch/core.h"

extern thread_local int64_t fl_dynamic_size;

int64_t fl_count_nonzero(const fl_tensor *mask);
