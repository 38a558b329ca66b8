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

/* Windows whose elements, in any order, lie within a vector, as those of gradients do: turned
 * around, and one phase of them. */
template <class T> class VectorWindows {
  public:
    VectorWindows(const fl_conv &p, const fl_conv_weight &w) : w_(w) {
        int64_t down = (p.y.size - 1) * w.y, right = (p.x.size - 1) * w.x;
        taps_ = p.y.size * p.x.size;
        low_ = (down < 0 ? down : 0) + (right < 0 ? right : 0);
        span_ = (down < 0 ? -down : down) + (right < 0 ? -right : right) + 1;
        fit_ = HOLDS_3_BY_3 && span_ <= Lanes<T>::COUNT && taps_ <= Lanes<T>::COUNT;
        for (int64_t t = 0; fit_ && t < taps_; t++)
            lanes_[t] = t / p.x.size * w.y + t % p.x.size * w.x - low_;
    }

    bool fit() const { return fit_; }

    /* Rows of CONV_STRIDE. A few channels at a time: their windows lie so far apart that more of
     * them drive each other out of the cache, before the next row's, beside them, are read. */
    void copy(const T *in, int64_t rows, int64_t channels, T *out) const {
        for (int64_t c = 0; c < channels; c += CHANNELS)
            for (int64_t o = 0; o < rows; o++)
                copy_row(in + o * w_.out + c * w_.in,
                         channels - c < CHANNELS ? channels - c : CHANNELS,
                         out + o * CONV_STRIDE + c * taps_);
    }

  private:
    static const bool HOLDS_3_BY_3 = Lanes<T>::COUNT >= 9;
    static const int64_t FETCHED_ROWS = 8;
    static const int64_t CHANNELS = 16;

    /* What a window writes too much, the next one writes over, or lies behind the row. */
    void copy_row(const T *in, int64_t channels, T *out) const {
        const Index<T> lanes = lanes_;
        const int64_t taps = taps_, span = span_, step = w_.in, ahead = FETCHED_ROWS * w_.out;
        in += low_;
        for (int64_t c = 0; c < channels; c++, in += step, out += taps) {
            __builtin_prefetch(in + ahead);
            store(out, fl_shuffle(load_part(in, span), lanes));
        }
    }

    const fl_conv_weight &w_;
    int64_t taps_, low_, span_;
    bool fit_;
    Index<T> lanes_ = {};
};

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
    VectorWindows<T> windows(p, w);
    int64_t channels = slab.c1 - slab.c0;
    if (windows.fit() && channels * taps == slab.count)
        return windows.copy(from, o1 - o0, channels, out);
    for (int64_t o = o0; o < o1; o++, from += w.out, out += CONV_STRIDE)
        pack_row(p, w, slab, from, out);
}

}  // namespace
