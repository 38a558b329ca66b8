/* Whole blocks of memory picked or added by number. */
#include "common/kernels/accumulate.h"
#include "common/add.h"
#include "common/args.h"
#include "common/raw.h"
#include "index/rows.h"

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

/* Blocks are far apart: ask for one of the next while copying. */
void pick_range(char *to, const char *from, const int64_t *index, int64_t b, int64_t e,
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

/* One piece of the work: targets low .. high, columns begin .. begin + width of every block.
 * Pieces never meet, and within one the order is that of the index. */
struct Piece {
    int64_t low, high, begin, width;
};

struct Adding {
    char *to;
    const char *from;
    const int64_t *index;
    int64_t n, size, block, skip;
    int kind;
    double scale;
};

void add_piece(const Adding &a, int64_t o, const Piece &p) {
    int64_t item = fl_kind_size[a.kind];
    char *to = a.to + (o * a.size * a.block + p.begin) * item;
    const char *from = a.from + (o * a.n * a.block + p.begin) * item;
    for (int64_t i = 0; i < a.n; i++) {
        int64_t k = a.index[i];
        if (k >= p.low && k < p.high && k != a.skip)
            kernels->run[a.kind](to + k * a.block * item, from + i * a.block * item, p.width,
                                 a.scale);
    }
}

/* Wide blocks are cut into columns; narrow ones share out the targets, each piece looking at the
 * whole index. */
const int64_t PIECE_COLUMNS = 64, MAX_PARTS = 4;

int64_t pieces_of(const Adding &a) {
    if (a.n * a.block < FL_GRAIN)
        return 1;
    return a.block >= 2 * PIECE_COLUMNS ? fl_chunk_count(a.block, PIECE_COLUMNS) : MAX_PARTS;
}

Piece piece_of(const Adding &a, int64_t pieces, int64_t t) {
    if (pieces == 1)
        return {0, a.size, 0, a.block};
    if (a.block < 2 * PIECE_COLUMNS)
        return {a.size * t / pieces, a.size * (t + 1) / pieces, 0, a.block};
    int64_t begin = t * PIECE_COLUMNS, width = a.block - begin;
    return {0, a.size, begin, width < PIECE_COLUMNS ? width : PIECE_COLUMNS};
}

/* Blocks of one number: no call for each. */
template <class T> void add_items(const Adding &a, int64_t o) {
    T *to = (T *)a.to + o * a.size;
    const T *from = (const T *)a.from + o * a.n;
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

void fl_add_blocks(char *to, const char *from, const int64_t *index, int64_t n, int64_t outer,
                   int64_t size, int64_t block, int kind, double scale, int64_t skip) {
    Adding a = {to, from, index, n, size, block, skip, kind, scale};
    if (block == 1 && scale == 1) {
        fl_parallel(outer, fl_row_grain(n), [&](int64_t b, int64_t e) {
            for (int64_t o = b; o < e; o++) {
                FL_BY_KIND(kind, add_items, a, o)
            }
        });
        return;
    }
    int64_t pieces = pieces_of(a);
    fl_parallel(outer * pieces, pieces == 1 ? outer : 1, [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++)
            add_piece(a, t / pieces, piece_of(a, pieces, t % pieces));
    });
}
