/* Bytes of Booleans made 0 and 1. */
#include "common/plain_bools.h"
#include <memory>

namespace {

class Plain {
  public:
    explicit Plain(const fl_tensor *t) : memory_((size_t)t->numel), tensor(*t) {
        tensor.data = memory_.as<char>();
        tensor.strides = strides_;
        tensor.flags |= FL_CONTIGUOUS;
        fl_contiguous_strides(t->ndim, t->shape, strides_);
        if (!memory_.ok())
            return;
        fl_copy_tensor(&tensor, t);
        uint8_t *x = (uint8_t *)tensor.data;
        fl_parallel(tensor.numel, FL_GRAIN, [=](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++)
                x[i] = x[i] != 0;
        });
    }
    bool ok() const { return memory_.ok(); }

  private:
    Scratch memory_;
    int64_t strides_[FL_MAX_DIMS];

  public:
    fl_tensor tensor;
};

}  // namespace

int fl_run_on_plain_bools(fl_run_fn run, const fl_op *op, const fl_value *in, int n,
                          fl_tensor *const *outs) {
    fl_value args[FL_MAX_PARAMS];
    std::unique_ptr<Plain> plain[FL_MAX_PARAMS];
    memcpy(args, in, sizeof(fl_value) * (size_t)n);
    for (int i = 0; i < n; i++) {
        if (in[i].tag != FL_TENSOR || !fl_is_bool(in[i].t))
            continue;
        plain[i] = std::make_unique<Plain>(in[i].t);
        if (!plain[i]->ok())
            return -1;
        args[i].t = &plain[i]->tensor;
    }
    return run(op, args, n, outs);
}
