/* Winograd's convolution F(2 x 2, 3 x 3) of float32, after Lavin and Gray: windows of 3 x 3, stride
 * and dilation 1, one group.
 *
 * The output is cut into tiles of 2 x 2 pixels. A tile reads 4 x 4 elements of a channel; they and
 * the window are transformed to 16 numbers each, whose products, summed over the channels, are
 * transformed back to the 4 pixels: 16 multiplications where direct sums take 36. For all tiles and
 * channels these are 16 products of matrices. Transforms add, subtract and halve. */
#pragma once
#include "conv/kernels/conv.h"

/* Consecutive tiles, counted along rows of tiles, rows and images. */
struct fl_winograd_block {
    const fl_conv *p;
    const float *input, *bias;  /* bias may be NULL */
    float *out;
    int64_t first, count;       /* tiles */
    float *scratch;
};

/* Tiles of one row that lie side by side: from tile (y, x) of an image on; `lane` counts from the
 * block's first one. */
struct fl_winograd_run {
    int64_t image, y, x, count, lane;
};

static inline int64_t fl_winograd_rows(const fl_conv &p) { return (p.oh + 1) / 2; }
static inline int64_t fl_winograd_cols(const fl_conv &p) { return (p.ow + 1) / 2; }

/* The run from a tile of the block on, to the end of its row or of the block. */
static inline fl_winograd_run fl_winograd_run_at(const fl_winograd_block &b, int64_t lane) {
    int64_t cols = fl_winograd_cols(*b.p), rows = fl_winograd_rows(*b.p);
    int64_t row = (b.first + lane) / cols, x = (b.first + lane) % cols;
    int64_t left = b.count - lane;
    return fl_winograd_run{row / rows, row % rows, x, cols - x < left ? cols - x : left, lane};
}

/* Of absolute values; the sum is NaN where one is. */
struct fl_winograd_spread {
    float sum, largest;
};

/* For blocks of few tiles, from weights that are not transformed yet. */
struct fl_winograd_few_kernels {
    int64_t tiles;              /* of a block, at most */
    int64_t (*weight_elements)(const fl_conv *p);               /* of two vectors of channels */
    int64_t (*scratch_elements)(const fl_winograd_block *b);
    int64_t (*laid_elements)(int64_t o, int64_t c);
    void (*lay_windows)(const float *weight, int64_t o, int64_t c, float *to);
    /* Output channels [o0, o1): one or two vectors, from a multiple of the lanes on. `room` is for
     * their weights; `laid` may be NULL. */
    bool (*multiply)(const fl_winograd_block *b, const fl_conv_weight *w, const float *laid,
                     int64_t o0, int64_t o1, float *room, const float *input);
};

struct fl_winograd_kernels {
    int64_t channels;           /* output channels that `multiply` takes at most; 0: no kernels */
    int64_t lanes;              /* tiles of a vector */
    /* Elements of transformed weights of `channels` output channels, of transformed input, and of
     * scratch. */
    int64_t (*weight_elements)(const fl_conv *p);
    int64_t (*input_elements)(const fl_winograd_block *b);
    int64_t (*scratch_elements)(const fl_winograd_block *b);
    fl_winograd_spread (*spread)(const float *x, int64_t n);
    /* Windows of contiguous weights, laid out once for many calls. */
    int64_t (*laid_elements)(int64_t o, int64_t c);
    void (*lay_windows)(const float *weight, int64_t o, int64_t c, float *to);
    /* `laid` may be NULL. */
    void (*weight)(const fl_conv *p, const fl_conv_weight *w, const float *laid, int64_t o0,
                   int64_t o1, float *to);
    void (*input)(const fl_winograd_block *b, int64_t c0, int64_t c1, float *to);
    /* Write output channels [o0, o1) of the block; false where some may not be finite. */
    bool (*multiply)(const fl_winograd_block *b, int64_t o0, int64_t o1, const float *weight,
                     const float *input);
    fl_winograd_few_kernels few;
};
