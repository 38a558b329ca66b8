/* Kernels that look at positions. */
#pragma once
#include "kernels/level.h"
#include <stdint.h>

/* Whether all of index[0..n) lie in [low, high). */
typedef bool (*fl_within_fn)(const int64_t *index, int64_t n, int64_t low, int64_t high);
struct fl_places_kernels {
    fl_within_fn within;
};
extern "C" {
FL_LEVELS(fl_places_kernels);
}
