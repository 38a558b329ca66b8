/* Rows split by phase, for windows with a stride: phase q of a row holds the padded elements q,
 * q + stride, q + 2 stride and so on. Every tap of a window then reads consecutive elements for
 * consecutive outputs, so that vectors run along output columns whatever the stride. */
#pragma once
#include "conv/kernels/conv.h"
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

/* Every second element, 16 at a time as long as `room` elements may be read. */
struct TakeEven {
    template <class T> static void run(T *__restrict out, const T *in, int64_t n, int64_t room) {
        int64_t j = 0;
        for (; j + 16 <= n && 2 * j + 32 <= room; j += 16) {
            T block[32];
            memcpy(block, in + 2 * j, sizeof block);
            for (int i = 0; i < 16; i++)
                out[j + i] = block[2 * i];
        }
        for (; j < n; j++)
            out[j] = in[2 * j];
    }
};

/* One phase of the rows of a band; only the elements of the image, as the padding is there
 * already. */
template <class Even, class T>
inline void split_phase(const fl_window &x, const PhaseRows &r, int64_t q, const T *plane,
                        int64_t height, int64_t width, T *out) {
    int64_t begin, end;
    phase_bounds(x, q, width, r.pitch, &begin, &end);
    int64_t n = end - begin, skipped = begin * x.stride + q - x.padding;
    int64_t first = r.first < 0 ? -r.first : 0;
    int64_t last = height - r.first < r.rows ? height - r.first : r.rows;
    for (int64_t i = first; i < last; i++) {
        const T *from = plane + (r.first + i) * width + skipped;
        T *to = out + i * r.row_size() + q * r.pitch + begin;
        if (r.reach < r.stride && i % r.stride >= r.reach)
            continue;       /* no tap meets this row */
        if (x.stride == 1)
            copy_row_bytes((char *)to, (const char *)from, n * (int64_t)sizeof(T));
        else if (x.stride == 2)
            Even::run(to, from, n, width - skipped);
        else
            for (int64_t j = 0; j < n; j++)
                to[j] = from[j * x.stride];
    }
}

/* Split the rows of a band out of a plane. What lies outside the plane stays as it is. */
template <class Even = TakeEven, class T>
inline void split_plane(const fl_window &x, const PhaseRows &r, const T *plane, int64_t height,
                        int64_t width, T *out) {
    for (int64_t q = 0; q < r.phases; q++)
        split_phase<Even>(x, r, q, plane, height, width, out);
}

/* The quotient; dividing by 1, as most dilations are, takes longer than to see that. */
inline int64_t divided(int64_t a, int64_t by) { return by == 1 ? a : a / by; }

/* Kernel positions [first, last) of output `o` that lie inside `length` elements. */
inline void taps_inside(const fl_window &w, int64_t o, int64_t length, int64_t *first,
                        int64_t *last) {
    int64_t start = o * w.stride - w.padding, d = w.dilation;
    *first = start < 0 ? divided(-start + d - 1, d) : 0;
    int64_t room = length - 1 - start;
    *last = room < 0 ? 0 : divided(room, d) + 1;
    if (*last > w.size)
        *last = w.size;
    if (*first > *last)
        *first = *last;
}

}  // namespace
