/* A block of a convolution's output: see fl_conv_block in conv.h.
 *
 * Slab by slab of taps (whole channels where they fit): the input rows of the slab's channels are
 * padded and split by phase, the weights copied side by side; then for every strip of pixels the
 * taps are gathered in the L1 cache and multiplied with all tiles of output channels. */
#pragma once
#include "kernels/conv.h"
#include "kernels/conv_strip.h"
#include "kernels/conv_tile.h"
#include "kernels/gemm_pack.h"

namespace {

template <class T> class ConvBlock {
  public:
    explicit ConvBlock(const fl_conv_block &b) : b_(b), p_(*b.p), rows_(rows_of(b)) {
        taps_ = p_.y.size * p_.x.size;
        strip_ = static_cast<T *>(b.scratch);
        panel_ = strip_ + strip_elements();
        sums_ = panel_ + panel_elements(b);
        split_ = sums_ + sums_elements(b);
        plain_ = plain(p_);
    }

    static int64_t scratch_bytes(const fl_conv_block &b) {
        int64_t elements = strip_elements() + panel_elements(b) + sums_elements(b);
        if (!plain(*b.p))
            elements += split_elements(b);
        return elements * static_cast<int64_t>(sizeof(T));
    }

    void run() {
        int64_t all = p_.c * taps_;
        int64_t most = taps_ > CONV_SLAB ? CONV_SLAB : channels_of_slab(p_) * taps_;
        for (int64_t t = 0, n; t < all; t += n) {
            n = most < all - t ? most : all - t;
            if (taps_ > CONV_SLAB && n > taps_ - t % taps_)
                n = taps_ - t % taps_;      /* a slab stays within a channel */
            slab(t, n);
        }
        if (b_.images > 1)
            spread();
    }

  private:
    static int64_t strip_elements() { return (CONV_SLAB + 1) * strip_width<T>(); }
    static int64_t panel_elements(const fl_conv_block &b) { return (b.o1 - b.o0) * CONV_STRIDE; }

    /* Sums over slabs of several images stay together until all are done. */
    static int64_t sums_elements(const fl_conv_block &b) {
        return b.images > 1 ? (b.o1 - b.o0) * b.images * b.p->oh * b.p->ow : 0;
    }

    static int64_t split_elements(const fl_conv_block &b) {
        return b.images * channels_of_slab(*b.p) * rows_of(b).plane_size() + 2 * strip_width<T>();
    }

    static PhaseRows rows_of(const fl_conv_block &b) {
        return phase_rows(b.p->y, b.p->x, b.p->ow, b.y0, b.rows);
    }

    /* The input can be read as it is: nothing to pad or to split. */
    static bool plain(const fl_conv &p) {
        return p.x.stride == 1 && p.y.padding == 0 && p.x.padding == 0;
    }

    static int64_t channels_of_slab(const fl_conv &p) {
        int64_t taps = p.y.size * p.x.size, fit = CONV_SOME / taps;
        if (p.c * taps <= CONV_SLAB)
            return p.c;
        if (fit < 1)
            return 1;
        int64_t slabs = (p.c - 1) / fit + 1;
        return (p.c - 1) / slabs + 1;
    }

    void slab(int64_t first, int64_t k) {
        int64_t c0 = first / taps_, c1 = (first + k - 1) / taps_ + 1;
        ConvSource source = plain_ ? input_source() : split(c0, c1);
        int64_t offsets[CONV_SLAB];
        set_offsets(source, first, k, c0, offsets);
        const T *from = plain_ ? input(0) + c0 * source.channel_step : split_;
        if (plain_)
            source.readable -= c0 * source.channel_step;
        const T *weight = static_cast<const T *>(b_.weight) + b_.o0 * p_.c * taps_ + first;
        pack(panel_, CONV_STRIDE, weight, p_.c * taps_, 1, b_.o1 - b_.o0, k);
        strips(source, from, offsets, k, first == 0);
    }

    const T *input(int64_t image) const {
        return static_cast<const T *>(b_.input) + image * b_.input_step;
    }

    ConvSource input_source() const {
        return ConvSource{p_.w * p_.y.stride, b_.input_step, p_.h * p_.w, b_.readable};
    }

    /* Pad and split the rows of channels [c0, c1) of all images. The padding is the same for all
     * slabs: it is set once. */
    ConvSource split(int64_t c0, int64_t c1) {
        int64_t plane = rows_.plane_size(), channels = c1 - c0;
        if (c0 == 0)
            memset(split_, 0, (size_t)(split_elements(b_)) * sizeof(T));
        for (int64_t image = 0; image < b_.images; image++)
            for (int64_t c = 0; c < channels; c++)
                split_plane(p_.x, rows_, input(image) + (c0 + c) * p_.h * p_.w, p_.h, p_.w,
                            split_ + (image * channels + c) * plane);
        return ConvSource{rows_.row_size() * p_.y.stride, channels * plane, plane,
                          b_.images * channels * plane + 2 * strip_width<T>()};
    }

    /* Where the k taps from number `first` on begin to read, relative to channel c0. */
    void set_offsets(const ConvSource &s, int64_t first, int64_t k, int64_t c0,
                     int64_t *offsets) const {
        int64_t channel = (first / taps_ - c0) * s.channel_step, at = first % taps_;
        int64_t ky = at / p_.x.size, kx = at % p_.x.size;
        for (int64_t j = 0; j < k; j++) {
            offsets[j] = channel + place(ky, kx);
            if (++kx < p_.x.size)
                continue;
            kx = 0;
            if (++ky < p_.y.size)
                continue;
            ky = 0;
            channel += s.channel_step;
        }
    }

    int64_t place(int64_t ky, int64_t kx) const {
        if (plain_)
            return (rows_.first + ky * p_.y.dilation) * p_.w + kx * p_.x.dilation;
        return tap_offset(p_.y, p_.x, rows_, ky, kx);
    }

    void strips(const ConvSource &source, const T *from, const int64_t *offsets, int64_t k,
                bool first) {
        int64_t pixels = b_.images * b_.rows * p_.ow, farthest = 0;
        for (int64_t j = 0; j < k; j++)
            farthest = offsets[j] > farthest ? offsets[j] : farthest;
        for (int64_t q = 0; q < pixels; q += strip_width<T>()) {
            int64_t cols = pixels - q < strip_width<T>() ? pixels - q : strip_width<T>();
            int vectors = cols > Lanes<T>::COUNT ? 2 : 1;
            Strip<T> strip;
            strip.set(source, q, cols, p_.ow, b_.rows);
            bool exactly = farthest + strip.reach() > source.readable;
            pack_strip(strip, from, offsets, k, vectors * Lanes<T>::COUNT, exactly, strip_);
            tiles(q, cols, vectors, k, first);
        }
    }

    void tiles(int64_t q, int64_t cols, int vectors, int64_t k, bool first) {
        T start[TILE_ROWS] = {};
        int64_t count = b_.o1 - b_.o0;
        for (int64_t o = 0, tall; o < count; o += tall) {
            tall = conv_tile_rows(count - o);
            if (first && b_.bias)
                for (int64_t i = 0; i < tall; i++)
                    start[i] = static_cast<const T *>(b_.bias)[b_.o0 + o + i];
            ConvTile<T> add = conv_tiles<T>.of[tall][vectors];
            const T *begin = first ? start : nullptr;
            if (b_.images == 1)
                add(k, panel_ + o * CONV_STRIDE, strip_, output(0, o) + b_.y0 * p_.ow + q, size(),
                    cols, begin);
            else
                add(k, panel_ + o * CONV_STRIDE, strip_, sums_ + o * b_.images * size() + q,
                    b_.images * size(), cols, begin);
        }
    }

    int64_t size() const { return p_.oh * p_.ow; }

    /* The plane of channel o0 + o. */
    T *output(int64_t image, int64_t o) const {
        return static_cast<T *>(b_.out) + image * b_.output_step + (b_.o0 + o) * size();
    }

    /* Copy the sums of several images to where they belong. */
    void spread() {
        const T *from = sums_;
        for (int64_t o = 0; o < b_.o1 - b_.o0; o++)
            for (int64_t image = 0; image < b_.images; image++, from += size())
                memcpy(output(image, o), from, (size_t)size() * sizeof(T));
    }

    const fl_conv_block &b_;
    const fl_conv &p_;
    PhaseRows rows_;
    int64_t taps_;
    bool plain_;
    T *strip_, *panel_, *sums_, *split_;
};

}  // namespace
