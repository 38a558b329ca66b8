/* Integers narrower than 64 bits, quotients of int64, and half precision: see narrow.h. */
#include "pointwise/narrow.h"
#include "pointwise/sides.h"
#include "pointwise/kernels/divide.h"
#include "pointwise/kernels/half.h"
#include "pointwise/kernels/narrow.h"
#include "op_index.h"

namespace {

int kernel_of(uint32_t index) {
    switch (index) {
    case FL_OP_add: return FL_NARROW_ADD;
    case FL_OP_sub: return FL_NARROW_SUB;
    case FL_OP_mul: return FL_NARROW_MUL;
    case FL_OP_maximum: return FL_NARROW_MAX;
    case FL_OP_minimum: return FL_NARROW_MIN;
    case FL_OP_clamp_min: return FL_NARROW_MAX;
    case FL_OP_clamp_max: return FL_NARROW_MIN;
    case FL_OP_bitwise_and: return FL_NARROW_AND;
    case FL_OP_bitwise_or: return FL_NARROW_OR;
    case FL_OP_bitwise_xor: return FL_NARROW_XOR;
    case FL_OP_floor_divide: return FL_NARROW_FLOOR_DIVIDE;
    case FL_OP_remainder: return FL_NARROW_REMAINDER;
    case FL_OP_fmod: return FL_NARROW_FMOD;
    case FL_OP_eq: return FL_NARROW_EQ;
    case FL_OP_ne: return FL_NARROW_NE;
    case FL_OP_lt: return FL_NARROW_LT;
    case FL_OP_le: return FL_NARROW_LE;
    case FL_OP_gt: return FL_NARROW_GT;
    case FL_OP_ge: return FL_NARROW_GE;
    case FL_OP_logical_and: return FL_NARROW_BOTH;
    case FL_OP_logical_or: return FL_NARROW_EITHER;
    case FL_OP_logical_xor: return FL_NARROW_ONE;
    case FL_OP_bitwise_left_shift: return FL_NARROW_LEFT;
    case FL_OP_bitwise_right_shift: return FL_NARROW_RIGHT;
    }
    return -1;
}

/* An operator of one operand as one of two, beside a number or beside itself. */
enum Beside { NOTHING, ZERO, ONE, ONES, ITSELF };
struct Form {
    int kernel;
    Beside left;
};

Form form_of(uint32_t index) {
    switch (index) {
    case FL_OP_neg: return {FL_NARROW_SUB, ZERO};
    case FL_OP_abs: return {FL_NARROW_DISTANCE, ZERO};
    case FL_OP_relu: return {FL_NARROW_MAX, ZERO};
    case FL_OP_sign: case FL_OP_sgn: return {FL_NARROW_ORDER, ZERO};
    case FL_OP_logical_not: return {FL_NARROW_EQ, ZERO};
    case FL_OP_signbit: return {FL_NARROW_GT, ZERO};
    case FL_OP_floor: case FL_OP_ceil: case FL_OP_trunc: case FL_OP_round:
        return {FL_NARROW_OR, ZERO};
    case FL_OP_bitwise_not: return {FL_NARROW_XOR, ONES};
    case FL_OP_isnan: case FL_OP_isinf: return {FL_NARROW_NE, ITSELF};
    case FL_OP_isfinite: return {FL_NARROW_EQ, ITSELF};
    }
    return {kernel_of(index), NOTHING};
}

int half_kernel_of(uint32_t index) {
    switch (index) {
    case FL_OP_add: return FL_HALF_ADD;
    case FL_OP_sub: return FL_HALF_SUB;
    case FL_OP_mul: return FL_HALF_MUL;
    case FL_OP_div: return FL_HALF_DIV;
    case FL_OP_maximum: return FL_HALF_MAX;
    case FL_OP_minimum: return FL_HALF_MIN;
    case FL_OP_clamp_min: return FL_HALF_MAX;
    case FL_OP_clamp_max: return FL_HALF_MIN;
    case FL_OP_copysign: return FL_HALF_COPYSIGN;
    }
    return -1;
}

/* Of relu 0 comes first, and is kept beside -0. */
Form half_form_of(uint32_t index) {
    switch (index) {
    case FL_OP_relu: return {FL_HALF_MAX, ZERO};
    case FL_OP_reciprocal: return {FL_HALF_DIV, ONE};
    }
    return {half_kernel_of(index), NOTHING};
}

int column_of(int dtype) {
    switch (dtype) {
    case FL_U8: return FL_NARROW_U8;
    case FL_I8: return FL_NARROW_I8;
    case FL_I16: return FL_NARROW_I16;
    case FL_I32: return FL_NARROW_I32;
    }
    return -1;
}

/* Quotients and remainders of int64 have kernels too. */
bool has_kernel(int kernel, int dtype) {
    const bool divides = kernel >= FL_NARROW_FLOOR_DIVIDE && kernel <= FL_NARROW_FMOD;
    return column_of(dtype) >= 0 || (dtype == FL_I64 && divides);
}

fl_narrow_fn function_of(int kernel, int half_kernel, int dtype) {
    if (is_half(dtype))
        return FL_PICK(fl_half_kernels)->run[half_kernel][dtype == FL_BF16];
    const int column = column_of(dtype), division = kernel - FL_NARROW_FLOOR_DIVIDE;
    if (column < 0)
        return division < 0 ? nullptr : FL_PICK(fl_divide_kernels)->run[division];
    return FL_PICK(fl_narrow_kernels)->run[kernel][column];
}

/* The lower bound, then the upper one while the elements are near. That half precision is rounded
 * between the two changes nothing: rounding keeps the order. */
bool run_clamp(const fl_pointwise *pw, const fl_value *in, int dtype, const fl_tensor *out) {
    const int64_t MAX_CACHED_ELEMENTS = 4096;
    Side x, low, high;
    if ((!is_half(dtype) && column_of(dtype) < 0) || !(out->flags & FL_CONTIGUOUS) ||
        out->dtype != dtype || !x.set(in[pw->operand[0]], dtype, out) ||
        !low.set(in[pw->operand[1]], dtype, out) || !high.set(in[pw->operand[2]], dtype, out))
        return false;
    fl_narrow_fn raise = function_of(FL_NARROW_MAX, FL_HALF_MAX, dtype);
    fl_narrow_fn lower = function_of(FL_NARROW_MIN, FL_HALF_MIN, dtype);
    const int64_t size = fl_itemsize(dtype);
    if (!is_half(dtype) && x.step > 0 && low.step == 0 && high.step == 0) {
        auto clamp = FL_PICK(fl_narrow_kernels)->clamp[column_of(dtype)];
        fl_parallel(out->numel, 4 * FL_GRAIN, [&](int64_t begin, int64_t end) {
            clamp(x.from(begin, size), low.number, high.number, out->data + begin * size,
                  end - begin);
        });
        return true;
    }
    if (x.step > 0 && low.step < 0 && high.step < 0) {
        auto clamp = FL_PICK(fl_half_kernels)->clamp[dtype == FL_BF16];
        fl_parallel(out->numel, 4 * FL_GRAIN, [&](int64_t begin, int64_t end) {
            clamp(x.from(begin, size), low.wide, high.wide, out->data + begin * size, end - begin);
        });
        return true;
    }
    fl_parallel(out->numel, 4 * FL_GRAIN, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i += MAX_CACHED_ELEMENTS) {
            int64_t n = end - i < MAX_CACHED_ELEMENTS ? end - i : MAX_CACHED_ELEMENTS;
            char *to = out->data + i * size;
            raise(x.from(i, size), x.step, low.from(i, size), low.step, to, n);
            lower(to, 1, high.from(i, size), high.step, to, n);
        }
    });
    return true;
}

