/* Laying out an input for the reduction kernels: dimensions are sorted by stride as far as the
 * result's order allows, neighbours merged, and what remains matched with rows or columns. */
#include "dispatch/pointwise.h"
#include "reduce/reduce.h"

namespace {

inline bool reduced(const fl_reduce_source &s, int d) { return s.mask >> d & 1; }

void drop_ones(fl_reduce_source *s) {
    int nd = 0;
    uint64_t mask = 0;
    for (int d = 0; d < s->ndim; d++) {
        if (s->shape[d] == 1)
            continue;
        mask |= (uint64_t)reduced(*s, d) << nd;
        s->shape[nd] = s->shape[d];
        s->strides[nd++] = s->strides[d];
    }
    s->ndim = nd;
    s->mask = mask;
}

void swap_dims(fl_reduce_source *s, int a, int b) {
    int64_t n = s->shape[a], step = s->strides[a];
    bool fa = reduced(*s, a), fb = reduced(*s, b);
    s->shape[a] = s->shape[b];
    s->strides[a] = s->strides[b];
    s->shape[b] = n;
    s->strides[b] = step;
    s->mask = (s->mask & ~(1ull << a | 1ull << b)) | (uint64_t)fb << a | (uint64_t)fa << b;
}

/* What is read again and again is the outermost: rows stay rows, columns stay columns. */
inline bool lies_inside(int64_t stride, int64_t other) {
    return stride && (other == 0 || stride < other);
}

/* Kept dimensions never pass each other; reduced ones only where order does not matter. */
void sort_by_stride(fl_reduce_source *s, bool ordered) {
    for (int i = 1; i < s->ndim; i++)
        for (int j = i; j > 0 && lies_inside(s->strides[j - 1], s->strides[j]); j--) {
            bool a = reduced(*s, j - 1), b = reduced(*s, j);
            if (a == b && (!a || ordered))
                break;
            swap_dims(s, j - 1, j);
        }
}

void merge(fl_reduce_source *s) {
    if (s->ndim == 0)
        return;
    int last = 0;
    uint64_t mask = s->mask & 1;
    for (int d = 1; d < s->ndim; d++) {
        bool same = reduced(*s, d) == (bool)(mask >> last & 1);
        if (same && s->strides[last] == s->strides[d] * s->shape[d]) {
            s->shape[last] *= s->shape[d];
            s->strides[last] = s->strides[d];
            continue;
        }
        last++;
        mask |= (uint64_t)reduced(*s, d) << last;
        s->shape[last] = s->shape[d];
        s->strides[last] = s->strides[d];
    }
    s->ndim = last + 1;
    s->mask = mask;
}

bool alternates(const fl_reduce_source &s) {
    for (int d = 1; d < s.ndim; d++)
        if (reduced(s, d) == reduced(s, d - 1))
            return false;
    return true;
}

/* Complex numbers reduce as columns of pairs. */
void split_complex(fl_reduce_source *s, fl_reduce_plan *plan) {
    plan->dtype = s->dtype = fl_real_dtype(s->dtype);
    plan->kind = s->kind = s->kind == FL_K_C64 ? FL_K_F32 : FL_K_F64;
    for (int d = 0; d < s->ndim; d++)
        s->strides[d] *= 2;
    s->shape[s->ndim] = 2;
    s->strides[s->ndim++] = 1;
}

fl_plan_result match(const fl_reduce_source &s, fl_reduce_plan *plan) {
    int d = s.ndim - 1;
    if (s.strides[d] != 1)
        return FL_PLAN_GATHER;
    plan->inner = reduced(s, d) ? 1 : s.shape[d--];
    plan->n = 1;
    plan->step = 0;
    if (d >= 0) {
        plan->n = s.shape[d];
        plan->step = s.strides[d--];
    }
    if (d >= 0) {
        plan->outer = s.shape[d];
        plan->outer_step = s.strides[d--];
    }
    return d < 0 ? FL_PLAN_READY : FL_PLAN_STAGES;
}

}  // namespace

fl_reduce_source fl_reduce_source_of(const fl_tensor *t, int kind, uint64_t mask) {
    fl_reduce_source s;
    s.data = t->data;
    s.dtype = t->dtype;
    s.kind = kind;
    s.ndim = t->ndim;
    s.mask = mask;
    memcpy(s.shape, t->shape, sizeof(int64_t) * (size_t)t->ndim);
    memcpy(s.strides, t->strides, sizeof(int64_t) * (size_t)t->ndim);
    return s;
}

