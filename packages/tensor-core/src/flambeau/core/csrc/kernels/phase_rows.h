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
    int64_t stride, reach;      /* of windows, downwards */

    inline int64_t row_size() const { return phases * pitch; }
    inline int64_t plane_size() const { return rows * phases * pitch; }
};

inline PhaseRows phase_rows(const fl_window &y, const fl_window &x, int64_t width, int64_t begin,
                            int64_t rows) {
    int64_t reach = fl_window_reach(x);
    int64_t phases = reach < x.stride ? reach : x.stride;
    return PhaseRows{phases, width + (reach - 1) / x.stride,
                     (rows - 1) * y.stride + fl_window_reach(y), begin * y.stride - y.padding,
                     y.stride, fl_window_reach(y)};
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

/* Copy bytes of a short row: blocks of one size, the last one moved back to end with the row. */
template <int BLOCK> inline void copy_blocks(char *out, const char *in, int64_t n) {
    for (int64_t j = 0; j + BLOCK < n; j += BLOCK)
        memcpy(out + j, in + j, BLOCK);
    memcpy(out + n - BLOCK, in + n - BLOCK, BLOCK);
}

inline void copy_row_bytes(char *out, const char *in, int64_t n) {
    if (n >= 64)
        copy_blocks<64>(out, in, n);
    else if (n >= 16)
        copy_blocks<16>(out, in, n);
    else if (n >= 4)
        copy_blocks<4>(out, in, n);
}

template <class T> inline void take_phase(T *out, const T *in, int64_t stride, int64_t n) {
    if (stride == 1)
        return copy_row_bytes((char *)out, (const char *)in, n * (int64_t)sizeof(T));
    if (stride == 2)
        for (int64_t j = 0; j < n; j++)
            out[j] = in[2 * j];
    else
        for (int64_t j = 0; j < n; j++)
            out[j] = in[j * stride];
}

/* Only the elements of the image: the padding is there already. */
template <class T>
inline void split_row(const fl_window &x, const PhaseRows &r, const T *in, int64_t length,
                      T *out) {
    for (int64_t q = 0; q < r.phases; q++, out += r.pitch) {
        int64_t begin, end;
        phase_bounds(x, q, length, r.pitch, &begin, &end);
        take_phase(out + begin, in + begin * x.stride + q - x.padding, x.stride, end - begin);
    }
}

/* Split the rows of a band out of a plane. What lies outside it stays as it is. */
template <class T>
inline void split_plane(const fl_window &x, const PhaseRows &r, const T *plane, int64_t height,
                        int64_t width, T *out) {
    int64_t first = r.first < 0 ? -r.first : 0;
    int64_t last = height - r.first < r.rows ? height - r.first : r.rows;
    for (int64_t i = first; i < last; i++)
        if (i % r.stride < r.reach)     /* else no tap meets this row */
            split_row(x, r, plane + (r.first + i) * width, width, out + i * r.row_size());
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
