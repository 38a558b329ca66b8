/* Layer and batch normalization.
 *
 * Statistics take two passes: the mean, then squared deviations from it. A row of a layer norm
 * stays in the nearest cache in between. */
#include "statistics/kernels/moments.h"
#include "norm/kernels/norm.h"
#include "common/kernels/row_moments.h"
#include <math.h>

namespace {

/* Rows are summed in pieces, whose sums are added in double precision: a long sum in single
 * precision loses digits of the mean. */
constexpr int64_t PIECE_ELEMENTS = 1024;
/* Elements of a row that is read twice; longer ones leave the nearest cache in between. */
constexpr int64_t MAX_CACHED_ELEMENTS = 8192;

/* Call body(first element, elements) for the pieces of a row. */
template <class Body> FL_TIGHT void pieces(int64_t n, const Body &body) {
    for (int64_t at = 0; at < n; at += PIECE_ELEMENTS)
        body(at, n - at < PIECE_ELEMENTS ? n - at : PIECE_ELEMENTS);
}

/* Call body(i, count) for whole sets of lanes and for the rest of a run. */
template <class T, class Body> FL_TIGHT void each(int64_t n, const Body &body) {
    constexpr int COUNT = Lanes<T>::COUNT;
    int64_t i = 0;
    for (; i + COUNT <= n; i += COUNT)
        body(i, COUNT);
    if (i < n)
        body(i, n - i);
}

template <class T> FL_TIGHT Lanes<T> get(const T *p, int64_t n, T rest = 0) {
    return n == Lanes<T>::COUNT ? Lanes<T>::load(p) : Lanes<T>::load_part(p, n, rest);
}

template <class T> FL_TIGHT void put(const Lanes<T> &v, T *p, int64_t n) {
    if (n == Lanes<T>::COUNT)
        v.store(p);
    else
        v.store_part(p, n);
}

template <class T> FL_TIGHT T squares(const T *x, int64_t n, T mean) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const Lanes<T> m = Lanes<T>::fill(mean);
    Lanes<T> set[SETS];
    for (int s = 0; s < SETS; s++)
        set[s] = Lanes<T>::fill(0);
    int64_t i = 0;
    for (; i + SETS * COUNT <= n; i += SETS * COUNT)
        for (int s = 0; s < SETS; s++) {
            Lanes<T> d = Lanes<T>::load(x + i + s * COUNT) - m;
            set[s] = set[s] + d * d;
        }
    each<T>(n - i, [&](int64_t at, int64_t left) {
        Lanes<T> d = get(x + i + at, left, mean) - m;
        set[0] = set[0] + d * d;
    });
    return tree(set);
}

/* Every piece is read twice before the next is read. */
template <class T> void joined_moments(const T *x, int64_t n, T *mean_out, T *variance_out) {
    double mean = 0, m2 = 0;
    pieces(n, [&](int64_t at, int64_t count) {
        const T m = sum(x + at, count) / (T)count;
        T first = 0;
        const double second = (double)deviations(x + at, count, m, &first);
        const double off = (double)first / (double)count, part = second - (double)first * off;
        fl_join_moments(at, &mean, &m2, count, (double)m + off, part < 0 ? 0 : part);
    });
    *mean_out = (T)mean;
    *variance_out = (T)(m2 / (double)n);
}

template <class T> void long_moments(const T *x, int64_t n, T *mean, T *variance) {
    double total = 0, m2 = 0;
    pieces(n, [&](int64_t at, int64_t count) { total += (double)sum(x + at, count); });
    const T m = (T)(total / (double)n);
    pieces(n, [&](int64_t at, int64_t count) { m2 += (double)squares(x + at, count, m); });
    *mean = m;
    *variance = (T)(m2 / (double)n);
}

template <class T> FL_TIGHT void moments_of(const T *x, int64_t n, T *mean, T *variance) {
    if (n > MAX_CACHED_ELEMENTS)
        return joined_moments(x, n, mean, variance);
    if (n > PIECE_ELEMENTS)
        return long_moments(x, n, mean, variance);
    *mean = sum(x, n) / (T)n;
    *variance = squares(x, n, *mean) / (T)n;
}

template <class T>
void layer_norm(const void *xs, const void *ws, const void *bs, void *ys, int64_t n, double eps,
                void *mean_out, void *rstd_out) {
    const T *x = (const T *)xs, *w = (const T *)ws, *b = (const T *)bs;
    T *y = (T *)ys;
    T mean, variance;
    moments_of(x, n, &mean, &variance);
    const T rstd = (T)(1 / sqrt((double)variance + eps));
    const Lanes<T> m = Lanes<T>::fill(mean), r = Lanes<T>::fill(rstd);
    *(T *)mean_out = mean;
    *(T *)rstd_out = rstd;
    if (w && b)
        each<T>(n, [&](int64_t i, int64_t left) {
            put((get(x + i, left) - m) * r * get(w + i, left) + get(b + i, left), y + i, left);
        });
    else if (w)
        each<T>(n, [&](int64_t i, int64_t left) {
            put((get(x + i, left) - m) * r * get(w + i, left), y + i, left);
        });
    else if (b)
        each<T>(n, [&](int64_t i, int64_t left) {
            put((get(x + i, left) - m) * r + get(b + i, left), y + i, left);
        });
    else
        each<T>(n, [&](int64_t i, int64_t left) {
            put((get(x + i, left) - m) * r, y + i, left);
        });
}

