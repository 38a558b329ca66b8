/* Random numbers for contiguous memory: n elements from the block `block` of a seed on.
 *
 * A block is Philox 4x32-10 of the counter (block, 0) under the key `seed`: words w0 to w3.
 * Elements of 32 bits take one word each, elements of 64 bits two, the low one first. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

struct fl_stream {
    uint64_t seed, block;
};

struct fl_random_kernels {
    /* low + u (high - low) for u in [0, 1) of `bits` (at most 24) bits */
    void (*uniform_f32)(float *out, int64_t n, fl_stream s, float low, float high, int bits);
    void (*uniform_f64)(double *out, int64_t n, fl_stream s, double low, double high);
    void (*normal_f32)(float *out, int64_t n, fl_stream s, float mean, float std);
    void (*normal_f64)(double *out, int64_t n, fl_stream s, double mean, double std);
    /* low + a number below range; range 0 stands for 2^64 */
    void (*integers_i64)(int64_t *out, int64_t n, fl_stream s, int64_t low, uint64_t range);
    void (*integers_f32)(float *out, int64_t n, fl_stream s, int64_t low, uint64_t range);
    void (*integers_f64)(double *out, int64_t n, fl_stream s, int64_t low, uint64_t range);
    void (*integers_u8)(uint8_t *out, int64_t n, fl_stream s, int64_t low, uint64_t range);
    /* 1 where the word is below threshold (at most 2^32), else 0 */
    void (*bernoulli_i64)(int64_t *out, int64_t n, fl_stream s, uint64_t threshold);
    void (*bernoulli_f32)(float *out, int64_t n, fl_stream s, uint64_t threshold);
    void (*bernoulli_f64)(double *out, int64_t n, fl_stream s, uint64_t threshold);
    void (*bernoulli_u8)(uint8_t *out, int64_t n, fl_stream s, uint64_t threshold);
    void (*words64)(uint64_t *out, int64_t n, fl_stream s);
};
extern "C" {
FL_LEVELS(fl_random_kernels);
}
