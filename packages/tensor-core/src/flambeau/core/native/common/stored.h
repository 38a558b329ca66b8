/* dtypes whose numbers are stored and converted, but not computed with: float8 and complex32. They
 * have no kernels, so that operators refuse them but for those that move elements. */
#pragma once
#include "dispatch/core.h"

static inline bool fl_is_stored(int dtype) { return dtype > FL_C128; }

/* Whether the operator takes these operands and gives these results, one of which is of such a
 * dtype; -1 after fl_error. */
int fl_check_stored(const fl_op *op, const fl_value *in, int n, const fl_spec *results);
/* Whether the two dtypes promote; -1 after fl_error. float8 promotes with nothing but itself. */
int fl_check_promotion(int a, int b);
