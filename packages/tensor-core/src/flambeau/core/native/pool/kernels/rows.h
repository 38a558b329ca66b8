/* Rows of a plane as the kernels of maxima and averages take them: split by phase. */
#pragma once
#include "pool/kernels/pool.h"
#include "common/kernels/lanes.h"
#include "common/kernels/phase_rows.h"

namespace {

const int64_t SLACK_ELEMENTS = 128;      /* elements that vectors may run past the last row */

inline PhaseRows band(const fl_pool &p, int64_t begin, int64_t rows) {
    return phase_rows(p.y, p.x, p.ow, begin, rows);
}

template <class T> inline void fill(T *out, int64_t n, T value) {
    for (int64_t j = 0; j < n; j++)
        out[j] = value;
}

inline bool inside(const fl_window &w, int64_t count, int64_t length) {
    return w.padding == 0 && (count - 1) * w.stride + fl_window_reach(w) <= length;
}

/* What taps read where there is no element; not needed where every tap meets one. */
template <class T>
inline void prepare_padding(const fl_pool &p, const PhaseRows &rows, T *split, T value) {
    if (!inside(p.y, p.oh, p.h) || !inside(p.x, p.ow, p.w))
        fill(split, rows.plane_size(), value);
}

}  // namespace
