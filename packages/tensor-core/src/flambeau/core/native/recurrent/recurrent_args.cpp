/* Arguments, steps and the cut of recurrent layers: see recurrent.h. */
#include "common/args.h"
#include "recurrent/recurrent.h"
#include <algorithm>

static const char *const MODES[FL_RECURRENT_MODES] = {"lstm", "gru", "tanh", "relu"};

static int read_mode(const fl_op *op, const fl_value &v, int *mode) {
    for (int i = 0; i < FL_RECURRENT_MODES; i++)
        if (!strcmp(v.s, MODES[i])) {
            *mode = i;
            return 0;
        }
    return fl_error(FL_VALUE_ERROR, "%s: mode is \"lstm\", \"gru\", \"tanh\" or \"relu\", not "
                    "\"%s\"", fl_op_title(op), v.s);
}

int fl_recurrent_expect(const fl_op *op, const char *name, const fl_tensor *t,
                        const fl_tensor *like, int64_t rows, int64_t cols) {
    int64_t shape[2] = {rows, cols};
    int nd = cols < 0 ? 1 : 2;
    if (t->dtype != like->dtype)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected all tensors to have one dtype, but input "
                        "is %s and %s is %s; convert one with .to()", fl_op_title(op),
                        fl_dtype_name(like->dtype), name, fl_dtype_name(t->dtype));
    bool fits = t->ndim == nd && t->shape[0] == rows && (nd == 1 || t->shape[1] == cols);
    if (fits)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: expected %s of shape %s, got %s", fl_op_title(op), name,
                    fl_shape_text(shape, nd), fl_shape_text(t->shape, t->ndim));
}

/* Sequences of each step: the longest first, so that those that go on are always the first. */
static int read_sizes(const fl_op *op, const fl_value &v, fl_recurrent *r) {
    r->packed = !fl_is_none(v);
    if (!r->packed)
        return 0;
    r->sizes = v.is;
    r->steps = v.len;
    int64_t left = r->rows;
    if (r->steps == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: batch_sizes is empty; a packed sequence has at "
                        "least one step", fl_op_title(op));
    for (int64_t t = 0; t < r->steps; t++) {
        int64_t most = t ? r->sizes[t - 1] : r->batch;
        bool fits = t ? r->sizes[t] <= most : r->sizes[t] == most;
        if (!fits || r->sizes[t] < 1 || r->sizes[t] > left)
            return fl_error(FL_RUNTIME_ERROR, "%s: batch_sizes[%lld] is %lld; the sizes begin with "
                            "the batch of hx (%lld), never grow, are at least 1 and add up to the "
                            "rows of input (%lld)", fl_op_title(op), (long long)t,
                            (long long)r->sizes[t], (long long)r->batch, (long long)r->rows);
        left -= r->sizes[t];
    }
    if (left)
        return fl_error(FL_RUNTIME_ERROR, "%s: batch_sizes add up to %lld, but input has %lld rows",
                        fl_op_title(op), (long long)(r->rows - left), (long long)r->rows);
    return 0;
}

static int read_input(const fl_op *op, const fl_recurrent_args &a, fl_recurrent *r) {
    const fl_tensor *x = a.input, *h = a.hx;
    int nd = fl_is_none(*a.batch_sizes) ? 3 : 2;
    if (!fl_is_float(x->dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: input is %s; it must be floating", fl_op_title(op),
                        fl_dtype_name(x->dtype));
    if (x->ndim != nd || h->ndim != 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: input is %s and hx %s; input must be %s and hx "
                        "[batch, hidden]", fl_op_title(op), fl_shape_text(x->shape, x->ndim),
                        fl_shape_text(h->shape, h->ndim),
                        nd == 3 ? "[steps, batch, features]" : "[rows, features] when packed");
    r->batch = h->shape[0];
    r->output = h->shape[1];
    r->input = x->shape[nd - 1];
    r->rows = nd == 3 ? x->shape[0] * x->shape[1] : x->shape[0];
    r->steps = x->shape[0];
    if (nd == 3 && (x->shape[1] != r->batch || r->steps == 0))
        return fl_error(FL_RUNTIME_ERROR, "%s: input is %s and hx %s; input needs at least one "
                        "step and the batch of hx", fl_op_title(op),
                        fl_shape_text(x->shape, x->ndim), fl_shape_text(h->shape, h->ndim));
    return read_sizes(op, *a.batch_sizes, r);
}

static int read_weights(const fl_op *op, const fl_recurrent_args &a, fl_recurrent *r) {
    const fl_tensor *x = a.input;
    int64_t rows = a.weight_hh->ndim == 2 ? a.weight_hh->shape[0] : 0;
    r->projected = a.weight_hr != nullptr;
    r->hidden = a.weight_hr && a.weight_hr->ndim == 2 ? a.weight_hr->shape[1] : r->output;
    if (r->mode != FL_LSTM && (a.weight_hr || a.cx))
        return fl_error(FL_RUNTIME_ERROR, "%s: cx and weight_hr are for mode \"lstm\"",
                        fl_op_title(op));
    if (r->mode == FL_LSTM && !a.cx)
        return fl_error(FL_RUNTIME_ERROR, "%s: mode \"lstm\" needs cx, the initial cell state",
                        fl_op_title(op));
    bool nothing = r->projected && (r->hidden < 1 || r->output < 1);
    if (rows != r->gates() * r->hidden || nothing)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected weight_hh of shape [%lld, %lld] for a "
                        "hidden state of %lld, got %s", fl_op_title(op),
                        (long long)(r->gates() * r->hidden), (long long)r->output,
                        (long long)r->output,
                        fl_shape_text(a.weight_hh->shape, a.weight_hh->ndim));
    if (fl_recurrent_expect(op, "hx", a.hx, x, r->batch, r->output) < 0 ||
        fl_recurrent_expect(op, "weight_hh", a.weight_hh, x, rows, r->output) < 0 ||
        fl_recurrent_expect(op, "weight_ih", a.weight_ih, x, rows, r->input) < 0 ||
        (a.cx && fl_recurrent_expect(op, "cx", a.cx, x, r->batch, r->hidden) < 0) ||
        (a.weight_hr &&
         fl_recurrent_expect(op, "weight_hr", a.weight_hr, x, r->output, r->hidden) < 0))
        return -1;
    return 0;
}

