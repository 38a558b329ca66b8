/* The elementwise parts of attention: see attention.h. Sums run in lanes whose number is the same
 * at every ISA level. */
#include "attention/kernels/attention.h"
#include "common/kernels/vexp.h"

namespace {

template <class T> constexpr T minus_infinity() { return limits<T>::low; }

/* Apply the scale and the mask to the first n scores of a row. */
template <class T> inline void prepare(T *s, int64_t n, T scale, const fl_mask &m, int64_t row) {
    if (m.kind == FL_MASK_NONE) {
        for (int64_t j = 0; j < n; j++)
            s[j] *= scale;
    } else if (m.kind == FL_MASK_BOOL) {
        const uint8_t *keep = (const uint8_t *)m.data + row * m.row;
        for (int64_t j = 0; j < n; j++)
            s[j] = keep[j * m.col] ? s[j] * scale : minus_infinity<T>();
    } else {
        const T *add = (const T *)m.data + row * m.row;
        for (int64_t j = 0; j < n; j++)
            s[j] = s[j] * scale + add[j * m.col];
    }
}

/* Prepare a row where that cannot wait for the next pass; returns the scale left to apply. */
template <class T> inline T prepared(const fl_scores &s, T *row, int64_t n, int64_t i) {
    if (s.mask.kind == FL_MASK_NONE && s.scale > 0)
        return (T)s.scale;
    prepare(row, n, (T)s.scale, s.mask, i);
    return 1;
}

/* Keys that a row of the block sees. */
inline int64_t seen(const fl_scores &s, int64_t row) {
    int64_t n = s.visible + row;
    return n < 0 ? 0 : n < s.cols ? n : s.cols;
}

template <class T> FL_TIGHT Lanes<T> greater(Lanes<T> a, const Lanes<T> &b) {
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        a.r[i] = above(b.r[i], a.r[i]);
    return a;
}

template <class T> inline T greatest(const T *s, int64_t n) {
    typedef Lanes<T> L;
    L best = L::fill(minus_infinity<T>());
    int64_t j = 0;
    for (; j + L::COUNT <= n; j += L::COUNT)
        best = greater(best, L::load(s + j));
    if (j < n)
        best = greater(best, L::load_part(s + j, n - j, minus_infinity<T>()));
    alignas(64) T lane[L::COUNT];
    best.store(lane);
    for (int i = 1; i < L::COUNT; i++)
        lane[0] = lane[i] > lane[0] ? lane[i] : lane[0];
    return lane[0];
}

/* All lanes added up, by halves. */
template <class T> inline T sum_of(const Lanes<T> &v) {
    alignas(64) T lane[Lanes<T>::COUNT];
    v.store(lane);
    for (int half = Lanes<T>::COUNT / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* The weight of a score, 1 at most; zero where it would be denormal, since Intel's processors would
 * take a hundred cycles for each of its products. */
template <class T> FL_TIGHT Lanes<T> weights(const Lanes<T> &x) { return exp_falling_lanes(x, (T)0); }

/* s becomes exp(scale * s - shift); returns the sum. */
template <class T> inline T exponentials(T *s, int64_t n, T scale, T shift) {
    typedef Lanes<T> L;
    const L by = L::fill(scale), less = L::fill(-shift);
    L total = L::fill(0);
    int64_t j = 0;
    for (; j + L::COUNT <= n; j += L::COUNT) {
        L e = weights(L::load(s + j) * by + less);
        e.store(s + j);
        total = total + e;
    }
    if (j < n) {
        L e = weights(L::load_part(s + j, n - j, minus_infinity<T>()) * by + less);
        e.store_part(s + j, n - j);
        total = total + e;
    }
    return sum_of(total);
}

template <class T> inline T exp_one(T x) {
    return exp_falling<T>(x - typename register_of<T>::type{}, 0)[0];
}

template <class T> inline void clear(T *s, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j++)
        s[j] = 0;
}

template <class T> void soften(const fl_scores *s, void *max, void *sum, void *factor) {
    for (int64_t i = 0; i < s->rows; i++) {
        T *row = (T *)s->data + i * s->pitch;
        T *top = (T *)max + i, *total = (T *)sum + i;
        int64_t n = seen(*s, i);
        T scale = prepared(*s, row, n, i), best = greatest(row, n) * scale;
        best = best > *top ? best : *top;
        T shift = best == minus_infinity<T>() ? 0 : best;   /* nothing seen so far */
        T shrink = exp_one(*top - shift);
        *total = *total * shrink + exponentials(row, n, scale, shift);
        *top = best;
        ((T *)factor)[i] = shrink;
        clear(row, n, s->cols);
    }
}

template <class T> struct GradRow {
    typedef Lanes<T> L;
    L by, less, delta, scale;

    FL_TIGHT void of(L *p, L *dp) const {
        *p = weights(*p * by + less);
        *dp = *p * (*dp - delta) * scale;
    }
};

template <class T>
void grad(const fl_scores *s, void *products, const void *logsumexp, const void *delta) {
    typedef Lanes<T> L;
    for (int64_t i = 0; i < s->rows; i++) {
        T *row = (T *)s->data + i * s->pitch, *dp = (T *)products + i * s->pitch;
        T lse = ((const T *)logsumexp)[i];
        T shift = lse == minus_infinity<T>() ? limits<T>::high : lse;   /* nothing seen at all */
        int64_t n = seen(*s, i), j = 0;
        GradRow<T> row_of = {L::fill(prepared(*s, row, n, i)), L::fill(-shift),
                             L::fill(((const T *)delta)[i]), L::fill((T)s->scale)};
        for (; j + L::COUNT <= n; j += L::COUNT) {
            L a = L::load(row + j), b = L::load(dp + j);
            row_of.of(&a, &b);
            a.store(row + j);
            b.store(dp + j);
        }
        if (j < n) {
            L a = L::load_part(row + j, n - j, minus_infinity<T>());
            L b = L::load_part(dp + j, n - j, (T)0);
            row_of.of(&a, &b);
            a.store_part(row + j, n - j);
            b.store_part(dp + j, n - j);
        }
        clear(row, n, s->cols);
        clear(dp, n, s->cols);
    }
}

template <class T>
void scale_rows(void *x, int64_t rows, int64_t cols, int64_t row, int64_t col,
                const void *factor) {
    for (int64_t i = 0; i < rows; i++) {
        T by = ((const T *)factor)[i], *p = (T *)x + i * row;
        if (by == 1)
            continue;
        if (col == 1)
            for (int64_t j = 0; j < cols; j++)
                p[j] *= by;
        else
            for (int64_t j = 0; j < cols; j++)
                p[j * col] *= by;
    }
}

template <class T>
void divide_rows(void *x, int64_t rows, int64_t cols, int64_t row, int64_t col,
                 const void *divisor) {
    for (int64_t i = 0; i < rows; i++) {
        T by = ((const T *)divisor)[i], *p = (T *)x + i * row;
        T inverse = by == 0 ? 0 : 1 / by;
        if (col == 1)
            for (int64_t j = 0; j < cols; j++)
                p[j] *= inverse;
        else
            for (int64_t j = 0; j < cols; j++)
                p[j * col] *= inverse;
    }
}

/* In 16 lanes, which are added in order. */
template <class T>
void row_products(fl_rows x, fl_rows y, int64_t rows, int64_t cols, void *out) {
    const bool in_order = x.col == 1 && y.col == 1;
    for (int64_t i = 0; i < rows; i++) {
        const T *a = (const T *)x.data + i * x.row, *b = (const T *)y.data + i * y.row;
        T lanes[16] = {}, sum = 0;
        int64_t j = 0;
        for (; in_order && j + 16 <= cols; j += 16)
            for (int k = 0; k < 16; k++)
                lanes[k] += a[j + k] * b[j + k];
        for (; j < cols; j++)
            lanes[j & 15] += a[j * x.col] * b[j * y.col];
        for (T lane : lanes)
            sum += lane;
        ((T *)out)[i] = sum;
    }
}

template <class T> constexpr fl_attention_dtype table() {
    return {soften<T>, grad<T>, scale_rows<T>, divide_rows<T>, row_products<T>};
}

}  // namespace

extern const fl_attention_kernels FL_LEVEL(fl_attention_kernels) = {table<float>(),
                                                                   table<double>()};
