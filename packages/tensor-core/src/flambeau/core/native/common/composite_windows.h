/* What composites of windows along one to three dimensions share. */
#pragma once
#include "common/compose.h"

/* A list of one number, or of n, as n numbers. Raises. */
int fl_spread(const fl_op *op, const char *param, const fl_value &v, int n, int64_t *out);

/* "[batch, channels, length], or 2 dimensions for a single image" and so on. */
const char *fl_image_text(int n);

/* The dimension before the last is one of size 1: a line as a plane of height 1. */
static inline fl_tensor *fl_plane_of(const fl_value &line) {
    return fl_compose(FL_OP_unsqueeze, line, fl_int_value(-2));
}

/* The plane as a line again. Takes the reference; NULL is an error that was raised. */
fl_tensor *fl_line_of(fl_tensor *plane);
