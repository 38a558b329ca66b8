/* Whole blocks of memory picked or added by number: what index_select, embedding and advanced
 * indexing along one dimension come down to. */
#pragma once
#include "dispatch/core.h"

/* to[o][i] = from[o][index[i]]: blocks of `bytes`, o < outer; `size` blocks per o in `from`. */
void fl_pick_blocks(char *to, const char *from, const int64_t *index, int64_t n, int64_t outer,
                    int64_t size, int64_t bytes);

/* Blocks of `block` numbers of a kind that are added where an index says: to elements from
 * index[i] * step on, of `size` such steps. An index equal to `skip` is left out. */
struct fl_added_blocks {
    const int64_t *index;
    int64_t n, block, step, size, skip;
    int kind;
    double scale;
};

/* to[o][index[i]] += scale * from[o][i], o < outer. Blocks with the same target are added in the
 * order of the index. */
void fl_add_blocks(const fl_added_blocks &a, char *to, const char *from, int64_t outer);
