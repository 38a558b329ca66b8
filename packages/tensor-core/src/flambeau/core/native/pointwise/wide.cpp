/* Rows beside a number of their own, and limits between two numbers: see wide.h. */
#include "pointwise/wide.h"
#include "op_index.h"
#include "pointwise/kernels/wide.h"
#include "pointwise/sides.h"

namespace {

const int64_t MIN_ROW_ELEMENTS = 128;   /* several shorter rows share a tile of the driver */

int kernel_of(uint32_t index) {
    switch (index) {
    case FL_OP_add: return FL_WIDE_ADD;
    case FL_OP_sub: return FL_WIDE_SUB;
    case FL_OP_mul: return FL_WIDE_MUL;
    case FL_OP_div: return FL_WIDE_DIV;
    case FL_OP_maximum: case FL_OP_clamp_min: return FL_WIDE_MAX;
    case FL_OP_minimum: case FL_OP_clamp_max: return FL_WIDE_MIN;
    }
    return -1;
}

bool run_clamp(const fl_pointwise *pw, const fl_value *in, int kind, const fl_tensor *out) {
    const fl_value &x = in[pw->operand[0]], &low = in[pw->operand[1]], &high = in[pw->operand[2]];
    if (x.tag != FL_TENSOR || low.tag == FL_TENSOR || high.tag == FL_TENSOR ||
        x.t->dtype != out->dtype || x.t->numel != out->numel ||
        !(x.t->flags & out->flags & FL_CONTIGUOUS))
        return false;
    alignas(16) char least[16], most[16];
    fl_pw_load_number(low, kind, least);
    fl_pw_load_number(high, kind, most);
    const auto clamp = FL_PICK(fl_wide_kernels)->clamp[kind];
    const int64_t size = fl_itemsize(out->dtype);
    fl_parallel(out->numel, fl_even_grain(out->numel, FL_GRAIN, FL_CHUNK_UNIT),
                [&](int64_t begin, int64_t end) {
        clamp(x.t->data + begin * size, least, most, out->data + begin * size, end - begin);
    });
    return true;
}

bool run_rows(int kernel, const fl_value &a, const fl_value &b, int kind, const fl_tensor *out) {
    Rows rows;
    if (a.tag != FL_TENSOR || b.tag != FL_TENSOR || !rows.set_all(a, b, out->dtype, out) ||
        (rows.step[0] && rows.step[1]) || rows.loop.shape[0] < MIN_ROW_ELEMENTS)
        return false;
    const int64_t size = fl_itemsize(out->dtype);
    rows.run(FL_PICK(fl_wide_kernels)->run[kernel][kind == FL_K_F64], size, size);
    return true;
}

}  // namespace

bool fl_wide_run(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int dtype,
                 const fl_tensor *out) {
    const bool is_float = dtype == FL_F32 || dtype == FL_F64;
    const int kind = fl_kind_of_dtype[dtype];
    if ((!is_float && dtype != FL_I64) || out->dtype != dtype ||
        2 * out->numel * fl_itemsize(dtype) > fl_host_cache())
        return false;
    if (op->index == FL_OP_clamp_both)
        return run_clamp(pw, in, kind, out);
    const int kernel = is_float ? kernel_of(op->index) : -1;
    return kernel >= 0 && plain_scalars(pw, in) &&
           run_rows(kernel, in[pw->operand[0]], in[pw->operand[1]], kind, out);
}
