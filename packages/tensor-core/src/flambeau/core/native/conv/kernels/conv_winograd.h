/* Kernels of Winograd's convolution: see winograd.h. Vectors run along tiles. */
#pragma once
#include "conv/kernels/winograd_input.h"

namespace {
namespace winograd {

template <int FIRST, int... E> inline Index<float> riffled(std::integer_sequence<int, E...>) {
    return Index<float>{(E % 2 * L + (E + FIRST) / 2)...};
}

/* out = a0 b0 a1 b1 ... */
inline void store_riffled(float *out, Vector<float> a, Vector<float> b) {
    store(out, fl_shuffle(a, b, riffled<0>(Every<float>{})));
    store(out + L, fl_shuffle(a, b, riffled<L>(Every<float>{})));
}

/* Two rows of pixels of a vector of tiles; returns zeros, or NaN where one is not finite. */
inline Vector<float> transform_sums(const float *sums, int64_t plane, float *upper, float *lower) {
    Vector<float> top[4], bottom[4];
#pragma GCC unroll 4
    for (int x = 0; x < 4; x++) {
        const float *at = sums + x * plane;
        Vector<float> m1 = load(at + 4 * plane), m2 = load(at + 8 * plane);
        top[x] = load(at) + m1 + m2;
        bottom[x] = m1 - m2 - load(at + 12 * plane);
    }
    Vector<float> a = top[0] + top[1] + top[2], b = top[1] - top[2] - top[3];
    Vector<float> c = bottom[0] + bottom[1] + bottom[2], d = bottom[1] - bottom[2] - bottom[3];
    store_riffled(upper, a, b);
    store_riffled(lower, c, d);
    const Vector<float> zero = {};
    return fma(zero, a, fma(zero, b, fma(zero, c, zero * d)));
}

/* The sums of some tiles and output channels, and what they become. */
class Strip {
  public:
    Strip(const fl_winograd_block &b, int64_t o0, int64_t o1)
        : b_(b), p_(*b.p), layout_(p_), o0_(o0), rows_(o1 - o0) {
        sums_ = b.scratch;
        pixels_ = sums_ + PLANES * TILE_ROWS * WIDTH;
    }

    static int64_t elements() { return (PLANES + 4) * TILE_ROWS * WIDTH + 2 * L; }

    bool run(int64_t lane, const float *weight, const float *input) {
        int vectors = b_.count - lane > L ? TILE_VECTORS : 1;
        input += lane * PLANES * p_.c;
        for (int i = 0; i < PLANES; i++)
            multiply(i, vectors, weight, input + i * p_.c * vectors * L);
        Vector<float> check = {};
        for (int64_t o = 0; o < rows_; o++)
            for (int v = 0; v < vectors; v++)
                check += transform_sums(sums_ + o * WIDTH + v * L, TILE_ROWS * WIDTH,
                                        row(o, 0) + 2 * v * L, row(o, 1) + 2 * v * L);
        int64_t left = b_.count - lane, width = vectors * L;
        write(lane, left < width ? left : width);
        return sum_lanes<float>(check) == 0.0f;
    }

  private:
    float *row(int64_t o, int64_t y) { return pixels_ + (2 * o + y) * 2 * WIDTH; }

    /* One of the 16 products. The bias is added where all four pixels get it from. */
    void multiply(int plane, int vectors, const float *weight, const float *input) {
        float start[TILE_ROWS] = {}, *sums = sums_ + plane * TILE_ROWS * WIDTH;
        for (int64_t i = 0; plane == 5 && b_.bias && i < rows_; i++)
            start[i] = b_.bias[o0_ + i];
        for (int64_t c = 0, slab = 0; c < p_.c; c += layout_.slab, slab++) {
            static const float zeros[TILE_ROWS] = {};
            int64_t left = p_.c - c, k = left < layout_.slab ? left : layout_.slab;
            conv_tiles<float>.of[rows_][vectors](k, weight + layout_.at(slab, plane),
                                                 input + c * vectors * L, c ? pixels_ : sums,
                                                 WIDTH, vectors * L, c ? zeros : start);
            for (int64_t i = 0; c && i < rows_ * WIDTH; i += L)
                store(sums + i, load(sums + i) + load(pixels_ + i));
        }
    }

    void write(int64_t lane, int64_t count) {
        int64_t end = lane + count;
        for (int64_t at = lane; at < end;) {
            fl_winograd_run run = fl_winograd_run_at(b_, at);
            run.count = run.count < end - at ? run.count : end - at;
            write_run(run, at - lane);
            at += run.count;
        }
    }

    void write_run(const fl_winograd_run &run, int64_t from) {
        int64_t size = p_.oh * p_.ow, x = 2 * run.x, y = 2 * run.y;
        int64_t n = p_.ow - x < 2 * run.count ? p_.ow - x : 2 * run.count;
        float *to = b_.out + ((run.image * p_.o + o0_) * p_.oh + y) * p_.ow + x;
        for (int64_t o = 0; o < rows_; o++, to += size)
            for (int64_t i = 0; i < 2 && y + i < p_.oh; i++)
                copy_row_bytes((char *)(to + i * p_.ow), (const char *)(row(o, i) + 2 * from),
                               n * (int64_t)sizeof(float));
    }

    const fl_winograd_block &b_;
    const fl_conv &p_;
    WeightLayout layout_;
    int64_t o0_, rows_;
    float *sums_, *pixels_;
};

int64_t scratch_elements(const fl_winograd_block *b) {
    int64_t input = Input::elements(*b);
    return input > Strip::elements() ? input : Strip::elements();
}

bool multiply(const fl_winograd_block *b, int64_t o0, int64_t o1, const float *weight,
              const float *input) {
    Strip strip(*b, o0, o1);
    bool is_finite = true;
    for (int64_t lane = 0; lane < b->count; lane += WIDTH)
        is_finite = strip.run(lane, weight, input) && is_finite;
    return is_finite;
}

constexpr fl_winograd_kernels kernels = {TILE_ROWS, L, weight_elements, input_elements,
                                         scratch_elements, is_even, weight, input, multiply};

}  // namespace winograd

/* None for processors from before 2013. */
constexpr const fl_winograd_kernels *winograd_kernels() {
    if constexpr (BASELINE)
        return nullptr;
    else
        return &winograd::kernels;
}

}  // namespace
