/* Gradient of a depthwise convolution's weight: each tap is a sum over pixels, kept in registers
 * for all rows of a band of one plane. As a product (conv_sum.h) it would fill one column of a
 * tile.
 *
 * Column x of a row is added to sum number x modulo SUMS, whatever a register holds, so that the
 * bits are the same at every level with a fused multiply-add. */
#pragma once
#include "conv/kernels/conv.h"
#include "common/kernels/even_lanes.h"
#include "common/kernels/phase_rows.h"
#include "matmul/kernels/gemm_vector.h"

namespace {

template <class T> class DepthwiseSum {
  public:
    explicit DepthwiseSum(const fl_conv_sum &s)
        : s_(s), p_(*s.p), taps_(p_.y.size * p_.x.size), band_(band_rows(p_)) {
        offsets_ = static_cast<int64_t *>(s.scratch);
        sums_ = reinterpret_cast<T *>(offsets_ + taps_);
        last_rows_ = sums_ + (s.o1 - s.o0) * taps_ * SUMS;
        split_ = last_rows_ + band_ * p_.ow + SUMS;
    }

    static int64_t bytes(const fl_conv_sum &s) {
        const int64_t taps = s.p->y.size * s.p->x.size, rows = band_rows(*s.p);
        int64_t elements = (s.o1 - s.o0) * taps * SUMS + rows * s.p->ow + SUMS +
                           rows_of(*s.p, 0, rows).plane_size() + 2 * SUMS;
        return taps * (int64_t)sizeof(int64_t) + elements * (int64_t)sizeof(T);
    }

    void run() {
        const PhaseRows r = rows_of(p_, 0, band_);
        for (int64_t t = 0; t < taps_; t++)
            offsets_[t] = tap_offset(p_.y, p_.x, r, t / p_.x.size, t % p_.x.size);
        memset(sums_, 0, (size_t)((s_.o1 - s_.o0) * taps_ * SUMS) * sizeof(T));
        for (int64_t n = s_.n0; n < s_.n1; n++)
            for (int64_t y = 0; y < p_.oh; y += band_)
                add_band(n, y, p_.oh - y < band_ ? p_.oh - y : band_);
        write();
    }

  private:
    static const int L = Lanes<T>::COUNT;
    static const int SUMS = 64 / sizeof(T);     /* of each tap */
    static const int TOGETHER = 6;              /* taps whose sums are in registers */
    static const int64_t BAND_PIXELS = 4096;    /* split by phase at once, about */

    static int64_t band_rows(const fl_conv &p) {
        const int64_t rows = (BAND_PIXELS - 1) / p.ow + 1;
        return rows < p.oh ? rows : p.oh;
    }

    static PhaseRows rows_of(const fl_conv &p, int64_t y, int64_t rows) {
        return phase_rows(p.y, p.x, p.ow, y, rows);
    }

    /* The padding stays between bands that lie alike. */
    void split(int64_t n, const PhaseRows &r) {
        const T *plane = static_cast<const T *>(s_.input) + n * s_.input_step;
        if (r.first != first_ || r.rows != height_)
            memset(split_, 0, (size_t)r.plane_size() * sizeof(T));
        first_ = r.first;
        height_ = r.rows;
        split_plane<TakeEvenLanes>(p_.x, r, plane, p_.h, p_.w, split_);
    }

    void add_band(int64_t n, int64_t y, int64_t rows) {
        split(n, rows_of(p_, y, rows));
        const bool at_end = n == p_.n - 1 && y + rows == p_.oh;
        for (int64_t o = s_.o0; o < s_.o1; o++) {
            const T *grad = static_cast<const T *>(s_.grad) + n * s_.grad_step +
                            (o * p_.oh + y) * p_.ow;
            if (at_end) {       /* vectors may not read past the tensor */
                memcpy(last_rows_, grad, (size_t)(rows * p_.ow) * sizeof(T));
                grad = last_rows_;
            }
            T *sums = sums_ + (o - s_.o0) * taps_ * SUMS;
            for (int64_t x = 0; x < p_.ow; x += SUMS)
                if (p_.ow - x <= L)
                    add_columns<1>(grad + x, split_ + x, rows, p_.ow - x, sums);
                else
                    add_columns<SUMS / L>(grad + x, split_ + x, rows,
                                          p_.ow - x < SUMS ? p_.ow - x : SUMS, sums);
        }
    }

    /* Some columns of all rows. */
    template <int VECTORS>
    void add_columns(const T *grad, const T *from, int64_t rows, int64_t count, T *sums) const {
        int64_t t = 0;
        for (; t + TOGETHER <= taps_; t += TOGETHER)
            add_taps<TOGETHER, VECTORS>(grad, from, t, rows, count, sums);
        switch (taps_ - t) {
        case 5: return add_taps<5, VECTORS>(grad, from, t, rows, count, sums);
        case 4: return add_taps<4, VECTORS>(grad, from, t, rows, count, sums);
        case 3: return add_taps<3, VECTORS>(grad, from, t, rows, count, sums);
        case 2: return add_taps<2, VECTORS>(grad, from, t, rows, count, sums);
        case 1: return add_taps<1, VECTORS>(grad, from, t, rows, count, sums);
        }
    }

    template <int TAPS, int VECTORS>
    void add_taps(const T *grad, const T *from, int64_t t, int64_t rows, int64_t count,
                  T *sums) const {
        const int64_t step = p_.y.stride * rows_of(p_, 0, 1).row_size();
        const T *tap[TAPS];
        Vector<T> sum[TAPS][VECTORS];
#pragma GCC unroll 6
        for (int k = 0; k < TAPS; k++) {
            tap[k] = from + offsets_[t + k];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sum[k][v] = splat(T(0));
        }
        for (int64_t y = 0; y < rows; y++) {
            Vector<T> g[VECTORS];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                g[v] = load(grad + y * p_.ow + v * L);
#pragma GCC unroll 6
            for (int k = 0; k < TAPS; k++)
#pragma GCC unroll 4
                for (int v = 0; v < VECTORS; v++)
                    sum[k][v] = fma(g[v], load(tap[k] + y * step + v * L), sum[k][v]);
        }
#pragma GCC unroll 6
        for (int k = 0; k < TAPS; k++) {
            alignas(64) T part[VECTORS * L];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                store(part + v * L, sum[k][v]);
            for (int64_t i = 0; i < count; i++)     /* behind these lie other rows' products */
                sums[(t + k) * SUMS + i] += part[i];
        }
    }

    /* The sums of a tap are added by halves. */
    void write() {
        T *to = static_cast<T *>(s_.out) + s_.o0 * taps_, *sum = sums_;
        for (int64_t i = 0; i < (s_.o1 - s_.o0) * taps_; i++, sum += SUMS) {
            for (int half = SUMS / 2; half > 0; half /= 2)
                for (int j = 0; j < half; j++)
                    sum[j] += sum[j + half];
            to[i] = s_.add ? to[i] + sum[0] : sum[0];
        }
    }

    const fl_conv_sum &s_;
    const fl_conv &p_;
    int64_t taps_, band_, first_ = 0, height_ = -1;
    int64_t *offsets_;
    T *sums_, *last_rows_, *split_;
};

}  // namespace
