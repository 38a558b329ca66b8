/* frexp: mantissa and exponent, two results of different dtypes. */
#include "common/args.h"
#include "common/raw.h"
#include "flambeau/special/frexp.h"

extern "C" int fl_infer_frexp(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    if (fl_expect_dtype(op, "self", self, fl_floating, "a floating dtype") < 0)
        return -1;
    fl_spec_in_order_of(&outs[0], self);
    outs[1] = outs[0];
    outs[1].dtype = FL_I32;
    return 0;
}

extern "C" int fl_run_frexp(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    In x(in[0].t, FL_K_F64);
    Out mantissa(outs[0], FL_K_F64);
    RawOut exponent(outs[1], FL_I32);
    if (!x.ok() || !mantissa.ok() || !exponent.ok())
        return -1;
    const double *from = x.as<double>();
    double *part = mantissa.as<double>();
    int32_t *power = (int32_t *)exponent.data();
    fl_parallel(in[0].t->numel, FL_GRAIN, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            fl_split_exponent(from[i], part + i, power + i);
    });
    mantissa.commit();
    exponent.commit();
    return 0;
}
