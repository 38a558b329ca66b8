/* sum, prod, mean, amax, amin, any, all as operators. */
#include "reduce/complex_product.h"
#include "reduce/kernels/reduce.h"
#include "common/args.h"
#include "common/small.h"
#include "reduce/memory_order.h"
#include "reduce/reduce.h"

namespace {

const fl_reduce_kernels *const kernels = FL_PICK(fl_reduce_kernels);

/* Products of complex numbers do not split into parts. */
template <class T> int complex_product(const fl_reduce_source &s, T *out) {
    int64_t kept = fl_reduce_kept(s), n = fl_reduce_reduced(s);
    Scratch memory((size_t)(kept * n) * 2 * sizeof(T));
    if (!memory.ok())
        return -1;
    fl_reduce_plan plan;
    fl_reduce_gather(s, memory.as<void>(), &plan);
    for (int64_t k = 0; k < kept; k++)
        complex_product_of(memory.as<T>() + 2 * k * n, n, out + 2 * k);
    return 0;
}

/* Nothing to reduce: every result is the neutral element. */
void fill_neutral(int kind, int reduce, void *out, int64_t count) {
    if (kind >= FL_K_C64) {
        double one = reduce == FL_REDUCE_PROD;
        for (int64_t i = 0; i < count; i++) {
            if (kind == FL_K_C64)
                ((float *)out)[2 * i] = (float)one, ((float *)out)[2 * i + 1] = 0;
            else
                ((double *)out)[2 * i] = one, ((double *)out)[2 * i + 1] = 0;
        }
        return;
    }
    for (int64_t i = 0; i < count; i++)
        kernels->row[reduce][kind](out, 0, (char *)out + i * fl_kind_size[kind]);
}

template <class T> void divide(T *x, int64_t count, double n) {
    for (int64_t i = 0; i < count; i++)
        x[i] = x[i] / (T)n;
}

void divide_all(int kind, void *out, int64_t count, int64_t n) {
    bool wide = kind == FL_K_F64 || kind == FL_K_C128;
    int64_t numbers = kind >= FL_K_C64 ? 2 * count : count;
    if (wide)
        divide((double *)out, numbers, (double)n);
    else
        divide((float *)out, numbers, (double)n);
}

int kernel_of_reduction(int reduction) {
    switch (reduction) {
    case FL_RED_PROD: return FL_REDUCE_PROD;
    case FL_RED_AMAX:
    case FL_RED_ANY: return FL_REDUCE_MAX;
    case FL_RED_AMIN:
    case FL_RED_ALL: return FL_REDUCE_MIN;
    default: return FL_REDUCE_SUM;
    }
}

int kind_of(int reduction, const fl_tensor *self, const fl_value *in) {
    if (reduction == FL_RED_ANY || reduction == FL_RED_ALL)
        return FL_K_BOOL;
    if (reduction == FL_RED_AMAX || reduction == FL_RED_AMIN)
        return fl_kind_of_dtype[self->dtype];
    int dtype = in[3].tag == FL_DTYPE ? (int)in[3].i : self->dtype;
    int kind = fl_kind_of_dtype[dtype];
    return kind == FL_K_BOOL && in[3].tag != FL_DTYPE ? FL_K_I64 : kind;
}

int narrow_type(int dtype) {
    switch (dtype) {
    case FL_U8: return FL_REDUCE_U8;
    case FL_I8: return FL_REDUCE_I8;
    case FL_I16: return FL_REDUCE_I16;
    case FL_I32: return FL_REDUCE_I32;
    }
    return -1;
}

/* Extremes of narrow integers, as they lie; 1 where the input has to be brought in order first. */
int narrow_extremes(const fl_tensor *self, uint64_t mask, int reduce, fl_tensor *out) {
    const int type = narrow_type(self->dtype);
    if (type < 0 || out->dtype != self->dtype || self->numel == 0 ||
        !(out->flags & FL_CONTIGUOUS))
        return 1;
    fl_reduce_source s = fl_reduce_source_of(self, FL_K_I64, mask);
    fl_reduce_plan plan;
    if (fl_reduce_plan_in_place(&s, false, &plan) != FL_PLAN_READY)
        return 1;
    return fl_reduce_as_they_lie(plan, reduce, type, out->data);
}

/* Where all of a small tensor lies side by side in its kind, or is brought there; NULL when the
 * reduction is another one. */
const void *small_source(const fl_value *in, const fl_tensor *out, int kind, char *room) {
    const fl_tensor *self = in[0].t;
    if (in[1].tag != FL_NONE || kind >= FL_K_C64 || self->numel > FL_REDUCE_PIECE ||
        out->dtype != fl_dtype_of_kind[kind])
        return nullptr;
    if ((self->flags & FL_CONTIGUOUS) && self->dtype == fl_dtype_of_kind[kind])
        return self->data;
    if (self->numel > FL_SMALL_NUMEL || self->numel == 0)
        return nullptr;
    fl_gather_small(room, kind, self->data, self->dtype,
                  fl_walk(self->ndim, self->shape, self->strides));
    return room;
}

}  // namespace

