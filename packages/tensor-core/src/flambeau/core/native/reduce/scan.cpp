/* Running sums along a dimension. */
#include "reduce/kernels/scan.h"
#include "reduce/scan.h"

namespace {

const fl_scan_kernels *const kernels = FL_PICK(fl_scan_kernels);

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
    return fl_infer_scan(op, in, outs);
}

extern "C" int fl_run_cumsum(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[fl_scan_dtype(in[0].t, in[2])];
    return fl_run_scan(op, in, kind, outs[0], scan);
}
