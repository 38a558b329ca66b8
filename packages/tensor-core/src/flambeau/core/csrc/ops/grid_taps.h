/* Which elements of a plane a place of a grid reads: coordinates, borders, interpolation. */
#pragma once
#include <math.h>
#include <stdint.h>

enum fl_grid_mode { FL_GRID_LINEAR = 0, FL_GRID_NEAREST = 1, FL_GRID_CUBIC = 2 };
enum fl_grid_border { FL_GRID_ZEROS = 0, FL_GRID_BORDER = 1, FL_GRID_REFLECTION = 2 };

struct fl_grid {
    int axes;
    int64_t size[3];                /* of the input, outermost first */
    int mode, border;
    bool align_corners;
};

/* A coordinate and its derivative by the number in the grid. */
template <class T> struct Coordinate {
    T at, slope;
};

/* The taps of one axis: places (-1 outside), weights and their derivatives by the grid. */
template <class T> struct AxisTaps {
    int count;
    int64_t index[4];
    T weight[4], slope[4];
};

/* From -1 .. 1 to pixels. */
template <class T> Coordinate<T> pixel_of(T x, int64_t size, bool align_corners) {
    if (align_corners)
        return {(x + 1) / 2 * (T)(size - 1), (T)(size - 1) / 2};
    return {((x + 1) * (T)size - 1) / 2, (T)size / 2};
}

template <class T> Coordinate<T> clipped(Coordinate<T> c, int64_t size) {
    if (!(c.at > 0))                /* NaN too */
        return {0, 0};
    T last = (T)(size - 1);
    return c.at >= last ? Coordinate<T>{last, 0} : c;
}

/* Mirrored at both ends as often as need be. */
template <class T> Coordinate<T> reflected(Coordinate<T> c, int64_t size, bool align_corners) {
    T low = align_corners ? 0 : (T)-0.5, span = (T)(align_corners ? size - 1 : size);
    if (span <= 0)
        return {0, 0};
    T x = c.at - low, slope = c.slope;
    if (x < 0) {
        x = -x;
        slope = -slope;
    }
    T rest = fmod(x, span);
    bool odd = fmod(floor(x / span), (T)2) != 0;
    return odd ? Coordinate<T>{span - rest + low, -slope} : Coordinate<T>{rest + low, slope};
}

template <class T> Coordinate<T> inside(const fl_grid &g, Coordinate<T> c, int64_t size) {
    if (g.border == FL_GRID_REFLECTION)
        c = reflected(c, size, g.align_corners);
    if (g.border != FL_GRID_ZEROS)
        c = clipped(c, size);
    const T limit = (T)1073741824;     /* places beyond are outside of every input */
    return c.at > -limit && c.at < limit ? c : Coordinate<T>{-100, 0};
}

static inline int64_t place_or_outside(int64_t i, int64_t size) {
    return i >= 0 && i < size ? i : -1;
}

template <class T> void linear_taps(const fl_grid &g, Coordinate<T> c, int64_t size,
                                    AxisTaps<T> *taps) {
    c = inside(g, c, size);
    T below = floor(c.at), t = c.at - below;
    int64_t i = (int64_t)below;
    *taps = {2, {place_or_outside(i, size), place_or_outside(i + 1, size)}, {1 - t, t},
             {-c.slope, c.slope}};
}

template <class T> void nearest_taps(const fl_grid &g, Coordinate<T> c, int64_t size,
                                     AxisTaps<T> *taps) {
    c = inside(g, c, size);
    *taps = {1, {place_or_outside((int64_t)nearbyint(c.at), size)}, {1}, {0}};
}

/* Each of the four pixels is brought inside on its own. */
template <class T> void cubic_taps(const fl_grid &g, Coordinate<T> c, int64_t size,
                                   AxisTaps<T> *taps) {
    const T a = (T)-0.75, limit = (T)1073741824;
    if (!(c.at > -limit && c.at < limit))
        c = {-100, 0};
    T below = floor(c.at), t = c.at - below;
    taps->count = 4;
    for (int k = 0; k < 4; k++) {
        T x = fabs(t + 1 - (T)k), sign = k < 2 ? 1 : -1;
        bool near = k == 1 || k == 2;
        taps->weight[k] = near ? ((a + 2) * x - (a + 3)) * x * x + 1
                               : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
        taps->slope[k] = sign * c.slope * (near ? (3 * (a + 2) * x - 2 * (a + 3)) * x
                                                : (3 * a * x - 10 * a) * x + 8 * a);
        Coordinate<T> pixel = inside<T>(g, {below + (T)(k - 1), 0}, size);
        taps->index[k] = place_or_outside((int64_t)pixel.at, size);
    }
}

template <class T> void axis_taps(const fl_grid &g, T x, int64_t size, AxisTaps<T> *taps) {
    Coordinate<T> c = pixel_of(x, size, g.align_corners);
    if (g.mode == FL_GRID_NEAREST)
        nearest_taps(g, c, size, taps);
    else if (g.mode == FL_GRID_CUBIC)
        cubic_taps(g, c, size, taps);
    else
        linear_taps(g, c, size, taps);
}
