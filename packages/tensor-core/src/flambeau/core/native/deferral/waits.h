/* Facts about calls that decide whether they may wait. */
#pragma once
#include "deferral/deferral.h"
#include "opdef_enums.h"

/* A kernel each of whose rows needs its own rows of the arguments alone. */
bool fl_is_row_kernel(const fl_op *op);
/* A product or convolution, which may run a formula over its result while it makes it. */
static inline bool fl_takes_epilogue(const fl_op *op) {
    return op->flags & FL_O_EPILOGUE && op->run_cpu;
}
/* Whether a product's result is large enough for it to wait. */
bool fl_is_large_product(int64_t numel, int dtype);
/* Whether a formula or kernel over a tensor waits for its own sake; a launch takes longer than a
 * device's kernel over few elements. */
static inline bool fl_is_large(const fl_tensor *t) {
    return t->device_type != FL_CPU || t->numel >= fl_deferral_least();
}
