/* Whole blocks of memory picked or added by number. */
#include "ops/add.h"
#include "ops/raw.h"
#include "ops/rows.h"

namespace {

template <class T>
void pick_items(char *to, const char *from, const int64_t *index, int64_t b, int64_t e) {
    T *out = (T *)to;
    const T *x = (const T *)from;
    for (int64_t i = b; i < e; i++)
        out[i] = x[index[i]];
}

/* Blocks are far apart: ask for the one after next while copying. */
void pick_range(char *to, const char *from, const int64_t *index, int64_t b, int64_t e,
                int64_t bytes) {
    const int64_t AHEAD = 4;
    for (int64_t i = b; i < e; i++) {
        if (i + AHEAD < e) {
            const char *next = from + index[i + AHEAD] * bytes;
            for (int64_t line = 0; line < bytes && line < 512; line += 64)
                __builtin_prefetch(next + line);
        }
        memcpy(to + i * bytes, from + index[i] * bytes, (size_t)bytes);
    }
}

/* Targets are cut into parts; every part looks at the whole index and takes what is its own, so
 * no two meet and the order is that of the index. */
const int64_t PARTS = 16;

struct Adding {
    char *to;
    const char *from;
    const int64_t *index;
    int64_t n, size, block, skip;
    double scale;
};

template <class T> void add_part(const Adding &a, int64_t o, int64_t low, int64_t high) {
    T *to = (T *)a.to + o * a.size * a.block;
    const T *from = (const T *)a.from + o * a.n * a.block;
    for (int64_t i = 0; i < a.n; i++) {
        int64_t k = a.index[i];
        if (k < low || k >= high || k == a.skip)
            continue;
        T *target = to + k * a.block;
        const T *x = from + i * a.block;
        if (a.scale == 1)
            for (int64_t j = 0; j < a.block; j++)
                target[j] = fl_plus(target[j], x[j]);
        else
            for (int64_t j = 0; j < a.block; j++)
                target[j] = fl_plus(target[j], fl_times(a.scale, x[j]));
    }
}

}  // namespace

void fl_pick_blocks(char *to, const char *from, const int64_t *index, int64_t n, int64_t outer,
                    int64_t size, int64_t bytes) {
    bool items = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
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
    Adding a = {to, from, index, n, size, block, skip, scale};
    int64_t parts = n * block < FL_GRAIN || size < PARTS ? 1 : PARTS;
    fl_parallel(outer * parts, parts == 1 ? outer : 1, [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            int64_t part = t % parts, low = size * part / parts, high = size * (part + 1) / parts;
            FL_BY_KIND(kind, add_part, a, t / parts, low, high)
        }
    });
}