void fl_reduce_some(const fl_op *op, const fl_tensor *self, const void *x, int64_t n, char *parts) {
    const int kind = fl_kind_of_dtype[self->dtype], size = fl_kind_size[kind];
    auto reduce = kernels->row[kernel_of_reduction(fl_reduction_of(op))][kind];
    for (int64_t at = 0; at < n; at += FL_REDUCE_PIECE, parts += size)
        reduce((const char *)x + at * size, n - at < FL_REDUCE_PIECE ? n - at : FL_REDUCE_PIECE,
               parts);
}

int fl_reduce_parts(const fl_op *op, const fl_tensor *self, const char *parts, fl_tensor *out) {
    const int kind = fl_kind_of_dtype[self->dtype];
    Out result(out, kind);
    if (!result.ok())
        return -1;
    kernels->row[kernel_of_reduction(fl_reduction_of(op))][kind](
        parts, fl_chunk_count(self->numel, FL_REDUCE_PIECE), result.as<void>());
    if (fl_reduction_of(op) == FL_RED_MEAN)
        divide_all(kind, result.as<void>(), 1, self->numel);
    result.commit();
    return 0;
}

void fl_reduce_rows(const fl_op *op, const fl_tensor *self, const void *x, int64_t first, int64_t n,
                    int64_t width, char *parts) {
    const int kind = fl_kind_of_dtype[self->dtype];
    const int reduce = kernel_of_reduction(fl_reduction_of(op));
    char *part = parts + first / FL_COLUMN_PIECE * width * fl_kind_size[kind];
    auto kernel = first % FL_COLUMN_PIECE ? kernels->more : kernels->columns;
    kernel[reduce][kind](x, n, width, width, part);
}

int fl_reduce_row_parts(const fl_op *op, const fl_tensor *self, const char *parts, fl_tensor *out) {
    const int kind = fl_kind_of_dtype[self->dtype];
    const int64_t width = out->numel, rows = self->numel / width;
    Out result(out, kind);
    if (!result.ok())
        return -1;
    kernels->columns[kernel_of_reduction(fl_reduction_of(op))][kind](
        parts, fl_chunk_count(rows, FL_COLUMN_PIECE), width, width, result.as<void>());
    if (fl_reduction_of(op) == FL_RED_MEAN)
        divide_all(kind, result.as<void>(), width, rows);
    result.commit();
    return 0;
}

int fl_run_reduce(const fl_op *op, const fl_value *in, fl_tensor *out) {
    const fl_tensor *self = in[0].t;
    int reduction = fl_reduction_of(op), reduce = kernel_of_reduction(reduction);
    int kind = kind_of(reduction, self, in);
    alignas(64) char room[FL_SMALL_NUMEL * 8];
    if (const void *all = small_source(in, out, kind, room)) {
        kernels->row[reduce][kind](all, self->numel, out->data);
        if (reduction == FL_RED_MEAN)
            divide_all(kind, out->data, 1, self->numel);
        return 0;
    }
    uint64_t mask;
    if (fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    bool extremes = reduction == FL_RED_AMAX || reduction == FL_RED_AMIN;
    int left = extremes                     ? narrow_extremes(self, mask, reduce, out)
               : reduction == FL_RED_SUM    ? fl_count_rows(self, mask, out)
                                            : 1;
    if (left <= 0)
        return left;
    Out result(out, kind);
    if (!result.ok())
        return -1;
    const ReduceInput input(self, kind, mask);
    const fl_reduce_source &s = input.source();
    int64_t n = fl_reduce_reduced(s), count = out->numel;
    int status = 0;
    if (self->numel == 0)
        fill_neutral(kind, reduce, result.as<void>(), count);
    else if (reduce == FL_REDUCE_PROD && kind == FL_K_C64)
        status = complex_product(s, result.as<float>());
    else if (reduce == FL_REDUCE_PROD && kind == FL_K_C128)
        status = complex_product(s, result.as<double>());
    else
        status = fl_reduce_in_order(s, fl_dtype_of_kind[kind], result.as<void>(),
                                    [&](const fl_reduce_source &source, void *to) {
                                        return fl_reduce_all(source, reduce, to);
                                    });
    if (status < 0)
        return -1;
    if (reduction == FL_RED_MEAN)
        divide_all(kind, result.as<void>(), count, n);
    result.commit();
    return 0;
}
