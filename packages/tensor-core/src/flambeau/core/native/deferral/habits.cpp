/* Places in compiled functions, and what calls gained there. */
#include "deferral/habits.h"
#include "dispatch/python.h"

static const size_t MOST_PLACES = 1 << 16;

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

void fl_habits::enter(const void *function) {
    if (table.size() > MOST_PLACES)
        table.clear();
    place = mix(1, (uint64_t)(uintptr_t)function);
}

uint64_t fl_habits::next(const fl_op *op, int64_t numel, int dtype) const {
    uint64_t h = mix(place, (uint64_t)(uintptr_t)op);
    return mix(h, (uint64_t)numel << 8 | (uint64_t)dtype);
}
