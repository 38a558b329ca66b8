/* Numbers of distributions, from draws of uniform ones: `Draws` has next(), above_zero() and
 * normal(), all double, as philox_draws does. The text is read by the core and by kernels of GPUs. */
#ifndef FL_RATES_H
#define FL_RATES_H
#ifndef __CUDACC_RTC__
#include <math.h>
#include <stdint.h>
#else
#define NAN fl_bit_cast<float>(0x7fc00000)
#endif
#ifndef FL_INLINE
#define FL_INLINE inline
#endif
#if !defined(__CUDACC_RTC__) && !defined(__device__)
#define __device__
#endif

namespace {

/* Ten rounds of Philox 4x32 over a counter. */
FL_INLINE void philox(uint32_t *c, uint64_t seed) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
        c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[1] = (uint32_t)p1;
        c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* Uniform numbers in (0, 1), two of each block: the Philox counter is (block, draw). */
class philox_draws {
  public:
    __device__ philox_draws(uint64_t seed, uint64_t block) : seed_(seed), block_(block) {}
    __device__ double next() {
        if (used_ == 2)
            refill();
        uint64_t bits = words_[used_++] >> 11;
        return ((double)(int64_t)bits + 0.5) * 0x1p-53;
    }
    __device__ double above_zero() { return next(); }
    /* G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates"
     * (1958). */
    __device__ double normal() {
        double radius = sqrt(-2 * log(next()));
        return radius * cos(6.283185307179586 * next());
    }

  private:
    __device__ void refill() {
        uint32_t c[4] = {(uint32_t)block_, (uint32_t)(block_ >> 32), draw_++, 0x5eed};
        philox(c, seed_);
        words_[0] = (uint64_t)c[1] << 32 | c[0];
        words_[1] = (uint64_t)c[3] << 32 | c[2];
        used_ = 0;
    }
    uint64_t seed_, block_, words_[2];
    uint32_t draw_ = 0;
    int used_ = 2;
};

/* Multiply uniform numbers until the product falls below exp(-rate). */
template <class Draws> FL_INLINE double poisson_by_product(double rate, Draws &draws) {
    double limit = exp(-rate), product = draws.next();
    double count = 0;
    for (; product > limit; count++)
        product *= draws.next();
    return count;
}

/* W. Hoermann, "The transformed rejection method for generating Poisson random variables" (1993):
 * PTRS, for rates of 10 and more. */
template <class Draws> FL_INLINE double poisson_by_rejection(double rate, Draws &draws) {
    double root = sqrt(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = draws.next() - 0.5, v = draws.next(), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= accept)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        double left = log(v) + log(inverse_alpha) - log(a / (us * us) + b);
        if (left <= -rate + k * log(rate) - lgamma(k + 1))
            return k;
    }
}

template <class Draws> FL_INLINE double poisson(double rate, Draws &draws) {
    if (rate == 0)
        return 0;
    return rate < 10 ? poisson_by_product(rate, draws) : poisson_by_rejection(rate, draws);
}

/* Failures between successes are geometric: add them up until the tries are used. */
template <class Draws> FL_INLINE double binomial_by_gaps(double count, double p, Draws &draws) {
    double scale = log1p(-p), tries = 0, hits = 0;
    for (;;) {
        tries += ceil(log(draws.next()) / scale);
        if (tries > count)
            return hits;
        hits++;
    }
}

/* log(k!) minus Stirling's approximation of it. */
FL_INLINE double stirling_rest(double k) {
    return lgamma(k + 1) - ((k + 0.5) * log(k + 1) - (k + 1) + 0.91893853320467274178);
}

/* W. Hoermann, "The generation of binomial random variates" (1993): BTRS, for count * p of 10 and
 * more and p up to one half. */
template <class Draws>
FL_INLINE double binomial_by_rejection(double count, double p, Draws &draws) {
    double spread = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * spread;
    double a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5;
    double accept = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread, odds = p / (1 - p);
    double mode = floor((count + 1) * p);
    for (;;) {
        double u = draws.next() - 0.5, v = draws.next(), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + c);
        if (us >= 0.07 && v <= accept)
            return k;
        if (k < 0 || k > count)
            continue;
        v = log(v * alpha / (a / (us * us) + b));
        double bound = (mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1))) +
                       (count + 1) * log((count - mode + 1) / (count - k + 1)) +
                       (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) + stirling_rest(mode) +
                       stirling_rest(count - mode) - stirling_rest(k) - stirling_rest(count - k);
        if (v <= bound)
            return k;
    }
}

template <class Draws> FL_INLINE double binomial(double count, double p, Draws &draws) {
    if (count <= 0 || p <= 0)
        return 0;
    if (p >= 1)
        return count;
    double less = p <= 0.5 ? p : 1 - p;
    double hits = count * less >= 10 ? binomial_by_rejection(count, less, draws)
                                     : binomial_by_gaps(count, less, draws);
    return p <= 0.5 ? hits : count - hits;
}

/* The logarithm of a gamma sample, by G. Marsaglia and W. W. Tsang, "A simple method for generating
 * gamma variables" (2000). Below 1 a sample of a + 1 is scaled by u^(1/a), whose logarithm does not
 * underflow. */
template <class Draws> FL_INLINE double log_gamma_sample(double a, Draws &draws) {
    if (!(a >= 0) || isinf(a))
        return a < 0 ? (double)NAN : a;
    double scale = a < 1 ? log(draws.above_zero()) / a : 0;
    double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = draws.normal(), root = 1 + c * x;
        if (root <= 0)
            continue;
        double v = root * root * root, u = draws.above_zero(), square = x * x;
        double log_v = log(v);
        if (u < 1 - 0.0331 * square * square ||
            log(u) < 0.5 * square + d * (1 - v + log_v))
            return log(d) + log_v + scale;
    }
}

}  // namespace
#endif
