/* nansum and vector norms: elements are prepared piece by piece, then reduced. */
#include "reduce/kernels/reduce_map.h"
#include "reduce/kernels/reduce.h"
#include "common/args.h"
#include "reduce/memory_order.h"
#include "reduce/reduce.h"
#include "reduce/short_rows.h"
#include <math.h>

namespace {

const fl_reduce_kernels *const reduce_kernels = FL_PICK(fl_reduce_kernels);
const fl_map_kernels *const maps = FL_PICK(fl_map_kernels);

struct Job {
    int kind, map, reduce;
    double p;
    bool sums() const { return map < FL_MAP_SUMS && reduce == FL_REDUCE_SUM; }
    void prepare(const void *x, void *out, int64_t n) const { maps->run[map][kind](x, out, n, p); }
};

/* What a norm prepares, and how it reduces; the root comes last. */
Job job_of_norm(int kind, double p) {
    if (p == 2)
        return {kind, FL_MAP_SQUARE, FL_REDUCE_SUM, p};
    if (p == 0)
        return {kind, FL_MAP_NONZERO, FL_REDUCE_SUM, p};
    if (p == 1 || isinf(p))
        return {kind, FL_MAP_ABS,
                p == 1 ? FL_REDUCE_SUM : p > 0 ? FL_REDUCE_MAX : FL_REDUCE_MIN, p};
    return {kind, FL_MAP_POWER, FL_REDUCE_SUM, p};
}

void reduce_short_rows(const Job &j, const fl_reduce_plan &plan, char *out) {
    const int64_t size = fl_kind_size[j.kind];
    auto gather = fl_moves->gather[plan.dtype][j.kind];
    fl_each_short_rows(plan, gather, [&](char *x, int64_t first, int64_t count) {
        j.prepare(x, x, plan.n * count);
        fl_reduce_in_turn(reduce_kernels, j.reduce, j.kind, size, x, plan.n, count,
                          out + first * size);
    });
}

/* n elements, prepared in a buffer where there is no kernel that prepares and sums. */
void reduce_piece(const Job &j, const void *x, int64_t n, void *buffer, char *out) {
    if (j.sums())
        return maps->sum[j.map][j.kind](x, n, out);
    j.prepare(x, buffer, n);
    reduce_kernels->row[j.reduce][j.kind](buffer, n, out);
}

/* Rows of the plan; long ones in pieces. */
int reduce_rows(const Job &j, const fl_reduce_plan &plan, char *out) {
    if (fl_has_short_rows(plan, j.kind)) {
        reduce_short_rows(j, plan, out);
        return 0;
    }
    if (plan.n <= FL_REDUCE_PIECE) {
        fl_parallel(plan.outer, fl_row_grain(plan.n), [&](int64_t b, int64_t e) {
            alignas(64) int64_t buffer[FL_REDUCE_PIECE];
            fl_each_loaded_row(plan, b, e, [&](const void *x, int64_t row) {
                reduce_piece(j, x, plan.n, buffer, out + row * fl_kind_size[j.kind]);
            });
        });
        return 0;
    }
    int64_t pieces = fl_chunk_count(plan.n, FL_REDUCE_PIECE), size = fl_kind_size[j.kind];
    Scratch partial((size_t)(plan.outer * pieces * size));
    if (!partial.ok())
        return -1;
    char *parts = partial.as<char>();
    fl_reduce_row_fn reduce = reduce_kernels->row[j.reduce][j.kind];
    fl_parallel(plan.outer * pieces, fl_row_grain(FL_REDUCE_PIECE), [&](int64_t b, int64_t e) {
        alignas(64) int64_t buffer[FL_REDUCE_PIECE];
        for (int64_t t = b; t < e; t++) {
            int64_t row = t / pieces, begin = (t - row * pieces) * FL_REDUCE_PIECE;
            int64_t n = plan.n - begin < FL_REDUCE_PIECE ? plan.n - begin : FL_REDUCE_PIECE;
            const void *x = fl_reduce_load(plan, row * plan.outer_step + begin, n, buffer);
            reduce_piece(j, x, n, buffer, parts + t * size);
        }
    });
    for (int64_t r = 0; r < plan.outer; r++)
        reduce(parts + r * pieces * size, pieces, out + r * size);
    return 0;
}

const int64_t NARROW_COLUMNS = 64;

/* Narrow columns that lie side by side: as many rows as a buffer has room for are prepared at once.
 * Their number is a multiple of the rows that are reduced as a tree. */
int reduce_narrow_columns(const Job &j, const fl_reduce_plan &plan, char *out) {
    const int64_t BUFFER_ELEMENTS = 2048, size = fl_kind_size[j.kind];
    const int64_t rows = BUFFER_ELEMENTS / plan.inner / FL_REDUCE_ROWS * FL_REDUCE_ROWS;
    fl_parallel(plan.outer, fl_row_grain(plan.n * plan.inner), [&](int64_t b, int64_t e) {
        alignas(64) char buffer[BUFFER_ELEMENTS * 8];
        for (int64_t o = b; o < e; o++)
            for (int64_t r = 0; r < plan.n; r += rows) {
                const int64_t n = plan.n - r < rows ? plan.n - r : rows, count = n * plan.inner;
                const int64_t at = o * plan.outer_step + r * plan.step;
                j.prepare(fl_reduce_load(plan, at, count, buffer), buffer, count);
                auto kernel = r ? reduce_kernels->more : reduce_kernels->columns;
                kernel[j.reduce][j.kind](buffer, n, plan.inner, plan.inner,
                                         out + o * plan.inner * size);
            }
    });
    return 0;
}

/* Columns of the plan: strips of a few rows at a time, prepared in a buffer whose first row is what
 * the rows before came to. */
int reduce_columns(const Job &j, const fl_reduce_plan &plan, char *out) {
    if (plan.inner < NARROW_COLUMNS && plan.step == plan.inner)
        return reduce_narrow_columns(j, plan, out);
    const int64_t STRIP_COLUMNS = 256, ROWS = 8, size = fl_kind_size[j.kind];
    const int64_t strips = fl_chunk_count(plan.inner, STRIP_COLUMNS);
    fl_reduce_columns_fn reduce = reduce_kernels->columns[j.reduce][j.kind];
    int64_t grain = fl_row_grain(plan.n * STRIP_COLUMNS);
    fl_parallel(plan.outer * strips, grain, [&](int64_t b, int64_t e) {
        alignas(64) char rows[(ROWS + 1) * STRIP_COLUMNS * 8];
        alignas(64) char buffer[STRIP_COLUMNS * 8], reduced[STRIP_COLUMNS * 8];
        for (int64_t t = b; t < e; t++) {
            int64_t o = t / strips, begin = t % strips * STRIP_COLUMNS;
            int64_t width = plan.inner - begin < STRIP_COLUMNS ? plan.inner - begin : STRIP_COLUMNS;
            for (int64_t r = 0; r < plan.n; r += ROWS) {
                int64_t n = plan.n - r < ROWS ? plan.n - r : ROWS;
                for (int64_t i = 0; i < n; i++) {
                    int64_t at = o * plan.outer_step + (r + i) * plan.step + begin;
                    j.prepare(fl_reduce_load(plan, at, width, buffer),
                              rows + (i + 1) * STRIP_COLUMNS * size, width);
                }
                reduce(rows + (r ? 0 : STRIP_COLUMNS * size), n + (r > 0), STRIP_COLUMNS, width,
                       reduced);
                memcpy(rows, reduced, (size_t)(width * size));
            }
            memcpy(out + (o * plan.inner + begin) * size, rows, (size_t)(width * size));
        }
    });
    return 0;
}

/* Magnitudes of complex numbers in memory of their own, lines last. */
int reduce_prepared(const Job &j, const fl_reduce_source &s, char *out) {
    int64_t kept = fl_reduce_kept(s), n = fl_reduce_reduced(s), size = fl_kind_size[s.kind];
    Scratch memory((size_t)(kept * n * size));
    if (!memory.ok())
        return -1;
    fl_reduce_plan plan;
    fl_reduce_gather(s, memory.as<void>(), &plan);
    char *x = memory.as<char>();
    maps->magnitude[j.kind](x, x, kept * n, 0);
    plan = fl_reduce_plan{x, fl_dtype_of_kind[j.kind], j.kind, kept, n, 1, n, 1};
    return reduce_rows(j, plan, out);
}

/* Dense strides in the order in which the dimensions of a source lie. */
void dense_strides(const fl_reduce_source &s, int64_t *strides) {
    int order[FL_MAX_DIMS];
    fl_order_by_stride(s.ndim, s.strides, order);
    int64_t step = 1;
    for (int i = s.ndim - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= s.shape[order[i]];
    }
}

/* Everything prepared in memory of its own, in the order it lies in: columns stay columns. */
int reduce_in_order(const Job &j, const fl_reduce_source &s, char *out) {
    int64_t n = fl_numel_of(s.ndim, s.shape), size = fl_kind_size[j.kind];
    Scratch memory((size_t)(n * size));
    if (!memory.ok())
        return -1;
    char *to = memory.as<char>();
    fl_reduce_source dense = s;
    dense.data = to;
    dense.dtype = fl_dtype_of_kind[j.kind];
    dense_strides(s, dense.strides);
    fl_copy_strided(fl_strided{to, dense.dtype, dense.strides},
                    fl_strided{(char *)s.data, s.dtype, s.strides}, s.ndim, s.shape);
    fl_parallel(n, FL_GRAIN, [&](int64_t b, int64_t e) {
        j.prepare(to + b * size, to + b * size, e - b);
    });
    return fl_reduce_all(dense, j.reduce, out);
}

/* Columns that have to be converted are FL_PLAN_GATHER for want of a kernel that does; here they
 * are prepared in a buffer anyway. */
int reduce_source(const Job &j, fl_reduce_source s, char *out) {
    fl_reduce_source original = s;
    fl_reduce_plan plan;
    fl_plan_result result = s.kind < FL_K_C64 ? fl_reduce_make_plan(&s, false, &plan)
                                              : FL_PLAN_GATHER;
    if (result == FL_PLAN_READY && plan.inner == 1)
        return reduce_rows(j, plan, out);
    if (s.kind < FL_K_C64 && result != FL_PLAN_STAGES && plan.inner > 1)
        return reduce_columns(j, plan, out);
    return s.kind < FL_K_C64 ? reduce_in_order(j, original, out)
                             : reduce_prepared(j, original, out);
}

template <class T> void roots(T *x, int64_t n, double p) {
    for (int64_t i = 0; i < n; i++)
        x[i] = p == 2 ? (T)sqrt(x[i]) : (T)pow((double)x[i], 1 / p);
}

template <class T> void fill(T *x, int64_t n, double value) {
    for (int64_t i = 0; i < n; i++)
        x[i] = (T)value;
}

int real_kind(int kind) {
    return kind == FL_K_C64 ? FL_K_F32 : kind == FL_K_C128 ? FL_K_F64 : kind;
}

int run(const Job &j, const fl_tensor *self, int kind, uint64_t mask, Out &result, int64_t count) {
    if (self->numel == 0) {
        double nothing = isinf(j.p) && j.p < 0 ? INFINITY : 0;
        if (j.kind == FL_K_F32)
            fill(result.as<float>(), count, nothing);
        else
            fill(result.as<double>(), count, nothing);
        return 0;
    }
    const ReduceInput input(self, kind, mask);
    return fl_reduce_in_order(input.source(), fl_dtype_of_kind[j.kind], result.as<void>(),
                              [&](const fl_reduce_source &source, void *to) {
                                  return reduce_source(j, source, (char *)to);
                              });
}

}  // namespace

