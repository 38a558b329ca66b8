/* A source whose kept dimensions lie in another order than the result's: it is reduced in the
 * order of memory, and the results, of which there are fewer, are put in order afterwards. */
#pragma once
#include "common/args.h"
#include "reduce/reduce.h"

class ReducedInOrder {
  public:
    explicit ReducedInOrder(const fl_reduce_source &s) : original_(s), source_(s) {
        fl_order_by_stride(s.ndim, s.strides, order_);
        source_.mask = 0;
        int last = -1;
        for (int i = 0; i < s.ndim; i++) {
            const int d = order_[i];
            source_.shape[i] = s.shape[d];
            source_.strides[i] = s.strides[d];
            source_.mask |= (s.mask >> d & 1) << i;
            if (s.mask >> d & 1 || s.shape[d] == 1)
                continue;
            changed_ |= d < last;
            last = d;
        }
    }
    bool changed() const { return changed_; }
    const fl_reduce_source &source() const { return source_; }

    /* Results of source(), from contiguous memory to contiguous memory. */
    void restore(const void *from, int dtype, void *to) const {
        int64_t step[FL_MAX_DIMS], next = 1;
        for (int i = source_.ndim - 1; i >= 0; i--) {
            step[order_[i]] = next;
            next *= source_.mask >> i & 1 ? 1 : source_.shape[i];
        }
        int64_t shape[FL_MAX_DIMS], strides[FL_MAX_DIMS], dense[FL_MAX_DIMS];
        int nd = 0;
        for (int d = 0; d < original_.ndim; d++)
            if (!(original_.mask >> d & 1)) {
                shape[nd] = original_.shape[d];
                strides[nd++] = step[d];
            }
        fl_contiguous_strides(nd, shape, dense);
        fl_copy_strided(fl_strided{(char *)to, dtype, dense},
                        fl_strided{(char *)from, dtype, strides}, nd, shape);
    }

  private:
    const fl_reduce_source &original_;
    fl_reduce_source source_;
    int order_[FL_MAX_DIMS];
    bool changed_ = false;
};

/* Reduce(source, out), in the order of memory. */
template <class Reduce>
int fl_reduce_in_order(const fl_reduce_source &s, int dtype, void *out, const Reduce &reduce) {
    const ReducedInOrder order(s);
    if (!order.changed())
        return reduce(s, out);
    Scratch made(fl_bytes(fl_reduce_kept(s), fl_itemsize(dtype)));
    if (!made.ok() || reduce(order.source(), made.as<void>()) < 0)
        return -1;
    order.restore(made.as<void>(), dtype, out);
    return 0;
}
