/* sum, prod, mean, amax, amin, any, all: reductions whose partial results are reduced again. */
#include "reduce/complex_product.h"
#include "reduce/kernels/reduce.h"
#include "common/args.h"
#include "common/small.h"
#include "reduce/reduce.h"

namespace {

const fl_reduce_kernels *const kernels = FL_PICK(fl_reduce_kernels);

const int64_t COLUMN_ROWS = FL_COLUMN_PIECE;
const int64_t STRIP_COLUMNS = 2048;             /* columns of a column piece */

struct Job {
    fl_reduce_plan p;
    int reduce;
    char *out;                          /* outer x inner results */
    int type;                           /* of elements: the plan's kind, or FL_REDUCE_U8 ... */
    int64_t size;                       /* bytes of an element */

    const void *load(int64_t at, int64_t n, void *buffer) const {
        return type < FL_REDUCE_KINDS ? fl_reduce_load(p, at, n, buffer) : p.data + at * size;
    }
};

fl_reduce_row_fn row_kernel(const Job &j) { return kernels->row[j.reduce][j.type]; }
fl_reduce_columns_fn column_kernel(const Job &j) { return kernels->columns[j.reduce][j.type]; }

/* The pieces first .. last of all rows, each `pieces` long, into partial[piece]. */
void reduce_pieces(const Job &j, int64_t pieces, int64_t first, int64_t last, char *partial) {
    alignas(64) int64_t buffer[FL_REDUCE_PIECE];
    fl_reduce_row_fn kernel = row_kernel(j);
    for (int64_t t = first; t < last; t++) {
        int64_t row = t / pieces, begin = (t - row * pieces) * FL_REDUCE_PIECE;
        int64_t n = j.p.n - begin < FL_REDUCE_PIECE ? j.p.n - begin : FL_REDUCE_PIECE;
        const void *x = j.load(row * j.p.outer_step + begin, n, buffer);
        kernel(x, n, partial + t * j.size);
    }
}

int reduce_rows(const Job &j) {
    if (j.p.n <= FL_REDUCE_PIECE) {
        fl_parallel(j.p.outer, fl_row_grain(j.p.n), [&](int64_t b, int64_t e) {
            reduce_pieces(j, 1, b, e, j.out);
        });
        return 0;
    }
    int64_t pieces = fl_chunk_count(j.p.n, FL_REDUCE_PIECE);
    Scratch partial((size_t)(j.p.outer * pieces * j.size));
    if (!partial.ok())
        return -1;
    char *parts = partial.as<char>();
    fl_parallel(j.p.outer * pieces, FL_GRAIN / FL_REDUCE_PIECE, [&](int64_t b, int64_t e) {
        reduce_pieces(j, pieces, b, e, parts);
    });
    for (int64_t r = 0; r < j.p.outer; r++)
        row_kernel(j)(parts + r * pieces * j.size, pieces, j.out + r * j.size);
    return 0;
}

/* Columns, cut into pieces of rows and strips of columns. With one piece the results go straight
 * to the output, else to partial[outer][piece][inner]. */
void reduce_column_pieces(const Job &j, int64_t pieces, char *to) {
    const fl_reduce_plan &p = j.p;
    int64_t strips = fl_chunk_count(p.inner, STRIP_COLUMNS);
    int64_t rows = p.n < COLUMN_ROWS ? p.n : COLUMN_ROWS;
    int64_t grain = fl_row_grain(rows * (p.inner < STRIP_COLUMNS ? p.inner : STRIP_COLUMNS));
    fl_parallel(p.outer * pieces * strips, grain, [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            int64_t strip = t % strips, piece = t / strips % pieces, o = t / strips / pieces;
            int64_t row = piece * COLUMN_ROWS, column = strip * STRIP_COLUMNS;
            int64_t n = p.n - row < COLUMN_ROWS ? p.n - row : COLUMN_ROWS;
            int64_t width = p.inner - column < STRIP_COLUMNS ? p.inner - column : STRIP_COLUMNS;
            int64_t at = o * p.outer_step + row * p.step + column;
            column_kernel(j)(p.data + at * j.size, n, p.step, width,
                             to + ((o * pieces + piece) * p.inner + column) * j.size);
        }
    });
}

int reduce_columns(const Job &j);

/* Few columns: several rows side by side count as one, and are reduced at the end. */
int reduce_narrow(const Job &j) {
    const fl_reduce_plan &p = j.p;
    int64_t group = 64 / p.inner, groups = p.n / group;
    Scratch wide((size_t)((p.outer * (group + 2) * p.inner) * j.size));
    if (!wide.ok())
        return -1;
    Job first = j;
    first.p.n = groups;
    first.p.inner = p.inner * group;
    first.p.step = p.step * group;
    first.out = wide.as<char>();
    if (reduce_columns(first) < 0)
        return -1;
    int64_t rest = p.n - groups * group;
    char *two = wide.as<char>() + p.outer * group * p.inner * j.size;
    for (int64_t o = 0; o < p.outer; o++) {
        const char *tail = p.data + (o * p.outer_step + groups * group * p.step) * j.size;
        column_kernel(j)(first.out + o * group * p.inner * j.size, group, p.inner, p.inner, two);
        column_kernel(j)(tail, rest, p.step, p.inner, two + p.inner * j.size);
        column_kernel(j)(two, 2, p.inner, p.inner, j.out + o * p.inner * j.size);
    }
    return 0;
}

