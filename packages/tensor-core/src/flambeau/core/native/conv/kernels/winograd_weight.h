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

inline int64_t slab_of(const fl_conv &p) {
    int64_t slabs = (p.c - 1) / MAX_SLAB + 1, even = (p.c - 1) / slabs + 1;
    return (even + SLAB_UNIT - 1) / SLAB_UNIT * SLAB_UNIT;
}

/* Transformed weights of a tile of output channels: rows of CONV_STRIDE as the register tiles want
 * them, which hold several planes where channels are few. */
struct WeightLayout {
    int64_t slab, planes, groups;

    explicit WeightLayout(const fl_conv &p)
        : slab(slab_of(p)), planes(CONV_STRIDE / slab < PLANES ? CONV_STRIDE / slab : PLANES),
          groups((PLANES - 1) / planes + 1) {}

    int64_t at(int64_t slab_index, int64_t plane) const {
        int64_t group = slab_index * groups + plane / planes;
        return group * TILE_ROWS * CONV_STRIDE + plane % planes * slab;
    }
};

int64_t weight_elements(const fl_conv *p) {
    WeightLayout layout(*p);
    return ((p->c - 1) / layout.slab + 1) * layout.groups * TILE_ROWS * CONV_STRIDE;
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

/* Transform the windows of a vector of input channels, of which `count` are there, and fetch those
 * at `next`: the weights of late layers come from memory. */
void transform_windows(const float *from, const float *next, int64_t step, int64_t count,
                       float *to, const int64_t *planes) {
    Vector<float> g[9], lines[12], u[PLANES];
    float some[9 * L];
    for (int i = 0; i < L; i++)
        __builtin_prefetch(next + i * step);
    if (count < L) {
        memset(some, 0, sizeof some);
        for (int64_t i = 0; i < count; i++)
            memcpy(some + 9 * i, from + i * step, 9 * sizeof(float));
        from = some;
        step = 9;
    }
    load_windows(from, step, g);
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

/* Windows are taken in the order in which they lie in memory. */
void weight(const fl_conv *p, const fl_conv_weight *w, int64_t o0, int64_t o1, float *to) {
    WeightLayout layout(*p);
    const bool is_turned = w->x < 0;
    const float *first = (const float *)w->data + o0 * w->out + (is_turned ? 8 * w->x : 0);
    const int64_t ahead = (is_turned ? 1 : FETCHED_VECTORS) * L * w->in;
    int64_t planes[PLANES], vectors = rounded(p->c) / L, rows = o1 - o0;
    for (int i = 0; i < PLANES; i++)
        planes[i] = layout.at(0, is_turned ? turned_plane(i) : i);
    for (int64_t i = 0; i < vectors * rows; i++) {
        int64_t o = is_turned ? i % rows : i / vectors;
        int64_t c = L * (is_turned ? i / rows : i % vectors), slab = c / layout.slab;
        const float *from = first + o * w->out + c * w->in;
        transform_windows(from, from + ahead, w->in, p->c - c < L ? p->c - c : L,
                          to + layout.at(slab, 0) + o * CONV_STRIDE + c - slab * layout.slab,
                          planes);
    }
}

}  // namespace winograd
}  // namespace
