/* Winograd's convolution: windows, transformed and laid out as the register tiles read them. */
#pragma once
#include "conv/kernels/conv_tile.h"
#include "conv/kernels/winograd.h"
#include "matmul/kernels/gemm_pack.h"
#include <string.h>

namespace {
namespace winograd {

const int L = Lanes<float>::COUNT;
const int PLANES = 16;          /* numbers of a transformed tile or window */
const int WIDTH = TILE_VECTORS * L;

inline int64_t rounded(int64_t n) { return (n + L - 1) / L * L; }

/* Input channels that are multiplied at once, the same at all ISA levels. For more, such sums are
 * added up: a single long one would gather more rounding errors. */
const int64_t MAX_SLAB = 128;
const int64_t SLAB_UNIT = 16;

inline int64_t slab_of(int64_t channels) {
    int64_t slabs = (channels - 1) / MAX_SLAB + 1, even = (channels - 1) / slabs + 1;
    return (even + SLAB_UNIT - 1) / SLAB_UNIT * SLAB_UNIT;
}

/* The channels of slab number `index`. */
inline int64_t slab_channels(const fl_conv &p, int64_t slab, int64_t index) {
    int64_t left = p.c - index * slab;
    return left < slab ? left : slab;
}

/* Transformed weights of a tile of output channels: rows of CONV_STRIDE as the register tiles want
 * them, which hold several planes where channels are few. */
struct WeightLayout {
    int64_t slab, slabs, planes, groups;

    explicit WeightLayout(const fl_conv &p)
        : slab(slab_of(p.c)), slabs((p.c - 1) / slab + 1),
          planes(CONV_STRIDE / slab < PLANES ? CONV_STRIDE / slab : PLANES),
          groups((PLANES - 1) / planes + 1) {}

