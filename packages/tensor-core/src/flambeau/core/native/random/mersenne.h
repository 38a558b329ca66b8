/* The Mersenne Twister MT19937 (Matsumoto, Nishimura 1998), drawn from in the order of PyTorch's
 * CPU generator: a seed gives the same numbers there and here. */
#pragma once
#include "random/generator.h"
#include "dispatch/core.h"
#include <mutex>

const int MERSENNE_WORDS = 624;

struct fl_mersenne {
    std::mutex lock;            /* held while an operator draws */
    uint32_t words[MERSENNE_WORDS];
    int left = 1, next = 0;     /* words until the next twist, plus one; the next word */
    bool has_spare = false, has_small_spare = false;
    double spare = 0;           /* the second number of a normal pair */
    float small_spare = 0;      /* kept for states that PyTorch made */

    /* The next 624 words. */
    void twist();
    /* `n` words of the stream. */
    void take(uint32_t *out, int64_t n);
    uint32_t word() {
        if (left == 1)
            twist();
        left--;
        uint32_t y = words[next++];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        return y ^ y >> 18;
    }
    uint64_t wide_word() {
        uint64_t high = word();
        return high << 32 | word();
    }
    /* A number in [0, 1) of 53 bits. */
    double uniform() { return (double)(int64_t)(wide_word() & 0x1fffffffffffff) * 0x1p-53; }
    /* A normal number, by pairs. */
    double normal();
};

/* The twister of a generator argument; NULL where it is a Philox stream. */
fl_mersenne *fl_mersenne_of(const fl_value &generator);

/* The dimensions of a tensor in the order of its memory, outermost first: elements are drawn in
 * this order, whatever the order of the dimensions. */
class MemoryOrder {
  public:
    explicit MemoryOrder(const fl_tensor *t);
    fl_tensor tensor;
    MemoryOrder(const MemoryOrder &) = delete;

  private:
    int64_t shape_[FL_MAX_DIMS], strides_[FL_MAX_DIMS];
};

/* What the operators of random.cpp and rates.cpp do with a twister; 0, or -1 with an error set. */
int fl_mersenne_uniform(fl_mersenne *m, fl_tensor *out, double low, double high);
int fl_mersenne_normal(fl_mersenne *m, fl_tensor *out, double mean, double std);
/* Integers from low on: below low + range, or where `all` as far as the dtype holds all of them. */
int fl_mersenne_integers(fl_mersenne *m, fl_tensor *out, int64_t low, uint64_t range, bool all);
int fl_mersenne_bernoulli(fl_mersenne *m, fl_tensor *out, double p);
int fl_mersenne_permutation(fl_mersenne *m, int64_t *order, int64_t n);
/* Ones where p, contiguous in double, says so; `wide`: compare 53 bits, else 24. */
void fl_mersenne_tosses(fl_mersenne *m, const double *p, double *out, int64_t n, bool wide);
/* One row of multinomial, whose weights are numbers of `dtype`; room for 2 n doubles. */
void fl_mersenne_choices(fl_mersenne *m, const double *weights, int64_t n, int dtype, bool again,
                         int64_t count, double *room, int64_t *out);