int fl_recurrent_read(const fl_op *op, const fl_recurrent_args &a, fl_recurrent *r) {
    *r = fl_recurrent{};
    r->reverse = fl_value_true(*a.reverse);
    if (read_mode(op, *a.mode, &r->mode) < 0 || read_input(op, a, r) < 0)
        return -1;
    return read_weights(op, a, r);
}

/* ---- steps --------------------------------------------------------------------------------- */

RecurrentStep::RecurrentStep(const fl_recurrent &r, bool against)
    : r_(r), direction_(r.reverse == against ? 1 : -1), step_(direction_ > 0 ? 0 : r.steps - 1),
      row_(direction_ > 0 || !r.steps ? 0 : r.rows - r.count(r.steps - 1)) {}

void RecurrentStep::next() {
    int64_t now = step_;
    step_ += direction_;
    if (!done())
        row_ += direction_ > 0 ? r_.count(now) : -r_.count(step_);
}

int64_t RecurrentStep::continued() const {
    int64_t step = before();
    return step < 0 || step >= r_.steps ? 0 : std::min(r_.count(step), count());
}

int64_t RecurrentStep::row_before() const {
    return r_.reverse ? row_ + count() : continued() ? row_ - r_.count(before()) : 0;
}

RecurrentPiece::RecurrentPiece(RecurrentStep &s, int64_t most)
    : start(s), steps(0), row(s.row()), rows(0) {
    for (; steps < most && !s.done(); s.next(), steps++) {
        row = std::min(row, s.row());
        rows += s.count();
    }
}

/* A piece stays in the cache between the steps and the products over its rows. Every piece reads
 * the weights and adds to their gradients, so that it should be no smaller than they are. */
static const int64_t MIN_PIECE_BYTES = 1 << 20;
static const int64_t MAX_PIECE_BYTES = 8 << 20;

int64_t fl_recurrent_piece_steps(const fl_recurrent &r, int64_t row_bytes) {
    int64_t weights = (r.input + r.output) * row_bytes;
    int64_t bytes = std::min(std::max(weights, MIN_PIECE_BYTES), MAX_PIECE_BYTES);
    return std::max<int64_t>(bytes / (r.batch * row_bytes), 1);
}

/* ---- the cut ------------------------------------------------------------------------------- */

/* Counted in operations of float32, as in runtime/blas_own.cpp: a core does 250 in a nanosecond,
 * and waking the pool takes about 4 us. A byte of the weights takes the time of six. */
static const double WORTH_THREADS = 2e6;
static const double WORK_PER_BYTE = 6;
static const double TASK_WORK = 4e6;
/* Weights that a core's own cache keeps from one step to the next. */
static const int64_t CACHED_BYTES = 1 << 20;
/* Sequences that fill a register tile. Twice as many read the weight half as often. */
static const int64_t ROWS = 8;

static int64_t rows_together(int64_t batch) {
    return batch >= 2 * ROWS * fl_get_num_threads() ? 2 * ROWS : ROWS;
}

fl_recurrent_cut fl_recurrent_choose(const fl_recurrent &r, int64_t itemsize) {
    int64_t weight = r.gates() * r.hidden * r.output * itemsize;
    double batch = (double)r.batch, bytes = (double)weight;
    double step = std::max(batch * bytes / 2, WORK_PER_BYTE * bytes);
    bool splits = r.batch >= 2 * ROWS && step * (double)r.steps >= WORTH_THREADS;
    if (splits && (weight <= CACHED_BYTES || r.projected))
        return {true, rows_together(r.batch), 1};
    if (r.projected || step < WORTH_THREADS)
        return {true, std::max<int64_t>(r.batch, 1), 1};
    return {false, r.batch, std::max<int64_t>((int64_t)(step / TASK_WORK), 2)};
}
