/* Running sums along a dimension. */
#include "kernels/scan.h"
#include "ops/args.h"
#include "ops/raw.h"

namespace {

const fl_scan_kernels *const kernels = FL_PICK(fl_scan_kernels);

int dtype_of(const fl_tensor *self, const fl_value &dtype) {
    if (dtype.tag == FL_DTYPE)
        return (int)dtype.i;
    bool whole = fl_is_int(self->dtype) || self->dtype == FL_BOOL;
    return whole ? (int)FL_I64 : self->dtype;
}

int kind_of(const fl_tensor *self, const fl_value &dtype) {
    int kind = fl_kind_of_dtype[dtype_of(self, dtype)];
    return kind == FL_K_BOOL ? FL_K_I64 : kind;
}

}  // namespace

extern "C" int fl_infer_cumsum(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dim;
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_spec_like(outs, self);
    outs->dtype = (uint8_t)dtype_of(self, in[2]);
    return 0;
}

extern "C" int fl_run_cumsum(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int dim, kind = kind_of(self, in[2]);
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    LinesIn x(self, dim, kind);
    LinesOut y(outs[0], dim, kind);
    if (!x.ok() || !y.ok())
        return -1;
    if (self->numel == 0)
        return 0;
    int64_t n = self->ndim ? self->shape[dim] : 1, lines = self->numel / n;
    int64_t bytes = n * fl_kind_size[kind];
    fl_parallel(lines, fl_row_grain(n), [&](int64_t b, int64_t e) {
        kernels->sums[kind](x.as<char>() + b * bytes, y.as<char>() + b * bytes, e - b, n);
    });
    y.commit();
    return 0;
}