    int64_t at(int64_t slab_index, int64_t plane) const {
        int64_t group = slab_index * groups + plane / planes;
        return group * TILE_ROWS * CONV_STRIDE + plane % planes * slab;
    }
};

int64_t weight_elements(const fl_conv *p) {
    WeightLayout layout(*p);
    return layout.slabs * layout.groups * TILE_ROWS * CONV_STRIDE;
}

inline void transform_window_line(const Vector<float> *g, int step, Vector<float> *u, int u_step) {
    const Vector<float> half = splat(0.5f);
    Vector<float> ends = g[0] + g[2 * step], middle = g[step];
    u[0] = g[0];
    u[u_step] = half * (ends + middle);
    u[2 * u_step] = half * (ends - middle);
    u[3 * u_step] = g[2 * step];
}

/* Windows of a vector of input channels, `step` elements apart, by taps. */
inline void load_windows(const float *from, int64_t step, Vector<float> *taps) {
    if constexpr (L > 9) {
        Vector<float> block[L];
#pragma GCC unroll 16
        for (int i = 0; i < L; i++)
            block[i] = load_part(from + i * step, 9);
        transpose_lanes<float>(block);
#pragma GCC unroll 9
        for (int i = 0; i < 9; i++)
            taps[i] = block[i];
    } else {
        alignas(64) float block[(9 + L) * L];
        pack(block, L, from, 1, step, 9, L);
        for (int i = 0; i < 9; i++)
            taps[i] = load(block + i * L);
    }
}

/* The same where no more than `count` channels are there; the others are zeros. */
inline void load_some_windows(const float *from, int64_t step, int64_t count, Vector<float> *taps) {
    float some[9 * L];
    if (count >= L)
        return load_windows(from, step, taps);
    memset(some, 0, sizeof some);
    for (int64_t i = 0; i < count; i++)
        memcpy(some + 9 * i, from + i * step, 9 * sizeof(float));
    load_windows(some, 9, taps);
}

/* Windows laid out by taps: [slab][output channel][vector of input channels][tap]. They take as
 * much memory as before, and are transformed without being transposed. */
int64_t laid_elements(int64_t o, int64_t c) { return o * rounded(c) * 9; }

/* Where those of an output channel begin in a slab. */
inline int64_t laid_at(const fl_conv &p, int64_t slab, int64_t index, int64_t o) {
    return 9 * (index * slab * p.o + o * rounded(slab_channels(p, slab, index)));
}

void lay_windows(const float *from, int64_t o, int64_t c, float *to) {
    const int64_t slab = slab_of(c);
    for (int64_t c0 = 0; c0 < c; c0 += slab)
        for (int64_t i = 0; i < o; i++)
            for (int64_t first = c0; first < c && first < c0 + slab; first += L) {
                Vector<float> taps[9];
                load_some_windows(from + 9 * (i * c + first), 9, c - first, taps);
                for (int tap = 0; tap < 9; tap++, to += L)
                    store(to, taps[tap]);
            }
}

inline void transform_windows(const Vector<float> *g, float *to, const int64_t *planes) {
    Vector<float> lines[12], u[PLANES];
#pragma GCC unroll 3
    for (int y = 0; y < 3; y++)
        transform_window_line(g + 3 * y, 1, lines + 4 * y, 1);
#pragma GCC unroll 4
    for (int x = 0; x < 4; x++)
        transform_window_line(lines + x, 4, u + x, 4);
#pragma GCC unroll 16
    for (int i = 0; i < PLANES; i++)
        store(to + planes[i], u[i]);
}

/* Turning a window around exchanges the first and the last of four numbers in both directions. */
inline int turned_plane(int plane) {
    int y = plane / 4, x = plane % 4;
    return 4 * (y % 3 ? y : 3 - y) + (x % 3 ? x : 3 - x);
}

/* Vectors of weights that are fetched ahead, where their windows follow each other. */
const int64_t FETCHED_VECTORS = 8;

/* Output channels [o0, o1) of a slab. */
void transform_laid(const fl_conv &p, const float *laid, int64_t o0, int64_t o1, int64_t index,
                    float *to, const int64_t *planes) {
    const int64_t slab = slab_of(p.c), channels = slab_channels(p, slab, index);
    laid += laid_at(p, slab, index, o0);
    for (int64_t o = o0; o < o1; o++, to += CONV_STRIDE)
        for (int64_t c = 0; c < channels; c += L, laid += 9 * L) {
            Vector<float> g[9];
#pragma GCC unroll 9
            for (int tap = 0; tap < 9; tap++)
                g[tap] = load(laid + tap * L);
            transform_windows(g, to + c, planes);
        }
}

/* Windows are taken in the order in which they lie in memory, and those that follow are fetched:
 * the weights of late layers come from there. */
void transform_slab(const fl_conv &p, const fl_conv_weight &w, int64_t o0, int64_t o1,
                    int64_t index, float *to, const int64_t *planes) {
    const int64_t slab = slab_of(p.c), channels = slab_channels(p, slab, index);
    const bool is_turned = w.x < 0;
    const float *first = (const float *)w.data + o0 * w.out + index * slab * w.in +
                         (is_turned ? 8 * w.x : 0);
    const int64_t ahead = (is_turned ? 1 : FETCHED_VECTORS) * L * w.in;
    const int64_t vectors = rounded(channels) / L, rows = o1 - o0;
    for (int64_t i = 0; i < vectors * rows; i++) {
        int64_t o = is_turned ? i % rows : i / vectors;
        int64_t c = L * (is_turned ? i / rows : i % vectors);
        const float *from = first + o * w.out + c * w.in;
        Vector<float> g[9];
        for (int k = 0; k < L; k++)
            __builtin_prefetch(from + ahead + k * w.in);
        load_some_windows(from, w.in, channels - c, g);
        transform_windows(g, to + o * CONV_STRIDE + c, planes);
    }
}

/* Transformed weights of output channels [o0, o1). */
void weight(const fl_conv *p, const fl_conv_weight *w, const float *laid, int64_t o0, int64_t o1,
            float *to) {
    const WeightLayout layout(*p);
    const bool is_turned = w->x < 0 && !laid;
    int64_t planes[PLANES];
    for (int i = 0; i < PLANES; i++)
        planes[i] = layout.at(0, is_turned ? turned_plane(i) : i);
    for (int64_t i = 0; i < layout.slabs; i++)
        if (laid)
            transform_laid(*p, laid, o0, o1, i, to + layout.at(i, 0), planes);
        else
            transform_slab(*p, *w, o0, o1, i, to + layout.at(i, 0), planes);
}

}  // namespace winograd
}  // namespace
