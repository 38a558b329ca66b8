/* Convolutions of one input channel to few output channels: sums over the taps in registers, with
 * vectors along output columns, several rows at once. The input is padded and split by phase
 * first. */
#pragma once
#include "conv/kernels/conv.h"
#include "common/kernels/even_lanes.h"
#include "matmul/kernels/gemm_vector.h"
#include "common/kernels/phase_rows.h"

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
            const T *plane = static_cast<const T *>(b_.input) + image * b_.input_step;
            split_plane<TakeEvenLanes>(p_.x, rows_, plane, p_.h, p_.w, split_);
            for (int64_t o = b_.o0; o < b_.o1; o++)
                channel(image, o);
        }
    }

  private:
    static const int L = Lanes<T>::COUNT;
    static const int BLOCK = 4;     /* vectors summed at once */
    static const int MANY_ROWS = REGISTERS >= 32 ? 4 : 2;

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
        for (int64_t x = 0; x < p_.ow; x += BLOCK * L) {
            int64_t cols = p_.ow - x < BLOCK * L ? p_.ow - x : BLOCK * L;
            if (cols > 3 * L)
                strip<MANY_ROWS, 4>(split_ + x, start, out + x, cols);
            else if (cols > 2 * L)
                strip<MANY_ROWS, 3>(split_ + x, start, out + x, cols);
            else if (cols > L)
                strip<2 * MANY_ROWS, 2>(split_ + x, start, out + x, cols);
            else
                strip<8, 1>(split_ + x, start, out + x, cols);
        }
    }

    /* All rows of a strip of columns. Windows that move by single rows share what they load, if
     * their elements are floats: code for that takes long to compile. */
    template <int ROWS, int VECTORS>
    void strip(const T *from, T start, T *out, int64_t cols) const {
        int64_t y = 0;
        if constexpr (sizeof(T) == sizeof(float) && !BASELINE)
            if (p_.y.stride == 1 && p_.y.dilation == 1)
                y = swept_rows<ROWS, VECTORS>(from, start, out, cols);
        rows<8 / (VECTORS == 3 ? 4 : VECTORS), VECTORS>(y, from, start, out, cols);
    }

    /* As many rows as windows of a common size can share; the count of them. */
    template <int ROWS, int VECTORS>
    int64_t swept_rows(const T *from, T start, T *out, int64_t cols) const {
        if (p_.y.size == 3)
            return swept<3, ROWS, VECTORS>(from, start, out, cols);
        if (p_.y.size == 5)
            return swept<5, ROWS, VECTORS>(from, start, out, cols);
        if (p_.y.size == 7)
            return swept<7, ROWS, VECTORS>(from, start, out, cols);
        return 0;
    }

    template <int SIZE, int ROWS, int VECTORS>
    int64_t swept(const T *from, T start, T *out, int64_t cols) const {
        int64_t y = 0;
        for (; y + ROWS <= b_.rows; y += ROWS)
            sweep<SIZE, ROWS, VECTORS>(from + y * row_step(), start, out + y * p_.ow, cols);
        for (; y + ROWS / 2 <= b_.rows; y += ROWS / 2)
            sweep<SIZE, ROWS / 2, VECTORS>(from + y * row_step(), start, out + y * p_.ow, cols);
        return y;
    }

    /* Rows of outputs, from each row of the input in turn: it is loaded once for all windows of
     * SIZE rows that meet it. The order of each sum is that of `sums`. */
    template <int SIZE, int ROWS, int VECTORS>
    void sweep(const T *from, T start, T *out, int64_t cols) const {
        Vector<T> sum[ROWS][VECTORS];
        const int64_t width = p_.x.size;
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sum[r][v] = splat(start);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS + SIZE - 1; i++)
            for (int64_t kx = 0; kx < width; kx++) {
                Vector<T> x[VECTORS];
#pragma GCC unroll 4
                for (int v = 0; v < VECTORS; v++)
                    x[v] = load(from + i * row_step() + offsets_[kx] + v * L);
#pragma GCC unroll 8
                for (int r = 0; r < ROWS; r++) {
                    if (i < r || i - r >= SIZE)
                        continue;
                    const Vector<T> weight = splat(weights_[(i - r) * width + kx]);
#pragma GCC unroll 4
                    for (int v = 0; v < VECTORS; v++)
                        sum[r][v] = fma(weight, x[v], sum[r][v]);
                }
            }
        store_rows<ROWS, VECTORS>(sum, out, cols);
    }

    /* Rows of one strip of columns from y on: so many at once that additions need not wait for each
     * other, the rest by halves. */
    template <int ROWS, int VECTORS>
    void rows(int64_t y, const T *from, T start, T *out, int64_t cols) const {
        for (; y + ROWS <= b_.rows; y += ROWS)
            sums<ROWS, VECTORS>(from + y * row_step(), start, out + y * p_.ow, cols);
        if constexpr (ROWS > 1)
            rows<ROWS / 2, VECTORS>(y, from, start, out, cols);
    }

    int64_t row_step() const { return p_.y.stride * rows_.row_size(); }

    template <int ROWS, int VECTORS>
    void sums(const T *from, T start, T *out, int64_t cols) const {
        const int64_t step = row_step();
        Vector<T> sum[ROWS][VECTORS];
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sum[r][v] = splat(start);
        for (int64_t t = 0; t < taps_; t++) {
            const Vector<T> weight = splat(weights_[t]);
            const T *tap = from + offsets_[t];
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
                for (int v = 0; v < VECTORS; v++)
                    sum[r][v] = fma(weight, load(tap + r * step + v * L), sum[r][v]);
        }
        store_rows<ROWS, VECTORS>(sum, out, cols);
    }

    template <int ROWS, int VECTORS>
    void store_rows(const Vector<T> (*sum)[VECTORS], T *out, int64_t cols) const {
        const int64_t last = (VECTORS - 1) * L;
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++) {
            T *to = out + r * p_.ow;
#pragma GCC unroll 4
            for (int v = 0; v + 1 < VECTORS; v++)
                store(to + v * L, sum[r][v]);
            if (cols == VECTORS * L)
                store(to + last, sum[r][VECTORS - 1]);
            else
                store_part(to + last, sum[r][VECTORS - 1], cols - last);
        }
    }

    const fl_conv_block &b_;
    const fl_conv &p_;
    PhaseRows rows_;
    int64_t taps_;
    int64_t *offsets_;
    T *weights_, *split_;
};

}  // namespace
