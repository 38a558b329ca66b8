/* Maxima of integers of 8 bits whose channels lie side by side. */
#pragma once
#include "pool/kernels/pool.h"

/* `image` is where its first element lies; rows and pixels are as far apart, in bytes, as `row` and
 * `pixel` say, and results have no gaps. */
struct fl_byte_pool {
    fl_pool p;
    int64_t channels, row, pixel;
    const uint8_t *image;
    uint8_t *out;
};

struct fl_byte_pool_kernels {
    /* output rows [begin, end) of an image */
    void (*max_u8)(const fl_byte_pool *c, int64_t begin, int64_t end);
    void (*max_i8)(const fl_byte_pool *c, int64_t begin, int64_t end);
};
extern "C" {
FL_LEVELS(fl_byte_pool_kernels);
}
