/* Copies of matrices whose columns lie side by side into rows that do. */
#pragma once
#include "dispatch/core.h"

/* Whether it was one, and was copied: the target's innermost dimension comes last, both sides have
 * elements of `size` bytes and share none. */
bool fl_copy_transposed(const fl_strided &dst, const fl_strided &src, int64_t size, int ndim,
                        const int64_t *shape);
