/* Blocks of bytes copied from one even spacing to another. */
#pragma once
#include "kernels/level.h"
#include <stdint.h>

/* `count` blocks of `bytes`, at least 64; the steps are bytes too. */
typedef void (*fl_blocks_fn)(char *to, int64_t to_step, const char *from, int64_t from_step,
                             int64_t bytes, int64_t count);
struct fl_block_kernels {
    fl_blocks_fn copy;
};
extern "C" {
FL_LEVELS(fl_block_kernels);
}
