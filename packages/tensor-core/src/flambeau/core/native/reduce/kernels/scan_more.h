/* Kernels for running products and running extremes; x and out may be the same memory. */
#pragma once
#include "common/kernels/level.h"
#include "reduce/kernels/scan.h"

/* Running extremes and where they are; of equal elements the latest, NaN stays. */
typedef void (*fl_cummax_lines_fn)(const void *x, void *out, int64_t *positions, int64_t lines,
                                      int64_t n);
typedef void (*fl_cummax_columns_fn)(const void *x, void *out, int64_t *positions, int64_t n,
                                        int64_t stride, int64_t width);

struct fl_scan_more_kernels {
    fl_scan_lines_fn product_lines[6];          /* by compute kind; bool is not there */
    fl_scan_columns_fn product_columns[6];
    fl_cummax_lines_fn cummax_lines[2][4];     /* greatest, least; the first four kinds */
    fl_cummax_columns_fn cummax_columns[2][4];
};
extern "C" {
FL_LEVELS(fl_scan_more_kernels);
}
