/* Winograd's convolution of few tiles: vectors run along output channels and tiles are broadcast,
 * so that no lane is without work, however many tiles there are. */
#pragma once
#include "conv/kernels/winograd_sums.h"

namespace {
namespace winograd {

const int64_t FEW_TILES = 2 * WIDTH;    /* of a block, at most */

/* ---- windows --------------------------------------------------------------------------------- */

/* Laid out as they are read here: [WIDTH output channels][input channel][tap][output channel]. */
int64_t few_laid_elements(int64_t o, int64_t c) { return (o + WIDTH - 1) / WIDTH * WIDTH * 9 * c; }

inline int64_t few_laid_at(const fl_conv &p, int64_t o, int64_t c) {
    return (o / WIDTH * p.c + c) * 9 * WIDTH + o % WIDTH;
}

void few_lay_windows(const float *from, int64_t o, int64_t c, float *to) {
    for (int64_t first = 0; first < o; first += WIDTH)
        for (int64_t i = 0; i < c; i++, to += 9 * WIDTH)
            for (int v = 0; v < TILE_VECTORS; v++) {
                const int64_t at = first + v * L;
                Vector<float> taps[9] = {};
                if (at < o)
                    load_some_windows(from + 9 * (at * c + i), 9 * c, o - at, taps);
                for (int tap = 0; tap < 9; tap++)
                    store(to + tap * WIDTH + v * L, taps[tap]);
            }
}

/* Transformed weights of a slab: [plane][input channel][output channel], a line between planes. */
inline int64_t few_weight_step(int64_t slab, int64_t width) { return slab * width + LINE<float>; }

int64_t few_weight_elements(const fl_conv *p) {
    return PLANES * few_weight_step(slab_of(p->c), WIDTH);
}

/* Input channels whose windows are fetched ahead. */
const int64_t FETCHED_CHANNELS = 4;

/* ---- multiplying ----------------------------------------------------------------------------- */

/* Products of some tiles and vectors of output channels, summed over k input channels, to rows of
 * WIDTH sums: behind `start`, or added to what is there. Tiles lie in rows of `width`. Meanwhile k
 * lines from `next` on are fetched. */
template <int ROWS, int VECTORS>
void few_tile(int64_t k, const float *tiles, int64_t width, const float *weights, float *sums,
              const float *start, const float *next) {
    Vector<float> sum[ROWS][VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            sum[i][v] = start ? load(start + v * L) : Vector<float>{};
    for (int64_t c = 0; c < k; c++, tiles += width, weights += VECTORS * L) {
        Vector<float> row[VECTORS];
        __builtin_prefetch(next + c * LINE<float>, 0, 2);
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            row[v] = load(weights + v * L);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++) {
            Vector<float> element = splat(tiles[i]);
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] = fma(element, row[v], sum[i][v]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) {
            float *to = sums + i * WIDTH + v * L;
            store(to, start ? sum[i][v] : load(to) + sum[i][v]);
        }
}

using FewTile = void (*)(int64_t, const float *, int64_t, const float *, float *, const float *,
                         const float *);

/* By rows and vectors. */
struct FewTiles {
    FewTile of[TILE_ROWS + 1][TILE_VECTORS + 1];
};

template <int... R> constexpr FewTiles make_few_tiles(std::integer_sequence<int, R...>) {
    return FewTiles{{{}, {nullptr, few_tile<R + 1, 1>, few_tile<R + 1, 2>}...}};
}

constexpr FewTiles few_tiles = make_few_tiles(std::make_integer_sequence<int, TILE_ROWS>{});

/* All tiles of a block, and output channels [o0, o1) of at most two vectors. Slabs of weights are
 * transformed one after the other, so that they stay in a near cache until they are multiplied, and
 * the next one comes from memory meanwhile. */
class Few {
  public:
    Few(const fl_winograd_block &b, int64_t o0, int64_t o1, float *weights)
        : b_(b), p_(*b.p), o0_(o0), o1_(o1), vectors_((int)(rounded(o1 - o0) / L)),
          slab_(slab_of(p_.c)), weights_(weights) {
        pixels_ = b.scratch + PLANES * sums_step(b.count);
    }

    static int64_t elements(const fl_winograd_block &b) {
        return PLANES * sums_step(b.count) + 4 * FEW_TILES * L + L * L;
    }

    bool run(const fl_conv_weight &w, const float *laid, const float *input) {
        for (int64_t c = 0; c < p_.c; c += slab_) {
            const int64_t count = p_.c - c < slab_ ? p_.c - c : slab_;
            if (laid)
                transform_laid(laid, c, count);
            else
                transform_windows_of(w, c, count);
            multiply_slab(input, c, count, laid ? laid_behind(laid, c + count) : nullptr);
        }
        return finish();
    }

  private:
    static int64_t sums_step(int64_t tiles) { return tiles * WIDTH + LINE<float>; }

    int64_t weight_step() const { return few_weight_step(slab_, vectors_ * L); }

    void set_planes(bool is_turned, int64_t *planes) const {
        for (int i = 0; i < PLANES; i++)
            planes[i] = (is_turned ? turned_plane(i) : i) * weight_step();
    }

    void transform_laid(const float *laid, int64_t first, int64_t count) {
        int64_t planes[PLANES];
        set_planes(false, planes);
        for (int64_t c = 0; c < count; c++)
            for (int v = 0; v < vectors_; v++) {
                const float *from = laid + few_laid_at(p_, o0_ + v * L, first + c);
                Vector<float> g[9];
#pragma GCC unroll 9
                for (int tap = 0; tap < 9; tap++)
                    g[tap] = load(from + tap * WIDTH);
                transform_windows(g, weights_ + (c * vectors_ + v) * L, planes);
            }
    }

    void transform_windows_of(const fl_conv_weight &w, int64_t first, int64_t count) {
        const bool is_turned = w.x < 0;
        int64_t planes[PLANES];
        set_planes(is_turned, planes);
        const float *data = (const float *)w.data + (is_turned ? 8 * w.x : 0);
        const int64_t ahead = (is_turned ? 1 : FETCHED_CHANNELS) * w.in;
        for (int64_t c = 0; c < count; c++)
            for (int v = 0; v < vectors_; v++) {
                const int64_t o = o0_ + v * L;
                const float *from = data + o * w.out + (first + c) * w.in;
                Vector<float> g[9];
                for (int k = 0; k < L; k++)
                    __builtin_prefetch(from + ahead + k * w.out);
                load_some_windows(from, w.out, p_.o - o, g);
                transform_windows(g, weights_ + (c * vectors_ + v) * L, planes);
            }
    }

    /* The windows that are transformed next: of the next slab, or of the next channels. */
    const float *laid_behind(const float *laid, int64_t c) const {
        if (c < p_.c)
            return laid + few_laid_at(p_, o0_, c);
        return laid + few_laid_at(p_, o1_ < p_.o ? o1_ : 0, 0);
    }

    /* `next` may be NULL. */
    void multiply_slab(const float *input, int64_t c, int64_t count, const float *next) {
        int64_t left = next ? 9 * WIDTH / LINE<float> : 0;   /* times `count` lines to fetch */
        for (int plane = 0; plane < PLANES; plane++) {
            float start[WIDTH] = {};
            for (int64_t i = 0; plane == 5 && b_.bias && i < o1_ - o0_; i++)
                start[i] = b_.bias[o0_ + i];        /* where all four pixels get it from */
            for (int64_t lane = 0, tall; lane < b_.count; lane += tall, left--) {
                const int64_t strip = lane / WIDTH * WIDTH, end = strip + WIDTH;
                tall = rows_from(lane, end < b_.count ? end : b_.count);
                const int64_t width = rounded(b_.count) - strip < WIDTH ? L : WIDTH;
                const float *tiles = input + strip_at(p_, strip) + plane * plane_step(p_, width) +
                                     c * width + lane - strip;
                few_tiles.of[tall][vectors_](count, tiles, width, weights_ + plane * weight_step(),
                                             sums_at(lane, plane), c ? nullptr : start,
                                             left > 0 ? next : tiles);
                next += left > 0 ? count * LINE<float> : 0;
            }
        }
    }

    /* Rows of the next tile: those up to `end` are shared evenly. */
    static int64_t rows_from(int64_t lane, int64_t end) {
        const int64_t tiles = (end - lane + TILE_ROWS - 1) / TILE_ROWS;
        return (end - lane + tiles - 1) / tiles;
    }

    float *sums_at(int64_t lane, int plane) {
        return b_.scratch + plane * sums_step(b_.count) + lane * WIDTH;
    }

    /* From sums to pixels; false where some may not be finite. */
    bool finish() {
        Vector<float> check = {};
        for (int64_t lane = 0; lane < b_.count;) {
            const fl_winograd_run run = fl_winograd_run_at(b_, lane);
            for (int v = 0; v < vectors_; v++)
                check += write_run(run, v);
            lane += run.count;
        }
        return sum_lanes<float>(check) == 0.0f;
    }

    Vector<float> write_run(const fl_winograd_run &run, int v) {
        Vector<float> check = {}, found[4];
        float *upper = pixels_, *lower = pixels_ + 2 * FEW_TILES * L;
        for (int64_t i = 0; i < run.count; i++) {
            check += transform_sums(sums_at(run.lane + i, 0) + v * L, sums_step(b_.count), found);
            store(upper + 2 * i * L, found[0]);
            store(upper + (2 * i + 1) * L, found[1]);
            store(lower + 2 * i * L, found[2]);
            store(lower + (2 * i + 1) * L, found[3]);
        }
        const int64_t x = 2 * run.x, y = 2 * run.y, o = o0_ + v * L;
        const int64_t n = p_.ow - x < 2 * run.count ? p_.ow - x : 2 * run.count;
        float *to = b_.out + ((run.image * p_.o + o) * p_.oh + y) * p_.ow + x;
        write_row(upper, n, o1_ - o, to);
        if (y + 1 < p_.oh)
            write_row(lower, n, o1_ - o, to + p_.ow);
        return check;
    }

    /* n pixels, of each a vector of channels, to the planes of those channels. */
    void write_row(const float *from, int64_t n, int64_t channels, float *to) const {
        const int64_t size = p_.oh * p_.ow;
        for (int64_t x = 0; x < n; x += L) {
            Vector<float> block[L];
#pragma GCC unroll 16
            for (int i = 0; i < L; i++)
                block[i] = load(from + (x + i) * L);
            transpose_lanes<float>(block);
            for (int64_t c = 0; c < channels && c < L; c++)
                if (n - x < L)
                    store_part(to + c * size + x, block[c], n - x);
                else
                    store(to + c * size + x, block[c]);
        }
    }

    const fl_winograd_block &b_;
    const fl_conv &p_;
    const int64_t o0_, o1_;
    const int vectors_;
    const int64_t slab_;
    float *weights_, *pixels_;
};

int64_t few_scratch_elements(const fl_winograd_block *b) { return Few::elements(*b); }

bool multiply_few(const fl_winograd_block *b, const fl_conv_weight *w, const float *laid,
                  int64_t o0, int64_t o1, float *room, const float *input) {
    return Few(*b, o0, o1, room).run(*w, laid, input);
}

}  // namespace winograd
}  // namespace
