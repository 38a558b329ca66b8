/* The elementwise parts of attention: see attention.h. */
#include "kernels/attention.h"
#include "kernels/vexp.h"

namespace {

template <class T> using Reg = typename register_of<T>::type;
template <class T> constexpr int64_t lanes() { return FL_REGISTER / sizeof(T); }

template <class T> FL_TIGHT Reg<T> load(const T *p) {
    Reg<T> v;
    memcpy(&v, p, sizeof v);
    return v;
}

template <class T> FL_TIGHT void store(T *p, Reg<T> v) { memcpy(p, &v, sizeof v); }

template <class T> FL_TIGHT Reg<T> load_part(const T *p, int64_t n, T rest) {
    alignas(64) T lane[lanes<T>()];
    for (int64_t i = 0; i < lanes<T>(); i++)
        lane[i] = i < n ? p[i] : rest;
    return load(lane);
}

template <class T> FL_TIGHT void store_part(T *p, int64_t n, Reg<T> v) {
    alignas(64) T lane[lanes<T>()];
    store(lane, v);
    for (int64_t i = 0; i < n; i++)
        p[i] = lane[i];
}

template <class T> FL_TIGHT T sum_of(Reg<T> v) {
    alignas(64) T lane[lanes<T>()];
    store(lane, v);
    for (int64_t half = lanes<T>() / 2; half > 0; half /= 2)
        for (int64_t i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

template <class T> FL_TIGHT T greatest_of(Reg<T> v) {
    alignas(64) T lane[lanes<T>()];
    store(lane, v);
    T best = lane[0];
    for (int64_t i = 1; i < lanes<T>(); i++)
        best = lane[i] > best ? lane[i] : best;
    return best;
}

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

/* Keys that a row of the block sees. */
inline int64_t seen(const fl_scores &s, int64_t row) {
    int64_t n = s.visible + row;
    return n < 0 ? 0 : n < s.cols ? n : s.cols;
}

template <class T> inline T greatest(const T *s, int64_t n, T start) {
    Reg<T> best = start - Reg<T>{};
    int64_t j = 0;
    for (; j + lanes<T>() <= n; j += lanes<T>()) {
        Reg<T> v = load(s + j);
        best = v > best ? v : best;
    }
    Reg<T> v = load_part(s + j, n - j, start);
    best = v > best ? v : best;
    return greatest_of<T>(best);
}

/* s becomes exp(s - shift); returns the sum. */
template <class T> inline T exponentials(T *s, int64_t n, T shift) {
    Reg<T> total = {};
    int64_t j = 0;
    for (; j + lanes<T>() <= n; j += lanes<T>()) {
        Reg<T> e = exp_reg(load(s + j) - shift);
        store(s + j, e);
        total += e;
    }
    Reg<T> e = exp_reg(load_part(s + j, n - j, minus_infinity<T>()) - shift);
    store_part(s + j, n - j, e);
    return sum_of<T>(total + e);
}

template <class T> inline T exp_one(T x) { return exp_reg(x - Reg<T>{})[0]; }

template <class T> inline void clear(T *s, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j++)
        s[j] = 0;
}

template <class T> void soften(const fl_scores *s, void *max, void *sum, void *factor) {
    for (int64_t i = 0; i < s->rows; i++) {
        T *row = (T *)s->data + i * s->pitch;
        T *top = (T *)max + i, *total = (T *)sum + i;
        int64_t n = seen(*s, i);
        prepare(row, n, (T)s->scale, s->mask, i);
        T best = greatest(row, n, *top);
        T shift = best == minus_infinity<T>() ? 0 : best;   /* nothing seen so far */
        T shrink = exp_one(*top - shift);
        *total = *total * shrink + exponentials(row, n, shift);
        *top = best;
        ((T *)factor)[i] = shrink;
        clear(row, n, s->cols);
    }
}

template <class T>
FL_TIGHT void grad_lanes(Reg<T> *p, Reg<T> *dp, T shift, T delta, T scale) {
    *p = exp_reg(*p - shift);
    *dp = *p * (*dp - delta) * scale;
}

template <class T>
void grad(const fl_scores *s, void *products, const void *logsumexp, const void *delta) {
    T scale = (T)s->scale;
    for (int64_t i = 0; i < s->rows; i++) {
        T *row = (T *)s->data + i * s->pitch, *dp = (T *)products + i * s->pitch;
        T lse = ((const T *)logsumexp)[i], d = ((const T *)delta)[i];
        int64_t n = seen(*s, i), j = 0;
        T shift = lse == minus_infinity<T>() ? limits<T>::high : lse;   /* nothing seen at all */
        prepare(row, n, scale, s->mask, i);
        for (; j + lanes<T>() <= n; j += lanes<T>()) {
            Reg<T> a = load(row + j), b = load(dp + j);
            grad_lanes<T>(&a, &b, shift, d, scale);
            store(row + j, a);
            store(dp + j, b);
        }
        Reg<T> a = load_part(row + j, n - j, minus_infinity<T>());
        Reg<T> b = load_part(dp + j, n - j, (T)0);
        grad_lanes<T>(&a, &b, shift, d, scale);
        store_part(row + j, n - j, a);
        store_part(dp + j, n - j, b);
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

template <class T> constexpr fl_attention_dtype table() {
    return {soften<T>, grad<T>, scale_rows<T>, divide_rows<T>};
}

}  // namespace

extern const fl_attention_kernels FL_LEVEL(fl_attention_kernels) = {table<float>(),
                                                                   table<double>()};
