/* Pointwise operators that follow a product or convolution, done to its elements as soon as they
 * are final, in its memory; and those of a region, done part by part. The kernels are the
 * operators', so the bits are. */
#pragma once
#include "standalone/program.h"

/* Find tails in a plan whose steps are made. */
void find_tails(const Graph &graph, Plan &plan);

/* A tail's operands in one run. */
class BoundTail {
  public:
    /* `values` holds the tail's other operands. */
    BoundTail(const Tail &tail, fl_tensor *made, const std::vector<Ref> &values);
    /* Whether all operands lie in order, with the shape of what is made, or have one element. */
    bool fits() const { return fits_; }
    /* Run a kernel, and the tail over what it makes; the kernel's status. */
    int run(const fl_op *op, const fl_value *in, fl_tensor *made);
    /* Run a region. */
    void run_alone(const fl_tensor *made);

  private:
    static void chunk(void *self, int64_t begin, int64_t end);

    const Tail &tail_;
    float *made_;
    std::vector<const float *> others_;
    std::vector<TailNumber> ones_;
    bool fits_ = true;
};
