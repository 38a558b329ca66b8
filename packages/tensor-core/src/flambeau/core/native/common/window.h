/* Windows that slide over the last two dimensions: sizes and steps of convolution and pooling. */
#pragma once
#include "dispatch/core.h"
#include "conv/kernels/conv.h"

/* A list of one or two numbers as {height, width}; each must be at least `least`. */
int fl_read_pair(const fl_op *op, const char *param, const fl_value &v, int64_t least,
                 int64_t out[2]);
/* The same for `n` dimensions, 2 or 3. */
int fl_read_sizes(const fl_op *op, const char *param, const fl_value &v, int64_t least, int n,
                  int64_t *out);
/* The last n (2 or 3) sizes of a shape, with padding (or NULL), must leave room for what is
 * computed. */
int fl_check_windows(const fl_op *op, const char *name, int nd, const int64_t *shape, int n,
                     const int64_t *padding);
static inline int fl_check_window_sizes(const fl_op *op, const char *name, int nd,
                                        const int64_t *shape, const int64_t *padding) {
    return fl_check_windows(op, name, nd, shape, 2, padding);
}

/* Positions of a window over `length` elements, by the rule of convolutions (floor). */
static inline int64_t fl_window_count(const fl_window &w, int64_t length) {
    int64_t span = length + 2 * w.padding - fl_window_reach(w);
    return span < 0 ? 0 : span / w.stride + 1;
}

/* The windows, out of `count`, whose tap `t` lies inside a dimension of `length` elements:
 * [*begin, *end). */
static inline void fl_windows_inside(const fl_window &w, int64_t t, int64_t length, int64_t count,
                                     int64_t *begin, int64_t *end) {
    int64_t first = t * w.dilation - w.padding;     /* where it lies in window 0 */
    *begin = first >= 0 ? 0 : (-first + w.stride - 1) / w.stride;
    *end = first >= length ? 0 : (length - first - 1) / w.stride + 1;
    *end = *end < count ? *end : count;
    *begin = *begin < *end ? *begin : *end;
}
