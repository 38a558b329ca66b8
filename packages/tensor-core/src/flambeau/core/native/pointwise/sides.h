/* Operands of kernels that read elements as they lie: a tensor, a number, or rows of either. */
#pragma once
#include "common/args.h"
#include "pointwise/kernels/narrow.h"
#include "pointwise/pointwise_plan.h"
#include "runtime/even.h"

namespace {

inline bool is_half(int dtype) { return dtype == FL_F16 || dtype == FL_BF16; }

inline bool fits(int64_t x, int dtype) {
    switch (dtype) {
    case FL_U8: return x >= 0 && x <= UINT8_MAX;
    case FL_I8: return x >= INT8_MIN && x <= INT8_MAX;
    case FL_I16: return x >= INT16_MIN && x <= INT16_MAX;
    case FL_I64: return x != 0;         /* a divisor */
    default: return x >= INT32_MIN && x <= INT32_MAX;
    }
}

/* All scalars are the integer 1, as alpha is if nothing is said. */
inline bool plain_scalars(const fl_pointwise *pw, const fl_value *in) {
    for (int k = 0; k < pw->n_scalars; k++)
        if (in[pw->scalar[k]].tag != FL_INT || in[pw->scalar[k]].i != 1)
            return false;
    return true;
}

struct Side {
    const char *data;
    int step;
    int64_t number = 0;
    float wide = 0;

    const char *from(int64_t begin, int64_t size) const {
        return step > 0 ? data + begin * size : data;
    }

    /* Beside half precision a number is not rounded. */
    bool set_wide(const fl_value &v) {
        data = (const char *)&wide;
        step = -1;
        if (v.tag != FL_FLOAT && v.tag != FL_INT && v.tag != FL_BOOLEAN)
            return false;
        wide = (float)fl_as_double(v);
        return true;
    }

    /* The low bytes of `number` are the element: little-endian, like all CPUs we build for. */
    bool set(const fl_value &v, int dtype, const fl_tensor *out) {
        if (v.tag != FL_TENSOR && is_half(dtype))
            return set_wide(v);
        if (v.tag != FL_TENSOR) {
            data = (const char *)&number;
            step = 0;
            number = v.i;
            return (v.tag == FL_INT || v.tag == FL_BOOLEAN) && fits(v.i, dtype);
        }
        data = v.t->data;
        step = 1;
        return v.t->dtype == dtype && v.t->numel == out->numel && (v.t->flags & FL_CONTIGUOUS);
    }
};

/* A result and its two operands, which may be broadcast, row by row. */
struct Rows {
    Loop loop;
    fl_operand ops[3];                  /* two operands, the result */
    int step[2];
    float wide[2];
    int64_t number[2];

    bool set_number(int k, const fl_value &v, int dtype) {
        Side side;
        if (!side.set(v, dtype, nullptr))
            return false;
        wide[k] = side.wide;
        number[k] = side.number;
        ops[k].data = is_half(dtype) ? (char *)&wide[k] : (char *)&number[k];
        step[k] = is_half(dtype) ? -1 : 0;
        memset(ops[k].strides, 0, sizeof ops[k].strides);
        return true;
    }

    bool set(int k, const fl_value &v, int dtype, const fl_tensor *out) {
        if (v.tag != FL_TENSOR)
            return set_number(k, v, dtype);
        ops[k].data = v.t->data;
        step[k] = 1;
        fl_operand_strides(v.t, out->ndim, out->shape, ops[k].strides);
        return v.t->dtype == dtype;
    }

    /* Rows of elements side by side, or of one that stays; long ones. */
    bool set_all(const fl_value &a, const fl_value &b, int dtype, const fl_tensor *out) {
        if (!set(0, a, dtype, out) || !set(1, b, dtype, out))
            return false;
        ops[2].data = out->data;
        memcpy(ops[2].strides, out->strides, sizeof(int64_t) * (size_t)out->ndim);
        loop.n_in = 2;
        loop.n_all = 3;
        loop.ops = ops;
        simplify(loop, out->ndim, out->shape);
        const int64_t x = ops[0].strides[0], y = ops[1].strides[0];
        if (x == 0 && step[0] > 0)
            step[0] = 0;
        if (y == 0 && step[1] > 0)
            step[1] = 0;
        return loop.shape[0] >= LEAST_ROW && ops[2].strides[0] == 1 && (x | y) == 1;
    }

    static const int64_t LEAST_ROW = 32, MOST_COLUMNS = 16384;

    void run(fl_narrow_fn row, int64_t size, int64_t result_size) const {
        const int64_t cols = loop.shape[0], cut = cols < MOST_COLUMNS ? cols : MOST_COLUMNS;
        const int64_t pieces = (cols + cut - 1) / cut, sizes[3] = {size, size, result_size};
        int64_t rows = 1;
        for (int d = 1; d < loop.ndim; d++)
            rows *= loop.shape[d];
        fl_parallel(rows * pieces, 1 + 4 * FL_GRAIN / cut, [&](int64_t begin, int64_t end) {
            int64_t index[FL_MAX_DIMS] = {begin % pieces}, rest = begin / pieces;
            char *at[3];
            for (int d = 1; d < loop.ndim; rest /= loop.shape[d++])
                index[d] = rest % loop.shape[d];
            for (int k = 0; k < 3; k++) {
                int64_t offset = index[0] * cut * ops[k].strides[0];
                for (int d = 1; d < loop.ndim; d++)
                    offset += index[d] * ops[k].strides[d];
                at[k] = ops[k].data + offset * sizes[k];
            }
            for (int64_t i = begin; i < end; i++) {
                const int64_t left = cols - index[0] * cut;
                row(at[0], step[0], at[1], step[1], at[2], left < cut ? left : cut);
                step_on(index, pieces, cut, sizes, at);
            }
        });
    }

  private:
    /* To the next piece, which may be the first of the next row. */
    void step_on(int64_t *index, int64_t pieces, int64_t cut, const int64_t *sizes,
                 char **at) const {
        for (int d = 0; d < loop.ndim; d++) {
            const int64_t by = d == 0 ? cut : 1, count = d == 0 ? pieces : loop.shape[d];
            const bool stays = ++index[d] < count;
            for (int k = 0; k < 3; k++)
                at[k] += (stays ? by : by - count * by) * ops[k].strides[d] * sizes[k];
            if (stays)
                return;
            index[d] = 0;
        }
    }
};

}  // namespace
