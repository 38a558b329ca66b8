/* amp_unscale: multiplies gradients, in their own memory if it is the result's, and says whether
 * one of them was infinite or nan. */
#include "pointwise/kernels/unscale.h"
#include "common/args.h"
#include <atomic>

extern "C" int fl_infer_amp_unscale(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    if (!fl_is_float(self->dtype) && !fl_is_complex(self->dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: expected floating-point numbers, got %s",
                        fl_op_title(op), fl_tensor_text(self));
    fl_spec_like(&outs[0], self);
    fl_spec_set(&outs[1], FL_BOOL, fl_device_code(self), 0, nullptr);
    return 0;
}

template <class T, class Kernel>
static bool run(Kernel kernel, const T *x, T *out, int64_t n, double factor) {
    std::atomic<bool> finite{true};
    fl_parallel(n, FL_GRAIN, [&](int64_t begin, int64_t end) {
        if (!kernel(x + begin, out + begin, end - begin, factor))
            finite = false;
    });
    return finite;
}

extern "C" int fl_run_amp_unscale(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    const double factor = fl_as_double(in[1]);
    const int kind = fl_kind_of_dtype[self->dtype];
    In x(self, kind);
    Out out(outs[0], kind);
    if (!x.ok() || !out.ok())
        return -1;
    const fl_unscale_kernels *kernels = FL_PICK(fl_unscale_kernels);
    const int64_t parts = self->numel * (fl_is_complex(self->dtype) ? 2 : 1);
    const bool wide = kind == FL_K_F64 || kind == FL_K_C128;
    const bool finite = wide ? run(kernels->f64, x.as<double>(), out.as<double>(), parts, factor)
                             : run(kernels->f32, x.as<float>(), out.as<float>(), parts, factor);
    out.commit();
    *(uint8_t *)outs[1]->data = !finite;
    return 0;
}
