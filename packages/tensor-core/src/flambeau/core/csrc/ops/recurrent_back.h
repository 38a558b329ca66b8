/* The way back through a recurrent layer: from gradients of its results to the slopes of the sums
 * of its gates, and from these to all gradients. */
#pragma once
#include "ops/recurrent.h"

/* Everything contiguous in the compute kind. */
struct fl_recurrent_layer_back {
    const fl_recurrent &r;
    fl_recurrent_cut cut;
    int kind;
    int64_t size, slopes_row;
    const fl_recurrent_dtype *unit;
    const StepWeight *weight = nullptr, *projection = nullptr;
    const char *grad = nullptr;         /* NULL: none */
    const char *hx = nullptr, *cx = nullptr, *result = nullptr, *gates = nullptr, *cells = nullptr;
    char *slopes = nullptr;
    char *hidden = nullptr, *cell = nullptr;    /* gradients of the states, going back */
    char *projected = nullptr;          /* of each row, the gradient of the state it projects to */
    char *unprojected = nullptr;        /* of each sequence, that before the projection */

    fl_recurrent_layer_back(const fl_recurrent &sizes, int compute_kind)
        : r(sizes), cut(fl_recurrent_choose(sizes, fl_kind_size[compute_kind])),
          kind(compute_kind), size(fl_kind_size[compute_kind]),
          slopes_row(sizes.parts() * sizes.hidden), unit(fl_recurrent_pick(compute_kind)) {}

    /* GRU's slopes have the input part of n first, its hidden part last. */
    int64_t hidden_part() const { return r.mode == FL_GRU ? r.hidden : 0; }
    int64_t sums() const { return r.gates() * r.hidden; }
    const char *hidden_slopes(int64_t row) const {
        return slopes + (row * slopes_row + hidden_part()) * size;
    }
};

/* All slopes, and the gradients of the states before the first step; false without memory. */
bool fl_recurrent_go_back(const fl_recurrent_layer_back &l);

/* Gradients from all slopes, a product each; -1 after an error. */
int fl_recurrent_input_grad(const fl_recurrent_layer_back &l, const char *weight, char *out);
int fl_recurrent_weight_ih_grad(const fl_recurrent_layer_back &l, const char *input, char *out);
int fl_recurrent_weight_hh_grad(const fl_recurrent_layer_back &l, char *out);
int fl_recurrent_weight_hr_grad(const fl_recurrent_layer_back &l, char *out);
int fl_recurrent_bias_grads(const fl_recurrent_layer_back &l, char *by_input, char *by_hidden);
