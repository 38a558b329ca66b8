/* Range checks: one comparison for both ends, no early exit, so that it runs in registers. */
#include "kernels/places.h"

namespace {

bool within(const int64_t *index, int64_t n, int64_t low, int64_t high) {
    const uint64_t span = (uint64_t)high - (uint64_t)low;
    uint64_t beyond = 0;
    for (int64_t i = 0; i < n; i++)
        beyond |= (uint64_t)index[i] - (uint64_t)low >= span ? 1 : 0;
    return beyond == 0;
}

}  // namespace

extern const fl_places_kernels FL_LEVEL(fl_places_kernels) = {within};
