/* Running products (cumprod) and running extremes (cummax, cummin). */
#include "reduce/kernels/scan_more.h"
#include "reduce/scan.h"
#include "common/plain_bools.h"
#include "common/unsigned_order.h"

namespace {

const fl_scan_more_kernels *const kernels = FL_PICK(fl_scan_more_kernels);

int infer_cummax(const fl_op *op, const fl_value *in, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dim;
    if (fl_expect_order(op, "self", self) < 0 ||
        fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_spec_like(&outs[0], self);
    fl_spec_like(&outs[1], self);
    outs[1].dtype = FL_I64;
    return 0;
}

int run_extremes(const fl_op *op, int least, const fl_value *in, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int dim, kind = fl_kind_of_dtype[self->dtype];
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    In x(self, kind);
    Out values(outs[0], kind), positions(outs[1], FL_K_I64);
    if (!x.ok() || !values.ok() || !positions.ok())
        return -1;
    if (self->numel == 0)
        return 0;
    fl_middle m = fl_middle_of(self, dim);
    int64_t size = fl_kind_size[kind];
    const char *from = x.as<char>();
    char *to = values.as<char>();
    int64_t *at = positions.as<int64_t>();
    fl_scan_drive(
        m,
        [&](int64_t b, int64_t count) {
            int64_t first = b * m.n;
            kernels->cummax_lines[least][kind](from + first * size, to + first * size, at + first,
                                             count, m.n);
        },
        [&](int64_t first, int64_t width) {
            kernels->cummax_columns[least][kind](from + first * size, to + first * size, at + first,
                                               m.n, m.inner, width);
        });
    values.commit();
    positions.commit();
    return 0;
}

int run_cummax(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    return run_extremes(op, 0, in, outs);
}

int run_cummin(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    return run_extremes(op, 1, in, outs);
}

void products(const fl_middle &m, int kind, const char *from, char *to) {
    int64_t size = fl_kind_size[kind];
    fl_scan_drive(
        m,
        [&](int64_t b, int64_t count) {
            int64_t at = b * m.n * size;
            kernels->product_lines[kind](from + at, to + at, count, m.n);
        },
        [&](int64_t at, int64_t width) {
            kernels->product_columns[kind](from + at * size, to + at * size, m.n, m.inner, width);
        });
}

}  // namespace

extern "C" int fl_infer_cumprod(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return fl_infer_scan(op, in, outs);
}

extern "C" int fl_run_cumprod(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[fl_scan_dtype(in[0].t, in[2])];
    return fl_run_scan(op, in, kind, outs[0], products);
}

extern "C" int fl_infer_cummax(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return infer_cummax(op, in, outs);
}

extern "C" int fl_run_cummax(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_is_unsigned64(in[0].t))
        return fl_run_in_signed_order(fl_run_cummax, op, in, n, outs);
    if (fl_is_bool(in[0].t))
        return fl_run_on_plain_bools(run_cummax, op, in, n, outs);
    return run_cummax(op, in, n, outs);
}

extern "C" int fl_infer_cummin(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return infer_cummax(op, in, outs);
}

extern "C" int fl_run_cummin(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_is_unsigned64(in[0].t))
        return fl_run_in_signed_order(fl_run_cummin, op, in, n, outs);
    if (fl_is_bool(in[0].t))
        return fl_run_on_plain_bools(run_cummin, op, in, n, outs);
    return run_cummin(op, in, n, outs);
}
