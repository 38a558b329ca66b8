/* Whole blocks of memory picked or added by number. */
#include "common/kernels/accumulate.h"
#include "common/add.h"
#include "common/args.h"
#include "common/raw.h"
#include "index/rows.h"
#include <algorithm>

namespace {

const fl_accumulate_kernels *const kernels = FL_PICK(fl_accumulate_kernels);

/* Blocks as wide as T, which need not lie as T does: four bytes of uint8 may start anywhere. */
template <class T>
void pick_items(char *to, const char *from, const int64_t *index, int64_t b, int64_t e) {
    for (int64_t i = b; i < e; i++)
        memcpy(to + i * (int64_t)sizeof(T), from + index[i] * (int64_t)sizeof(T), sizeof(T));
}

/* Few items of each of many rows: no call for each row. */
template <class T>
void pick_items_of_rows(char *to, const char *from, const int64_t *index, int64_t n, int64_t size,
                        int64_t b, int64_t e) {
    const int64_t item = sizeof(T);
    for (int64_t o = b; o < e; o++)
        pick_items<T>(to + o * n * item, from + o * size * item, index, 0, n);
}

/* Blocks of up to two of T and no less than one: by both ends, which may overlap. */
template <class T>
void pick_short(char *to, const char *from, const int64_t *index, int64_t b, int64_t e,
                int64_t bytes) {
    const int64_t last = bytes - (int64_t)sizeof(T);
    for (int64_t i = b; i < e; i++) {
        const char *x = from + index[i] * bytes;
        T head, tail;
        memcpy(&head, x, sizeof(T));
        memcpy(&tail, x + last, sizeof(T));
        memcpy(to + i * bytes, &head, sizeof(T));
        memcpy(to + i * bytes + last, &tail, sizeof(T));
    }
}

/* Blocks are far apart: ask for one of the next while copying. */
void pick_far(char *to, const char *from, const int64_t *index, int64_t b, int64_t e,
                int64_t bytes) {
    const int64_t PREFETCH_BLOCKS = 4;
    for (int64_t i = b; i < e; i++) {
        if (i + PREFETCH_BLOCKS < e) {
            const char *next = from + index[i + PREFETCH_BLOCKS] * bytes;
            for (int64_t line = 0; line < bytes && line < 512; line += 64)
                __builtin_prefetch(next + line);
        }
        memcpy(to + i * bytes, from + index[i] * bytes, (size_t)bytes);
    }
}

void pick_range(char *to, const char *from, const int64_t *index, int64_t b, int64_t e,
                int64_t bytes) {
    auto pick = bytes < 4    ? pick_far
                : bytes < 8  ? pick_short<uint32_t>
                : bytes < 16 ? pick_short<uint64_t>
                : bytes < 32 ? pick_short<__int128>
                             : pick_far;
    pick(to, from, index, b, e, bytes);
}

/* Fewer columns of a block are no work for a thread of its own: a line of the cache. */
const int64_t PIECE_COLUMNS = 16;

/* Blocks of which each thread has some columns; narrower ones share out the targets, and each
 * thread looks at the whole index. Pieces never meet, and within one the order is the index's. */
void add_piece(const fl_added_blocks &a, char *to, const char *from, int64_t pieces, int64_t t) {
    fl_named_blocks b = {a.index, a.n, a.block, a.step, 0, a.block, 0, a.size, a.skip};
    if (a.block >= pieces * PIECE_COLUMNS) {
        const int64_t lines = fl_chunk_count(a.block, PIECE_COLUMNS);
        b.begin = lines * t / pieces * PIECE_COLUMNS;
        b.width = std::min(lines * (t + 1) / pieces * PIECE_COLUMNS, a.block) - b.begin;
    } else {
        b.low = a.size * t / pieces;
        b.high = a.size * (t + 1) / pieces;
    }
    kernels->named[a.kind](to, from, &b, a.scale);
}

/* Blocks of one number: no call for each. */
template <class T> void add_items(const fl_added_blocks &a, char *result, const char *x) {
    T *to = (T *)result;
    const T *from = (const T *)x;
    for (int64_t i = 0; i < a.n; i++)
        if (a.index[i] != a.skip)
            to[a.index[i]] = fl_plus(to[a.index[i]], from[i]);
}

}  // namespace

void fl_pick_blocks(char *to, const char *from, const int64_t *index, int64_t n, int64_t outer,
                    int64_t size, int64_t bytes) {
    const int64_t FEW_ITEMS = 64;
    bool items = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
    if (items && n <= FEW_ITEMS) {
        fl_parallel(outer, fl_row_grain(n), [&](int64_t b, int64_t e) {
            FL_BY_SIZE(bytes, pick_items_of_rows, to, from, index, n, size, b, e)
        });
        return;
    }
    for (int64_t o = 0; o < outer; o++, to += n * bytes, from += size * bytes)
        fl_parallel(n, fl_chunk_count(4 * FL_GRAIN, bytes < 16 ? 16 : bytes),
                    [&](int64_t b, int64_t e) {
            if (items) {
                FL_BY_SIZE(bytes, pick_items, to, from, index, b, e)
            } else {
                pick_range(to, from, index, b, e, bytes);
            }
        });
}

/* Where there is work for several threads, each has a piece of it. */
void fl_add_blocks(const fl_added_blocks &a, char *to, const char *from, int64_t outer) {
    const bool items = a.block == 1 && a.step == 1 && a.scale == 1;
    const int64_t item = fl_kind_size[a.kind], threads = fl_get_num_threads();
    const bool is_cut = !items && outer < threads && outer * a.n * a.block >= FL_GRAIN;
    const int64_t pieces = is_cut ? fl_chunk_count(threads, outer) : 1;
    fl_parallel(outer * pieces, is_cut ? 1 : fl_row_grain(a.n * a.block),
                [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            char *result = to + t / pieces * a.size * a.step * item;
            const char *x = from + t / pieces * a.n * a.block * item;
            if (items) {
                FL_BY_KIND(a.kind, add_items, a, result, x)
            } else {
                add_piece(a, result, x, pieces, t % pieces);
            }
        }
    });
}
