/* Words of a Mersenne Twister, and what PyTorch's CPU kernels make of them, element by element. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

struct fl_mersenne_kernels {
    /* the next 624 words of the state */
    void (*twist)(uint32_t *words);
    /* words of the state as the stream gives them */
    void (*temper)(const uint32_t *words, uint32_t *out, int64_t n);
    /* low + (high - low) times the last 24 bits of each word as a fraction; low for high */
    void (*uniform_f32)(const uint32_t *words, float *out, int64_t n, float low, float high);
    /* the same of 53 bits of two words, the high one first; rounded once */
    void (*uniform_f64)(const uint32_t *words, double *out, int64_t n, double low, double high);
    /* sixteen uniform numbers in [0, 1) become normal ones, `groups` times */
    void (*normal_f32)(float *data, int64_t groups, float mean, float std);
};
extern "C" {
FL_LEVELS(fl_mersenne_kernels);
}
