/* Blocks of bytes copied from one even spacing to another, or streamed past the caches; matrices
 * copied to their transposes. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>
#include <string.h>

/* `count` blocks of `bytes`; the steps are bytes too. */
typedef void (*fl_blocks_fn)(char *to, int64_t to_step, const char *from, int64_t from_step,
                             int64_t bytes, int64_t count);
/* Whole lines of `to` are written without being read first, and do not stay in the caches. Other
 * threads may rely on them after fl_stream_end. */
typedef void (*fl_stream_fn)(char *to, const char *from, int64_t bytes);
/* out[r * row + c] = in[r + c * step], of elements of 1, 2, 4, 8 or 16 bytes. */
typedef void (*fl_turn_fn)(int64_t size, char *out, int64_t row, const char *in, int64_t step,
                           int64_t rows, int64_t cols);
struct fl_block_kernels {
    fl_blocks_fn copy;
    fl_stream_fn stream;
    fl_turn_fn turn;
};
extern "C" {
FL_LEVELS(fl_block_kernels);
}

/* memcpy, but for targets that lie a few bytes ahead of the source within a page: there the
 * processor's own instruction for copies takes ten times as long (AMD's, from 2 KiB on). */
static inline void fl_copy_bytes(char *to, const char *from, int64_t bytes) {
    const int64_t PAGE_BYTES = 4096, LINE_BYTES = 64;
    const int64_t ahead = (int64_t)((uintptr_t)to - (uintptr_t)from) & (PAGE_BYTES - 1);
    if (bytes >= LINE_BYTES && ahead > 0 && ahead < LINE_BYTES)
        FL_PICK(fl_block_kernels)->copy(to, 0, from, 0, bytes, 1);
    else
        memcpy(to, from, (size_t)bytes);
}

static inline void fl_stream_end() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}
