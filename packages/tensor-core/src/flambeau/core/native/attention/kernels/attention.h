/* The elementwise parts of attention, on a block of scores: `rows` queries by `cols` keys, rows
 * `pitch` elements apart. Scores are scale * q.k plus the mask. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

enum fl_mask_kind { FL_MASK_NONE = 0, FL_MASK_BOOL = 1, FL_MASK_ADD = 2 };

/* The part of the mask over a block; steps in elements. Bool: 0 takes a key out. */
struct fl_mask {
    const void *data;
    int64_t row, col;
    int64_t kind;
};

struct fl_scores {
    void *data;
    int64_t rows, cols, pitch;
    double scale;
    fl_mask mask;
    int64_t visible;            /* keys that the first row sees; every next row sees one more */
};

/* A matrix; steps in elements. */
struct fl_rows {
    const void *data;
    int64_t row, col;
};

/* The kernels of one dtype. */
struct fl_attention_dtype {
    /* One step of the softmax over blocks of keys: scores become exp(score - max) for the running
     * max of their row; max and sum are updated; factor = what earlier sums shrink by. */
    void (*soften)(const fl_scores *s, void *max, void *sum, void *factor);
    /* scores become probabilities p, products dp become p * (dp - delta) * scale */
    void (*grad)(const fl_scores *s, void *dp, const void *logsumexp, const void *delta);
    /* each row of a matrix times its factor, or divided by it (a row of 0 stays 0) */
    void (*scale_rows)(void *x, int64_t rows, int64_t cols, int64_t row, int64_t col,
                       const void *factor);
    void (*divide_rows)(void *x, int64_t rows, int64_t cols, int64_t row, int64_t col,
                        const void *divisor);
    /* out = the dot product of each row of x with that of y */
    void (*row_products)(fl_rows x, fl_rows y, int64_t rows, int64_t cols, void *out);
};

struct fl_attention_kernels {
    fl_attention_dtype f32, f64;
};
extern "C" {
FL_LEVELS(fl_attention_kernels);
}
