/* argmax, argmin, max and min along a dimension: the accumulator is a pair (value, index). */
#include "reduce/kernels/reduce.h"
#include "common/args.h"
#include "common/plain_bools.h"
#include "reduce/memory_order.h"
#include "reduce/reduce.h"
#include "reduce/short_rows.h"

namespace {

const fl_argmax_kernels *const kernels = FL_PICK(fl_argmax_kernels);

struct Job {
    fl_reduce_plan p;
    int least;
    char *values;               /* outer x inner, of the plan's kind */
    int64_t *indices;
    int64_t item() const { return fl_kind_size[p.kind]; }
};

/* One row that may be longer than a piece: improve piece by piece, in order. */
void argmax_of_row(const Job &j, int64_t row, int64_t *buffer) {
    const fl_reduce_plan &p = j.p;
    char *value = j.values + row * j.item();
    int64_t base = row * p.outer_step;
    alignas(8) char pair[2][8];
    int64_t position;
    for (int64_t begin = 0; begin < p.n; begin += FL_REDUCE_PIECE) {
        int64_t n = p.n - begin < FL_REDUCE_PIECE ? p.n - begin : FL_REDUCE_PIECE;
        const void *x = fl_reduce_load(p, base + begin, n, buffer);
        kernels->row[j.least][p.kind](x, n, pair[0], &position);
        /* Comparing two values as a column keeps the earlier one on ties. */
        kernels->columns[j.least][p.kind](pair[0], 1, 1, 1, begin, value, &j.indices[row]);
        if (begin && j.indices[row] == begin)
            j.indices[row] += position;
        else if (!begin)
            j.indices[row] = position;
    }
}

void argmax_rows(const Job &j) {
    fl_parallel(j.p.outer, fl_row_grain(j.p.n), [&](int64_t b, int64_t e) {
        alignas(64) int64_t buffer[FL_REDUCE_PIECE];
        for (int64_t row = b; row < e; row++)
            argmax_of_row(j, row, buffer);
    });
}

void argmax_short_rows(const Job &j) {
    auto gather = fl_moves->gather[j.p.dtype][j.p.kind];
    fl_each_short_rows(j.p, gather, [&](const char *x, int64_t first, int64_t count) {
        kernels->columns[j.least][j.p.kind](x, j.p.n, count, count, 0,
                                            j.values + first * j.item(), j.indices + first);
    });
}

/* A few long rows: every piece becomes a row of its own, then the pieces compete. */
int argmax_long_rows(const Job &j) {
    const fl_reduce_plan &p = j.p;
    int64_t pieces = fl_chunk_count(p.n, FL_REDUCE_PIECE);
    Scratch values((size_t)(p.outer * pieces * j.item()));
    Scratch positions((size_t)(p.outer * pieces) * 8);
    if (!values.ok() || !positions.ok())
        return -1;
    fl_parallel(p.outer * pieces, FL_GRAIN / FL_REDUCE_PIECE, [&](int64_t b, int64_t e) {
        alignas(64) int64_t buffer[FL_REDUCE_PIECE];
        for (int64_t t = b; t < e; t++) {
            int64_t row = t / pieces, begin = (t - row * pieces) * FL_REDUCE_PIECE;
            int64_t n = p.n - begin < FL_REDUCE_PIECE ? p.n - begin : FL_REDUCE_PIECE;
            const void *x = fl_reduce_load(p, row * p.outer_step + begin, n, buffer);
            int64_t *position = positions.as<int64_t>() + t;
            kernels->row[j.least][p.kind](x, n, values.as<char>() + t * j.item(), position);
            *position += begin;
        }
    });
    for (int64_t row = 0; row < p.outer; row++) {
        int64_t winner;
        kernels->row[j.least][p.kind](values.as<char>() + row * pieces * j.item(), pieces,
                                      j.values + row * j.item(), &winner);
        j.indices[row] = positions.as<int64_t>()[row * pieces + winner];
    }
    return 0;
}

const int64_t STRIP_COLUMNS = 512;

void argmax_columns(const Job &j) {
    const fl_reduce_plan &p = j.p;
    int64_t strips = fl_chunk_count(p.inner, STRIP_COLUMNS);
    int64_t grain = fl_row_grain(p.n * (p.inner < STRIP_COLUMNS ? p.inner : STRIP_COLUMNS));
    fl_parallel(p.outer * strips, grain, [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            int64_t o = t / strips, column = t % strips * STRIP_COLUMNS;
            int64_t width = p.inner - column < STRIP_COLUMNS ? p.inner - column : STRIP_COLUMNS;
            int64_t to = o * p.inner + column;
            const char *x = p.data + (o * p.outer_step + column) * j.item();
            kernels->columns[j.least][p.kind](x, p.n, p.step, width, 0, j.values + to * j.item(),
                                              j.indices + to);
        }
    });
}

