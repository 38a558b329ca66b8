/* Rows of bools and integers converted into each other, without a wider kind between. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* bool, uint8, int8, int16, int32, int64: the first dtypes, in the order of their codes. */
enum { FL_INTEGER_MOVES = 6 };

struct fl_integer_moves {
    void (*run[FL_INTEGER_MOVES][FL_INTEGER_MOVES])(const void *from, void *to, int64_t n);
};
extern "C" {
FL_LEVELS(fl_integer_moves);
}
