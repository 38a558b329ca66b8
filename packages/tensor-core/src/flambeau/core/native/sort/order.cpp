/* median, nanmedian, kthvalue and mode. Of equal elements median names the one that a stable sort
 * would put there; for kthvalue and mode the algorithms decide: selection by partitioning, and a
 * sort by value. NaN counts as the greatest. */
#include "sort/order.h"
#include "sort/sort_line.h"
#include "common/unsigned_order.h"
#include <algorithm>

namespace {

template <class T> using Numbered = fl_numbered<T>;

template <class T> inline bool is_nan(T x) { return x != x; }

/* The order in which NaN comes last. */
template <class T> inline bool before(const Numbered<T> &a, const Numbered<T> &b) {
    return a.value < b.value || (is_nan(b.value) && !is_nan(a.value));
}

template <class T> inline bool after(const Numbered<T> &a, const Numbered<T> &b) {
    return before(b, a);
}

template <class T> void number_all(const T *x, int64_t n, Numbered<T> *room) {
    for (int64_t i = 0; i < n; i++)
        room[i] = {x[i], i};
}

template <class T> int64_t count_nan(const T *x, int64_t n, int64_t *first) {
    int64_t count = 0;
    *first = n;
    for (int64_t i = n - 1; i >= 0; i--)
        if (is_nan(x[i])) {
            count++;
            *first = i;
        }
    return count;
}

/* The lower median. Any NaN is the answer, unless NaN is to be passed over. */
template <class T>
void median_line(const T *x, int64_t n, Numbered<T> *room, bool pass_nan, T *value,
                 int64_t *position) {
    int64_t first, odd = count_nan(x, n, &first);
    if (odd && (!pass_nan || odd == n)) {
        *position = pass_nan ? (n - 1) / 2 : first;
        *value = x[*position];
        return;
    }
    Numbered<T> *middle = room + (n - odd - 1) / 2;
    number_all(x, n, room);
    std::nth_element(room, middle, room + n, [](const Numbered<T> &a, const Numbered<T> &b) {
        return before(a, b) || (a.value == b.value && a.position < b.position);
    });
    *value = middle->value;
    *position = middle->position;
}

/* The lower median where no index is asked for: half the memory to move. */
template <class T> void median_value(const T *x, int64_t n, T *room, bool pass_nan, T *value) {
    int64_t first, odd = count_nan(x, n, &first);
    if (odd && (!pass_nan || odd == n)) {
        *value = x[first];
        return;
    }
    T *end = std::copy_if(x, x + n, room, [](T v) { return !is_nan(v); });
    T *middle = room + (end - room - 1) / 2;
    std::nth_element(room, middle, end);
    *value = *middle;
}

/* Partition around the median of three until position k is alone (Hoare's selection). */
template <class T> void select(Numbered<T> *a, int64_t n, int64_t k) {
    int64_t low = 0, high = n - 1;
    while (high > low + 1) {
        std::swap(a[low + (high - low) / 2], a[low + 1]);
        if (after(a[low + 1], a[high]))
            std::swap(a[low + 1], a[high]);
        if (after(a[low], a[high]))
            std::swap(a[low], a[high]);
        if (after(a[low + 1], a[low]))
            std::swap(a[low + 1], a[low]);
        const Numbered<T> pivot = a[low];
        int64_t i = low + 1, j = high;
        for (;;) {
            while (after(pivot, a[++i])) {}
            while (after(a[--j], pivot)) {}
            if (j < i)
                break;
            std::swap(a[i], a[j]);
        }
        std::swap(a[low], a[j]);
        if (j <= k)
            low = i;
        if (j >= k)
            high = j - 1;
    }
    if (high == low + 1 && after(a[low], a[high]))
        std::swap(a[low], a[high]);
}

/* A number in the order of the elements, equal where they are, and where the element stood. */
struct Ranked {
    uint32_t rank, position;
};
struct WideRanked {
    uint64_t rank;
    int64_t position;
};

/* The position whose element occurs most often; of several the least, at the last of its positions
 * in the order of the sort, which ranks alone decide. */
template <class R> int64_t most_frequent(R *room, int64_t n) {
    std::sort(room, room + n, [](const R &a, const R &b) { return a.rank < b.rank; });
    int64_t run = 0, longest = 0, position = 0;
    for (int64_t i = 0; i < n; i++) {
        run++;
        if (i + 1 < n && room[i].rank == room[i + 1].rank)
            continue;
        if (run > longest) {
            longest = run;
            position = (int64_t)room[i].position;
        }
        run = 0;
    }
    return position;
}

template <class R, class T, class Rank>
int64_t mode_by(const T *x, int64_t n, void *room, const Rank &rank) {
    R *ranked = (R *)room;
    for (int64_t i = 0; i < n; i++)
        ranked[i] = {rank(x[i]), (decltype(R::position))i};
    return most_frequent(ranked, n);
}

/* NaN differ from each other, but not for a sort: they come last, and the first is a run alone. */
template <class T> int64_t mode_with_nan(const T *x, int64_t n, Numbered<T> *room) {
    number_all(x, n, room);
    std::sort(room, room + n, before<T>);
    int64_t run = 0, longest = 0, position = 0;
    for (int64_t i = 0; i < n; i++) {
        run++;
        if (i + 1 < n && room[i].value == room[i + 1].value)
            continue;
        if (run > longest) {
            longest = run;
            position = room[i].position;
        }
        run = 0;
    }
    return position;
}

inline int64_t mode_of(const float *x, int64_t n, Numbered<float> *room) {
    return mode_by<Ranked>(x, n, room, [](float v) { return fl_sort_key(v); });
}
inline int64_t mode_of(const double *x, int64_t n, Numbered<double> *room) {
    return mode_by<WideRanked>(x, n, room, [](double v) { return fl_sort_key(v); });
}
/* Integers near each other are ranked by their distance from the least. */
inline int64_t mode_of(const int64_t *x, int64_t n, Numbered<int64_t> *room) {
    const auto [low, high] = std::minmax_element(x, x + n);
    const uint64_t least = (uint64_t)*low;
    if ((uint64_t)*high - least <= UINT32_MAX)
        return mode_by<Ranked>(x, n, room,
                               [=](int64_t v) { return (uint32_t)((uint64_t)v - least); });
    return mode_by<WideRanked>(x, n, room, [](int64_t v) { return fl_sort_key(v); });
}

template <class T>
void mode_line(const T *x, int64_t n, Numbered<T> *room, T *value, int64_t *position) {
    int64_t first;
    const bool plain = n <= INT64_C(0xffffffff) && count_nan(x, n, &first) == 0;
    *position = plain ? mode_of(x, n, room) : mode_with_nan(x, n, room);
    *value = x[*position];
}

int order_kind(const fl_tensor *t) {
    int kind = fl_kind_of_dtype[t->dtype];
    return kind == FL_K_BOOL ? FL_K_I64 : kind;
}

#define FL_ORDERED(kind, function, ...)                                                          \
    ((kind) == FL_K_F32   ? function<float>(__VA_ARGS__)                                         \
     : (kind) == FL_K_F64 ? function<double>(__VA_ARGS__)                                        \
                          : function<int64_t>(__VA_ARGS__))

/* values and indices of a result that lost a dimension, or kept it with size 1 */
int infer_along(const fl_op *op, const fl_tensor *self, int64_t dim, bool keepdim,
                fl_spec *outs) {
    int d;
    if (fl_expect_order(op, "self", self) < 0 || fl_wrap_dim(op, dim, self->ndim, &d) < 0)
        return -1;
    if (self->ndim && self->shape[d] == 0)
        return fl_error(FL_INDEX_ERROR, "%s: Expected reduction dim %d to have non-zero size, but "
                        "the input has shape %s: nothing has no such element", fl_op_title(op), d,
                        fl_shape_text(self->shape, self->ndim));
    int64_t shape[FL_MAX_DIMS];
    int nd = 0;
    for (int i = 0; i < self->ndim; i++) {
        if (i != d)
            shape[nd++] = self->shape[i];
        else if (keepdim)
            shape[nd++] = 1;
    }
    fl_spec_set(&outs[0], self->dtype, fl_device_code(self), nd, shape);
    fl_spec_set(&outs[1], FL_I64, fl_device_code(self), nd, shape);
    return 0;
}

int no_bool(const fl_op *op, const fl_tensor *self) {
    if (self->dtype != FL_BOOL)
        return 0;
    return fl_error(FL_NOT_IMPLEMENTED, "%s: not implemented for bool; write x.int() first",
                    fl_op_title(op));
}

template <class T>
int run_median(const fl_tensor *self, int dim, int kind, bool pass_nan, fl_tensor *const *outs) {
    return fl_each_line<T>(self, dim, kind, outs, 2,
                           [=](const T *x, int64_t n, Numbered<T> *room, T *value,
                               int64_t *position) {
        median_line(x, n, room, pass_nan, value, position);
    });
}

template <class T>
int run_median_all(const fl_tensor *self, int kind, bool pass_nan, fl_tensor *const *outs) {
    return fl_each_line<T>(self, -1, kind, outs, 1,
                           [=](const T *x, int64_t n, Numbered<T> *room, T *value,
                               int64_t *position) {
        *position = 0;
        median_value(x, n, (T *)room, pass_nan, value);
    });
}

template <class T>
int run_kthvalue(const fl_tensor *self, int dim, int kind, int64_t k, fl_tensor *const *outs) {
    return fl_each_line<T>(self, dim, kind, outs, 2,
                           [=](const T *x, int64_t n, Numbered<T> *room, T *value,
                               int64_t *position) {
        number_all(x, n, room);
        select(room, n, k - 1);
        *value = room[k - 1].value;
        *position = room[k - 1].position;
    });
}

template <class T>
int run_mode(const fl_tensor *self, int dim, int kind, fl_tensor *const *outs) {
    return fl_each_line<T>(self, dim, kind, outs, 2,
                           [](const T *x, int64_t n, Numbered<T> *room, T *value,
                              int64_t *position) {
        mode_line(x, n, room, value, position);
    });
}

int infer_median_all(const fl_op *op, const fl_tensor *self, fl_spec *outs) {
    if (fl_expect_order(op, "self", self) < 0 || no_bool(op, self) < 0)
        return -1;
    fl_spec_set(outs, self->dtype, fl_device_code(self), 0, nullptr);
    return 0;
}

template <class T> void put(void *out, T value) { *(T *)out = value; }

/* The median of nothing: NaN, or the least integer. */
int median_of_nothing(fl_tensor *out, int kind) {
    Out result(out, kind);
    if (!result.ok())
        return -1;
    if (kind == FL_K_F32)
        put<float>(result.as<void>(), __builtin_nanf(""));
    else if (kind == FL_K_F64)
        put<double>(result.as<void>(), __builtin_nan(""));
    else
        put<int64_t>(result.as<void>(), (int64_t)(~0ull << (8 * fl_itemsize(out->dtype) - 1)));
    result.commit();
    return 0;
}

int median_of_all(const fl_value *in, bool pass_nan, fl_tensor *const *outs) {
    int kind = order_kind(in[0].t);
    if (in[0].t->numel == 0)
        return median_of_nothing(outs[0], kind);
    return FL_ORDERED(kind, run_median_all, in[0].t, kind, pass_nan, outs);
}

int median_along(const fl_op *op, const fl_value *in, bool pass_nan, fl_tensor *const *outs) {
    int dim, kind = order_kind(in[0].t);
    if (fl_wrap_dim(op, in[1].i, in[0].t->ndim, &dim) < 0)
        return -1;
    return FL_ORDERED(kind, run_median, in[0].t, dim, kind, pass_nan, outs);
}

}  // namespace

