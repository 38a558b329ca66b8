/* Small whole powers of floats, as products. */
#pragma once
#include "core/pointwise.h"
#include "kernels/level.h"

struct fl_power_kernels {
    /* float and double; they read the first operand alone */
    fl_pw_fn square[2], cube[2], inverse[2], inverse_square[2];
};
extern "C" {
FL_LEVELS(fl_power_kernels);
}
