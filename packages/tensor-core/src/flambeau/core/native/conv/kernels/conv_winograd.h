/* Kernels of Winograd's convolution: see winograd.h. Vectors run along tiles. */
#pragma once
#include "conv/kernels/winograd_few.h"

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

/* The sums of some tiles and output channels, and what they become. */
class Strip {
  public:
    Strip(const fl_winograd_block &b, int64_t o0, int64_t o1)
        : b_(b), p_(*b.p), layout_(p_), o0_(o0), rows_(o1 - o0) {
        pixels_ = b.scratch + SUMS;
    }

    static int64_t elements() { return SUMS + 4 * TILE_ROWS * WIDTH + 2 * L; }

    bool run(int64_t lane, const float *weight, const float *input) {
        for (int plane = 0; plane < PLANES; plane++)
            for (int64_t i = 0; i < layout_.slabs; i++)
                multiply(lane, plane, i, weight + layout_.at(i, plane), input);
        return finish(lane);
    }

    /* From sums to pixels. */
    bool finish(int64_t lane) {
        Vector<float> check = {}, found[4];
        for (int64_t o = 0; o < rows_; o++)
            for (int v = 0; v < vectors(lane); v++) {
                check += transform_sums(b_.scratch + o * WIDTH + v * L, TILE_ROWS * WIDTH, found);
                store_riffled(row(o, 0) + 2 * v * L, found[0], found[1]);
                store_riffled(row(o, 1) + 2 * v * L, found[2], found[3]);
            }
        int64_t left = b_.count - lane, width = vectors(lane) * L;
        write(lane, left < width ? left : width);
        return sum_lanes<float>(check) == 0.0f;
    }

  private:
    static const int64_t SUMS = PLANES * TILE_ROWS * WIDTH;

    int vectors(int64_t lane) const { return b_.count - lane > L ? TILE_VECTORS : 1; }

    float *row(int64_t o, int64_t y) { return pixels_ + (2 * o + y) * 2 * WIDTH; }

    /* A slab of one of the 16 products. The bias is added where all four pixels get it from. */
    void multiply(int64_t lane, int plane, int64_t slab, const float *weight, const float *input) {
        const int64_t width = vectors(lane) * L, c = slab * layout_.slab;
        float start[TILE_ROWS] = {}, *sums = b_.scratch + plane * TILE_ROWS * WIDTH;
        for (int64_t i = 0; !c && plane == 5 && b_.bias && i < rows_; i++)
            start[i] = b_.bias[o0_ + i];
        conv_tiles<float>.of[rows_][vectors(lane)](
            slab_channels(p_, layout_.slab, slab), weight,
            input + strip_at(p_, lane) + plane * plane_step(p_, width) + c * width,
            c ? pixels_ : sums, WIDTH, width, start, input);
        for (int64_t i = 0; c && i < rows_ * WIDTH; i += L)
            store(sums + i, load(sums + i) + load(pixels_ + i));
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
    float *pixels_;
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

constexpr fl_winograd_kernels kernels = {
    TILE_ROWS, L, weight_elements, input_elements, scratch_elements, spread, laid_elements,
    lay_windows, weight, input, multiply,
    {FEW_TILES, few_weight_elements, few_scratch_elements, few_laid_elements, few_lay_windows,
     multiply_few}};

}  // namespace winograd

/* None for processors from before 2013. */
constexpr const fl_winograd_kernels *winograd_kernels() {
    if constexpr (BASELINE)
        return nullptr;
    else
        return &winograd::kernels;
}

}  // namespace
