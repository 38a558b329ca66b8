/* What losses have in common: the name of a reduction, and the reduction. */
#pragma once
#include "common/compose.h"

enum Reduction { NONE = 0, MEAN = 1, SUM = 2, UNKNOWN = -1 };

static inline Reduction read_reduction(const fl_value &v) {
    if (v.tag != FL_STRING)
        return UNKNOWN;
    return !strcmp(v.s, "mean") ? MEAN : !strcmp(v.s, "sum") ? SUM
         : !strcmp(v.s, "none") ? NONE : UNKNOWN;
}

/* The loss from its terms, whose reference is taken. */
static inline fl_tensor *reduced(fl_tensor *terms, Reduction reduction) {
    if (!terms || reduction == NONE)
        return terms;
    Made made(terms);
    return fl_compose(reduction == MEAN ? (int)FL_OP_mean : (int)FL_OP_sum, fl_tensor_value(made));
}

static inline bool are_none(const fl_value &a, const fl_value &b, const fl_value &c) {
    return fl_is_none(a) && fl_is_none(b) && fl_is_none(c);
}
