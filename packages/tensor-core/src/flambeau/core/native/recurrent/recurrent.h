/* What a recurrent layer and its gradient share: sizes, the order of steps, and the cut into
 * parallel work. */
#pragma once
#include "recurrent/kernels/recurrent.h"
#include "recurrent/step_weight.h"

/* Arguments that both operators have. */
struct fl_recurrent_args {
    const fl_tensor *input, *hx, *cx, *weight_ih, *weight_hh, *weight_hr;
    const fl_value *batch_sizes, *mode, *reverse;
};

/* Rows are (step, sequence) pairs, one step behind the other. */
struct fl_recurrent {
    int mode;
    bool packed, reverse, projected;
    int64_t steps, batch, rows, input, hidden, output;
    const int64_t *sizes;       /* packed: sequences of each step, never more than before */

    int64_t gates() const { return mode == FL_LSTM ? 4 : mode == FL_GRU ? 3 : 1; }
    /* Numbers kept, or slopes, for each unit of a row: GRU's third gate has two parts. */
    int64_t parts() const { return mode == FL_GRU ? 4 : gates(); }
    bool plain() const { return mode == FL_RNN_TANH || mode == FL_RNN_RELU; }
    /* No result has an element. */
    bool empty() const { return rows == 0 || hidden == 0; }
    int64_t count(int64_t step) const { return packed ? sizes[step] : batch; }
};

/* Check and read; errors are raised in the operator's name. */
int fl_recurrent_read(const fl_op *op, const fl_recurrent_args &args, fl_recurrent *out);
/* `t` must have these sizes (the second is left out when negative) and the dtype of `like`. */
int fl_recurrent_expect(const fl_op *op, const char *name, const fl_tensor *t,
                        const fl_tensor *like, int64_t rows, int64_t cols);

/* Steps one after the other: in the order of the layer, or against it. */
class RecurrentStep {
  public:
    RecurrentStep(const fl_recurrent &r, bool against);
    bool done() const { return step_ < 0 || step_ >= r_.steps; }
    void next();
    int64_t count() const { return r_.count(step_); }   /* sequences that take part: the first */
    int64_t row() const { return row_; }                /* row of the first of them */
    /* Of these, how many took the layer's previous step, and in which row the first did; the
     * others come from the initial state. */
    int64_t continued() const;
    int64_t row_before() const;

  private:
    int64_t before() const { return r_.reverse ? step_ + 1 : step_ - 1; }
    const fl_recurrent &r_;
    int64_t direction_, step_, row_;
};

/* Steps that follow each other, and their rows: large layers go through their steps in pieces, so
 * that what is computed for all rows at once stays small. */
struct RecurrentPiece {
    RecurrentStep start;
    int64_t steps, row, rows;

    /* Up to `most` steps from `s` on, which moves behind them. */
    RecurrentPiece(RecurrentStep &s, int64_t most);
};
/* Steps of a piece, for so many bytes of each row. */
int64_t fl_recurrent_piece_steps(const fl_recurrent &r, int64_t row_bytes);

/* How the work of all steps is cut: sequences by themselves, or the units of every step. */
struct fl_recurrent_cut {
    bool by_rows;
    int64_t rows;               /* sequences that go together */
    int64_t tasks;              /* pieces of a step */
};
fl_recurrent_cut fl_recurrent_choose(const fl_recurrent &r, int64_t itemsize);

/* The kernels of one dtype. */
static inline const fl_recurrent_dtype *fl_recurrent_pick(int kind) {
    const fl_recurrent_kernels *level = FL_PICK(fl_recurrent_kernels);
    return kind == FL_K_F64 ? &level->f64 : &level->f32;
}
