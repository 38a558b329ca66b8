/* Rows split by phase, for windows with a stride: phase q of a row holds the padded elements q,
 * q + stride, q + 2 stride and so on. Every tap of a window then reads consecutive elements for
 * consecutive outputs, so that vectors run along output columns whatever the stride. */
#pragma once
#include "kernels/conv.h"
#include <string.h>

namespace {

/* How the rows of one band of output rows lie in memory. */
struct PhaseRows {
    int64_t phases;     /* of a row, as far as taps use them */
    int64_t pitch;      /* elements of one phase */
    int64_t rows;       /* input rows of the band */
    int64_t first;      /* number of the first one, negative in the padding */

    inline int64_t row_size() const { return phases * pitch; }
    inline int64_t plane_size() const { return rows * phases * pitch; }
};

inline PhaseRows phase_rows(const fl_window &y, const fl_window &x, int64_t width, int64_t begin,
                            int64_t rows) {
    int64_t reach = fl_window_reach(x);
    int64_t phases = reach < x.stride ? reach : x.stride;
    return PhaseRows{phases, width + (reach - 1) / x.stride,
                     (rows - 1) * y.stride + fl_window_reach(y), begin * y.stride - y.padding};
}

/* Elements that output (0, 0) reads for tap (ky, kx), from the start of the band. */
inline int64_t tap_offset(const fl_window &y, const fl_window &x, const PhaseRows &r, int64_t ky,
                          int64_t kx) {
    int64_t at = kx * x.dilation;
    return ky * y.dilation * r.row_size() + at % x.stride * r.pitch + at / x.stride;
}

/* Positions of a phase that hold elements of a row of `length`; the others are padding. */
inline void phase_bounds(const fl_window &x, int64_t q, int64_t length, int64_t pitch,
                         int64_t *begin, int64_t *end) {
    int64_t before = x.padding - q, left = length + before;
    *begin = before > 0 ? (before + x.stride - 1) / x.stride : 0;
    *end = left > 0 ? (left + x.stride - 1) / x.stride : 0;
    if (*end > pitch)
        *end = pitch;
    if (*begin > *end)
        *begin = *end;
}

template <class T> inline void fill_row(T *out, int64_t n, T value) {
    for (int64_t j = 0; j < n; j++)
        out[j] = value;
}

template <class T>
inline void split_row(const fl_window &x, const PhaseRows &r, const T *in, int64_t length, T pad,
                      T *out) {
    for (int64_t q = 0; q < r.phases; q++, out += r.pitch) {
        int64_t begin, end;
        phase_bounds(x, q, length, r.pitch, &begin, &end);
        fill_row(out, begin, pad);
        const T *from = in + begin * x.stride + q - x.padding;
        int64_t n = end - begin;
        if (x.stride == 1)
            memcpy(out + begin, from, (size_t)n * sizeof(T));
        else if (x.stride == 2)
            for (int64_t j = 0; j < n; j++)
                out[begin + j] = from[2 * j];
        else
            for (int64_t j = 0; j < n; j++)
                out[begin + j] = from[j * x.stride];
        fill_row(out + end, r.pitch - end, pad);
    }
}

/* Split the rows of a band out of a plane; rows outside it become padding. */
template <class T>
inline void split_plane(const fl_window &x, const PhaseRows &r, const T *plane, int64_t height,
                        int64_t width, T pad, T *out) {
    for (int64_t i = 0; i < r.rows; i++, out += r.row_size()) {
        int64_t y = r.first + i;
        if (y >= 0 && y < height)
            split_row(x, r, plane + y * width, width, pad, out);
        else
            fill_row(out, r.row_size(), pad);
    }
}

/* Kernel positions [first, last) of output `o` that lie inside `length` elements. */
inline void taps_inside(const fl_window &w, int64_t o, int64_t length, int64_t *first,
                        int64_t *last) {
    int64_t start = o * w.stride - w.padding;
    *first = start < 0 ? (-start + w.dilation - 1) / w.dilation : 0;
    int64_t room = length - 1 - start;
    *last = room < 0 ? 0 : room / w.dilation + 1;
    if (*last > w.size)
        *last = w.size;
    if (*first > *last)
        *first = *last;
}

}  // namespace
