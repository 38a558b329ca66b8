/* Kernels of two operands that compute one element after the other in double precision or in whole
 * numbers: incomplete gamma functions, zeta, orthogonal polynomials, common divisors. */
#include "common/args.h"
#include "special/gamma.h"
#include "special/polynomials.h"
#include "common/raw.h"
#include "flambeau/special/integers.h"

namespace {

const char *operand_text(const fl_value &v) {
    return v.tag == FL_TENSOR ? fl_tensor_text(v.t) : "a number";
}

int infer(const fl_op *op, const fl_value *in, int dtype, fl_spec *out) {
    if (fl_same_device(op, in, 2) < 0)
        return -1;
    int nd = 0, device = FL_CPU << 8;
    int64_t shape[FL_MAX_DIMS];
    for (int k = 0; k < 2; k++) {
        const fl_tensor *t = fl_t(in[k]);
        if (t && fl_broadcast_shape(op->name, nd, shape, t->ndim, t->shape, &nd, shape) < 0)
            return -1;
        if (t && fl_device_code(t))
            device = fl_device_code(t);
    }
    fl_spec_set(out, dtype, device, nd, shape);
    return 0;
}

int common_dtype(const fl_value *in) {
    const fl_value *operands[2] = {&in[0], &in[1]};
    return fl_result_type(operands, 2);
}

/* One operand broadcast to the result's shape, or a number that stands for all elements. */
template <class T> class Side {
  public:
    Side(const fl_value &v, int dtype, const fl_tensor *out) : step_(v.tag == FL_TENSOR) {
        if (step_)
            new (memory_) RawIn(v.t, dtype, out->ndim, out->shape);
        else
            number_ = dtype == FL_I64 ? (T)fl_as_int(v) : (T)fl_as_double(v);
    }
    ~Side() {
        if (step_)
            in()->~RawIn();
    }
    bool ok() { return !step_ || in()->ok(); }
    T at(int64_t i) { return step_ ? ((const T *)in()->data())[i] : number_; }
    Side(const Side &) = delete;
  private:
    RawIn *in() { return (RawIn *)memory_; }
    bool step_;
    T number_;
    alignas(RawIn) char memory_[sizeof(RawIn)];
};

template <class T, class Function>
int run(const fl_value *in, fl_tensor *out, int dtype, const Function &function) {
    Side<T> a(in[0], dtype, out), b(in[1], dtype, out);
    RawOut result(out, dtype);
    if (!a.ok() || !b.ok() || !result.ok())
        return -1;
    T *y = (T *)result.data();
    fl_parallel(out->numel, FL_GRAIN / 64, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            y[i] = function(a.at(i), b.at(i));
    });
    result.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_special_pair(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    int dtype = common_dtype(in);
    if (fl_is_complex(dtype))
        return fl_error(FL_NOT_IMPLEMENTED, "%s: not implemented for dtype %s; complex numbers "
                        "have no such operation; use x.real, x.imag or x.abs()", fl_op_title(op),
                        fl_dtype_name(dtype));
    return infer(op, in, fl_is_float(dtype) ? dtype : fl_default_dtype, outs);
}

extern "C" int fl_infer_integer_pair(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    int dtype = common_dtype(in);
    if (!fl_is_int(dtype) || dtype == FL_U64)      /* the sign would count */
        return fl_error(FL_NOT_IMPLEMENTED, "%s: not implemented for dtype %s; self is %s and "
                        "other %s; convert with x.long() first", fl_op_title(op), fl_dtype_name(dtype),
                        operand_text(in[0]), operand_text(in[1]));
    return infer(op, in, dtype, outs);
}

/* Sums end where the result's dtype does not see their terms. */
static int run_gamma(const fl_value *in, fl_tensor *out,
                     double (*function)(double, double, double)) {
    double eps = out->dtype == FL_F64 ? 1.1e-16 : 1e-10;
    return run<double>(in, out, FL_F64, [=](double a, double x) { return function(a, x, eps); });
}

extern "C" int fl_run_igamma(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    return run_gamma(in, outs[0], fl_igamma);
}

extern "C" int fl_run_igammac(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    return run_gamma(in, outs[0], fl_igammac);
}

#define FL_PAIR(name, T, dtype, function)                                                        \
    extern "C" int fl_run_##name(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) { \
        return run<T>(in, outs[0], dtype, function);                                             \
    }
FL_PAIR(zeta, double, FL_F64, fl_zeta)
FL_PAIR(gcd, int64_t, FL_I64, fl_integers::gcd)
FL_PAIR(lcm, int64_t, FL_I64, fl_integers::lcm)
FL_PAIR(chebyshev_polynomial_t, double, FL_F64, fl_chebyshev_t)
FL_PAIR(chebyshev_polynomial_u, double, FL_F64, fl_chebyshev_u)
FL_PAIR(chebyshev_polynomial_v, double, FL_F64, fl_chebyshev_v)
FL_PAIR(chebyshev_polynomial_w, double, FL_F64, fl_chebyshev_w)
FL_PAIR(shifted_chebyshev_polynomial_t, double, FL_F64, fl_shifted_chebyshev_t)
FL_PAIR(shifted_chebyshev_polynomial_u, double, FL_F64, fl_shifted_chebyshev_u)
FL_PAIR(shifted_chebyshev_polynomial_v, double, FL_F64, fl_shifted_chebyshev_v)
FL_PAIR(shifted_chebyshev_polynomial_w, double, FL_F64, fl_shifted_chebyshev_w)
FL_PAIR(hermite_polynomial_h, double, FL_F64, fl_hermite_h)
FL_PAIR(hermite_polynomial_he, double, FL_F64, fl_hermite_he)
FL_PAIR(laguerre_polynomial_l, double, FL_F64, fl_laguerre_l)
FL_PAIR(legendre_polynomial_p, double, FL_F64, fl_legendre_p)
