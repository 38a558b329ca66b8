/* The reduction driver: which options there are, and how an input is laid out for the kernels. */
#pragma once
#include "common/small.h"

/* Shared with opdefs/families/reduce.py: the row's option. */
enum fl_reduction {
    FL_RED_SUM, FL_RED_PROD, FL_RED_MEAN, FL_RED_AMAX, FL_RED_AMIN, FL_RED_ANY, FL_RED_ALL,
    FL_RED_ARGMAX, FL_RED_ARGMIN, FL_RED_MAXDIM, FL_RED_MINDIM, FL_RED_VAR, FL_RED_LOGSUMEXP,
    FL_RED_NANSUM, FL_RED_NORM, FL_RED_STD
};
static inline int fl_reduction_of(const fl_op *op) { return *(const int *)op->kernels; }

/* A strided operand with the dimensions to reduce marked in a mask. */
struct fl_reduce_source {
    const char *data;
    int dtype;                  /* of memory */
    int kind;                   /* of computation */
    int ndim;
    uint64_t mask;
    int64_t shape[FL_MAX_DIMS], strides[FL_MAX_DIMS];

    fl_reduce_source() {}
    fl_reduce_source(const fl_reduce_source &other) { *this = other; }
    /* Only the dimensions there are: all that there may be take longer than to reduce few
     * numbers. */
    fl_reduce_source &operator=(const fl_reduce_source &other) {
        data = other.data;
        dtype = other.dtype;
        kind = other.kind;
        ndim = other.ndim;
        mask = other.mask;
        memcpy(shape, other.shape, sizeof(int64_t) * (size_t)ndim);
        memcpy(strides, other.strides, sizeof(int64_t) * (size_t)ndim);
        return *this;
    }
};
fl_reduce_source fl_reduce_source_of(const fl_tensor *t, int kind, uint64_t mask);

/* A tensor as a reduction takes it: where it lies, or, of small tensors that lie out of order or
 * are to be converted, a copy in order: to plan a walk takes longer than to reduce them. */
class ReduceInput {
  public:
    ReduceInput(const fl_tensor *t, int kind, uint64_t mask);
    const fl_reduce_source &source() const { return source_; }
    ReduceInput(const ReduceInput &) = delete;
  private:
    fl_reduce_source source_;
    alignas(64) char room_[FL_SMALL_NUMEL * 16];
};

/* What kernels see: outer x n x inner elements, the n reduced. Either inner is 1 and the n lie
 * side by side (rows), or inner elements lie side by side and the n are `step` apart (columns). */
struct fl_reduce_plan {
    const char *data;
    int dtype, kind;
    int64_t outer, n, inner;
    int64_t outer_step, step;   /* in elements */
};

/* How the dimensions merge. FL_PLAN_STAGES: more than one group of reduced dimensions; the caller
 * reduces the innermost group (split off by fl_reduce_split) and comes again, or gathers.
 * FL_PLAN_GATHER: no kernel can walk this memory; copy it with fl_reduce_gather first. */
enum fl_plan_result { FL_PLAN_READY, FL_PLAN_STAGES, FL_PLAN_GATHER };
fl_plan_result fl_reduce_make_plan(fl_reduce_source *s, bool ordered, fl_reduce_plan *plan);
/* The same for kernels that take the elements as they are in memory. */
fl_plan_result fl_reduce_plan_in_place(fl_reduce_source *s, bool ordered, fl_reduce_plan *plan);

/* Reduce a source that is not empty into kept results of its kind (FL_REDUCE_SUM and so on). */
int fl_reduce_all(const fl_reduce_source &s, int reduce, void *out);
/* Whether dimensions repeat the same elements. These are reduced once, a sum is multiplied, and
 * results of what is kept are repeated; not of products. */
bool fl_reduce_repeats(const fl_reduce_source &s);
int fl_reduce_repeated(const fl_reduce_source &s, int reduce, void *out);
/* The same of elements as they are in memory, for which there is a kernel (FL_REDUCE_U8 ...). */
int fl_reduce_as_they_lie(const fl_reduce_plan &plan, int reduce, int type, void *out);

