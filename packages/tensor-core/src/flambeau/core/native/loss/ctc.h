/* Sequences and targets of connectionist temporal classification. */
#pragma once
#include "common/args.h"
#include <math.h>

struct fl_ctc_sequences {
    int64_t steps, batch, classes, blank;
    int kind;
    const char *log_probs;
    const int64_t *targets, *input_lengths, *target_lengths;
    int64_t stride;             /* between targets; 0 where they lie one after the other */

    double score(int64_t t, int64_t item, int64_t label) const {
        int64_t at = (t * batch + item) * classes + label;
        return kind == FL_K_F64 ? ((const double *)log_probs)[at]
                                : (double)((const float *)log_probs)[at];
    }
    const int64_t *target(int64_t item) const {
        if (stride)
            return targets + item * stride;
        const int64_t *first = targets;
        for (int64_t i = 0; i < item; i++)
            first += target_lengths[i];
        return first;
    }
    int64_t longest() const {
        int64_t most = 0;
        for (int64_t i = 0; i < batch; i++)
            most = target_lengths[i] > most ? target_lengths[i] : most;
        return most;
    }
};

/* One item of the batch. */
struct fl_ctc_item {
    const fl_ctc_sequences &s;
    int64_t number, steps, labels;
    const int64_t *target;
    int64_t states() const { return 2 * labels + 1; }
    int64_t label(int64_t state) const { return state & 1 ? target[state / 2] : s.blank; }
    double score(int64_t t, int64_t state) const { return s.score(t, number, label(state)); }
    /* Whether a path may go from state - 2 past a blank. */
    bool skips(int64_t state) const {
        return (state & 1) && state > 1 && target[state / 2] != target[state / 2 - 1];
    }
};

inline fl_ctc_item fl_ctc_item_of(const fl_ctc_sequences &s, int64_t i) {
    return {s, i, s.input_lengths[i], s.target_lengths[i], s.target(i)};
}

/* Two rows of states and one of labels. */
inline int64_t fl_ctc_row_elements(const fl_ctc_sequences &s) { return 5 * s.longest() + 3; }

/* The loss of an item by scaled probabilities; NaN where these cannot tell it. `rows` has room for
 * fl_ctc_row_elements. */
double fl_ctc_scaled_loss(const fl_ctc_item &item, double *rows);
/* probabilities[t * states + k] = that a path is in state k at step t, given the target; false
 * where they cannot be told. `rows` as above. */
bool fl_ctc_scaled_paths(const fl_ctc_item &item, double *rows, double *probabilities);
