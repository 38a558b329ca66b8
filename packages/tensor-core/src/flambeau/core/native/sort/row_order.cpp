/* row_order: the order that sorts the rows of a matrix, compared from the first column. NaN is
 * neither less nor greater than any number, as in PyTorch: rows that hold it stay about where they
 * are, and where exactly is decided by std::sort, which is PyTorch's sort as well. */
#include "common/args.h"
#include "common/raw.h"
#include "common/unsigned_order.h"
#include <algorithm>

namespace {

template <class T> void order_rows(const char *data, int64_t n, int64_t width, int64_t *positions) {
    const T *x = (const T *)data;
    std::sort(positions, positions + n, [=](int64_t i, int64_t j) {
        const T *a = x + i * width, *b = x + j * width;
        for (int64_t k = 0; k < width; k++) {
            if (a[k] < b[k])
                return true;
            if (a[k] > b[k])
                return false;
        }
        return false;
    });
}

}  // namespace

extern "C" int fl_infer_row_order(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    if (fl_expect_order(op, "self", self) < 0)
        return -1;
    if (self->ndim != 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected a matrix, got shape %s", fl_op_title(op),
                        fl_shape_text(self->shape, self->ndim));
    fl_spec_set(outs, FL_I64, fl_device_code(self), 1, self->shape);
    return 0;
}

extern "C" int fl_run_row_order(const fl_op *op, const fl_value *in, int n_in,
                                fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    if (fl_is_unsigned64(self))
        return fl_run_in_signed_order(fl_run_row_order, op, in, n_in, outs);
    int kind = fl_kind_of_dtype[self->dtype];
    if (kind == FL_K_BOOL)
        kind = FL_K_I64;
    int64_t n = self->shape[0], width = self->shape[1];
    In x(self, kind);
    Out out(outs[0], FL_K_I64);
    if (!x.ok() || !out.ok())
        return -1;
    int64_t *positions = out.as<int64_t>();
    for (int64_t i = 0; i < n; i++)
        positions[i] = i;
    if (kind == FL_K_F32)
        order_rows<float>(x.as<char>(), n, width, positions);
    else if (kind == FL_K_F64)
        order_rows<double>(x.as<char>(), n, width, positions);
    else
        order_rows<int64_t>(x.as<char>(), n, width, positions);
    out.commit();
    return 0;
}
