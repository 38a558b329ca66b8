/* The input of a convolution of integers: channels side by side, without sign, with borders. */
#pragma once
#include "conv/conv2d.h"
#include "conv/kernels/quantized_conv.h"

/* Sizes of padded images, of images as they are, and where their elements lie, in bytes. */
struct fl_quantized_planes {
    const fl_conv_nd &c;
    int64_t channels, images, d, h, w;      /* with borders */
    int64_t image, plane, row;              /* from one to the next; pixels lie `pixel` apart */
    int64_t pixel;
    const uint8_t *data;

    explicit fl_quantized_planes(const fl_conv_nd &conv)
        : c(conv), channels(conv.p.groups * conv.p.c), images(conv.p.n),
          d(conv.d + 2 * conv.z.padding), h(conv.p.h + 2 * conv.p.y.padding),
          w(conv.p.w + 2 * conv.p.x.padding), image(0), plane(0), row(0), pixel(channels),
          data(nullptr) {}

    /* Strides of an input; false where it has to be copied, as kernels read fours of bytes from
       `run` to `run` bytes. */
    bool as_it_is(const fl_tensor *input, int64_t run, bool neighbours);
    bool padded() const { return d * h * w != c.d * c.p.h * c.p.w; }
    /* Of a copy; more than there is where the borders are too wide to count. */
    size_t bytes() const;
    /* Copies the input, with `zero` around it; `flip` is 128 where it has a sign. */
    void copy(const fl_tensor *input, uint8_t zero, uint8_t flip, uint8_t *to);
    /* Where the windows of some of the output's pixels begin. */
    void windows(int64_t first, int64_t count, const uint8_t **to) const;
};