extern "C" {

int fl_infer_median(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return infer_median_all(op, in[0].t, outs);
}

int fl_run_median(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_is_unsigned64(in[0].t))
        return fl_run_in_signed_order(fl_run_median, op, in, n, outs);
    return median_of_all(in, false, outs);
}

int fl_run_nanmedian(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_is_unsigned64(in[0].t))
        return fl_run_in_signed_order(fl_run_nanmedian, op, in, n, outs);
    return median_of_all(in, true, outs);
}

int fl_infer_median__dim(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (no_bool(op, in[0].t) < 0)
        return -1;
    return infer_along(op, in[0].t, in[1].i, fl_value_true(in[2]), outs);
}

int fl_run_median__dim(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_is_unsigned64(in[0].t))
        return fl_run_in_signed_order(fl_run_median__dim, op, in, n, outs);
    return median_along(op, in, false, outs);
}

int fl_run_nanmedian__dim(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_is_unsigned64(in[0].t))
        return fl_run_in_signed_order(fl_run_nanmedian__dim, op, in, n, outs);
    return median_along(op, in, true, outs);
}

int fl_infer_kthvalue(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dim;
    if (no_bool(op, self) < 0 ||
        infer_along(op, self, in[2].i, fl_value_true(in[3]), outs) < 0 ||
        fl_wrap_dim(op, in[2].i, self->ndim, &dim) < 0)
        return -1;
    int64_t n = self->ndim ? self->shape[dim] : 1;
    if (in[1].i < 1 || in[1].i > n)
        return fl_error(FL_RUNTIME_ERROR, "%s: selected number k out of range for dimension %d: "
                        "k=%lld, but shape %s has %lld elements there; k counts from 1",
                        fl_op_title(op), dim, (long long)in[1].i,
                        fl_shape_text(self->shape, self->ndim), (long long)n);
    return 0;
}

int fl_run_kthvalue(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_is_unsigned64(in[0].t))
        return fl_run_in_signed_order(fl_run_kthvalue, op, in, n, outs);
    int dim, kind = order_kind(in[0].t);
    if (fl_wrap_dim(op, in[2].i, in[0].t->ndim, &dim) < 0)
        return -1;
    return FL_ORDERED(kind, run_kthvalue, in[0].t, dim, kind, in[1].i, outs);
}

int fl_infer_mode(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return infer_along(op, in[0].t, in[1].i, fl_value_true(in[2]), outs);
}

int fl_run_mode(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_is_unsigned64(in[0].t))
        return fl_run_in_signed_order(fl_run_mode, op, in, n, outs);
    int dim, kind = order_kind(in[0].t);
    if (fl_wrap_dim(op, in[1].i, in[0].t->ndim, &dim) < 0)
        return -1;
    return FL_ORDERED(kind, run_mode, in[0].t, dim, kind, outs);
}

}  // extern "C"
