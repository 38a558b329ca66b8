/* tril and triu: one side of a diagonal, the other side zero. */
#include "common/args.h"
#include "common/raw.h"

namespace {

int infer_triangle(const fl_op *op, const fl_value *in, fl_spec *outs) {
    if (in[0].t->ndim < 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: input must have at least 2 dimensions, the last two "
                        "being rows and columns; got shape %s", fl_op_title(op),
                        fl_shape_text(in[0].t->shape, in[0].t->ndim));
    fl_spec_like(outs, in[0].t);
    return 0;
}

int64_t clamp(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

/* Columns [begin, end) of a row that become zero. */
void zero_range(bool upper, int64_t row, int64_t diagonal, int64_t cols, int64_t *begin,
                int64_t *end) {
    int64_t split = clamp(row + diagonal + (upper ? 0 : 1), 0, cols);
    *begin = upper ? 0 : split;
    *end = upper ? split : cols;
}

void zero_row(fl_tensor *t, char *row, int64_t begin, int64_t end) {
    int64_t size = fl_itemsize(t->dtype), step = t->strides[t->ndim - 1] * size;
    if (step == size)
        memset(row + begin * size, 0, (size_t)((end - begin) * size));
    else
        for (int64_t c = begin; c < end; c++)
            memset(row + c * step, 0, (size_t)size);
}

int run_triangle(const fl_value *in, fl_tensor *out, bool upper) {
    fl_start_from(out, in[0].t);
    if (out->numel == 0)
        return 0;
    int64_t rows = out->shape[out->ndim - 2], cols = out->shape[out->ndim - 1];
    /* beyond that all rows are kept or cleared */
    int64_t diagonal = clamp(in[1].i, -rows - 1, cols), size = fl_itemsize(out->dtype);
    fl_parallel(out->numel / cols, fl_row_grain(cols), [&](int64_t b, int64_t e) {
        for (int64_t number = b; number < e; number++) {
            int64_t rest = number, offset = 0, begin, end;
            for (int d = out->ndim - 2; d >= 0; d--) {
                offset += rest % out->shape[d] * out->strides[d];
                rest /= out->shape[d];
            }
            zero_range(upper, number % rows, diagonal, cols, &begin, &end);
            zero_row(out, out->data + offset * size, begin, end);
        }
    });
    return 0;
}

}  // namespace

extern "C" int fl_infer_tril(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return infer_triangle(op, in, outs);
}

extern "C" int fl_infer_triu(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return infer_triangle(op, in, outs);
}

extern "C" int fl_run_tril(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    return run_triangle(in, outs[0], false);
}

extern "C" int fl_run_triu(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    return run_triangle(in, outs[0], true);
}
