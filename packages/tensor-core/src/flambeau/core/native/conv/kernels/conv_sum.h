/* Gradient of a convolution's weight: see fl_conv_sum in conv.h.
 *
 * It is a product summed over pixels: unfolded input (a row for every tap) times the output's
 * gradient (a column for every output channel). Pixels are taken in slabs; the rows of a slab are
 * gathered side by side, and strips of the gradient transposed into the L1 cache. */
#pragma once
#include "conv/kernels/conv_source.h"
#include "conv/kernels/conv_tile.h"
#include "matmul/kernels/gemm_pack.h"

namespace {

const int64_t SUM_PIXELS = 256;     /* of a slab */
const int64_t TARGET_BAND_PIXELS = 1024;      /* pixels that are split by phase at once, about */

template <class T> class ConvSum {
  public:
    explicit ConvSum(const fl_conv_sum &s)
        : s_(s), p_(*s.p), cut_(cut_of(p_)), plain_(conv_plain(p_)),
          taps_((s.c1 - s.c0) * p_.y.size * p_.x.size) {
        strip_ = static_cast<T *>(s.scratch);
        panel_ = strip_ + strip_elements();
        sums_ = panel_ + panel_elements(s);
        split_ = sums_ + sums_elements(s);
        offsets_ = reinterpret_cast<int64_t *>(split_ + even(split_elements(s)));
    }

    static int64_t bytes(const fl_conv_sum &s) {
        int64_t elements = strip_elements() + panel_elements(s) + sums_elements(s) +
                           even(split_elements(s));
        return elements * static_cast<int64_t>(sizeof(T)) + taps(s) * (int64_t)sizeof(int64_t);
    }

    void run() {
        bool first = true;
        for (int64_t n = s_.n0; n < s_.n1; n += cut_.images)
            for (int64_t y = 0; y < p_.oh; y += cut_.rows) {
                int64_t images = min(cut_.images, s_.n1 - n), rows = min(cut_.rows, p_.oh - y);
                band(n, images, y, rows, first);
                first = false;
            }
        write();
    }

  private:
    /* What is split at once: some rows of an image, or some images. */
    struct Cut {
        int64_t images, rows;
    };

    static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
    static int64_t even(int64_t n) { return n + (n & 1); }

    static Cut cut_of(const fl_conv &p) {
        int64_t rows = (TARGET_BAND_PIXELS - 1) / p.ow + 1, pixels = p.oh * p.ow;
        if (rows < p.oh)
            return Cut{1, rows};
        return Cut{pixels < TARGET_BAND_PIXELS / 2 ? TARGET_BAND_PIXELS / 2 / pixels : 1, p.oh};
    }

    static int64_t taps(const fl_conv_sum &s) { return (s.c1 - s.c0) * s.p->y.size * s.p->x.size; }
    static int64_t strip_elements() { return (SUM_PIXELS + 1) * strip_width<T>(); }
    static int64_t panel_elements(const fl_conv_sum &s) { return (taps(s) + 1) * CONV_STRIDE; }
    static int64_t sums_row(const fl_conv_sum &s) {
        return ((s.o1 - s.o0 - 1) / strip_width<T>() + 1) * strip_width<T>();
    }
    static int64_t sums_elements(const fl_conv_sum &s) { return taps(s) * sums_row(s); }

    static int64_t split_elements(const fl_conv_sum &s) {
        if (conv_plain(*s.p))
            return 0;
        Cut cut = cut_of(*s.p);
        return cut.images * (s.c1 - s.c0) * rows_of(*s.p, 0, cut.rows).plane_size() +
               2 * strip_width<T>();
    }

    static PhaseRows rows_of(const fl_conv &p, int64_t y, int64_t rows) {
        return phase_rows(p.y, p.x, p.ow, y, rows);
    }

    const T *input(int64_t image, int64_t channel) const {
        return static_cast<const T *>(s_.input) + image * s_.input_step + channel * p_.h * p_.w;
    }

    /* Add the products of some rows of some images. */
    void band(int64_t n, int64_t images, int64_t y, int64_t rows, bool first) {
        PhaseRows r = rows_of(p_, y, rows);
        ConvSource source = plain_ ? plain_source(n) : split(r, n, images);
        const T *from = plain_ ? input(n, s_.c0) : split_;
        int64_t farthest = set_offsets(
            p_, 0, taps_, source.channel_step,
            [&](int64_t ky, int64_t kx) {
                return plain_ ? (y * p_.y.stride + ky * p_.y.dilation) * p_.w + kx * p_.x.dilation
                              : tap_offset(p_.y, p_.x, r, ky, kx);
            },
            offsets_);
        int64_t pixels = images * rows * p_.ow;
        for (int64_t q = 0; q < pixels; q += SUM_PIXELS) {
            int64_t count = min(SUM_PIXELS, pixels - q);
            gather(source, from, farthest, q, count, rows);
            multiply(n, y * p_.ow + q, count, first && q == 0);
        }
    }

    ConvSource plain_source(int64_t n) const {
        int64_t channel = p_.h * p_.w;
        return ConvSource{p_.w * p_.y.stride, s_.input_step, channel,
                          s_.readable - n * s_.input_step - s_.c0 * channel};
    }

    ConvSource split(const PhaseRows &r, int64_t n, int64_t images) {
        int64_t plane = r.plane_size(), channels = s_.c1 - s_.c0;
        bool same_padding = r.first >= 0 && r.first + r.rows <= p_.h && plane == last_plane_;
        if (!same_padding)
            memset(split_, 0, (size_t)(images * channels * plane) * sizeof(T));
        last_plane_ = plane;
        for (int64_t i = 0; i < images; i++)
            for (int64_t c = 0; c < channels; c++)
                split_plane(p_.x, r, input(n + i, s_.c0 + c), p_.h, p_.w,
                            split_ + (i * channels + c) * plane);
        return ConvSource{r.row_size() * p_.y.stride, channels * plane, plane,
                          images * channels * plane + 2 * strip_width<T>()};
    }

    /* Rows of `count` pixels for all taps. */
    void gather(const ConvSource &source, const T *from, int64_t farthest, int64_t q,
                int64_t count, int64_t rows) {
        Runs<T, SUM_PIXELS> runs;
        runs.set(source, q, count, p_.ow, rows);
        if (farthest + runs.reach() > source.readable)
            return copy_exactly(runs, from, offsets_, taps_, CONV_STRIDE, panel_);
        T *out = panel_;
        for (int64_t t = 0; t < taps_; t++, out += CONV_STRIDE) {
            const T *tap = from + offsets_[t];
            for (int m = 0; m < runs.moves; m++)
                store(out + runs.move_lane[m], load(tap + runs.move_from[m]));
        }
    }

    /* `at`: the first pixel, counted from the beginning of image n. */
    void multiply(int64_t n, int64_t at, int64_t count, bool first) {
        const int64_t width = strip_width<T>();
        static const T zeros[TILE_ROWS] = {};
        for (int64_t o = s_.o0; o < s_.o1; o += width) {
            int64_t cols = min(width, s_.o1 - o);
            int vectors = cols > Lanes<T>::COUNT ? 2 : 1;
            int64_t strip_row = vectors * Lanes<T>::COUNT;
            transpose_strip(n, at, count, o, cols, strip_row);
            for (int64_t t = 0, tall; t < taps_; t += tall) {
                tall = conv_tile_rows(taps_ - t);
                T *c = sums_ + t * sums_row(s_) + o - s_.o0;
                conv_tiles<T>.of[tall][vectors](count, panel_ + t * CONV_STRIDE, strip_, c,
                                                sums_row(s_), strip_row, first ? zeros : nullptr,
                                                strip_);
            }
        }
    }

    /* strip[pixel][channel] = the gradient, image by image. */
    void transpose_strip(int64_t n, int64_t at, int64_t count, int64_t o, int64_t cols,
                         int64_t strip_row) {
        int64_t size = p_.oh * p_.ow;
        for (int64_t done = 0, part; done < count; done += part) {
            int64_t image = (at + done) / size, pixel = (at + done) % size;
            part = min(size - pixel, count - done);
            const T *from = static_cast<const T *>(s_.grad) + (n + image) * s_.grad_step +
                            o * size + pixel;
            pack(strip_ + done * strip_row, strip_row, from, 1, size, part, cols);
        }
    }

    /* The sums, transposed block by block. */
    void write() {
        const int L = Lanes<T>::COUNT;
        int64_t window = p_.y.size * p_.x.size, row = p_.c * window, count = s_.o1 - s_.o0;
        T *to = static_cast<T *>(s_.out) + s_.o0 * row + s_.c0 * window;
        for (int64_t o = 0; o < count; o += L)
            for (int64_t t = 0; t < taps_; t += L) {
                alignas(64) T block[L * L];
                int64_t rows = min(L, count - o), cols = min(L, taps_ - t);
                pack(block, L, sums_ + t * sums_row(s_) + o, 1, sums_row(s_), rows, cols);
                for (int64_t r = 0; r < rows; r++)
                    put(to + (o + r) * row + t, block + r * L, cols);
            }
    }

    void put(T *to, T *from, int64_t count) {
        for (int64_t i = 0; s_.add && i < count; i++)
            from[i] = to[i] + from[i];
        store_part(to, load(from), count);
    }

    const fl_conv_sum &s_;
    const fl_conv &p_;
    Cut cut_;
    bool plain_;
    int64_t taps_, last_plane_ = 0;
    T *strip_, *panel_, *sums_, *split_;
    int64_t *offsets_;
};

}  // namespace
