/* Grains for loops that keep no partial results per chunk, which may therefore be cut anyhow. */
#pragma once
#include "runtime/pool.h"

/* A grain of about `grain` for loops that keep no partial results: chunks are as equal as whole
 * units allow, and even in number, so that two threads, or four, have the same to do. A chunk of
 * one grain and a rest of a twentieth would leave the second thread without work. */
static inline int64_t fl_even_grain(int64_t n, int64_t grain, int64_t unit) {
    int64_t chunks = 2 * fl_chunk_count(n, 2 * grain);
    int64_t part = fl_chunk_count(n, chunks > 0 ? chunks : 1);
    return n <= grain ? grain : fl_chunk_count(part, unit) * unit;
}

/* Elements of several vectors at any level, so that only the last chunk ends with part of one. */
static const int64_t FL_CHUNK_UNIT = 64;
