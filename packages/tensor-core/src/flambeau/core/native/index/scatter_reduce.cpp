/* scatter_reduce: elements reduced into the positions named by an index, in the index's order. */
#include "common/add.h"
#include "common/args.h"
#include "common/plain_bools.h"
#include "index/named_slices.h"
#include "common/raw.h"
#include "index/gather_walk.h"
#include <cmath>
#include <limits>

namespace {

enum Reduction { SUM, PROD, MEAN, AMAX, AMIN, REDUCTIONS };
const char *const NAMES[REDUCTIONS] = {"sum", "prod", "mean", "amax", "amin"};

int reduce_of(const fl_op *op, const fl_value &v, int *reduce) {
    for (int i = 0; i < REDUCTIONS; i++)
        if (!strcmp(v.s, NAMES[i])) {
            *reduce = i;
            return 0;
        }
    return fl_error(FL_RUNTIME_ERROR, "%s: reduce argument must be either sum, prod, mean, amax or "
                    "amin, got %s", fl_op_title(op), v.s);
}

template <class T> T times(T a, T b) { return a * b; }
int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
uint8_t times(uint8_t a, uint8_t b) { return a & b; }
/* Rounded as the kernels of multiplication do, which fuse, and below as those of division. */
template <class P> P pair_times(P a, P b) {
    return {std::fma(a.re, b.re, -(a.im * b.im)), std::fma(a.re, b.im, a.im * b.re)};
}
fl_pair32 times(fl_pair32 a, fl_pair32 b) { return pair_times(a, b); }
fl_pair64 times(fl_pair64 a, fl_pair64 b) { return pair_times(a, b); }

/* NaN wins, as in amax. */
template <class T> T greater(T a, T b) { return a > b || a != a ? a : b; }
template <class T> T lesser(T a, T b) { return a < b || a != a ? a : b; }
template <class P> P no_order(P a, P) { return a; }
fl_pair32 greater(fl_pair32 a, fl_pair32 b) { return no_order(a, b); }
fl_pair64 greater(fl_pair64 a, fl_pair64 b) { return no_order(a, b); }
fl_pair32 lesser(fl_pair32 a, fl_pair32 b) { return no_order(a, b); }
fl_pair64 lesser(fl_pair64 a, fl_pair64 b) { return no_order(a, b); }

template <class T> T highest() {
    typedef std::numeric_limits<T> limits;
    return limits::has_infinity ? limits::infinity() : limits::max();
}
template <class T> T lowest() {
    typedef std::numeric_limits<T> limits;
    return limits::has_infinity ? -limits::infinity() : limits::lowest();
}
template <> uint8_t highest<uint8_t>() { return 1; }
template <> fl_pair32 highest<fl_pair32>() { return {0, 0}; }
template <> fl_pair64 highest<fl_pair64>() { return {0, 0}; }
template <> fl_pair32 lowest<fl_pair32>() { return {0, 0}; }
template <> fl_pair64 lowest<fl_pair64>() { return {0, 0}; }

template <class T> T one() { return (T)1; }
template <> fl_pair32 one<fl_pair32>() { return {1, 0}; }
template <> fl_pair64 one<fl_pair64>() { return {1, 0}; }

/* What a reduction starts from where self does not count. */
template <class T> T start_value(int reduce) {
    return reduce == PROD   ? one<T>()
           : reduce == AMAX ? lowest<T>()
           : reduce == AMIN ? highest<T>()
                            : T{};
}

template <class T> T divided(T a, int64_t n) { return a / (T)n; }
int64_t divided(int64_t a, int64_t n) { return a / n - (a % n < 0); }
uint8_t divided(uint8_t a, int64_t) { return a; }
template <class P, class R> P pair_divided(P a, R n) { return {a.re * (1 / n), a.im * (1 / n)}; }
fl_pair32 divided(fl_pair32 a, int64_t n) { return pair_divided(a, (float)n); }
fl_pair64 divided(fl_pair64 a, int64_t n) { return pair_divided(a, (double)n); }

struct Job {
    fl_gather_walk w;
    const int64_t *index;
    const char *from;
    char *to;
    int64_t *count;                     /* of MEAN: how many numbers each position holds */
    int reduce;
};

/* `visit(position, source)` in element offsets, over the index's elements b .. e. */
template <class Visit> void each_pair(const Job &j, int64_t b, int64_t e, const Visit &visit) {
    const fl_gather_walk &w = j.w;
    const int64_t step = w.at[w.ndim - 1], source = w.by[w.ndim - 1];
    fl_walk_runs(w, b, e, [&](int64_t element, int64_t count, int64_t at, int64_t by) {
        const int64_t *position = j.index + element;
        for (int64_t i = 0; i < count; i++)
            visit(at + i * step + position[i] * w.at_dim, by + i * source);
    });
}

template <class T> void clear_elements(const Job &j, int64_t b, int64_t e) {
    T *to = (T *)j.to, first = start_value<T>(j.reduce);
    each_pair(j, b, e, [&](int64_t at, int64_t) {
        to[at] = first;
        if (j.count)
            j.count[at] = 0;
    });
}

template <class T> void reduce_elements(const Job &j, int64_t b, int64_t e) {
    T *to = (T *)j.to;
    const T *x = (const T *)j.from;
    switch (j.reduce) {
    case SUM:
        return each_pair(j, b, e, [&](int64_t at, int64_t by) { to[at] = fl_plus(to[at], x[by]); });
    case PROD:
        return each_pair(j, b, e, [&](int64_t at, int64_t by) { to[at] = times(to[at], x[by]); });
    case AMAX:
        return each_pair(j, b, e, [&](int64_t at, int64_t by) { to[at] = greater(x[by], to[at]); });
    case AMIN:
        return each_pair(j, b, e, [&](int64_t at, int64_t by) { to[at] = lesser(x[by], to[at]); });
    default:
        return each_pair(j, b, e, [&](int64_t at, int64_t by) {
            to[at] = fl_plus(to[at], x[by]);
            j.count[at]++;
        });
    }
}

template <class T> void divide(const Job &j, int64_t b, int64_t e) {
    T *to = (T *)j.to;
    for (int64_t i = b; i < e; i++)     /* no count is 0: what was cleared got a number */
        to[i] = divided(to[i], j.count[i]);
}

void reduce_all(Job &j, int kind, bool include, int64_t n) {
    fl_walk_writers(j.w, [&](int64_t b, int64_t e) {
        if (!include) {
            FL_BY_KIND(kind, clear_elements, j, b, e)
        }
        FL_BY_KIND(kind, reduce_elements, j, b, e)
    });
    if (j.count)
        fl_parallel(n, FL_GRAIN, [&](int64_t b, int64_t e) { FL_BY_KIND(kind, divide, j, b, e) });
}

}  // namespace

