/* Pooling of planes over windows. Input rows are first split by phase (phase_rows.h). */
#pragma once
#include "conv/kernels/conv.h"

/* Sizes of one plane. */
struct fl_pool {
    int64_t h, w, oh, ow;
    fl_window y, x;
    bool small;     /* taps in all planes: splitting rows would take longer than to meet each tap */
};

/* What an average is divided by: `fixed` when it is not 0, else the window's area. */
struct fl_average {
    int64_t fixed;
    int64_t include_padding;
};

/* Output rows [begin, end) of a plane; indices may be NULL. `scratch` holds scratch_elements
 * elements. */
typedef void (*fl_max_pool_fn)(const fl_pool *p, const void *plane, int64_t begin, int64_t end,
                               void *values, int64_t *indices, void *scratch);
typedef void (*fl_avg_pool_fn)(const fl_pool *p, const fl_average *by, const void *plane,
                               int64_t begin, int64_t end, void *out, void *scratch);
/* The whole plane: `out` becomes the sum, over the windows an element lies in, of the gradient of
 * the output divided by what the average was divided by. Scratch as for all rows. */
typedef void (*fl_avg_grad_fn)(const fl_pool *p, const fl_average *by, const void *grad,
                               void *out, void *scratch);

/* Planes of few elements lie side by side as columns, up to FL_POOL_COLUMNS of them: row i of the
 * input holds element i of each. So lie those of the output. Rows are `step` elements apart. */
static const int64_t FL_POOL_COLUMNS = 128;
typedef void (*fl_avg_columns_fn)(const fl_pool *p, const fl_average *by, const void *columns,
                                  int64_t count, int64_t step, void *out);

/* Windows of 2 x 2, or of 1 x 2 in planes of one row, with stride 2, that lie inside their plane:
 * output rows [begin, end), counted through all planes; positions may be NULL. */
typedef void (*fl_quarters_fn)(const fl_pool *p, const float *input, int64_t planes,
                               int64_t begin, int64_t end, float *values, void *positions);

struct fl_pool_kernels {
    int64_t (*scratch_elements)(const fl_pool *p, int64_t rows);    /* rows of output */
    fl_max_pool_fn max_f32, max_f64, max_i64;
    fl_avg_pool_fn avg_f32, avg_f64;
    fl_avg_grad_fn avg_grad_f32, avg_grad_f64;
    fl_avg_pool_fn avg_i64;     /* rounds towards zero */
    fl_avg_columns_fn avg_columns_f32, avg_columns_f64, avg_columns_i64;
    fl_quarters_fn quarters_u8, quarters_u16, quarters_i64;     /* by the dtype of positions */
};
extern "C" {
FL_LEVELS(fl_pool_kernels);
}
