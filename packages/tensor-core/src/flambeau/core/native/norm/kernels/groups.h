/* Kernels of group normalization where the elements of a channel are few, so that a call for every
 * channel would take longer than its elements; float32 and float64. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

static const int64_t FL_SMALL_GROUP = 32;       /* elements of a group */

/* Groups of one batch, the channels of which are counted through. Weights and biases are numbers of
 * channels, or NULL. */
struct fl_small_groups {
    int64_t groups, channels, inner;    /* of an instance, of a group, of a channel */
    const double *weight, *bias;
    double eps;
};
/* `count` groups of up to FL_SMALL_GROUP elements, of which `first` is the number of the first. */
typedef void (*fl_small_groups_fn)(const void *x, void *out, const fl_small_groups *job,
                                   int64_t first, int64_t count, double *mean, double *rstd);

/* (x - mean) * rstd * weight + bias over channels of `inner` elements, one behind the other. */
typedef void (*fl_affine_channels_fn)(const void *x, void *out, int64_t channels, int64_t inner,
                                      double mean, double rstd, const double *weight,
                                      const double *bias);
/* As the kernels in norm.h, with sums and factors for each channel. */
typedef void (*fl_sums_channels_fn)(const void *g, const void *x, int64_t channels, int64_t inner,
                                    double mean, double *sum_g, double *sum_gx);
typedef void (*fl_dx_channels_fn)(const void *g, const void *x, void *out, int64_t channels,
                                  int64_t inner, double mean, const double *a, double b, double c);

struct fl_group_kernels {
    fl_small_groups_fn small[2];
    fl_affine_channels_fn affine[2];
    fl_sums_channels_fn sums[2];
    fl_dx_channels_fn dx[2];
};
extern "C" {
FL_LEVELS(fl_group_kernels);
}
