/* Generator states: see generator.h. */
#include "random/generator.h"

static fl_generator_state first_state = {67280421310721ull, 0, nullptr};
static fl_generator_state *default_state = &first_state;

/* What this thread uses instead of the default generator; it holds a reference. */
static thread_local fl_generator *own_generator = nullptr;

fl_generator_state *fl_default_generator_state(void) {
    return own_generator ? &own_generator->state : default_state;
}

void *fl_exchange_own_generator(void *generator) {
    void *previous = own_generator;
    own_generator = (fl_generator *)generator;
    return previous;
}

int fl_has_own_generator(void) { return own_generator != nullptr; }

void fl_set_default_generator(void *generator) {
    default_state = &((fl_generator *)generator)->state;
}

fl_generator_state *fl_generator_state_of(void *generator) {
    return generator ? &((fl_generator *)generator)->state : fl_default_generator_state();
}

uint64_t fl_generator_reserve(void *generator, uint64_t count) {
    return __atomic_fetch_add(&fl_generator_state_of(generator)->offset, count, __ATOMIC_RELAXED);
}