/* addcmul, or lerp by a number, of half precision. */
bool run_half_sum(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int dtype,
                  const fl_tensor *out) {
    const bool is_lerp = op->index == FL_OP_lerp;
    const fl_half_kernels *kernels = FL_PICK(fl_half_kernels);
    auto run = (is_lerp ? kernels->lerp : kernels->product_sum)[dtype == FL_BF16];
    Side x, a, b, number;
    if (!(out->flags & FL_CONTIGUOUS) || out->dtype != dtype ||
        !number.set_wide(in[is_lerp ? pw->operand[2] : pw->scalar[0]]) ||
        !x.set(in[pw->operand[0]], dtype, out) || !a.set(in[pw->operand[1]], dtype, out) ||
        !b.set(in[pw->operand[is_lerp ? 1 : 2]], dtype, out) || x.step < 0 || a.step < 0 ||
        b.step < 0)
        return false;
    fl_parallel(out->numel, 2 * FL_GRAIN, [&](int64_t begin, int64_t end) {
        run(x.from(begin, 2), a.from(begin, 2), b.from(begin, 2), number.wide,
            out->data + 2 * begin, end - begin);
    });
    return true;
}

/* self + value * a * b of integers, modulo their size: a product, which value multiplies, and a sum,
 * while the elements are near. */