int argmax_plan(const Job &j) {
    if (j.p.inner != 1)
        argmax_columns(j);
    else if (fl_has_short_rows(j.p, j.p.kind))
        argmax_short_rows(j);
    else if (j.p.outer < 8 && j.p.n > 4 * FL_REDUCE_PIECE)
        return argmax_long_rows(j);
    else
        argmax_rows(j);
    return 0;
}

int argmax_in_order(fl_reduce_source s, int least, void *values, int64_t *indices) {
    fl_reduce_source original = s;
    Job j = {{}, least, (char *)values, indices};
    if (fl_reduce_make_plan(&s, true, &j.p) == FL_PLAN_READY)
        return argmax_plan(j);
    Scratch memory(fl_bytes(fl_reduce_kept(s) * fl_reduce_reduced(s), fl_kind_size[s.kind]));
    if (!memory.ok())
        return -1;
    fl_reduce_gather(original, memory.as<void>(), &j.p);
    return argmax_plan(j);
}

/* Only where one dimension is reduced: an index counts the elements of several in their order. */
int argmax_source(const fl_reduce_source &s, int least, void *values, int64_t *indices) {
    const ReducedInOrder order(s);
    if (!order.changed() || (s.mask & (s.mask - 1)))
        return argmax_in_order(s, least, values, indices);
    const int64_t kept = fl_reduce_kept(s);
    Scratch v(fl_bytes(kept, fl_kind_size[s.kind])), i(fl_bytes(kept, 8));
    if (!v.ok() || !i.ok() ||
        argmax_in_order(order.source(), least, v.as<void>(), i.as<int64_t>()) < 0)
        return -1;
    order.restore(v.as<void>(), fl_dtype_of_kind[s.kind], values);
    order.restore(i.as<void>(), FL_I64, indices);
    return 0;
}

}  // namespace

static int run_argmax(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int reduction = fl_reduction_of(op);
    bool with_values = reduction == FL_RED_MAXDIM || reduction == FL_RED_MINDIM;
    int least = reduction == FL_RED_ARGMIN || reduction == FL_RED_MINDIM;
    int kind = fl_kind_of_dtype[self->dtype];
    fl_tensor *index = outs[with_values ? 1 : 0];
    uint64_t mask;
    if (fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    if (self->numel == 0)
        return 0;
    fl_reduce_source s = fl_reduce_source_of(self, kind, mask);
    Out positions(index, FL_K_I64);
    if (!positions.ok())
        return -1;
    if (!with_values) {
        Scratch values(fl_bytes(index->numel, fl_kind_size[kind]));
        if (!values.ok() || argmax_source(s, least, values.as<void>(), positions.as<int64_t>()) < 0)
            return -1;
    } else {
        Out values(outs[0], kind);
        if (!values.ok() || argmax_source(s, least, values.as<void>(), positions.as<int64_t>()) < 0)
            return -1;
        values.commit();
    }
    positions.commit();
    return 0;
}

int fl_run_argmax(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (fl_is_bool(in[0].t))
        return fl_run_on_plain_bools(run_argmax, op, in, n, outs);
    return run_argmax(op, in, n, outs);
}
