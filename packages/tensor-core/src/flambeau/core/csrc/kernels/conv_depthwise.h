/* Convolutions of one input channel to few output channels: sums over the taps in registers, with
 * vectors along output columns. The input is padded and split by phase first. */
#pragma once
#include "kernels/conv.h"
#include "kernels/gemm_vector.h"
#include "kernels/phase_rows.h"

namespace {

template <class T> class DepthwiseBlock {
  public:
    explicit DepthwiseBlock(const fl_conv_block &b)
        : b_(b), p_(*b.p), rows_(rows_of(b)), taps_(p_.y.size * p_.x.size) {
        offsets_ = static_cast<int64_t *>(b.scratch);
        weights_ = reinterpret_cast<T *>(offsets_ + taps_);
        split_ = weights_ + taps_;
    }

    static int64_t scratch_bytes(const fl_conv_block &b) {
        int64_t taps = b.p->y.size * b.p->x.size;
        int64_t elements = taps + rows_of(b).plane_size() + BLOCK * L;
        return taps * (int64_t)sizeof(int64_t) + elements * (int64_t)sizeof(T);
    }

    void run() {
        for (int64_t t = 0; t < taps_; t++)
            offsets_[t] = tap_offset(p_.y, p_.x, rows_, t / p_.x.size, t % p_.x.size);
        memset(split_, 0, (size_t)rows_.plane_size() * sizeof(T));
        for (int64_t image = 0; image < b_.images; image++) {
            split_plane(p_.x, rows_, static_cast<const T *>(b_.input) + image * b_.input_step, p_.h,
                        p_.w, split_);
            for (int64_t o = b_.o0; o < b_.o1; o++)
                channel(image, o);
        }
    }

  private:
    static const int L = Lanes<T>::COUNT;
    static const int BLOCK = 4;     /* vectors summed at once */

    static PhaseRows rows_of(const fl_conv_block &b) {
        return phase_rows(b.p->y, b.p->x, b.p->ow, b.y0, b.rows);
    }

    void channel(int64_t image, int64_t o) {
        const T *w = static_cast<const T *>(b_.weight.data) + o * b_.weight.out;
        for (int64_t t = 0; t < taps_; t++)
            weights_[t] = w[t / p_.x.size * b_.weight.y + t % p_.x.size * b_.weight.x];
        T start = b_.bias ? static_cast<const T *>(b_.bias)[o] : T(0);
        T *out = static_cast<T *>(b_.out) + image * b_.output_step +
                 (o * p_.oh + b_.y0) * p_.ow;
        for (int64_t y = 0; y < b_.rows; y++)
            row(split_ + y * p_.y.stride * rows_.row_size(), start, out + y * p_.ow);
    }

    void row(const T *from, T start, T *out) const {
        for (int64_t x = 0; x < p_.ow; x += BLOCK * L) {
            int64_t cols = p_.ow - x < BLOCK * L ? p_.ow - x : BLOCK * L;
            if (cols > 3 * L)
                sums<4>(from + x, start, out + x, cols);
            else if (cols > 2 * L)
                sums<3>(from + x, start, out + x, cols);
            else if (cols > L)
                sums<2>(from + x, start, out + x, cols);
            else
                sums<1>(from + x, start, out + x, cols);
        }
    }

    template <int VECTORS> void sums(const T *from, T start, T *out, int64_t cols) const {
        Vector<T> sum[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            sum[v] = splat(start);
        for (int64_t t = 0; t < taps_; t++) {
            Vector<T> weight = splat(weights_[t]);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sum[v] = fma(weight, load(from + offsets_[t] + v * L), sum[v]);
        }
#pragma GCC unroll 4
        for (int v = 0; v + 1 < VECTORS; v++)
            store(out + v * L, sum[v]);
        if (cols == VECTORS * L)
            store(out + (VECTORS - 1) * L, sum[VECTORS - 1]);
        else
            store_part(out + (VECTORS - 1) * L, sum[VECTORS - 1], cols - (VECTORS - 1) * L);
    }

    const fl_conv_block &b_;
    const fl_conv &p_;
    PhaseRows rows_;
    int64_t taps_;
    int64_t *offsets_;
    T *weights_, *split_;
};

}  // namespace
