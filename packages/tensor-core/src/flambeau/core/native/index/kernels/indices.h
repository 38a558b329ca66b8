/* Kernels that look at positions. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* Whether all of index[0..n) lie in [low, high). */
typedef bool (*fl_within_fn)(const int64_t *index, int64_t n, int64_t low, int64_t high);
/* How many of these bytes are not zero. */
typedef int64_t (*fl_count_fn)(const uint8_t *mask, int64_t n);
struct fl_index_kernels {
    fl_within_fn within;
    fl_count_fn count;
};
extern "C" {
FL_LEVELS(fl_index_kernels);
}
