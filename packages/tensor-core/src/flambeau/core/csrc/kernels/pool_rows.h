/* Input rows split by phase: see pool.h. */
#pragma once
#include "kernels/lanes.h"
#include "kernels/pool.h"

namespace {

const int64_t SLACK = 64;       /* vectors may run past the last output by this many elements */

/* Where rows of the band lie in scratch. */
struct PhaseRows {
    int64_t phases;     /* of a row, as far as taps use them */
    int64_t pitch;      /* elements of one phase */
    int64_t first;      /* input row of the first row in scratch */
};

inline PhaseRows phase_rows(const fl_pool &p, int64_t begin) {
    int64_t reach = fl_window_reach(p.x);
    int64_t phases = reach < p.x.stride ? reach : p.x.stride;
    return PhaseRows{phases, p.ow + reach / p.x.stride + SLACK, begin * p.y.stride - p.y.padding};
}

inline int64_t input_rows(const fl_pool &p, int64_t rows) {
    return (rows - 1) * p.y.stride + fl_window_reach(p.y);
}

/* Elements of the phase that lie before the image, and the first that lies behind it. */
inline void phase_bounds(const fl_pool &p, int64_t q, int64_t pitch, int64_t *begin,
                         int64_t *end) {
    int64_t s = p.x.stride, before = p.x.padding - q;
    *begin = before > 0 ? (before + s - 1) / s : 0;
    int64_t left = p.w + before;
    *end = left > 0 ? (left + s - 1) / s : 0;
    if (*end > pitch)
        *end = pitch;
    if (*begin > *end)
        *begin = *end;
}

template <class T>
inline void split_row(const fl_pool &p, const PhaseRows &r, const T *in, T pad, T *out) {
    int64_t s = p.x.stride;
    for (int64_t q = 0; q < r.phases; q++, out += r.pitch) {
        int64_t begin, end;
        phase_bounds(p, q, r.pitch, &begin, &end);
        for (int64_t j = 0; j < begin; j++)
            out[j] = pad;
        const T *from = in + begin * s + q - p.x.padding;
        int64_t n = end - begin;
        if (s == 1)
            memcpy(out + begin, from, (size_t)n * sizeof(T));
        else if (s == 2)
            for (int64_t j = 0; j < n; j++)
                out[begin + j] = from[2 * j];
        else
            for (int64_t j = 0; j < n; j++)
                out[begin + j] = from[j * s];
        for (int64_t j = end; j < r.pitch; j++)
            out[j] = pad;
    }
}

/* Split the input rows that output rows [begin, end) read. Rows outside the image stay unset. */
template <class T>
inline void split_rows(const fl_pool &p, const PhaseRows &r, const T *plane, int64_t rows, T pad,
                       T *scratch) {
    int64_t count = input_rows(p, rows);
    for (int64_t i = 0; i < count; i++) {
        int64_t y = r.first + i;
        if (y >= 0 && y < p.h)
            split_row(p, r, plane + y * p.w, pad, scratch + i * r.phases * r.pitch);
    }
}

/* Kernel rows [first, last) of output row `oy` lie inside the image. */
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

/* Scratch elements that output column 0 reads for tap kx, in the row's phases. */
inline int64_t tap_offset(const fl_pool &p, const PhaseRows &r, int64_t kx) {
    int64_t at = kx * p.x.dilation;
    return at % p.x.stride * r.pitch + at / p.x.stride;
}

}  // namespace
