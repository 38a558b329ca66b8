/* The way back through a recurrent layer: from gradients of its results to the slopes of the sums
 * of its gates, and from these to all gradients. */
#pragma once
#include "recurrent/recurrent.h"

/* Elements between rows of scratch: its columns would otherwise meet the same sets of the cache. */
const int64_t ROW_PAD = 16;

/* Everything contiguous in the compute kind. */
struct fl_recurrent_layer_back {
    const fl_recurrent &r;
    fl_recurrent_cut cut;
    int kind;
    int64_t size, gates_row, slopes_row;
    const fl_recurrent_dtype *unit;
    const StepWeight *weight = nullptr, *projection = nullptr;
    const char *grad = nullptr;         /* NULL: none */
    const char *hx = nullptr, *cx = nullptr, *result = nullptr, *gates = nullptr, *cells = nullptr;
    char *slopes = nullptr;
    char *hidden = nullptr, *cell = nullptr;    /* gradients of the states, going back */
    char *projected = nullptr;          /* of each row, the gradient of what was projected */
    char *unprojected = nullptr;        /* of each sequence, that before the projection */
    const RecurrentPiece *piece = nullptr;      /* slopes and `projected` are of its rows */
    bool first = true;                  /* the piece: later ones add to gradients of weights */

    fl_recurrent_layer_back(const fl_recurrent &sizes, int compute_kind)
        : r(sizes), cut(fl_recurrent_choose(sizes, fl_kind_size[compute_kind])),
          kind(compute_kind), size(fl_kind_size[compute_kind]),
          gates_row(sizes.parts() * sizes.hidden), slopes_row(gates_row + ROW_PAD),
          unit(fl_recurrent_pick(compute_kind)) {}

    /* GRU's slopes have the input part of n first, its hidden part last. */
    int64_t hidden_part() const { return r.mode == FL_GRU ? r.hidden : 0; }
    int64_t sums() const { return r.gates() * r.hidden; }
    int64_t sums_row() const { return sums() + ROW_PAD; }   /* of transposed gradients */
    /* Whether the gradient of a weight with so many columns is summed transposed: products then
     * pack states instead of slopes across their rows, but the sum must be turned in the end. */
    bool turns(int64_t cols) const {
        return (double)r.rows * (double)(sums() - cols) > 2 * (double)sums() * (double)cols;
    }
    char *slopes_of(int64_t row) const { return slopes + (row - piece->row) * slopes_row * size; }
    const char *hidden_slopes(int64_t row) const { return slopes_of(row) + hidden_part() * size; }
    char *projected_of(int64_t row) const {
        return projected + (row - piece->row) * r.output * size;
    }
};

/* The slopes of a piece, and the gradients of the states before it; false without memory. */
bool fl_recurrent_go_back(const fl_recurrent_layer_back &l);

/* Gradients from the slopes of a piece, a product each; -1 after an error. */
int fl_recurrent_input_grad(const fl_recurrent_layer_back &l, const char *weight, char *out);
/* Where l.turns(), these two are transposed, with rows of sums_row(). */
int fl_recurrent_weight_ih_grad(const fl_recurrent_layer_back &l, const char *input, char *out);
int fl_recurrent_weight_hh_grad(const fl_recurrent_layer_back &l, char *out);
int fl_recurrent_weight_hr_grad(const fl_recurrent_layer_back &l, char *out);
int fl_recurrent_bias_sums(const fl_recurrent_layer_back &l, char *sums);
/* The gradients of both biases, from the sums of all slopes over their rows. */
void fl_recurrent_bias_grads(const fl_recurrent_layer_back &l, const char *sums, char *by_input,
                             char *by_hidden);
