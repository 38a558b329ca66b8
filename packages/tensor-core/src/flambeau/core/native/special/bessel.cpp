/* Bessel functions and Airy's in double precision, one element after the other. */
#include "common/args.h"
#include "common/raw.h"
#include "flambeau/special/airy.h"

namespace {

int run(const fl_value *in, fl_tensor *out, double (*function)(double)) {
    In x(in[0].t, FL_K_F64);
    Out result(out, FL_K_F64);
    if (!x.ok() || !result.ok())
        return -1;
    const double *from = x.as<double>();
    double *to = result.as<double>();
    fl_parallel(out->numel, FL_GRAIN / 64, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            to[i] = function(from[i]);
    });
    result.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_special_one(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    if (fl_is_complex(self->dtype))
        return fl_error(FL_NOT_IMPLEMENTED, "%s: not implemented for dtype %s; complex numbers "
                        "have no such operation; use x.real, x.imag or x.abs()", fl_op_title(op),
                        fl_dtype_name(self->dtype));
    fl_spec_like(outs, self);
    outs->dtype = (uint8_t)(fl_is_float(self->dtype) ? self->dtype : fl_default_dtype);
    return 0;
}

#define FL_ONE(name, function)                                                                   \
    extern "C" int fl_run_##name(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) { \
        return run(in, outs[0], function);                                                       \
    }
FL_ONE(bessel_j0, fl_bessel::of_first_kind_0)
FL_ONE(bessel_j1, fl_bessel::of_first_kind_1)
FL_ONE(bessel_y0, fl_bessel::of_second_kind_0)
FL_ONE(bessel_y1, fl_bessel::of_second_kind_1)
FL_ONE(modified_bessel_k0, fl_bessel::k0)
FL_ONE(modified_bessel_k1, fl_bessel::k1)
FL_ONE(scaled_modified_bessel_k0, fl_bessel::scaled_k0)
FL_ONE(scaled_modified_bessel_k1, fl_bessel::scaled_k1)
FL_ONE(spherical_bessel_j0, fl_bessel::spherical_j0)
FL_ONE(airy_ai, fl_airy::ai)