/* dx = rstd * (g w - mean(g w) - xhat * mean(g w xhat)). */
template <class T>
void layer_norm_grad(const void *gs, const void *xs, const void *ws, double mean, double rstd,
                     void *dxs, void *dws, void *dbs, int64_t n) {
    const T *g = (const T *)gs, *x = (const T *)xs, *w = (const T *)ws;
    T *dx = (T *)dxs, *dw = (T *)dws, *db = (T *)dbs;
    const Lanes<T> m = Lanes<T>::fill((T)mean), r = Lanes<T>::fill((T)rstd);
    double sum_g = 0, sum_gx = 0;
    pieces(n, [&](int64_t at, int64_t count) {
        Lanes<T> a = Lanes<T>::fill(0), b = a;
        each<T>(count, [&](int64_t j, int64_t left) {
            const int64_t i = at + j;
            Lanes<T> gi = get(g + i, left), hat = (get(x + i, left, (T)mean) - m) * r;
            put(get(dw + i, left) + gi * hat, dw + i, left);
            put(get(db + i, left) + gi, db + i, left);
            Lanes<T> gw = w ? gi * get(w + i, left) : gi;
            a = a + gw;
            b = b + gw * hat;
        });
        sum_g += (double)reduce_lanes<Sum<T>, T>(a);
        sum_gx += (double)reduce_lanes<Sum<T>, T>(b);
    });
    const Lanes<T> mean_g = Lanes<T>::fill((T)sum_g / (T)n);
    const Lanes<T> mean_gx = Lanes<T>::fill((T)sum_gx / (T)n);
    each<T>(n, [&](int64_t i, int64_t left) {
        Lanes<T> hat = (get(x + i, left) - m) * r;
        Lanes<T> gw = w ? get(g + i, left) * get(w + i, left) : get(g + i, left);
        put((gw - mean_g - hat * mean_gx) * r, dx + i, left);
    });
}

template <class T> void affine(const void *xs, void *ys, int64_t n, double scale, double shift) {
    const T *x = (const T *)xs;
    T *y = (T *)ys;
    const T a = (T)scale, b = (T)shift;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * a + b;
}

template <class T>
void affine_columns(const void *xs, void *ys, int64_t rows, int64_t width, const void *scale,
                    const void *shift) {
    const T *x = (const T *)xs, *a = (const T *)scale, *b = (const T *)shift;
    T *y = (T *)ys;
    for (int64_t i = 0; i < rows; i++, x += width, y += width)
        for (int64_t j = 0; j < width; j++)
            y[j] = x[j] * a[j] + b[j];
}

template <class T>
void sums(const void *gs, const void *xs, int64_t n, double mean, double *sum_g, double *sum_gx) {
    const T *g = (const T *)gs, *x = (const T *)xs;
    const Lanes<T> m = Lanes<T>::fill((T)mean);
    Lanes<T> a = Lanes<T>::fill(0), b = a;
    each<T>(n, [&](int64_t i, int64_t left) {
        Lanes<T> gi = get(g + i, left);
        a = a + gi;
        b = b + gi * (get(x + i, left, (T)mean) - m);
    });
    *sum_g = (double)reduce_lanes<Sum<T>, T>(a);
    *sum_gx = (double)reduce_lanes<Sum<T>, T>(b);
}

template <class T>
void dx(const void *gs, const void *xs, void *out, int64_t n, double mean, double a, double b,
        double c) {
    const T *g = (const T *)gs, *x = (const T *)xs;
    T *y = (T *)out;
    const T m = (T)mean, ta = (T)a, tb = (T)b, tc = (T)c;
    for (int64_t i = 0; i < n; i++)
        y[i] = ta * g[i] + tb * (x[i] - m) + tc;
}

template <class T>
void sums_columns(const void *gs, const void *xs, int64_t rows, int64_t stride, int64_t width,
                  const void *means, double *sum_g, double *sum_gx) {
    const T *g = (const T *)gs, *x = (const T *)xs, *m = (const T *)means;
    for (int64_t i = 0; i < rows; i++, g += stride, x += stride)
        for (int64_t j = 0; j < width; j++) {
            sum_g[j] += (double)g[j];
            sum_gx[j] += (double)g[j] * (double)(x[j] - m[j]);
        }
}

template <class T>
void dx_columns(const void *gs, const void *xs, void *out, int64_t rows, int64_t width,
                const void *means, const void *as, const void *bs, const void *cs) {
    const T *g = (const T *)gs, *x = (const T *)xs, *m = (const T *)means;
    const T *a = (const T *)as, *b = (const T *)bs, *c = (const T *)cs;
    T *y = (T *)out;
    for (int64_t i = 0; i < rows; i++, g += width, x += width, y += width)
        for (int64_t j = 0; j < width; j++)
            y[j] = a[j] * g[j] + b[j] * (x[j] - m[j]) + c[j];
}

}  // namespace

#define BOTH(f) {f<float>, f<double>}
extern const fl_norm_kernels FL_LEVEL(fl_norm_kernels) = {
    BOTH(layer_norm), BOTH(layer_norm_grad), BOTH(affine), BOTH(affine_columns), BOTH(sums),
    BOTH(dx), BOTH(sums_columns), BOTH(dx_columns)};
