/* uint64 through operators that know the order of int64. */
#include "common/unsigned_order.h"

static void flip(char *data, int64_t n) {
    uint64_t *x = (uint64_t *)data;
    fl_parallel(n, FL_GRAIN, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            x[i] ^= 1ull << 63;
    });
}

/* A contiguous int64 copy of a tensor's memory, or room for one. */
class Signed {
  public:
    explicit Signed(const fl_tensor *t) : memory_((size_t)t->numel * 8), tensor(*t) {
        tensor.dtype = FL_I64;
        tensor.data = memory_.as<char>();
        tensor.strides = strides_;
        tensor.flags |= FL_CONTIGUOUS;
        fl_contiguous_strides(t->ndim, t->shape, strides_);
    }
    bool ok() const { return memory_.ok(); }

  private:
    Scratch memory_;
    int64_t strides_[FL_MAX_DIMS];

  public:
    fl_tensor tensor;
};

int fl_run_in_signed_order(fl_run_fn run, const fl_op *op, const fl_value *in, int n,
                           fl_tensor *const *outs) {
    fl_value args[FL_MAX_PARAMS];
    memcpy(args, in, sizeof(fl_value) * (size_t)n);
    Signed self(in[0].t), values(outs[0]);
    if (!self.ok() || !values.ok())
        return -1;
    fl_copy_tensor(&self.tensor, in[0].t);
    flip(self.tensor.data, self.tensor.numel);
    args[0].t = &self.tensor;
    fl_tensor *targets[FL_MAX_OUTS];
    memcpy(targets, outs, sizeof(fl_tensor *) * op->nouts);
    bool has_values = fl_is_unsigned64(outs[0]);
    if (has_values)
        targets[0] = &values.tensor;
    if (run(op, args, n, targets) < 0)
        return -1;
    if (has_values) {
        flip(values.tensor.data, values.tensor.numel);
        values.tensor.dtype = FL_U64;
        fl_copy_tensor(outs[0], &values.tensor);
    }
    return 0;
}