int fl_run_nansum(const fl_op *op, const fl_value *in, fl_tensor *out) {
    const fl_tensor *self = in[0].t;
    uint64_t mask;
    if (!fl_is_float(self->dtype) || (in[3].tag == FL_DTYPE && !fl_is_float((int)in[3].i)))
        return fl_run_reduce(op, in, out);        /* integers are never NaN */
    int kind = fl_kind_of_dtype[in[3].tag == FL_DTYPE ? in[3].i : self->dtype];
    if (fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    Out result(out, kind);
    Job j = {kind, FL_MAP_NAN_TO_ZERO, FL_REDUCE_SUM, 0};
    if (!result.ok() || run(j, self, kind, mask, result, out->numel) < 0)
        return -1;
    result.commit();
    return 0;
}

int fl_run_norm(const fl_op *op, const fl_value *in, fl_tensor *out) {
    const fl_tensor *self = in[0].t;
    double p = fl_as_double(in[1]);
    int kind = fl_kind_of_dtype[in[4].tag == FL_DTYPE ? in[4].i : self->dtype];
    if (kind < FL_K_C64 && fl_is_complex(self->dtype))
        kind = kind == FL_K_F32 ? FL_K_C64 : FL_K_C128;
    uint64_t mask;
    if (fl_dims_mask(op, in[2], self->ndim, &mask) < 0)
        return -1;
    Out result(out, real_kind(kind));
    Job j = job_of_norm(real_kind(kind), p);
    if (!result.ok() || run(j, self, kind, mask, result, out->numel) < 0)
        return -1;
    bool root = p != 0 && p != 1 && !isinf(p);
    if (root && j.kind == FL_K_F32)
        roots(result.as<float>(), out->numel, p);
    else if (root)
        roots(result.as<double>(), out->numel, p);
    result.commit();
    return 0;
}
