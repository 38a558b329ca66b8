/* Complex tensors seen as real ones. */
#include "common/complex_parts.h"

PartView::PartView(const fl_tensor *t, int part) : tensor(*t) {
    tensor.dtype = (uint8_t)fl_real_dtype(t->dtype);
    tensor.data = t->data + part * fl_itemsize(tensor.dtype);
    tensor.strides = strides_;
    tensor.flags &= ~(uint32_t)FL_CONTIGUOUS;
    for (int i = 0; i < t->ndim; i++)
        strides_[i] = 2 * t->strides[i];
}

PairView::PairView(const fl_tensor *t) : tensor(*t) {
    tensor.dtype = (uint8_t)fl_real_dtype(t->dtype);
    tensor.shape = shape_;
    tensor.strides = strides_;
    tensor.numel = 2 * t->numel;
    tensor.ndim = t->ndim + 1;
    for (int i = 0; i < t->ndim; i++) {
        shape_[i] = t->shape[i];
        strides_[i] = 2 * t->strides[i];
    }
    shape_[t->ndim] = 2;
    strides_[t->ndim] = 1;
}

namespace {

/* Contiguous real scratch in the shape of a complex tensor. */
class RealScratch {
  public:
    explicit RealScratch(const fl_tensor *model)
        : memory_((size_t)model->numel * (size_t)fl_itemsize(fl_real_dtype(model->dtype))),
          tensor(*model) {
        tensor.dtype = (uint8_t)fl_real_dtype(model->dtype);
        tensor.data = memory_.as<char>();
        tensor.strides = strides_;
        tensor.flags |= FL_CONTIGUOUS;
        fl_contiguous_strides(model->ndim, model->shape, strides_);
    }
    bool ok() const { return memory_.ok(); }

  private:
    Scratch memory_;
    int64_t strides_[FL_MAX_DIMS];

  public:
    fl_tensor tensor;
};

template <class T> void add(void *to, const void *from, int64_t n, T sign) {
    T *x = (T *)to;
    const T *y = (const T *)from;
    fl_parallel(n, FL_GRAIN, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            x[i] += sign * y[i];
    });
}

void add_tensor(fl_tensor *to, const fl_tensor *from, int sign) {
    if (to->dtype == FL_F32)
        add<float>(to->data, from->data, to->numel, (float)sign);
    else
        add<double>(to->data, from->data, to->numel, (double)sign);
}

struct Bilinear {
    fl_run_fn run;
    const fl_op *op;
    const fl_value *in;
    int n;

    /* Parts p and q of the factors; part `added` of the third tensor, -1 for none. */
    int operator()(int p, int q, int added, fl_tensor *out) const {
        fl_value args[FL_MAX_PARAMS];
        memcpy(args, in, sizeof(fl_value) * (size_t)n);
        PartView a(in[0].t, p), b(in[1].t, q);
        args[0].t = &a.tensor;
        args[1].t = &b.tensor;
        const fl_tensor *third = n > 2 ? fl_t(in[2]) : nullptr;
        PartView c(third ? third : in[0].t, added > 0);
        if (third)
            args[2].t = &c.tensor;
        if (third && added < 0)
            args[2].tag = FL_NONE;
        return run(op, args, n, &out);
    }
};

}  // namespace

int fl_run_bilinear_parts(fl_run_fn run, const fl_op *op, const fl_value *in, int n,
                          fl_tensor *out) {
    if (out->numel == 0)
        return 0;
    Bilinear part = {run, op, in, n};
    RealScratch sum(out), more(out);
    if (!sum.ok() || !more.ok())
        return -1;
    for (int imaginary = 0; imaginary < 2; imaginary++) {
        if (part(0, imaginary, imaginary, &sum.tensor) < 0 ||
            part(1, 1 - imaginary, -1, &more.tensor) < 0)
            return -1;
        add_tensor(&sum.tensor, &more.tensor, imaginary ? 1 : -1);
        PartView to(out, imaginary);
        fl_copy_tensor(&to.tensor, &sum.tensor);
    }
    return 0;
}