int reduce_columns(const Job &j) {
    const fl_reduce_plan &p = j.p;
    if (p.inner <= FL_NARROW_COLUMNS && p.step == p.inner && p.n >= 128)
        return reduce_narrow(j);
    int64_t pieces = fl_chunk_count(p.n, COLUMN_ROWS);
    if (pieces <= 1) {
        reduce_column_pieces(j, 1, j.out);
        return 0;
    }
    Scratch partial((size_t)(p.outer * pieces * p.inner * j.size));
    if (!partial.ok())
        return -1;
    reduce_column_pieces(j, pieces, partial.as<char>());
    fl_parallel(p.outer, fl_row_grain(pieces * p.inner), [&](int64_t b, int64_t e) {
        for (int64_t o = b; o < e; o++)
            column_kernel(j)(partial.as<char>() + o * pieces * p.inner * j.size, pieces, p.inner,
                             p.inner, j.out + o * p.inner * j.size);
    });
    return 0;
}

int run(const Job &j) { return j.p.inner == 1 ? reduce_rows(j) : reduce_columns(j); }

int reduce_plan(const fl_reduce_plan &p, int reduce, void *out) {
    return run(Job{p, reduce, (char *)out, p.kind, fl_kind_size[p.kind]});
}

int reduce_gathered(const fl_reduce_source &s, int reduce, void *out) {
    Scratch memory(fl_bytes(fl_reduce_kept(s) * fl_reduce_reduced(s), fl_kind_size[s.kind]));
    if (!memory.ok())
        return -1;
    fl_reduce_plan plan;
    fl_reduce_gather_plan(s, memory.as<void>(), &plan);
    return reduce_plan(plan, reduce, out);
}

int reduce_source(fl_reduce_source s, int reduce, void *out);

/* Fold the innermost group into scratch memory, then what remains of it. */
int reduce_stages(const fl_reduce_source &s, int reduce, void *out) {
    fl_reduce_source part = fl_reduce_split(s);
    int64_t n = fl_reduce_kept(part);
    Scratch memory(fl_bytes(n, fl_kind_size[s.kind]));
    if (!memory.ok() || reduce_source(part, reduce, memory.as<void>()) < 0)
        return -1;
    fl_reduce_source rest = s;
    rest.data = memory.as<char>();
    rest.dtype = fl_dtype_of_kind[s.kind];
    rest.ndim = 0;
    rest.mask = 0;
    for (int d = 0; d < s.ndim; d++) {
        if (part.mask >> d & 1)
            continue;
        rest.mask |= (s.mask >> d & 1) << rest.ndim;
        rest.shape[rest.ndim++] = s.shape[d];
    }
    fl_contiguous_strides(rest.ndim, rest.shape, rest.strides);
    return reduce_source(rest, reduce, out);
}

/* Converted in the order it lies in, so that columns stay columns. */
int reduce_converted(const fl_reduce_source &s, int reduce, void *out) {
    Scratch memory(fl_bytes(fl_numel_of(s.ndim, s.shape), fl_kind_size[s.kind]));
    if (!memory.ok())
        return -1;
    fl_reduce_source same = s;
    same.data = memory.as<char>();
    same.dtype = fl_dtype_of_kind[s.kind];
    fl_contiguous_strides(s.ndim, s.shape, same.strides);
    fl_copy_strided(fl_strided{memory.as<char>(), same.dtype, same.strides},
                    fl_strided{(char *)s.data, s.dtype, s.strides}, s.ndim, s.shape);
    return reduce_source(same, reduce, out);
}

int reduce_source(fl_reduce_source s, int reduce, void *out) {
    fl_reduce_source original = s;
    fl_reduce_plan plan;
    switch (fl_reduce_make_plan(&s, false, &plan)) {
    case FL_PLAN_READY: return reduce_plan(plan, reduce, out);
    case FL_PLAN_STAGES: return reduce_stages(s, reduce, out);
    default: break;
    }
    if (original.dtype != fl_dtype_of_kind[original.kind])
        return reduce_converted(original, reduce, out);
    return reduce_gathered(original, reduce, out);
}

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
    return run(Job{plan, reduce, out->data, type, fl_itemsize(self->dtype)});
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

int fl_reduce_all(const fl_reduce_source &s, int reduce, void *out) {
    return reduce_source(s, reduce, out);
}

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
        status = reduce_source(s, reduce, result.as<void>());
    if (status < 0)
        return -1;
    if (reduction == FL_RED_MEAN)
        divide_all(kind, result.as<void>(), count, n);
    result.commit();
    return 0;
}