bool run_product_sum(const fl_pointwise *pw, const fl_value *in, int dtype, const fl_tensor *out) {
    const int64_t ELEMENTS = 2048;
    Side x, a, b;
    const fl_value &value = in[pw->scalar[0]];
    if (column_of(dtype) < 0 || !(out->flags & FL_CONTIGUOUS) || out->dtype != dtype ||
        value.tag != FL_INT || !x.set(in[pw->operand[0]], dtype, out) ||
        !a.set(in[pw->operand[1]], dtype, out) || !b.set(in[pw->operand[2]], dtype, out))
        return false;
    fl_narrow_fn multiply = function_of(FL_NARROW_MUL, -1, dtype);
    fl_narrow_fn add = function_of(FL_NARROW_ADD, -1, dtype);
    const int64_t size = fl_itemsize(dtype), factor = value.i;
    fl_parallel(out->numel, 2 * FL_GRAIN, [&](int64_t begin, int64_t end) {
        int32_t product[ELEMENTS];
        char *of = (char *)product;
        for (int64_t i = begin; i < end; i += ELEMENTS) {
            int64_t n = end - i < ELEMENTS ? end - i : ELEMENTS;
            multiply(a.from(i, size), a.step, b.from(i, size), b.step, of, n);
            if (factor != 1)
                multiply(of, 1, (const char *)&factor, 0, of, n);
            add(x.from(i, size), x.step, of, 1, out->data + i * size, n);
        }
    });
    return true;
}

/* Absolute values and negatives of half precision are a change of the sign's bit. */
bool run_sign(const fl_op *op, const fl_value &v, int dtype, const fl_tensor *out) {
    Side x;
    bool size = op->index == FL_OP_abs;
    if ((!size && op->index != FL_OP_neg) || v.tag != FL_TENSOR || out->dtype != dtype ||
        !(out->flags & FL_CONTIGUOUS) || !x.set(v, dtype, out))
        return false;
    auto bits = FL_PICK(fl_half_kernels)->bits;
    fl_parallel(out->numel, 4 * FL_GRAIN, [&](int64_t begin, int64_t end) {
        bits(x.from(begin, 2), out->data + 2 * begin, end - begin, size ? 0x7fff : 0xffff,
             size ? 0 : 0x8000);
    });
    return true;
}

bool is_square(const fl_op *op, const fl_pointwise *pw, const fl_value *in) {
    if (op->index != FL_OP_pow)
        return op->index == FL_OP_square;
    const fl_value &exponent = in[pw->operand[1]];
    return (exponent.tag == FL_INT && exponent.i == 2) ||
           (exponent.tag == FL_FLOAT && exponent.d == 2);
}

fl_value beside(Beside what, const fl_value &operand, int dtype) {
    if (what == ITSELF)
        return operand;
    fl_value v = {};
    v.tag = FL_INT;
    v.i = what == ZERO ? 0 : what == ONE ? 1 : dtype == FL_U8 ? UINT8_MAX : -1;
    return v;
}

}  // namespace

bool fl_narrow_run(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int dtype,
                   const fl_tensor *out) {
    const bool half = is_half(dtype);
    const bool squares = is_square(op, pw, in);
    const Form form = squares ? Form{half ? (int)FL_HALF_MUL : (int)FL_NARROW_MUL, ITSELF}
                      : half  ? half_form_of(op->index)
                              : form_of(op->index);
    const bool alone = form.left != NOTHING;
    if (half && pw->n_in == 1 && !alone)
        return run_sign(op, in[pw->operand[0]], dtype, out);
    if (op->index == FL_OP_clamp_both)
        return run_clamp(pw, in, dtype, out);
    if (half && (op->index == FL_OP_addcmul || op->index == FL_OP_lerp))
        return run_half_sum(op, pw, in, dtype, out);
    if (op->index == FL_OP_addcmul)
        return run_product_sum(pw, in, dtype, out);
    const bool compares = !half && form.kernel >= FL_NARROW_EQ;
    if (form.kernel < 0 || (!half && !has_kernel(form.kernel, dtype)) ||
        (!squares && pw->n_in != (alone ? 1 : 2)) ||
        out->dtype != (compares ? (int)FL_BOOL : dtype) || !plain_scalars(pw, in))
        return false;
    const fl_value right = in[pw->operand[alone ? 0 : 1]];
    const fl_value left = alone ? beside(form.left, right, dtype) : in[pw->operand[0]];
    fl_narrow_fn run = function_of(form.kernel, form.kernel, dtype);
    int64_t size = fl_itemsize(dtype), to = fl_itemsize(out->dtype);
    Side a, b;
    if (!(out->flags & FL_CONTIGUOUS) || !a.set(left, dtype, out) || !b.set(right, dtype, out)) {
        Rows rows;
        if (!rows.set_all(left, right, dtype, out))
            return false;
        rows.run(run, size, to);
        return true;
    }
    fl_parallel(out->numel, 4 * FL_GRAIN, [&](int64_t begin, int64_t end) {
        run(a.from(begin, size), a.step, b.from(begin, size), b.step, out->data + begin * to,
            end - begin);
    });
    return true;
}
