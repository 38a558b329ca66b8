/* Greatest and least elements, and where they are.
 *
 * A row is read twice: the value by a plain reduction, then its first index by comparing from the
 * start. Rows are cut to lengths that stay in the nearest cache, so the second reading is cheap. */
#include "reduce/kernels/reduce.h"
#include "reduce/kernels/reducers.h"

namespace {

/* Whether any lane of x equals v (or is NaN, when v is). */
template <class T> FL_TIGHT bool meets(const Lanes<T> &x, const Lanes<T> &v, bool nan) {
    typename Lanes<T>::mask hit = {};
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        hit |= nan ? (x.r[i] != x.r[i]) : (x.r[i] == v.r[i]);
    return any_lane(hit);
}

template <class T> int64_t first_index(const T *p, int64_t n, T value, bool nan) {
    constexpr int COUNT = Lanes<T>::COUNT;
    const Lanes<T> wanted = Lanes<T>::fill(value);
    int64_t i = 0;
    while (i + COUNT <= n && !meets(Lanes<T>::load(p + i), wanted, nan))
        i += COUNT;
    while (i < n && !(nan ? p[i] != p[i] : p[i] == value))
        i++;
    return i;
}

template <class Op, class T>
void argmax_row(const void *x, int64_t n, void *value, int64_t *index) {
    const T *p = (const T *)x;
    bool nan;
    T best = extreme<Op>(p, n, &nan);
    *index = first_index(p, n, best, nan);
    *(T *)value = p[*index];
}

template <class T> FL_TIGHT bool beats(Greatest<T>, T a, T b) {
    return (a > b) | ((a != a) & (b == b));
}
template <class T> FL_TIGHT bool beats(Least<T>, T a, T b) {
    return (a < b) | ((a != a) & (b == b));
}

template <class Op, class T>
void argmax_columns(const void *x, int64_t n, int64_t stride, int64_t width, int64_t first,
                  void *value, int64_t *index) {
    const T *p = (const T *)x;
    T *best = (T *)value;
    int64_t i = 0;
    if (first == 0) {
        for (int64_t j = 0; j < width; j++) {
            best[j] = p[j];
            index[j] = 0;
        }
        i = 1;
    }
    for (; i < n; i++) {
        const T *row = p + i * stride;
        const int64_t number = first + i;
        for (int64_t j = 0; j < width; j++) {
            const bool better = beats(Op{}, row[j], best[j]);
            best[j] = better ? row[j] : best[j];
            index[j] = better ? number : index[j];
        }
    }
}

}  // namespace

#define ARGMAX(f, Op) \
    {f<Op<float>, float>, f<Op<double>, double>, f<Op<int64_t>, int64_t>, f<Op<uint8_t>, uint8_t>}

extern const fl_argmax_kernels FL_LEVEL(fl_argmax_kernels) = {
    {ARGMAX(argmax_row, Greatest), ARGMAX(argmax_row, Least)},
    {ARGMAX(argmax_columns, Greatest), ARGMAX(argmax_columns, Least)}};