int64_t fl_reduce_kept(const fl_reduce_source &s);      /* elements of the result */
int64_t fl_reduce_reduced(const fl_reduce_source &s);    /* elements behind each of them */

/* Contiguous memory [kept, reduced] of the source's kind; `to` has room for all of it. */
void fl_reduce_gather(const fl_reduce_source &s, void *to, fl_reduce_plan *plan);
/* The same room in the order of the dimensions where a kernel can walk that, so that a strided
 * tensor is reduced as a contiguous one; else [kept, reduced]. */
void fl_reduce_gather_plan(const fl_reduce_source &s, void *to, fl_reduce_plan *plan);
/* The source with only its innermost group of reduced dimensions marked. */
fl_reduce_source fl_reduce_split(const fl_reduce_source &s);

/* n elements of a plan from `at` on, as contiguous numbers of its kind; `buffer` has room. */
const void *fl_reduce_load(const fl_reduce_plan &p, int64_t at, int64_t n, void *buffer);

/* Elements of a row that are reduced at once; longer rows are cut, and the parts combined in
 * order. A buffer of this many 8-byte numbers holds one converted piece. */
static const int64_t FL_REDUCE_PIECE = 8192;

/* Call use(numbers, row) for rows of at most FL_REDUCE_PIECE elements. Those that lie side by side
 * are converted several at a time. */
template <class Use>
void fl_each_loaded_row(const fl_reduce_plan &p, int64_t first, int64_t last, const Use &use) {
    alignas(64) int64_t buffer[FL_REDUCE_PIECE];
    const bool converts = p.dtype != fl_dtype_of_kind[p.kind] && p.outer_step == p.n;
    const int64_t some = converts ? FL_REDUCE_PIECE / p.n : 1;
    for (int64_t row = first; row < last; row += some) {
        const int64_t count = last - row < some ? last - row : some;
        const char *x = (const char *)fl_reduce_load(p, row * p.outer_step, count * p.n, buffer);
        for (int64_t r = 0; r < count; r++)
            use((const void *)(x + r * p.n * fl_kind_size[p.kind]), row + r);
    }
}

/* A reduction of all elements, in C order and of the dtype it is computed in, a few pieces at a
 * time: n elements from a multiple of FL_REDUCE_PIECE on into a result for each piece, these
 * results into the tensor. Of sum, prod, mean, amax and amin, real numbers or int64. */
void fl_reduce_some(const fl_op *op, const fl_tensor *self, const void *x, int64_t n, char *parts);
int fl_reduce_parts(const fl_op *op, const fl_tensor *self, const char *parts, fl_tensor *out);

/* Rows that are reduced at once of tall columns; the parts are combined in order. */
static const int64_t FL_COLUMN_PIECE = 512;

/* A reduction of leading dimensions, in C order and of the dtype it is computed in, a few rows at a
 * time: n rows of `width` elements from row `first` on, of one piece and, but for a piece's last, a
 * multiple of FL_REDUCE_ROWS, after those before them, into one of `parts`; then these into the
 * tensor.
 * Columns may not be so few that the kernels take several rows as one (FL_NARROW_COLUMNS). */
static const int64_t FL_NARROW_COLUMNS = 16;
void fl_reduce_rows(const fl_op *op, const fl_tensor *self, const void *x, int64_t first, int64_t n,
                    int64_t width, char *parts);
int fl_reduce_row_parts(const fl_op *op, const fl_tensor *self, const char *parts, fl_tensor *out);

/* Sums of bools into int64; 1 where there is no row of them side by side. */
int fl_count_rows(const fl_tensor *self, uint64_t mask, fl_tensor *out);

/* The runs of the options. */
int fl_run_reduce(const fl_op *op, const fl_value *in, fl_tensor *out);
int fl_run_argmax(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
int fl_run_var(const fl_op *op, const fl_value *in, fl_tensor *out);
int fl_run_logsumexp(const fl_op *op, const fl_value *in, fl_tensor *out);
int fl_run_nansum(const fl_op *op, const fl_value *in, fl_tensor *out);
int fl_run_norm(const fl_op *op, const fl_value *in, fl_tensor *out);
