/* Running sums along a dimension. */
#include "reduce/kernels/scan.h"
#include "reduce/scan.h"

namespace {

const fl_scan_kernels *const kernels = FL_PICK(fl_scan_kernels);

int kind_of(const fl_tensor *self, const fl_value &dtype) {
    int kind = fl_kind_of_dtype[fl_scan_dtype(self, dtype)];
    return kind == FL_K_BOOL ? FL_K_I64 : kind;
}

void scan(fl_middle m, int kind, const char *x, char *y) {
    if (kind >= FL_K_C64) {     /* complex numbers are two columns */
        kind = kind == FL_K_C64 ? FL_K_F32 : FL_K_F64;
        m.inner *= 2;
    }
    int64_t size = fl_kind_size[kind], bytes = m.n * size;
    fl_scan_drive(
        m,
        [&](int64_t b, int64_t count) {
            kernels->lines[kind](x + b * bytes, y + b * bytes, count, m.n);
        },
        [&](int64_t at, int64_t width) {
            kernels->columns[kind](x + at * size, y + at * size, m.n, m.inner, width);
        });
}

}  // namespace

extern "C" int fl_infer_cumsum(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dim;
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_spec_like(outs, self);
    outs->dtype = (uint8_t)fl_scan_dtype(self, in[2]);
    return 0;
}

extern "C" int fl_run_cumsum(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int dim, kind = kind_of(self, in[2]);
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    In x(self, kind);
    Out y(outs[0], kind);
    if (!x.ok() || !y.ok())
        return -1;
    if (self->numel)
        scan(fl_middle_of(self, dim), kind, x.as<char>(), y.as<char>());
    y.commit();
    return 0;
}
