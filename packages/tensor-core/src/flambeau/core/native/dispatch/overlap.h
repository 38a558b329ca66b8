/* Memory that a call reads and writes at once. */
#pragma once
#include "dispatch/core.h"

/* Dimensions of more than one element, sorted by stride; how many there are. */
int fl_dims_by_stride(const fl_tensor *t, int *order);
/* Whether the elements fill a piece of memory, in whatever order. */
bool fl_is_dense(const fl_tensor *t);

/* An input that shares memory with the tensor written to: -1 where that is refused, 0 where the
 * result is to be computed apart. `is_self`: the input is the operator's first. */
int fl_refuse_overlap(const fl_op *op, const fl_tensor *t, const fl_tensor *x, bool is_self);

/* Whether this is a write through an index or a mask to its own tensor, which may be expanded: its
 * elements are then written one after the other, with a warning. */
/* The operator, if it is one that writes through an index or a mask, or masked_fill inside of which
 * it runs; else NULL. */
const fl_op *fl_indexed_write(const fl_op *op);
bool fl_writes_expanded(const fl_op *op, const fl_value *in, int n, const fl_tensor *t);
int fl_write_expanded(const fl_op *op, const fl_value *in, int n, fl_value *out);
