/* Powers of floats as products, quotients and roots. Those of the root are PyTorch's also where a
 * power would differ: -0 and -inf to the power 0.5 are -0 and NaN. */
#pragma once
#include "dispatch/pointwise.h"
#include "common/kernels/level.h"

struct fl_power_kernels {
    /* float and double; they read the first operand alone */
    fl_pw_fn square[2], cube[2], inverse[2], inverse_square[2], root[2], inverse_root[2];
};
extern "C" {
FL_LEVELS(fl_power_kernels);
}
