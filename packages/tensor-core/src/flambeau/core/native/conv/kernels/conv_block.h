/* A block of a convolution's output: see fl_conv_block in conv.h.
 *
 * Slab by slab of taps (whole channels where they fit): the input rows of the slab's channels are
 * padded and split by phase, the weights copied side by side; then for every strip of pixels the
 * taps are gathered in the L1 cache and multiplied with all tiles of output channels. */
#pragma once
#include "conv/kernels/conv.h"
#include "common/kernels/even_lanes.h"
#include "conv/kernels/conv_source.h"
#include "conv/kernels/conv_weight.h"

namespace {

/* ---- slabs ----------------------------------------------------------------------------------- */

inline int64_t channels_of_slab(const fl_conv &p) {
    int64_t taps = p.y.size * p.x.size, fit = CONV_SOME / taps;
    if (p.c * taps <= CONV_SLAB)
        return p.c;
    if (fit < 1)
        return 1;
    int64_t slabs = (p.c - 1) / fit + 1;
    return (p.c - 1) / slabs + 1;
}

/* Parts of one channel whose window has too many taps for a slab. */
inline int64_t parts_of_channel(const fl_conv &p) {
    return (p.y.size * p.x.size - 1) / CONV_SLAB + 1;
}

inline int64_t slab_count(const fl_conv *p) {
    return ((p->c - 1) / channels_of_slab(*p) + 1) * parts_of_channel(*p);
}

inline ConvSlab slab_at(const fl_conv &p, int64_t index) {
    int64_t taps = p.y.size * p.x.size, parts = parts_of_channel(p);
    int64_t channels = channels_of_slab(p), c0 = index / parts * channels;
    int64_t c1 = c0 + channels < p.c ? c0 + channels : p.c;
    if (parts == 1)
        return ConvSlab{index, c0 * taps, (c1 - c0) * taps, c0, c1};
    int64_t at = index % parts * CONV_SLAB, left = taps - at;
    return ConvSlab{index, c0 * taps + at, left < CONV_SLAB ? left : CONV_SLAB, c0, c1};
}

/* ---- blocks ---------------------------------------------------------------------------------- */

template <class T> class ConvBlock {
  public:
    explicit ConvBlock(const fl_conv_block &b) : b_(b), p_(*b.p), rows_(rows_of(b)) {
        sums_ = static_cast<T *>(b.scratch);
        panel_ = sums_ + sums_elements(b);
        strip_ = panel_ + panel_elements(b);
        split_ = strip_ + (b.strips ? 0 : strip_elements());
        plain_ = plain(b);
    }

    static int64_t scratch_bytes(const fl_conv_block &b) {
        int64_t elements = sums_elements(b) + panel_elements(b) + split_elements(b) +
                           (b.strips ? 0 : strip_elements());
        return elements * static_cast<int64_t>(sizeof(T));
    }

    static int64_t strips_bytes(const fl_conv_block &b) {
        int64_t taps = b.p->c * b.p->y.size * b.p->x.size;
        int64_t slack = slab_count(b.p) * strip_width<T>();
        return (taps * padded(pixels(b)) + slack) * static_cast<int64_t>(sizeof(T));
    }

    void run() {
        if ((b_.steps & FL_CONV_GATHER) && !plain_)
            memset(split_, 0, (size_t)split_elements(b_) * sizeof(T));
        for (int64_t i = b_.first_slab; i < b_.last_slab; i++)
            run_slab(slab_at(p_, i));
        if (b_.images > 1 && (b_.steps & FL_CONV_MULTIPLY))
            spread();
    }

  private:
    static bool plain(const fl_conv_block &b) { return !b.depth && conv_plain(*b.p); }
    static int64_t pixels(const fl_conv_block &b) { return b.images * b.rows * b.p->ow; }
    static int64_t padded(int64_t n) {
        const int64_t width = strip_width<T>();
        return (n + width - 1) / width * width;
    }
    static int64_t strip_elements() { return (CONV_SLAB + 1) * strip_width<T>(); }

    static int64_t panel_elements(const fl_conv_block &b) {
        return b.steps & FL_CONV_MULTIPLY ? (b.o1 - b.o0) * CONV_STRIDE : 0;
    }

    /* Sums of several images stay together until all slabs are done. */
    static int64_t sums_elements(const fl_conv_block &b) {
        bool apart = b.images > 1 && (b.steps & FL_CONV_MULTIPLY);
        return apart ? (b.o1 - b.o0) * pixels(b) : 0;
    }

    static int64_t split_elements(const fl_conv_block &b) {
        if (plain(b) || !(b.steps & FL_CONV_GATHER))
            return 0;
        return b.images * channels_of_slab(*b.p) * rows_of(b).plane_size() + 2 * strip_width<T>();
    }

    static PhaseRows rows_of(const fl_conv_block &b) {
        return phase_rows(b.p->y, b.p->x, b.p->ow, b.y0, b.rows);
    }

    void run_slab(const ConvSlab &slab) {
        int64_t offsets[CONV_SLAB], farthest = 0;
        ConvSource source = {};
        const T *from = nullptr;
        if (b_.steps & FL_CONV_GATHER) {
            source = plain_ ? input_source(slab) : split(slab);
            from = plain_ ? input(0) + slab.c0 * source.channel_step : split_;
            farthest = set_offsets(p_, slab.first - slab.c0 * p_.y.size * p_.x.size, slab.count,
                                   source.channel_step,
                                   [this](int64_t ky, int64_t kx) { return position(ky, kx); },
                                   offsets);
        }
        if (b_.steps & FL_CONV_MULTIPLY)
            pack_weights(p_, b_.weight, slab, b_.o0, b_.o1, panel_);
        for (int64_t q = 0; q < pixels(b_); q += strip_width<T>()) {
            int64_t cols = pixels(b_) - q < strip_width<T>() ? pixels(b_) - q : strip_width<T>();
            int vectors = cols > Lanes<T>::COUNT ? 2 : 1;
            T *to = strip_at(slab, q);
            if (b_.steps & FL_CONV_GATHER)
                gather(source, from, offsets, farthest, slab.count, q, cols, vectors, to);
            if (b_.steps & FL_CONV_MULTIPLY)
                multiply(slab, q, cols, vectors, to);
        }
    }

    /* Slabs keep a distance: other threads may be gathering the next one. */
    T *strip_at(const ConvSlab &slab, int64_t q) const {
        if (!b_.strips)
            return strip_;
        return static_cast<T *>(b_.strips) + slab.first * padded(pixels(b_)) +
               slab.index * strip_width<T>() + q * slab.count;
    }

    const T *input(int64_t image) const {
        return static_cast<const T *>(b_.input) + image * b_.input_step;
    }

    /* ---- gathering ---- */

    ConvSource input_source(const ConvSlab &slab) const {
        int64_t channel = p_.h * p_.w;
        return ConvSource{p_.w * p_.y.stride, b_.input_step, channel,
                          b_.readable - slab.c0 * channel};
    }

    /* The plane of a channel, or NULL where the window meets the padding along the depth. */
    const T *plane(int64_t image, int64_t channel) const {
        int64_t size = p_.h * p_.w;
        if (!b_.depth)
            return input(image) + channel * size;
        const fl_window &z = b_.depth->z;
        image += b_.first_image;
        int64_t at = image % b_.depth->od * z.stride - z.padding + channel % z.size * z.dilation;
        if (at < 0 || at >= b_.depth->d)
            return nullptr;
        return input(image / b_.depth->od) + (channel / z.size * b_.depth->d + at) * size;
    }

    void split_channel(const T *from, T *to) const {
        if (from)
            split_plane<TakeEvenLanes>(p_.x, rows_, from, p_.h, p_.w, to);
        else
            memset(to, 0, (size_t)rows_.plane_size() * sizeof(T));
    }

    /* Pad and split the rows of the slab's channels of all images. */
    ConvSource split(const ConvSlab &slab) {
        int64_t plane = rows_.plane_size(), channels = slab.c1 - slab.c0;
        for (int64_t image = 0; image < b_.images; image++)
            for (int64_t c = 0; c < channels; c++)
                split_channel(this->plane(image, slab.c0 + c),
                              split_ + (image * channels + c) * plane);
        return ConvSource{rows_.row_size() * p_.y.stride, channels * plane, plane,
                          b_.images * channels * plane + 2 * strip_width<T>()};
    }

    int64_t position(int64_t ky, int64_t kx) const {
        if (plain_)
            return (rows_.first + ky * p_.y.dilation) * p_.w + kx * p_.x.dilation;
        return tap_offset(p_.y, p_.x, rows_, ky, kx);
    }

    void gather(const ConvSource &source, const T *from, const int64_t *offsets, int64_t farthest,
                int64_t k, int64_t q, int64_t cols, int vectors, T *to) {
        Strip<T> strip;
        strip.set(source, q, cols, p_.ow, b_.rows);
        bool exactly = farthest + strip.reach() > source.readable;
        pack_strip(strip, from, offsets, k, vectors * Lanes<T>::COUNT, exactly, to);
    }

    /* ---- multiplying ---- */

    void multiply(const ConvSlab &slab, int64_t q, int64_t cols, int vectors, const T *strip) {
        T start[TILE_ROWS] = {};
        int64_t count = b_.o1 - b_.o0;
        for (int64_t o = 0, tall; o < count; o += tall) {
            tall = conv_tile_rows(count - o);
            if (slab.first == 0 && b_.bias)
                for (int64_t i = 0; i < tall; i++)
                    start[i] = static_cast<const T *>(b_.bias)[b_.o0 + o + i];
            T *c = b_.images > 1 ? sums_ + o * pixels(b_) + q : output(0, o) + b_.y0 * p_.ow + q;
            int64_t c_row = b_.images > 1 ? pixels(b_) : channel_step();
            conv_tiles<T>.of[tall][vectors](slab.count, panel_ + o * CONV_STRIDE, strip, c, c_row,
                                            cols, slab.first == 0 ? start : nullptr, strip);
        }
    }

    int64_t size() const { return p_.oh * p_.ow; }

    int64_t channel_step() const { return b_.depth ? b_.depth->od * size() : size(); }

    /* The plane of channel o0 + o. */
    T *output(int64_t image, int64_t o) const {
        T *out = static_cast<T *>(b_.out) + (b_.o0 + o) * channel_step();
        if (!b_.depth)
            return out + image * b_.output_step;
        image += b_.first_image;
        int64_t od = b_.depth->od;
        return out + image / od * b_.output_step + image % od * size();
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
    bool plain_;
    T *strip_, *panel_, *sums_, *split_;
};

}  // namespace
