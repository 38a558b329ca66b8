/* Convolution: sizes and kernels.
 *
 * Unfolded, the input of a convolution is a matrix with a row for every tap (channel and kernel
 * position) and a column for every output pixel; the output is the weight times that matrix. The
 * product kernel never stores the matrix, only strips of it in the nearest cache. */
#pragma once
#include "common/kernels/level.h"
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

/* A convolution over blocks, as one over planes: its channels are those of the input times the
 * planes that the window meets along the depth, its images those of the input times the planes of
 * the output. */
struct fl_conv_depth {
    int64_t d, od;              /* planes of input and of output */
    fl_window z;
};

/* Weights with any strides, in elements: of groups, output channels, input channels, rows and
 * columns of the window. `data` is the element of the first of each. */
struct fl_conv_weight {
    const void *data;
    int64_t group, out, in, y, x;
};

/* A rectangle of the output of one group: channels [o0, o1) of rows [y0, y0 + rows) of some images.
 * More than one image only with all rows. Pointers are to the group's first channel in the first
 * image; steps between images in elements.
 *
 * The work has two steps: gathering strips of unfolded input, and multiplying them. One call does
 * both, or `strips` holds the unfolded input of all pixels of the block, gathered by calls of
 * their own (of some slabs of taps each) and multiplied by others (of some channels each). */
enum fl_conv_steps { FL_CONV_GATHER = 1, FL_CONV_MULTIPLY = 2 };

struct fl_conv_block {
    const fl_conv *p;
    const fl_conv_depth *depth; /* NULL for planes. Else steps are between whole blocks, */
    int64_t first_image;        /* and pointers are to the first one of all */
    const void *input, *bias;   /* bias may be NULL */
    fl_conv_weight weight;
    void *out;
    int64_t input_step, output_step;
    int64_t readable;           /* elements of input from its pointer to the end of the tensor */
    int64_t images, y0, rows, o0, o1;
    int64_t steps;
    int64_t first_slab, last_slab;
    void *strips;               /* NULL when both steps are done at once */
    void *scratch;
};

/* The gradient of the weight, restricted to output channels [o0, o1), input channels [c0, c1) of
 * one group and images [n0, n1). Pointers are to the group's first channel in the first image;
 * `out` is the group's weight, and gets the sum over the images, or has it added. */
struct fl_conv_sum {
    const fl_conv *p;
    const void *grad, *input;
    void *out;
    int64_t input_step, grad_step, readable;    /* as input_step and so on of fl_conv_block */
    int64_t n0, n1, c0, c1, o0, o1;
    bool add;
    void *scratch;
};

/* The kernels of one dtype. `image` holds p.c channels. */
struct fl_conv_dtype {
    void (*block)(const fl_conv_block *b);
    int64_t (*scratch_bytes)(const fl_conv_block *b);
    int64_t (*strips_bytes)(const fl_conv_block *b);
    int64_t (*slabs)(const fl_conv *p);
    void (*sum)(const fl_conv_sum *s);
    int64_t (*sum_bytes)(const fl_conv_sum *s);      /* of scratch */
    /* add columns to the positions of the image they came from */
    void (*fold)(const fl_conv *p, void *image, int64_t y0, int64_t rows, const void *columns);
};

struct fl_winograd_kernels;
struct fl_conv_kernels {
    fl_conv_dtype f32, f64;
    const fl_winograd_kernels *winograd;
};
extern "C" {
FL_LEVELS(fl_conv_kernels);
}
