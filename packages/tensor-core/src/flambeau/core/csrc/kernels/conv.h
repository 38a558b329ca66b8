/* Convolution: sizes, and kernels that unfold images into columns and fold them back.
 *
 * The columns of a block of output rows form a matrix: a row for every channel and kernel
 * position, a column for every output pixel. */
#pragma once
#include "kernels/level.h"
#include <stdint.h>

/* A window along one dimension. */
struct fl_window {
    int64_t size, stride, padding, dilation;
};

/* Sizes of one convolution; c and o count channels of one group. */
struct fl_conv {
    int64_t n, groups, c, o, h, w, oh, ow;
    fl_window y, x;
    int64_t batched;
};

static inline int64_t fl_window_reach(const fl_window &w) { return w.dilation * (w.size - 1) + 1; }
static inline int64_t fl_conv_taps(const fl_conv &p) { return p.c * p.y.size * p.x.size; }
static inline int64_t fl_conv_pixels(const fl_conv &p) { return p.oh * p.ow; }
/* 1 x 1, and every pixel once: a plain product. */
static inline bool fl_conv_pointwise(const fl_conv &p) {
    return p.y.size == 1 && p.x.size == 1 && p.y.stride == 1 && p.x.stride == 1 &&
           p.y.padding == 0 && p.x.padding == 0;
}

/* The kernels of one dtype. `image` holds p.c channels. */
struct fl_conv_dtype {
    /* columns = unfolded input of `rows` output rows from y0 on */
    void (*unfold)(const fl_conv *p, const void *image, int64_t y0, int64_t rows, void *columns);
    /* add columns to the places of the image they came from */
    void (*fold)(const fl_conv *p, void *image, int64_t y0, int64_t rows, const void *columns);
    void (*fill)(void *out, const void *value, int64_t n);
};

struct fl_conv_kernels {
    fl_conv_dtype f32, f64;
};
extern "C" {
FL_LEVELS(fl_conv_kernels);
}
