/* The elementwise parts of recurrent layers: one step of some rows (sequences) and some units.
 *
 * Gates lie side by side in a row, `width` elements apart: i f g o of LSTM, r z n and the hidden
 * part of n of GRU. Pointers are to the first of the rows and units; rows are *_row elements
 * apart. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

struct fl_recurrent_step {
    int64_t rows, units, width;
    void *gates;                /* in: sums of input and hidden part (GRU: the input part of r z n);
                                   out: the gates */
    const void *product;        /* GRU: the hidden part of r z n, without its bias */
    const void *bias;           /* GRU: bias of the hidden part, or NULL */
    void *hidden;               /* the new hidden state; GRU reads the old one there */
    void *cell;                 /* LSTM: the cell state, updated */
    void *result;               /* NULL, or where the new hidden state goes as well */
    void *cells;                /* LSTM: NULL, or where the new cell state goes as well */
    int64_t gates_row, product_row, hidden_row, cell_row, result_row, cells_row;
};

/* A step back: from gradients of the states after a step to `slopes`, those of the sums: in the
 * order of LSTM's gates; n r z and the hidden part of n for GRU. */
struct fl_recurrent_back {
    int64_t rows, units, width;
    const void *gates, *cells, *cells_before, *result, *hidden_before;
    const void *grad;           /* NULL, or the gradient of the step's result, to be added */
    void *hidden;               /* the gradient of the hidden state; GRU leaves the part that goes
                                   to the state before directly */
    void *cell;                 /* LSTM: the gradient of the cell state, becomes that before */
    void *slopes;
    int64_t gates_row, cells_row, cells_before_row, result_row, hidden_before_row, grad_row;
    int64_t hidden_row, cell_row, slopes_row;
};

enum fl_recurrent_mode { FL_LSTM = 0, FL_GRU = 1, FL_RNN_TANH = 2, FL_RNN_RELU = 3,
                         FL_RECURRENT_MODES = 4 };

/* The kernels of one dtype, by mode. */
struct fl_recurrent_dtype {
    void (*step[FL_RECURRENT_MODES])(const fl_recurrent_step *);
    void (*back[FL_RECURRENT_MODES])(const fl_recurrent_back *);
    /* LSTM: o * tanh(c), recomputed; the hidden state before a projection */
    void (*output)(const fl_recurrent_step *);
};

struct fl_recurrent_kernels {
    fl_recurrent_dtype f32, f64;
};
extern "C" {
FL_LEVELS(fl_recurrent_kernels);
}
