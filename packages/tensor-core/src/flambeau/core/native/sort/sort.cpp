/* sort along a dimension. Always stable. */
#include "common/args.h"
#include "common/raw.h"
#include "sort/sort_line.h"
#include "common/unsigned_order.h"

namespace {

int sort_kind(int dtype) {
    int kind = fl_kind_of_dtype[dtype];
    return kind == FL_K_BOOL ? FL_K_I64 : kind;
}

int sort_lines(const fl_op *op, const fl_lines &job, const char *x, char *values,
               int64_t *positions) {
    if (fl_sort_short_lines(job, x, values, positions))
        return 0;
    const int64_t n = job.n, bytes = n * fl_kind_size[job.kind];
    bool failed = false;
    fl_parallel(job.lines, (fl_row_grain(n) + 7) / 8, [&](int64_t b, int64_t e) {
        Scratch room(fl_sort_room(job.kind, n));
        if (!room.ok()) {
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
            return;
        }
        for (int64_t i = b; i < e; i++)
            fl_sort_line(job.kind, x + i * bytes, n, job.descending, room.as<void>(),
                         values + i * bytes, positions + i * n);
    });
    if (failed)
        return fl_error(FL_MEMORY_ERROR, "%s: no memory to sort lines of %lld elements",
                        fl_op_title(op), (long long)n);
    return 0;
}

/* Lines of one element that is repeated are in order. */
int copy_repeated(const fl_tensor *self, int dim, fl_tensor *const *outs) {
    const int64_t n = self->shape[dim];
    Scratch room((size_t)n * sizeof(int64_t));
    if (!room.ok())
        return -1;
    int64_t *order = room.as<int64_t>(), steps[FL_MAX_DIMS] = {};
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    steps[dim] = 1;
    fl_copy_tensor(outs[0], self);
    fl_copy_strided(fl_strided{outs[1]->data, FL_I64, outs[1]->strides},
                    fl_strided{(char *)order, FL_I64, steps}, self->ndim, self->shape);
    return 0;
}

}  // namespace

extern "C" int fl_infer_sort(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dim;
    if (fl_expect_order(op, "self", self) < 0 ||
        fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_spec_in_order_of(&outs[0], self);
    outs[1] = outs[0];
    outs[1].dtype = FL_I64;
    return 0;
}

extern "C" int fl_run_sort(const fl_op *op, const fl_value *in, int n_in, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    if (fl_is_unsigned64(self))
        return fl_run_in_signed_order(fl_run_sort, op, in, n_in, outs);
    int dim, kind = sort_kind(self->dtype);
    bool descending = fl_value_true(in[2]);
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    if (self->ndim && self->strides[dim] == 0 && self->shape[dim] > 1 && self->numel > 0)
        return copy_repeated(self, dim, outs);
    LinesIn x(self, dim, kind);
    LinesOut values(outs[0], dim, kind), positions(outs[1], dim, FL_K_I64);
    if (!x.ok() || !values.ok() || !positions.ok())
        return -1;
    if (self->numel == 0)
        return 0;
    int64_t n = self->ndim ? self->shape[dim] : 1;
    if (sort_lines(op, fl_lines{kind, self->numel / n, n, n, descending}, x.as<char>(),
                   values.as<char>(), positions.as<int64_t>()) < 0)
        return -1;
    values.commit();
    positions.commit();
    return 0;
}
