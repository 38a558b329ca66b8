/* Draws of uniform numbers whose count depends on what is drawn: each element has blocks of its
 * own, the Philox counter being (offset + element, draw), unless a twister gives all of them. */
#pragma once
#include "formula/include/rates.h"
#include "random/mersenne.h"
#include "random/kernels/random.h"
#include "common/args.h"
#include <math.h>

namespace {

/* Where a random operator's numbers come from, once `blocks` of them are reserved. */
inline fl_stream take(const fl_value &generator, uint64_t blocks) {
    void *object = generator.tag == FL_GENERATOR ? generator.o : nullptr;
    return fl_stream{fl_generator_state_of(object)->seed, fl_generator_reserve(object, blocks)};
}

/* Uniform numbers: in (0, 1), one block after the other; in [0, 1), those of a twister. */
class Draws {
  public:
    Draws(uint64_t seed, uint64_t block) : philox_(seed, block) {}
    explicit Draws(fl_mersenne *twister) : philox_(0, 0), twister_(twister) {}
    double next() { return twister_ ? twister_->uniform() : philox_.next(); }
    /* A uniform number above 0, whose logarithm is finite. */
    double above_zero() { return twister_ ? 1 - twister_->uniform() : philox_.next(); }
    double normal() { return twister_ ? twister_->normal() : philox_.normal(); }

  private:
    philox_draws philox_;
    fl_mersenne *twister_ = nullptr;
};

/* Call draw(element, draws) for all n elements: a twister's one after the other. */
template <class Draw>
void draw_each(const fl_value &generator, int64_t n, const Draw &draw) {
    if (fl_mersenne *m = fl_mersenne_of(generator)) {
        std::lock_guard<std::mutex> held(m->lock);
        Draws draws(m);
        for (int64_t i = 0; i < n; i++)
            draw(i, draws);
        return;
    }
    fl_stream s = take(generator, (uint64_t)n);
    fl_parallel(n, 1024, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            Draws draws(s.seed, s.block + (uint64_t)i);
            draw(i, draws);
        }
    });
}

}  // namespace