extern "C" int fl_infer_scatter_reduce(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *index = in[2].t, *src = in[3].t;
    int dim, reduce;
    if (fl_same_device(op, in, n) < 0 || fl_dim_of(op, in, &dim) < 0 ||
        reduce_of(op, in[4], &reduce) < 0 ||
        (index->numel && fl_expect_index(op, "index", index) < 0) ||
        fl_check_aligned(op, self, index, dim, "self", true) < 0 ||
        fl_expect_same_dtype(op, self, "src", src) < 0 ||
        fl_check_aligned(op, src, index, dim, "src", false) < 0)
        return -1;
    if (reduce >= AMAX && fl_expect_ordered(op, "self", self) < 0)
        return -1;
    fl_spec_like(outs, self);
    return 0;
}

static int run_scatter_reduce(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *index = in[2].t, *src = in[3].t;
    int dim, reduce, kind = fl_kind_of_dtype[in[0].t->dtype];
    if (fl_dim_of(op, in, &dim) < 0 || reduce_of(op, in[4], &reduce) < 0)
        return -1;
    /* A mean counts all elements of its memory: none is as it wants it. */
    int wanted = reduce == MEAN ? (int)FL_NO_DTYPE : (int)fl_dtype_of_kind[kind];
    In positions(index, FL_K_I64), from(src, kind);
    if (!from.ok() || fl_check_positions(op, positions, index, in[0].t, dim) < 0)
        return -1;
    fl_start_from(outs[0], in[0].t);
    if (fl_names_small_share(outs[0], fl_most_named(in[0].t, index, dim), wanted))
        return fl_run_on_slices(op, in, outs[0], dim, positions.as<int64_t>(), index->shape,
                                nullptr);
    Out out(outs[0], kind, true);
    int64_t n = outs[0]->numel;
    Scratch count(reduce == MEAN ? (size_t)n * 8 : 0);
    if (!out.ok() || !count.ok())
        return -1;
    if (index->numel == 0)
        return 0;
    for (int64_t i = 0; i < n && reduce == MEAN; i++)
        count.as<int64_t>()[i] = 1;
    Job j = {fl_dense_walk_of(outs[0], src, index, dim), positions.as<int64_t>(),
             from.as<char>(),
             out.as<char>(), reduce == MEAN ? count.as<int64_t>() : nullptr, reduce};
    reduce_all(j, kind, fl_value_true(in[5]), n);
    out.commit();
    return 0;
}

extern "C" int fl_run_scatter_reduce(const fl_op *op, const fl_value *in, int n,
                                     fl_tensor *const *outs) {
    if (fl_is_bool(in[0].t))
        return fl_run_on_plain_bools(run_scatter_reduce, op, in, n, outs);
    return run_scatter_reduce(op, in, n, outs);
}