ReduceInput::ReduceInput(const fl_tensor *t, int kind, uint64_t mask)
    : source_(fl_reduce_source_of(t, kind, mask)) {
    int dtype = fl_dtype_of_kind[kind];
    bool in_order = (t->flags & FL_CONTIGUOUS) && t->dtype == dtype;
    if (in_order || t->numel > FL_SMALL_NUMEL || t->numel == 0)
        return;
    fl_gather_small(room_, kind, t->data, t->dtype, fl_walk(t->ndim, t->shape, t->strides));
    source_.data = room_;
    source_.dtype = dtype;
    fl_contiguous_strides(t->ndim, t->shape, source_.strides);
}

fl_plan_result fl_reduce_plan_in_place(fl_reduce_source *s, bool ordered, fl_reduce_plan *plan) {
    drop_ones(s);
    *plan = fl_reduce_plan{s->data, s->dtype, s->kind, 1, 1, 1, 0, 0};
    if (s->kind >= FL_K_C64)
        split_complex(s, plan);
    if (s->ndim == 0) {
        plan->step = 1;
        return FL_PLAN_READY;
    }
    sort_by_stride(s, ordered);
    merge(s);
    return alternates(*s) ? match(*s, plan) : FL_PLAN_GATHER;
}

fl_plan_result fl_reduce_make_plan(fl_reduce_source *s, bool ordered, fl_reduce_plan *plan) {
    const bool converts = s->dtype != fl_dtype_of_kind[s->kind];
    if (converts && s->kind >= FL_K_C64)
        return FL_PLAN_GATHER;
    fl_plan_result result = fl_reduce_plan_in_place(s, ordered, plan);
    return converts && result == FL_PLAN_READY && plan->inner != 1 ? FL_PLAN_GATHER : result;
}

int64_t fl_reduce_kept(const fl_reduce_source &s) {
    int64_t n = 1;
    for (int d = 0; d < s.ndim; d++)
        n *= reduced(s, d) ? 1 : s.shape[d];
    return n;
}

int64_t fl_reduce_reduced(const fl_reduce_source &s) {
    int64_t n = 1;
    for (int d = 0; d < s.ndim; d++)
        n *= reduced(s, d) ? s.shape[d] : 1;
    return n;
}

void fl_reduce_gather(const fl_reduce_source &s, void *to, fl_reduce_plan *plan) {
    int64_t shape[FL_MAX_DIMS + 1], from[FL_MAX_DIMS + 1], dense[FL_MAX_DIMS + 1];
    int nd = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < s.ndim; d++)
            if (reduced(s, d) == (pass == 1)) {
                shape[nd] = s.shape[d];
                from[nd++] = s.strides[d];
            }
    fl_contiguous_strides(nd, shape, dense);
    int dtype = fl_dtype_of_kind[s.kind];
    fl_copy_strided(fl_strided{(char *)to, dtype, dense},
                    fl_strided{(char *)s.data, s.dtype, from}, nd, shape);
    int64_t n = fl_reduce_reduced(s);
    *plan = fl_reduce_plan{(const char *)to, dtype, s.kind, fl_reduce_kept(s), n, 1, n, 1};
    if (s.kind >= FL_K_C64) {
        plan->kind = s.kind == FL_K_C64 ? FL_K_F32 : FL_K_F64;
        plan->dtype = fl_dtype_of_kind[plan->kind];
        plan->inner = plan->step = 2;
        plan->outer_step = 2 * n;
    }
}

void fl_reduce_gather_plan(const fl_reduce_source &s, void *to, fl_reduce_plan *plan) {
    fl_reduce_source dense = s;
    dense.data = (const char *)to;
    dense.dtype = fl_dtype_of_kind[s.kind];
    fl_contiguous_strides(s.ndim, s.shape, dense.strides);
    fl_strided from = {(char *)s.data, s.dtype, s.strides};
    fl_strided into = {(char *)to, dense.dtype, dense.strides};
    fl_reduce_source planned = dense;
    if (fl_reduce_make_plan(&planned, false, plan) == FL_PLAN_READY)
        fl_copy_strided(into, from, s.ndim, s.shape);
    else
        fl_reduce_gather(s, to, plan);
}

fl_reduce_source fl_reduce_split(const fl_reduce_source &s) {
    fl_reduce_source part = s;
    int d = s.ndim - 1;
    while (d > 0 && !reduced(s, d))
        d--;
    part.mask = 1ull << d;
    return part;
}

const void *fl_reduce_load(const fl_reduce_plan &p, int64_t at, int64_t n, void *buffer) {
    const char *from = p.data + at * fl_itemsize(p.dtype);
    if (p.dtype == fl_dtype_of_kind[p.kind])
        return from;
    fl_moves->gather[p.dtype][p.kind](buffer, from, 1, n, n, 1);
    return buffer;
}
