/* Max and average pooling: see pool.h. */
#include "pool/kernels/averages.h"
#include "pool/kernels/quarters.h"

namespace {

/* Registers of the element type and of indices within a plane. */
template <class T> struct index_of { typedef int64_t type; };
template <> struct index_of<float> { typedef int32_t type; };

template <class T> inline T lowest() { return limits<T>::low; }

/* The reference for one output, which also finds the index when nothing exceeds the padding. */
template <class T>
void max_one(const fl_pool &p, const T *plane, int64_t oy, int64_t ox, T *value, int64_t *index) {
    int64_t ky0, ky1, kx0, kx1;
    taps_inside(p.y, oy, p.h, &ky0, &ky1);
    taps_inside(p.x, ox, p.w, &kx0, &kx1);
    int64_t y = oy * p.y.stride - p.y.padding, x = ox * p.x.stride - p.x.padding;
    T best = lowest<T>();
    int64_t at = (y + ky0 * p.y.dilation) * p.w + x + kx0 * p.x.dilation;
    for (int64_t ky = ky0; ky < ky1; ky++)
        for (int64_t kx = kx0; kx < kx1; kx++) {
            int64_t here = (y + ky * p.y.dilation) * p.w + x + kx * p.x.dilation;
            T v = plane[here];
            if (v > best || v != v) {
                best = v;
                at = here;
            }
        }
    *value = best;
    *index = at;
}

/* One vector of outputs. `tap` of the best one is its distance from the window's corner. */
template <class T, class I> struct Best {
    typedef typename register_of<T>::type reg;
    typedef typename register_of<I>::type index_reg;
    reg value;
    index_reg tap;

    FL_TIGHT void meet(const T *from, I tap_number) {
        reg v;
        memcpy(&v, from, sizeof v);
        auto better = (v > value) | (v != v);
        value = better ? v : value;
        tap = better ? tap_number - index_reg{} : tap;
    }
};

template <class T> struct MaxRow {
    typedef typename index_of<T>::type I;
    static constexpr int LANES = FL_REGISTER / sizeof(T);
    const fl_pool &p;
    const PhaseRows &rows;
    const T *row;               /* scratch of the window's first row */
    int64_t ky0, ky1;

    /* Two vectors from output column ox on. */
    FL_TIGHT void pair(int64_t ox, T *values, I *taps) const {
        Best<T, I> a, b;
        a.value = b.value = lowest<T>() - typename Best<T, I>::reg{};
        a.tap = b.tap = typename Best<T, I>::index_reg{};
        for (int64_t ky = ky0; ky < ky1; ky++)
            for (int64_t kx = 0; kx < p.x.size; kx++) {
                const T *from = row + tap_offset(p.y, p.x, rows, ky, kx) + ox;
                I tap = (I)(ky * p.y.dilation * p.w + kx * p.x.dilation);
                a.meet(from, tap);
                b.meet(from + LANES, tap);
            }
        memcpy(values, &a.value, sizeof a.value);
        memcpy(values + LANES, &b.value, sizeof b.value);
        memcpy(taps, &a.tap, sizeof a.tap);
        memcpy(taps + LANES, &b.tap, sizeof b.tap);
    }
};

template <class T>
inline void max_row(const fl_pool &p, const MaxRow<T> &row, const T *plane, int64_t oy, T *values,
                    int64_t *indices) {
    const int64_t step = 2 * MaxRow<T>::LANES;
    int64_t corner = (oy * p.y.stride - p.y.padding) * p.w - p.x.padding;
    for (int64_t ox = 0; ox < p.ow; ox += step) {
        alignas(64) T value[step];
        alignas(64) typename MaxRow<T>::I tap[step];
        row.pair(ox, value, tap);
        int64_t n = p.ow - ox < step ? p.ow - ox : step;
        bool lost = false;
        for (int64_t j = 0; j < n; j++) {
            values[ox + j] = value[j];
            indices[ox + j] = corner + (ox + j) * p.x.stride + tap[j];
            lost |= value[j] == lowest<T>();
        }
        for (int64_t j = 0; lost && j < n; j++)
            max_one(p, plane, oy, ox + j, values + ox + j, indices + ox + j);
    }
}

/* Without positions. */
template <class T> inline void max_row_values(const MaxRow<T> &row, T *values) {
    typedef typename register_of<T>::type reg;
    const fl_pool &p = row.p;
    for (int64_t ox = 0; ox < p.ow; ox += MaxRow<T>::LANES) {
        reg best = lowest<T>() - reg{};
        for (int64_t ky = row.ky0; ky < row.ky1; ky++)
            for (int64_t kx = 0; kx < p.x.size; kx++) {
                reg v;
                memcpy(&v, row.row + tap_offset(p.y, p.x, row.rows, ky, kx) + ox, sizeof v);
                best = (v > best) | (v != v) ? v : best;
            }
        if (p.ow - ox >= MaxRow<T>::LANES)      /* a size that is known is no call */
            memcpy(values + ox, &best, sizeof best);
        else
            memcpy(values + ox, &best, (size_t)(p.ow - ox) * sizeof(T));
    }
}

/* Windows that step by one and never leave the image are read where it lies: vectors of outputs,
 * of which the last is moved back to end with the row. */
inline bool reads_in_place(const fl_pool &p, int64_t lanes) {
    return p.x.stride == 1 && inside(p.x, p.ow, p.w) && p.ow >= lanes;
}

template <class T>
inline void max_row_in_place(const fl_pool &p, const T *row, int64_t rows, T *values) {
    typedef typename register_of<T>::type reg;
    const int64_t lanes = FL_REGISTER / sizeof(T), last = p.ow - lanes;
    for (int64_t ox = 0; ox < p.ow; ox += lanes) {
        const int64_t at = ox < last ? ox : last;
        reg best = lowest<T>() - reg{};
        for (int64_t ky = 0; ky < rows; ky++)
            for (int64_t kx = 0; kx < p.x.size; kx++) {
                reg v;
                memcpy(&v, row + ky * p.y.dilation * p.w + kx * p.x.dilation + at, sizeof v);
                best = (v > best) | (v != v) ? v : best;
            }
        memcpy(values + at, &best, sizeof best);
    }
}

template <class T>
inline void max_pool_in_place(const fl_pool &p, const T *plane, int64_t begin, int64_t end,
                              T *values) {
    for (int64_t oy = begin; oy < end; oy++) {
        int64_t ky0, ky1;
        taps_inside(p.y, oy, p.h, &ky0, &ky1);
        const int64_t y = oy * p.y.stride - p.y.padding + ky0 * p.y.dilation;
        max_row_in_place(p, plane + y * p.w, ky1 - ky0, values + oy * p.ow);
    }
}

/* ---- wide windows ---------------------------------------------------------------------------- */

/* Whether windows are better met downwards first, for all columns, than tap by tap for all outputs
 * of a row: where few outputs fill vectors badly, or windows are wide. */
inline bool meets_columns(const fl_pool &p, int64_t lanes) {
    const int64_t columns = (p.w - 1) / lanes + 1, pairs = (p.ow - 1) / (2 * lanes) + 1;
    return p.x.dilation == 1 && p.y.dilation == 1 && p.w >= lanes && p.y.padding < p.y.size &&
           p.x.padding < p.x.size &&        /* so that windows meet elements */
           p.y.size * columns + p.ow * p.x.size < 2 * pairs * p.y.size * p.x.size;
}

/* The best of each column among `rows` rows of the plane from y on, and which row that is. */
template <class T>
inline void best_of_columns(const fl_pool &p, const T *plane, int64_t y, int64_t rows, T *values,
                            typename index_of<T>::type *at) {
    typedef typename index_of<T>::type I;
    const int64_t lanes = FL_REGISTER / sizeof(T), last = p.w - lanes;
    for (int64_t x = 0; x < p.w; x += lanes) {
        const int64_t from = x < last ? x : last;       /* the last vector ends with the row */
        Best<T, I> best;
        memcpy(&best.value, plane + y * p.w + from, sizeof best.value);
        best.tap = (I)y - typename Best<T, I>::index_reg{};
        for (int64_t k = y + 1; k < y + rows; k++)
            best.meet(plane + k * p.w + from, (I)k);
        memcpy(values + from, &best.value, sizeof best.value);
        memcpy(at + from, &best.tap, sizeof best.tap);
    }
}

/* The best of columns [x, end): of equal ones the one that lies first, of NaN the last. */
template <class T>
inline void best_of_window(const fl_pool &p, const T *values,
                           const typename index_of<T>::type *rows, int64_t x, int64_t end,
                           T *value, int64_t *index) {
    T best = values[x];
    int64_t at = rows[x] * p.w + x;
    for (x++; x < end; x++) {
        const T v = values[x];
        const int64_t here = rows[x] * p.w + x;
        const bool is_nan = v != v, was_nan = best != best;
        if (v > best || (v == best && here < at) || (is_nan && (!was_nan || here > at))) {
            best = v;
            at = here;
        }
    }
    *value = best;
    *index = at;
}

template <class T>
void max_columns(const fl_pool &p, const T *plane, int64_t begin, int64_t end, T *values,
                 int64_t *indices, T *scratch) {
    typedef typename index_of<T>::type I;
    static_assert(sizeof(I) == sizeof(T), "rows lie behind the values");
    I *rows = (I *)(scratch + p.w);
    int64_t unwanted;
    for (int64_t oy = begin; oy < end; oy++) {
        int64_t ky0, ky1;
        taps_inside(p.y, oy, p.h, &ky0, &ky1);
        const int64_t y = oy * p.y.stride - p.y.padding + ky0;
        best_of_columns(p, plane, y, ky1 - ky0, scratch, rows);
        for (int64_t ox = 0; ox < p.ow; ox++) {
            int64_t kx0, kx1;
            taps_inside(p.x, ox, p.w, &kx0, &kx1);
            const int64_t x = ox * p.x.stride - p.x.padding, at = oy * p.ow + ox;
            best_of_window(p, scratch, rows, x + kx0, x + kx1, values + at,
                           indices ? indices + at : &unwanted);
        }
    }
}

template <class T>
void max_small(const fl_pool &p, const T *plane, int64_t begin, int64_t end, T *values,
             int64_t *indices) {
    int64_t unwanted;
    for (int64_t oy = begin; oy < end; oy++)
        for (int64_t ox = 0; ox < p.ow; ox++) {
            const int64_t at = oy * p.ow + ox;
            max_one(p, plane, oy, ox, values + at, indices ? indices + at : &unwanted);
        }
}

template <class T>
void max_pool(const fl_pool *p, const void *plane, int64_t begin, int64_t end, void *values,
              int64_t *indices, void *scratch) {
    if (p->small)
        return max_small(*p, (const T *)plane, begin, end, (T *)values, indices);
    if (!indices && reads_in_place(*p, FL_REGISTER / sizeof(T)))
        return max_pool_in_place(*p, (const T *)plane, begin, end, (T *)values);
    if (meets_columns(*p, FL_REGISTER / sizeof(T)))
        return max_columns(*p, (const T *)plane, begin, end, (T *)values, indices, (T *)scratch);
    PhaseRows rows = band(*p, begin, end - begin);
    prepare_padding(*p, rows, (T *)scratch, lowest<T>());
    split_plane(p->x, rows, (const T *)plane, p->h, p->w, (T *)scratch);
    for (int64_t oy = begin; oy < end; oy++) {
        int64_t ky0, ky1;
        taps_inside(p->y, oy, p->h, &ky0, &ky1);
        const T *row = (const T *)scratch + (oy - begin) * p->y.stride * rows.row_size();
        MaxRow<T> windows = {*p, rows, row, ky0, ky1};
        T *to = (T *)values + oy * p->ow;
        if (indices)
            max_row(*p, windows, (const T *)plane, oy, to, indices + oy * p->ow);
        else
            max_row_values(windows, to);
    }
}

int64_t scratch_elements(const fl_pool *p, int64_t rows) {
    const int64_t split = 2 * p->ow + band(*p, 0, rows).plane_size();
    return (split > 2 * p->w ? split : 2 * p->w) + SLACK_ELEMENTS;
}

}  // namespace

extern const fl_pool_kernels FL_LEVEL(fl_pool_kernels) = {
    scratch_elements, max_pool<float>, max_pool<double>, max_pool<int64_t>,
    avg_pool<float>,  avg_pool<double>, avg_grad<float>, avg_grad<double>,
    avg_pool<int64_t>,
    avg_columns<float>, avg_columns<double>, avg_columns<int64_t>,
    max_quarters<uint8_t>, max_quarters<uint16_t>, max_quarters<int64_t>,
};
