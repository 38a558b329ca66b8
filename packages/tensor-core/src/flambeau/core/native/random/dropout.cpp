/* Dropout as one operator. Devices call it; on the CPU a mask is drawn and multiplied with, and this
 * is what devices are compared with. */
#include "common/args.h"
#include "common/raw.h"

extern "C" int fl_run_random_bernoulli(const fl_op *, const fl_value *, int, fl_tensor *const *);

namespace {

template <class T> int scale(const fl_value *in, fl_tensor *const *outs, int kind) {
    In x(in[0].t, kind), kept(outs[1], FL_K_BOOL);
    Out y(outs[0], kind);
    if (!x.ok() || !kept.ok() || !y.ok())
        return -1;
    const T factor = (T)fl_as_double(in[2]);
    for (int64_t i = 0; i < outs[0]->numel; i++)
        y.as<T>()[i] = x.as<T>()[i] * (kept.as<uint8_t>()[i] ? factor : 0);
    y.commit();
    return 0;
}

}  // namespace

/* (input, p, scale, generator) */
extern "C" int fl_infer_native_dropout(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (fl_expect_dtype(op, "input", in[0].t, fl_floating, "floating point") < 0)
        return -1;
    if (!(in[1].d >= 0 && in[1].d <= 1))
        return fl_error(FL_RUNTIME_ERROR, "%s: p=%g, but a probability lies from 0 to 1",
                        fl_op_title(op), in[1].d);
    fl_spec_like(&outs[0], in[0].t);
    fl_spec_like(&outs[1], in[0].t);
    outs[1].dtype = FL_BOOL;
    return 0;
}

extern "C" int fl_run_native_dropout(const fl_op *op, const fl_value *in, int,
                                     fl_tensor *const *outs) {
    fl_value draw[3] = {};
    draw[0].tag = FL_TENSOR;
    draw[0].t = outs[1];
    draw[1].tag = FL_FLOAT;
    draw[1].d = 1.0 - in[1].d;
    draw[2] = in[3];
    if (fl_run_random_bernoulli(op, draw, 3, &outs[1]) < 0)
        return -1;
    const int kind = fl_kind_of_dtype[in[0].t->dtype];
    return kind == FL_K_F32 ? scale<float>(in, outs, kind) : scale<double>(in, outs, kind);
}
