/* Weights of a slab of taps, copied side by side for the tiles of a convolution. */
#pragma once
#include "conv/kernels/conv.h"
#include "conv/kernels/conv_tile.h"
#include "matmul/kernels/gemm_pack.h"

namespace {

/* Slab number `index`: taps [first, first + count), which lie in channels [c0, c1). */
struct ConvSlab {
    int64_t index, first, count, c0, c1;
};

/* A window of a size known to the compiler, if Y is not 0. */
template <class T, int Y, int X>
inline void copy_windows(const fl_conv &p, const fl_conv_weight &w, const T *in, int64_t channels,
                         T *out) {
    int64_t rows = Y ? Y : p.y.size, cols = X ? X : p.x.size;
    for (int64_t c = 0; c < channels; c++, in += w.in)
        for (int64_t ky = 0; ky < rows; ky++)
            for (int64_t kx = 0; kx < cols; kx++)
                *out++ = in[ky * w.y + kx * w.x];
}

/* Part of one window. */
template <class T>
inline void copy_part(const fl_conv &p, const fl_conv_weight &w, const T *in, int64_t first,
                      int64_t count, T *out) {
    for (int64_t t = first; t < first + count; t++)
        *out++ = in[t / p.x.size * w.y + t % p.x.size * w.x];
}

template <class T>
inline void pack_row(const fl_conv &p, const fl_conv_weight &w, const ConvSlab &slab, const T *in,
                     T *out) {
    int64_t taps = p.y.size * p.x.size, channels = slab.c1 - slab.c0;
    if (channels * taps != slab.count)
        copy_part(p, w, in, slab.first - slab.c0 * taps, slab.count, out);
    else if (p.y.size == 3 && p.x.size == 3)
        copy_windows<T, 3, 3>(p, w, in, channels, out);
    else if (p.y.size == 2 && p.x.size == 2)
        copy_windows<T, 2, 2>(p, w, in, channels, out);
    else
        copy_windows<T, 0, 0>(p, w, in, channels, out);
}

/* Consecutive taps. What the next slab takes is fetched: rows are short and lie far apart, so no
 * processor foresees them, and the weights of late layers come from memory. */
template <class T>
inline void pack_in_order(const T *from, int64_t row, int64_t rows, int64_t count, int64_t next,
                          T *out) {
    const int64_t line = 64 / sizeof(T);
    for (int64_t o = 0; o < rows; o++, from += row, out += CONV_STRIDE) {
        copy_row(out, from, count);
        for (int64_t t = 0; t < next; t += line)
            __builtin_prefetch(from + count + t, 0, 2);
    }
}

/* Rows of CONV_STRIDE, one for each output channel of [o0, o1). */
template <class T>
inline void pack_weights(const fl_conv &p, const fl_conv_weight &w, const ConvSlab &slab,
                         int64_t o0, int64_t o1, T *out) {
    int64_t taps = p.y.size * p.x.size;
    const T *from = static_cast<const T *>(w.data) + o0 * w.out;
    bool in_order = w.in == taps && (taps == 1 || (w.x == 1 && w.y == p.x.size));
    if (in_order) {
        int64_t left = p.c * taps - slab.first - slab.count;
        return pack_in_order(from + slab.first, w.out, o1 - o0, slab.count,
                             left < slab.count ? left : slab.count, out);
    }
    from += slab.c0 * w.in;
    if (taps == 1)
        return pack(out, CONV_STRIDE, from, w.out, w.in, o1 - o0, slab.count);
    for (int64_t o = o0; o < o1; o++, from += w.out, out += CONV_STRIDE)
        pack_row(p, w, slab, from, out);
}

}  // namespace
