/* Convolution kernels: see conv.h. */
#include "conv/kernels/conv.h"
#include "conv/kernels/conv_block.h"
#include "conv/kernels/conv_depthwise.h"
#include "conv/kernels/conv_depthwise_sum.h"
#include "conv/kernels/conv_sum.h"
#include "conv/kernels/conv_winograd.h"
#include <string.h>

namespace {

/* The output positions [first, last) whose tap at `offset` lies inside `length` elements. */
inline void inside(const fl_window &w, int64_t offset, int64_t length, int64_t count,
                   int64_t *first, int64_t *last) {
    int64_t start = w.padding - offset;         /* smallest position * stride that is inside */
    *first = start > 0 ? (start + w.stride - 1) / w.stride : 0;
    int64_t end = length - 1 + start;           /* greatest one */
    *last = end < 0 ? 0 : end / w.stride + 1;
    if (*last > count)
        *last = count;
    if (*first > *last)
        *first = *last;
}

template <class T> inline void scatter_add(T *out, const T *in, int64_t stride, int64_t n) {
    if (stride == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] += in[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i * stride] += in[i];
}

/* Call row(image row or NULL, columns, first, last, input x of the first) for every tap and output
 * row of the block. */
template <class T, class C, class Row>
inline void each_row(const fl_conv &p, T *image, int64_t y0, int64_t rows, C *columns,
                     const Row &row) {
    for (int64_t c = 0; c < p.c; c++)
        for (int64_t ky = 0; ky < p.y.size; ky++)
            for (int64_t kx = 0; kx < p.x.size; kx++) {
                int64_t first, last, offset = kx * p.x.dilation;
                inside(p.x, offset, p.w, p.ow, &first, &last);
                int64_t x = first * p.x.stride + offset - p.x.padding;
                for (int64_t r = 0; r < rows; r++, columns += p.ow) {
                    int64_t y = (y0 + r) * p.y.stride + ky * p.y.dilation - p.y.padding;
                    bool valid = y >= 0 && y < p.h && first < last;
                    row(valid ? image + (c * p.h + y) * p.w + x : nullptr, columns, first, last);
                }
            }
}

template <class T>
void fold(const fl_conv *p, void *image, int64_t y0, int64_t rows, const void *columns) {
    int64_t stride = p->x.stride;
    each_row(*p, (T *)image, y0, rows, (const T *)columns,
             [=](T *to, const T *from, int64_t first, int64_t last) {
                 if (to)
                     scatter_add(to, from + first, stride, last - first);
             });
}

/* One input channel, and so many output channels: a product would waste most of its tiles. */
inline bool depthwise(const fl_conv &p) { return p.c == 1 && p.o <= 4; }

inline bool depthwise(const fl_conv_block *b) { return depthwise(*b->p) && !b->depth; }

template <class T> void block(const fl_conv_block *b) {
    if (depthwise(b))
        DepthwiseBlock<T>(*b).run();
    else
        ConvBlock<T>(*b).run();
}

template <class T> int64_t scratch_bytes(const fl_conv_block *b) {
    return depthwise(b) ? DepthwiseBlock<T>::scratch_bytes(*b) : ConvBlock<T>::scratch_bytes(*b);
}

template <class T> int64_t strips_bytes(const fl_conv_block *b) {
    return ConvBlock<T>::strips_bytes(*b);
}

template <class T> void sum(const fl_conv_sum *s) {
    if (depthwise(*s->p))
        DepthwiseSum<T>(*s).run();
    else
        ConvSum<T>(*s).run();
}

template <class T> int64_t sum_bytes(const fl_conv_sum *s) {
    return depthwise(*s->p) ? DepthwiseSum<T>::bytes(*s) : ConvSum<T>::bytes(*s);
}

template <class T> constexpr fl_conv_dtype table() {
    return {block<T>, scratch_bytes<T>, strips_bytes<T>, slab_count,
            sum<T>,   sum_bytes<T>,     fold<T>};
}

}  // namespace

extern const fl_conv_kernels FL_LEVEL(fl_conv_kernels) = {table<float>(), table<double>(),
                                                          winograd_kernels()};
