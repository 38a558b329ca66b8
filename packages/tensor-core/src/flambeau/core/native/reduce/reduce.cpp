/* Reductions whose partial results are reduced again: rows, columns and what has to be brought into
 * such an order, cut into pieces. */
#include "reduce/kernels/reduce.h"
#include "reduce/reduce.h"
#include "reduce/short_rows.h"

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
    bool sums_bf16() const {
        return reduce == FL_REDUCE_SUM && type == FL_K_F32 && p.dtype == FL_BF16;
    }
    /* Narrow integers are moved as other elements of their size. */
    fl_gather_fn gather() const {
        return type < FL_REDUCE_KINDS ? fl_moves->gather[p.dtype][p.kind] : fl_move_of_size(size);
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
        const int64_t at = row * j.p.outer_step + begin;
        if (j.sums_bf16())
            kernels->sum_bf16(j.p.data + 2 * at, n, partial + t * j.size);
        else
            kernel(j.load(at, n, buffer), n, partial + t * j.size);
    }
}

void reduce_short_rows(const Job &j) {
    fl_each_short_rows(j.p, j.gather(), [&](const char *x, int64_t first, int64_t count) {
        fl_reduce_in_turn(kernels, j.reduce, j.type, j.size, x, j.p.n, count,
                          j.out + first * j.size);
    });
}

int reduce_rows(const Job &j) {
    if (fl_has_short_rows(j.p, j.type)) {
        reduce_short_rows(j);
        return 0;
    }
    if (j.p.n <= FL_REDUCE_PIECE) {
        fl_parallel(j.p.outer, fl_row_grain(j.p.n), [&](int64_t b, int64_t e) {
            if (j.type >= FL_REDUCE_KINDS || j.sums_bf16())
                return reduce_pieces(j, 1, b, e, j.out);
            fl_each_loaded_row(j.p, b, e, [&](const void *x, int64_t row) {
                row_kernel(j)(x, j.p.n, j.out + row * j.size);
            });
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

/* Columns of a dtype that is not computed in, a block of them at a time. */
void reduce_converted_columns(const Job &j, const char *from, int64_t n, int64_t width, char *to) {
    const int64_t ROWS = FL_REDUCE_ROWS, COLUMNS = 1024, item = fl_itemsize(j.p.dtype);
    alignas(64) char block[ROWS * COLUMNS * 8];
    for (int64_t column = 0; column < width; column += COLUMNS) {
        const int64_t some = width - column < COLUMNS ? width - column : COLUMNS;
        for (int64_t row = 0; row < n; row += ROWS) {
            const int64_t rows = n - row < ROWS ? n - row : ROWS;
            j.gather()(block, from + (row * j.p.step + column) * item, rows, some, j.p.step, 1);
            auto kernel = (row ? kernels->more : kernels->columns)[j.reduce][j.type];
            kernel(block, rows, some, some, to + column * j.size);
        }
    }
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
            const char *from = p.data + at * fl_itemsize(p.dtype);
            char *into = to + ((o * pieces + piece) * p.inner + column) * j.size;
            if (fl_itemsize(p.dtype) == j.size)
                column_kernel(j)(from, n, p.step, width, into);
            else
                reduce_converted_columns(j, from, n, width, into);
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

void reduce_short_columns(const Job &j) {
    fl_each_short_columns(j.p, j.size, j.gather(), j.out,
                        [&](const char *x, int64_t width, char *to) {
                            column_kernel(j)(x, j.p.n, width, width, to);
                        });
}

/* Sums of complex numbers that lie side by side. */
bool has_pairs(const Job &j) {
    return j.reduce == FL_REDUCE_SUM && j.type <= FL_K_F64 && j.p.inner == 2 && j.p.step == 2 &&
           j.p.n >= 16 && 2 * j.p.n <= FL_REDUCE_PIECE && j.p.dtype == fl_dtype_of_kind[j.p.kind];
}

void sum_pairs(const Job &j) {
    fl_parallel(j.p.outer, fl_row_grain(2 * j.p.n), [&](int64_t b, int64_t e) {
        for (int64_t o = b; o < e; o++)
            kernels->sum_pairs[j.type](j.p.data + o * j.p.outer_step * j.size, 2 * j.p.n,
                                       j.out + 2 * o * j.size);
    });
}

int reduce_columns(const Job &j) {
    const fl_reduce_plan &p = j.p;
    if (has_pairs(j)) {
        sum_pairs(j);
        return 0;
    }
    if (fl_has_short_columns(p)) {
        reduce_short_columns(j);
        return 0;
    }
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

/* Converted in the order it lies in, so that columns stay columns: a block at a time where they are
 * not few. */
int reduce_converted(const fl_reduce_source &s, int reduce, void *out) {
    fl_reduce_source columns = s;
    fl_reduce_plan plan;
    if (fl_itemsize(s.dtype) < fl_kind_size[s.kind] && s.kind < FL_K_C64 &&
        fl_reduce_plan_in_place(&columns, false, &plan) == FL_PLAN_READY &&
        plan.inner > FL_NARROW_COLUMNS)
        return reduce_plan(plan, reduce, out);
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
    if (reduce != FL_REDUCE_PROD && fl_reduce_repeats(s))
        return fl_reduce_repeated(s, reduce, out);
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

}  // namespace

int fl_reduce_all(const fl_reduce_source &s, int reduce, void *out) {
    return reduce_source(s, reduce, out);
}

int fl_reduce_as_they_lie(const fl_reduce_plan &p, int reduce, int type, void *out) {
    return run(Job{p, reduce, (char *)out, type, fl_itemsize(p.dtype)});
}
