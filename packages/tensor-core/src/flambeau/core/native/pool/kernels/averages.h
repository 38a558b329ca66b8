/* Averages over windows, and their gradient. */
#pragma once
#include "pool/kernels/rows.h"
#include "common/kernels/repeat.h"
#include <string.h>

namespace {

/* Elements of the window at `o` along one dimension; the padding counts as far as it reaches. */
inline int64_t extent(const fl_window &w, int64_t o, int64_t length, bool include_padding) {
    int64_t start = o * w.stride - w.padding, stop = start + w.size;
    if (stop > length + w.padding)
        stop = length + w.padding;
    if (!include_padding) {
        start = start > 0 ? start : 0;
        stop = stop < length ? stop : length;
    }
    return stop - start;
}

/* What sums are divided by in each column, times a number for the row. */
template <class T>
inline void column_divisors(const fl_pool &p, const fl_average &by, T *out) {
    for (int64_t ox = 0; ox < p.ow; ox++)
        out[ox] = by.fixed ? 1 : (T)extent(p.x, ox, p.w, by.include_padding != 0);
}

/* Sums of integers wrap, as those of the core's own sums do. */
template <class N> inline N plus(N a, N b) { return a + b; }
inline int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
typedef register_of<int64_t>::type i64_reg;
inline i64_reg plus(i64_reg a, i64_reg b) {
    typedef uint64_t unsigned_lanes __attribute__((vector_size(sizeof(i64_reg))));
    return (i64_reg)((unsigned_lanes)a + (unsigned_lanes)b);
}

template <class T>
inline void avg_row(const fl_pool &p, const PhaseRows &r, const T *row, int64_t ky0, int64_t ky1,
                    T height, const T *widths, T *out) {
    typedef typename register_of<T>::type reg;
    const int64_t lanes = FL_REGISTER / sizeof(T);
    for (int64_t ox = 0; ox < p.ow; ox += lanes) {
        reg sum = {};
        for (int64_t ky = ky0; ky < ky1; ky++)
            for (int64_t kx = 0; kx < p.x.size; kx++) {
                reg v;
                memcpy(&v, row + tap_offset(p.y, p.x, r, ky, kx) + ox, sizeof v);
                sum = plus(sum, v);
            }
        alignas(64) T sums[lanes];
        memcpy(sums, &sum, sizeof sum);
        int64_t n = p.ow - ox < lanes ? p.ow - ox : lanes;
        for (int64_t j = 0; j < n; j++)
            out[ox + j] = sums[j] / (height * widths[ox + j]);
    }
}

/* Windows side by side that are wide: the sum of their rows, of which each window sums its part. */
inline bool wide_apart(const fl_pool &p) {
    return p.x.size >= 4 && p.x.stride == p.x.size && p.x.dilation == 1 && p.x.padding == 0 &&
           (p.ow - 1) * p.x.stride + p.x.size <= p.w;
}

template <class T>
inline void avg_row_apart(const fl_pool &p, const T *from, int64_t rows, T height,
                          const T *widths, T *sums, T *out) {
    const int64_t width = p.ow * p.x.size;
    fill(sums, width, (T)0);
    for (int64_t ky = 0; ky < rows; ky++, from += p.y.dilation * p.w)
        for (int64_t x = 0; x < width; x++)
            sums[x] = plus(sums[x], from[x]);
    for (int64_t ox = 0; ox < p.ow; ox++) {
        const T *part = sums + ox * p.x.stride;
        T four[4] = {part[0], part[1], part[2], part[3]};
        int64_t kx = 4;
        for (; kx + 4 <= p.x.size; kx += 4)
            for (int i = 0; i < 4; i++)
                four[i] = plus(four[i], part[kx + i]);
        for (; kx < p.x.size; kx++)
            four[0] = plus(four[0], part[kx]);
        out[ox] = plus(plus(four[0], four[1]), plus(four[2], four[3])) / (height * widths[ox]);
    }
}

/* In the order in which avg_row sums. */
template <class T>
inline T sum_one(const fl_pool &p, const T *plane, int64_t oy, int64_t ox) {
    int64_t ky0, ky1, kx0, kx1;
    taps_inside(p.y, oy, p.h, &ky0, &ky1);
    taps_inside(p.x, ox, p.w, &kx0, &kx1);
    const T *corner = plane + (oy * p.y.stride - p.y.padding) * p.w + ox * p.x.stride - p.x.padding;
    T sum = 0;
    for (int64_t ky = ky0; ky < ky1; ky++)
        for (int64_t kx = kx0; kx < kx1; kx++)
            sum = plus(sum, corner[ky * p.y.dilation * p.w + kx * p.x.dilation]);
    return sum;
}

template <class T>
void avg_small(const fl_pool &p, const fl_average &by, const T *plane, int64_t begin, int64_t end,
             T *out) {
    const bool all = by.include_padding != 0;
    for (int64_t oy = begin; oy < end; oy++) {
        const T height = (T)(by.fixed ? by.fixed : extent(p.y, oy, p.h, all));
        for (int64_t ox = 0; ox < p.ow; ox++) {
            const T width = by.fixed ? 1 : (T)extent(p.x, ox, p.w, all);
            out[oy * p.ow + ox] = sum_one(p, plane, oy, ox) / (height * width);
        }
    }
}

template <class T>
void avg_pool(const fl_pool *p, const fl_average *by, const void *plane, int64_t begin,
              int64_t end, void *out, void *scratch) {
    if (p->small && !wide_apart(*p))
        return avg_small(*p, *by, (const T *)plane, begin, end, (T *)out);
    PhaseRows rows = band(*p, begin, end - begin);
    T *widths = (T *)scratch, *split = widths + p->ow;
    column_divisors(*p, *by, widths);
    const bool apart = wide_apart(*p);
    if (!apart) {
        prepare_padding(*p, rows, split, (T)0);
        split_plane(p->x, rows, (const T *)plane, p->h, p->w, split);
    }
    for (int64_t oy = begin; oy < end; oy++) {
        int64_t ky0, ky1;
        taps_inside(p->y, oy, p->h, &ky0, &ky1);
        T height = (T)(by->fixed ? by->fixed : extent(p->y, oy, p->h, by->include_padding != 0));
        if (apart) {
            int64_t y = oy * p->y.stride - p->y.padding + ky0 * p->y.dilation;
            avg_row_apart(*p, (const T *)plane + y * p->w, ky1 - ky0, height, widths, split,
                          (T *)out + oy * p->ow);
            continue;
        }
        avg_row(*p, rows, split + (oy - begin) * p->y.stride * rows.row_size(), ky0, ky1,
                height, widths, (T *)out + oy * p->ow);
    }
}

/* One output of each of `count` planes, whose elements are rows of columns, in the order of
 * avg_row. */
template <class T>
inline void avg_one_row(const fl_pool &p, const T *columns, int64_t oy, int64_t ox, T divisor,
                        int64_t count, int64_t step, T *out) {
    int64_t ky0, ky1, kx0, kx1;
    taps_inside(p.y, oy, p.h, &ky0, &ky1);
    taps_inside(p.x, ox, p.w, &kx0, &kx1);
    const int64_t corner = (oy * p.y.stride - p.y.padding) * p.w + ox * p.x.stride - p.x.padding;
    T sum[FL_POOL_COLUMNS];
    fill(sum, count, (T)0);
    for (int64_t ky = ky0; ky < ky1; ky++)
        for (int64_t kx = kx0; kx < kx1; kx++) {
            const int64_t tap = corner + ky * p.y.dilation * p.w + kx * p.x.dilation;
            const T *element = columns + tap * step;
            for (int64_t j = 0; j < count; j++)
                sum[j] = plus(sum[j], element[j]);
        }
    for (int64_t j = 0; j < count; j++)
        out[j] = sum[j] / divisor;
}

/* The same in the order of avg_row_apart: down each column of the window, then in four parts. */
template <class T>
inline void avg_one_apart(const fl_pool &p, const T *columns, int64_t oy, int64_t ox, T divisor,
                          int64_t count, int64_t step, T *out) {
    int64_t ky0, ky1;
    taps_inside(p.y, oy, p.h, &ky0, &ky1);
    const int64_t top = oy * p.y.stride - p.y.padding, fours = p.x.size & ~(int64_t)3;
    T part[4][FL_POOL_COLUMNS];
    for (int64_t kx = 0; kx < p.x.size; kx++) {
        T sum[FL_POOL_COLUMNS], *to = part[kx < fours ? kx % 4 : 0];
        fill(sum, count, (T)0);
        for (int64_t ky = ky0; ky < ky1; ky++) {
            const int64_t row = top + ky * p.y.dilation;
            const T *element = columns + (row * p.w + ox * p.x.stride + kx) * step;
            for (int64_t j = 0; j < count; j++)
                sum[j] = plus(sum[j], element[j]);
        }
        for (int64_t j = 0; j < count; j++)
            to[j] = kx < 4 ? sum[j] : plus(to[j], sum[j]);
    }
    for (int64_t j = 0; j < count; j++)
        out[j] = plus(plus(part[0][j], part[1][j]), plus(part[2][j], part[3][j])) / divisor;
}

template <class T>
void avg_columns(const fl_pool *p, const fl_average *by, const void *columns, int64_t count,
                 int64_t step, void *out) {
    const bool all = by->include_padding != 0;
    const auto average = wide_apart(*p) ? avg_one_apart<T> : avg_one_row<T>;
    for (int64_t oy = 0; oy < p->oh; oy++) {
        const T height = (T)(by->fixed ? by->fixed : extent(p->y, oy, p->h, all));
        for (int64_t ox = 0; ox < p->ow; ox++) {
            const T width = by->fixed ? 1 : (T)extent(p->x, ox, p->w, all);
            average(*p, (const T *)columns, oy, ox, height * width, count, step,
                    (T *)out + (oy * p->ow + ox) * step);
        }
    }
}

/* Add the shares of one row of outputs to the taps of their windows, in rows split by phase. */
template <class T>
inline void spread_row(const fl_pool &p, const PhaseRows &r, const T *share, T *row) {
    for (int64_t ky = 0; ky < p.y.size; ky++)
        for (int64_t kx = 0; kx < p.x.size; kx++) {
            T *to = row + tap_offset(p.y, p.x, r, ky, kx);
            for (int64_t j = 0; j < p.ow; j++)
                to[j] += share[j];
        }
}

/* The elements of the image, out of rows split by phase. */
template <class T>
inline void join_plane(const fl_pool &p, const PhaseRows &r, const T *in, T *out) {
    for (int64_t y = 0; y < p.h; y++, out += p.w)
        for (int64_t q = 0; q < p.x.stride; q++) {
            int64_t begin, end, i = y - r.first;
            phase_bounds(p.x, q, p.w, (p.w + p.x.padding) / p.x.stride + 1, &begin, &end);
            const T *from = in + i * r.row_size() + q * r.pitch;
            T *to = out + q - p.x.padding;
            bool met = i < r.rows && q < r.phases;
            for (int64_t j = begin; j < end; j++)
                to[j * p.x.stride] = met && j < r.pitch ? from[j] : 0;
        }
}

/* Windows that lie side by side: every element has one share. */
inline bool side_by_side(const fl_window &w) {
    return w.stride == w.size && w.dilation == 1 && w.padding == 0;
}

template <class T>
void repeat_shares(const fl_pool &p, const fl_average &by, const T *grad, T *out, T *widths,
                   T *share) {
    const int64_t wide = p.ow * p.x.size < p.w ? p.ow * p.x.size : p.w;
    const int64_t inside = p.w / p.x.size;      /* of the windows; the last may reach beyond */
    fill(out, p.h * p.w, (T)0);
    column_divisors(p, by, widths);
    for (int64_t oy = 0; oy < p.oh; oy++) {
        const T height = (T)(by.fixed ? by.fixed
                                      : extent(p.y, oy, p.h, by.include_padding != 0));
        for (int64_t j = 0; j < p.ow; j++)      /* never -0, like a sum */
            share[j] = (T)0 + grad[oy * p.ow + j] / (height * widths[j]);
        T *row = out + oy * p.y.size * p.w;
        const int64_t n = inside < p.ow ? inside : p.ow;
        repeat_each(share, n, p.x.size, row);
        if (n < p.ow)
            fill(row + n * p.x.size, wide - n * p.x.size, share[n]);
        for (int64_t k = 1; k < p.y.size && oy * p.y.size + k < p.h; k++)
            memcpy(row + k * p.w, row, (size_t)wide * sizeof(T));
    }
}

template <class T>
void avg_grad(const fl_pool *p, const fl_average *by, const void *grad, void *out,
              void *scratch) {
    if (side_by_side(p->y) && side_by_side(p->x))
        return repeat_shares(*p, *by, (const T *)grad, (T *)out, (T *)scratch,
                             (T *)scratch + p->ow);
    PhaseRows rows = band(*p, 0, p->oh);
    T *widths = (T *)scratch, *split = widths + p->ow, *share = split + rows.plane_size();
    column_divisors(*p, *by, widths);
    fill(split, rows.plane_size(), (T)0);
    for (int64_t oy = 0; oy < p->oh; oy++) {
        T height = (T)(by->fixed ? by->fixed : extent(p->y, oy, p->h, by->include_padding != 0));
        for (int64_t j = 0; j < p->ow; j++)
            share[j] = ((const T *)grad)[oy * p->ow + j] / (height * widths[j]);
        spread_row(*p, rows, share, split + oy * p->y.stride * rows.row_size());
    }
    join_plane(*p, rows, split, (T *)out);
}

}  // namespace
