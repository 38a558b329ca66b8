/* Images and volumes read between their pixels at a run of positions, and the gradients. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

enum fl_grid_mode { FL_GRID_LINEAR = 0, FL_GRID_NEAREST = 1, FL_GRID_CUBIC = 2 };
enum fl_grid_border { FL_GRID_ZEROS = 0, FL_GRID_BORDER = 1, FL_GRID_REFLECTION = 2 };

static const int64_t FL_GRID_RUN = 64;      /* positions of a run, at most */

struct fl_grid {
    int axes;
    int64_t size[3];                /* of the input, outermost first */
    int mode, border;
    bool align_corners;
    int64_t channels, plane, positions;    /* elements of a plane of the input and of the output */
};

/* One run of `n` positions, of which `points` hold x, y (, z): the innermost axis first. Pointers
 * to planes are those of the first channel; `out` and `grad` begin at the run's first position. */
struct fl_grid_kernels {
    void (*sample_f32)(const fl_grid *g, int64_t n, const float *input, const float *points,
                       float *out);
    void (*sample_f64)(const fl_grid *g, int64_t n, const double *input, const double *points,
                       double *out);
    /* Adds to dinput, writes dpoints. */
    void (*spread_f32)(const fl_grid *g, int64_t n, const float *input, const float *points,
                       const float *grad, float *dinput, float *dpoints);
    void (*spread_f64)(const fl_grid *g, int64_t n, const double *input, const double *points,
                       const double *grad, double *dinput, double *dpoints);
};
extern "C" {
FL_LEVELS(fl_grid_kernels);
}
