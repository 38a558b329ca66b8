/* Kernels that look at positions. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* Whether all of index[0..n) lie in [low, high). */
typedef bool (*fl_within_fn)(const int64_t *index, int64_t n, int64_t low, int64_t high);
/* How many of these bytes are not zero. */
typedef int64_t (*fl_count_fn)(const uint8_t *mask, int64_t n);
/* The positions begin .. end of the bytes that are not zero, of which there are `count`. */
typedef void (*fl_list_fn)(const uint8_t *mask, int64_t begin, int64_t end, int64_t count,
                           int64_t *out);
/* The elements where n bytes are not zero, of which there are `count`. */
typedef void (*fl_choose_fn)(const uint8_t *mask, const void *x, int64_t n, int64_t count,
                             void *out);
struct fl_index_kernels {
    fl_within_fn within;
    fl_count_fn count;
    fl_list_fn list;
    fl_choose_fn choose[5];     /* elements of 1, 2, 4, 8 and 16 bytes */
    fl_choose_fn place[5];      /* the other way: `count` elements to where bytes are not zero */
};
extern "C" {
FL_LEVELS(fl_index_kernels);
}
