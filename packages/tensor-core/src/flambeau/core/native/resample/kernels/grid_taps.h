/* Which elements of a plane the positions of a run read: coordinates, borders, interpolation.
 *
 * Every step goes over the whole run without branches, so that it becomes vectors. */
#pragma once
#include "resample/kernels/grid.h"
#include <math.h>

namespace {

const int64_t RUN = FL_GRID_RUN;
const int MAX_TAPS = 16;                /* taps of one position */

/* Coordinates along one axis and their derivatives by the numbers in the grid, where SLOPES says
 * that these are asked for. */
template <class T> struct Line {
    T at[RUN], slope[RUN];
};

/* Tap k of position i along one axis at [k][i]: positions (-1 outside), weights, their derivatives.
 * */
template <class T> struct AxisTaps {
    int count;
    int32_t index[4][RUN];
    T weight[4][RUN], slope[4][RUN];
};

/* The numbers of one axis, plus 1. */
template <int STEP, class T> void gather_points(const T *points, int64_t n, Line<T> *c) {
    for (int64_t i = 0; i < n; i++)
        c->at[i] = points[i * STEP] + 1;
}

/* From -1 .. 1 to pixels. */
template <bool SLOPES, class T>
void pixels_of(const T *points, int64_t axes, int64_t n, int64_t size, bool align, Line<T> *c) {
    const T whole = (T)size, last = (T)(size - 1), slope = (align ? last : whole) / 2;
    axes == 2 ? gather_points<2>(points, n, c) : gather_points<3>(points, n, c);
    if (align)
        for (int64_t i = 0; i < n; i++)
            c->at[i] = c->at[i] / 2 * last;
    else
        for (int64_t i = 0; i < n; i++)
            c->at[i] = (c->at[i] * whole - 1) / 2;
    for (int64_t i = 0; SLOPES && i < n; i++)
        c->slope[i] = slope;
}

/* Mirrored at both ends as often as need be. */
template <bool SLOPES, class T> void reflect(int64_t n, int64_t size, bool align, Line<T> *c) {
    const T low = align ? 0 : (T)-0.5, span = (T)(align ? size - 1 : size);
    const T there_and_back = 2 * span;
    for (int64_t i = 0; i < n; i++) {
        const T away = c->at[i] - low, x = fabs(away);
        const T rest = span > 0 ? x - floor(x / there_and_back) * there_and_back : 0;
        const bool back = rest > span;
        if (SLOPES)
            c->slope[i] = (away < 0) != back ? -c->slope[i] : c->slope[i];
        c->at[i] = (back ? there_and_back - rest : rest) + low;
    }
}

/* NaN becomes 0. */
template <bool SLOPES, class T> void clip(int64_t n, int64_t size, Line<T> *c) {
    const T last = (T)(size - 1);
    for (int64_t i = 0; i < n; i++) {
        const T x = c->at[i];
        if (SLOPES)
            c->slope[i] = x > 0 && x < last ? c->slope[i] : 0;
        c->at[i] = x > 0 ? x < last ? x : last : 0;
    }
}

/* Positions that no integer of 32 bits names are outside of every input. */
template <bool SLOPES, class T> void limit(int64_t n, Line<T> *c) {
    const T most = (T)1073741824;
    for (int64_t i = 0; i < n; i++) {
        const bool named = c->at[i] > -most && c->at[i] < most;
        if (SLOPES)
            c->slope[i] = named ? c->slope[i] : 0;
        c->at[i] = named ? c->at[i] : -100;
    }
}

template <bool SLOPES, class T> void bring_inside(const fl_grid &g, int64_t n, int64_t size, Line<T> *c) {
    if (g.border == FL_GRID_REFLECTION)
        reflect<SLOPES>(n, size, g.align_corners, c);
    if (g.border != FL_GRID_ZEROS)
        clip<SLOPES>(n, size, c);
    limit<SLOPES>(n, c);
}

inline int32_t index_or_outside(int32_t i, int64_t size) {
    return (uint32_t)i < (uint32_t)size ? i : -1;
}

template <bool SLOPES, class T>
void linear_taps(const fl_grid &g, int64_t n, int64_t size, Line<T> *c, AxisTaps<T> *taps) {
    bring_inside<SLOPES>(g, n, size, c);
    for (int64_t i = 0; i < n; i++) {
        const T below = floor(c->at[i]), t = c->at[i] - below;
        const int32_t first = (int32_t)below;
        taps->index[0][i] = index_or_outside(first, size);
        taps->index[1][i] = index_or_outside(first + 1, size);
        taps->weight[0][i] = 1 - t;
        taps->weight[1][i] = t;
        if (SLOPES) {
            taps->slope[0][i] = -c->slope[i];
            taps->slope[1][i] = c->slope[i];
        }
    }
    taps->count = 2;
}

template <class T>
void nearest_taps(const fl_grid &g, int64_t n, int64_t size, Line<T> *c, AxisTaps<T> *taps) {
    bring_inside<false>(g, n, size, c);
    for (int64_t i = 0; i < n; i++) {
        taps->index[0][i] = index_or_outside((int32_t)nearbyint(c->at[i]), size);
        taps->weight[0][i] = 1;
        taps->slope[0][i] = 0;
    }
    taps->count = 1;
}

/* Each of the four pixels is brought inside on its own. */
template <bool SLOPES, class T>
void cubic_taps(const fl_grid &g, int64_t n, int64_t size, Line<T> *c, AxisTaps<T> *taps) {
    const T a = (T)-0.75;
    Line<T> pixel;
    limit<SLOPES>(n, c);
    for (int k = 0; k < 4; k++) {
        const bool near = k == 1 || k == 2;
        const T sign = k < 2 ? 1 : -1;
        for (int64_t i = 0; i < n; i++) {
            const T below = floor(c->at[i]), x = fabs(c->at[i] - below + 1 - (T)k);
            taps->weight[k][i] = near ? ((a + 2) * x - (a + 3)) * x * x + 1
                                      : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
            if (SLOPES)
                taps->slope[k][i] = sign * c->slope[i] *
                                    (near ? (3 * (a + 2) * x - 2 * (a + 3)) * x
                                          : (3 * a * x - 10 * a) * x + 8 * a);
            pixel.at[i] = below + (T)(k - 1);
        }
        bring_inside<false>(g, n, size, &pixel);
        for (int64_t i = 0; i < n; i++)
            taps->index[k][i] = index_or_outside((int32_t)pixel.at[i], size);
    }
    taps->count = 4;
}

/* The taps along one axis of the input, of which 0 is the outermost. */
template <bool SLOPES, class T>
void axis_taps(const fl_grid &g, int axis, int64_t n, const T *points, AxisTaps<T> *taps) {
    Line<T> c;
    const int64_t size = g.size[axis];
    pixels_of<SLOPES>(points + g.axes - 1 - axis, g.axes, n, size, g.align_corners, &c);
    if (g.mode == FL_GRID_NEAREST)
        nearest_taps(g, n, size, &c, taps);
    else if (g.mode == FL_GRID_CUBIC)
        cubic_taps<SLOPES>(g, n, size, &c, taps);
    else
        linear_taps<SLOPES>(g, n, size, &c, taps);
}

}  // namespace
