/* topk: the k greatest or least elements along a dimension, best first; ties go to the lower
 * position, NaN counts as the greatest.
 *
 * Few winners are kept in a sorted list while the line is scanned for elements that beat the last
 * of them; many winners come from sorting the line. */
#include "sort/kernels/select.h"
#include "common/args.h"
#include "common/raw.h"
#include "sort/sort_line.h"
#include "common/unsigned_order.h"

namespace {

const fl_select_kernels *const kernels = FL_PICK(fl_select_kernels);

const int64_t MAX_LIST_LENGTH = 128;    /* the greatest k that a sorted list serves */

struct Job {
    int kind;
    int64_t n, k;
    bool largest;
};

template <class T> fl_keyed rank_of(const Job &j, const T *x, int64_t i) {
    uint64_t key = fl_sort_key(x[i]);
    return fl_keyed{j.largest ? ~key : key, i};
}

void insert(fl_keyed *list, int64_t count, const fl_keyed &item) {
    int64_t at = count;
    for (; at > 0 && item < list[at - 1]; at--)
        list[at] = list[at - 1];
    list[at] = item;
}

template <class T> void scan_line(const Job &j, const T *x, T *values, int64_t *positions) {
    fl_keyed list[MAX_LIST_LENGTH + 1];
    for (int64_t i = 0; i < j.k; i++)
        insert(list, i, rank_of(j, x, i));
    fl_next_fn next = kernels->next[j.largest ? 0 : 1][j.kind];
    for (int64_t i = j.k; i < j.n; i++) {
        i = next(x, i, j.n, x + list[j.k - 1].position);
        if (i == j.n)
            break;
        fl_keyed item = rank_of(j, x, i);
        if (item < list[j.k - 1])
            insert(list, j.k - 1, item);
    }
    for (int64_t i = 0; i < j.k; i++) {
        positions[i] = list[i].position;
        values[i] = x[positions[i]];
    }
}

void scan_any(const Job &j, const char *x, char *values, int64_t *positions) {
    if (j.kind == FL_K_F32)
        scan_line(j, (const float *)x, (float *)values, positions);
    else if (j.kind == FL_K_F64)
        scan_line(j, (const double *)x, (double *)values, positions);
    else
        scan_line(j, (const int64_t *)x, (int64_t *)values, positions);
}

/* Sort the whole line into `room`, then take what is wanted. */
void sort_any(const Job &j, const char *x, char *room, char *values, int64_t *positions) {
    size_t need = fl_sort_room(j.kind, j.n);
    int64_t size = fl_kind_size[j.kind];
    char *all = room + need;
    int64_t *order = (int64_t *)(all + (size_t)((j.n * size + 7) / 8 * 8));
    fl_sort_line(j.kind, x, j.n, j.largest, room, all, order);
    memcpy(values, all, (size_t)(j.k * size));
    memcpy(positions, order, (size_t)j.k * 8);
}

size_t room_for(const Job &j) {
    if (j.k <= MAX_LIST_LENGTH)
        return 8;
    return fl_sort_room(j.kind, j.n) + (size_t)(j.n * fl_kind_size[j.kind] + 8) + (size_t)j.n * 8;
}

int run_lines(const fl_op *op, const Job &j, int64_t lines, const char *x, char *values,
              int64_t *positions) {
    if (fl_sort_short_lines(fl_lines{j.kind, lines, j.n, j.k, j.largest}, x, values, positions))
        return 0;
    int64_t size = fl_kind_size[j.kind];
    bool failed = false;
    fl_parallel(lines, fl_row_grain(j.n), [&](int64_t b, int64_t e) {
        Scratch room(room_for(j));
        if (!room.ok()) {
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
            return;
        }
        for (int64_t i = b; i < e; i++) {
            const char *from = x + i * j.n * size;
            char *to = values + i * j.k * size;
            if (j.k <= MAX_LIST_LENGTH)
                scan_any(j, from, to, positions + i * j.k);
            else
                sort_any(j, from, room.as<char>(), to, positions + i * j.k);
        }
    });
    if (failed)
        return fl_error(FL_MEMORY_ERROR, "%s: no memory to sort lines of %lld elements",
                        fl_op_title(op), (long long)j.n);
    return 0;
}

}  // namespace

extern "C" int fl_infer_topk(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dim;
    if (fl_expect_order(op, "self", self) < 0 ||
        fl_wrap_dim(op, in[2].i, self->ndim, &dim) < 0)
        return -1;
    int64_t n = self->ndim ? self->shape[dim] : 1, k = in[1].i;
    if (k < 0 || k > n)
        return fl_error(FL_RUNTIME_ERROR, "%s: selected index k out of range: k=%lld, but "
                        "dimension %d of shape %s has %lld elements", fl_op_title(op), (long long)k, dim,
                        fl_shape_text(self->shape, self->ndim), (long long)n);
    fl_spec_like(&outs[0], self);
    fl_spec_like(&outs[1], self);
    outs[1].dtype = FL_I64;
    if (self->ndim)
        outs[0].shape[dim] = outs[1].shape[dim] = k;
    return 0;
}

extern "C" int fl_run_topk(const fl_op *op, const fl_value *in, int n_in, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    if (fl_is_unsigned64(self))
        return fl_run_in_signed_order(fl_run_topk, op, in, n_in, outs);
    int dim, kind = fl_kind_of_dtype[self->dtype];
    if (fl_wrap_dim(op, in[2].i, self->ndim, &dim) < 0)
        return -1;
    kind = kind == FL_K_BOOL ? FL_K_I64 : kind;
    int64_t n = self->ndim ? self->shape[dim] : 1;
    Job j = {kind, n, self->ndim ? in[1].i : 1, fl_value_true(in[3])};
    LinesIn x(self, dim, kind);
    LinesOut values(outs[0], dim, kind), positions(outs[1], dim, FL_K_I64);
    if (!x.ok() || !values.ok() || !positions.ok())
        return -1;
    if (outs[0]->numel == 0)
        return 0;
    if (run_lines(op, j, self->numel / n, x.as<char>(), values.as<char>(),
                  positions.as<int64_t>()) < 0)
        return -1;
    values.commit();
    positions.commit();
    return 0;
}
