/* Whole blocks of memory picked or added by number: what index_select, embedding and advanced
 * indexing along one dimension come down to. */
#pragma once
#include "dispatch/core.h"

/* to[o][i] = from[o][index[i]]: blocks of `bytes`, o < outer; `size` blocks per o in `from`. */
void fl_pick_blocks(char *to, const char *from, const int64_t *index, int64_t n, int64_t outer,
                    int64_t size, int64_t bytes);

/* to[o][index[i]] += scale * from[o][i]: blocks of `block` numbers of a kind. An index equal to
 * `skip` is left out. Blocks with the same target are added in the order of the index. */
void fl_add_blocks(char *to, const char *from, const int64_t *index, int64_t n, int64_t outer,
                   int64_t size, int64_t block, int kind, double scale, int64_t skip);
