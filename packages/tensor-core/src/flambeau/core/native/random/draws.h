/* Draws of uniform numbers whose count depends on what is drawn: each element has blocks of its
 * own, the Philox counter being (offset + element, draw), unless a twister gives all of them. */
#pragma once
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
    Draws(uint64_t seed, uint64_t block) : seed_(seed), block_(block) {}
    explicit Draws(fl_mersenne *twister) : twister_(twister) {}
    double next() {
        if (twister_)
            return twister_->uniform();
        if (used_ == 2)
            refill();
        uint64_t bits = words_[used_++] >> 11;
        return ((double)(int64_t)bits + 0.5) * 0x1p-53;
    }

    /* A uniform number above 0, whose logarithm is finite. */
    double above_zero() { return twister_ ? 1 - twister_->uniform() : next(); }
    /* G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates" (1958);
     * a twister has its own. */
    double normal() {
        if (twister_)
            return twister_->normal();
        double radius = sqrt(-2 * log(next()));
        return radius * cos(6.283185307179586 * next());
    }

  private:
    void refill() {
        uint32_t c[4] = {(uint32_t)block_, (uint32_t)(block_ >> 32), draw_++, 0x5eed};
        uint32_t k0 = (uint32_t)seed_, k1 = (uint32_t)(seed_ >> 32);
        for (int round = 0; round < 10; round++) {
            uint64_t p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
            c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
            c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
            c[1] = (uint32_t)p1;
            c[3] = (uint32_t)p0;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        words_[0] = (uint64_t)c[1] << 32 | c[0];
        words_[1] = (uint64_t)c[3] << 32 | c[2];
        used_ = 0;
    }
    fl_mersenne *twister_ = nullptr;
    uint64_t seed_ = 0, block_ = 0, words_[2];
    uint32_t draw_ = 0;
    int used_ = 2;
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
