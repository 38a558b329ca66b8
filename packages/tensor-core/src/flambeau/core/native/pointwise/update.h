/* An update rule over many tensors at once: what an optimizer does in a step. */
#pragma once
#include "dispatch/python.h"

/* Apply a definition that writes to its operands to `count` rows of tensors, as many in a row as it
 * has operands; `values` holds its numbers. 1 when done, 0 when the rows have to be called one by
 * one, since one of them is not plain, -1 with an exception. */
int fl_update_together(const fl_op *op, fl_value *values, fl_tensor *const *rows, int64_t count);
/* Whether `count` rows may go to a device's backend together: on one device, each of one dtype, with
 * elements that lie alike and side by side, and watched by nobody. What waits and concerns them has
 * run then. -1 with an exception. */
int fl_update_by_device(const fl_op *op, fl_value *values, fl_tensor *const *rows, int64_t count);
/* Count that a backend wrote them. */
void fl_update_written(const fl_op *op, fl_tensor *const *rows, int64_t count);
/* The function that makes machine code for a definition (flambeau.jit), for compiled calls. */
void fl_update_configure(PyObject *maker);
