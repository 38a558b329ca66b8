/* Cross entropy of class numbers as one operator, whose gradient reads the scores again instead of
 * keeping their log-probabilities. Devices call it; on the CPU log_softmax and nll_loss are called,
 * which compiled calls make one pass of, and this is what devices are compared with. */
#include "loss/nll.h"
#include "reduce/kernels/softmax.h"
#include "common/args.h"
#include "common/raw.h"

#include <cmath>

namespace {

const fl_softmax_kernels *const kernels = FL_PICK(fl_softmax_kernels);

int classes_dim(const fl_tensor *self) { return self->ndim > 1 ? 1 : 0; }

/* A row's greatest score and the logarithm of what all are together beside it. */
struct Norm {
    double highest, log_total;
    double log_probability(double x) const { return x - highest - log_total; }
};

template <class T> Norm norm_of(const T *x, int64_t n) {
    Norm found = {-INFINITY, 0};
    for (int64_t k = 0; k < n && found.highest == found.highest; k++)
        found.highest = x[k] > found.highest || x[k] != x[k] ? (double)x[k] : found.highest;
    double shift = 0, total = 0;
    kernels->lse[sizeof(T) == 8](x, n, &shift, &total);
    found.log_total = std::isinf(found.highest) && found.highest > 0 ? NAN : std::log(total);
    return found;
}

/* What a call says of its rows. */
template <class T> struct Classes {
    const T *weight;
    int64_t count, ignored;
    double smoothing;

    double weight_of(int64_t k) const { return weight ? (double)weight[k] : 1; }
    double all() const {
        double sum = 0;
        for (int64_t k = 0; k < count; k++)
            sum += weight_of(k);
        return sum;
    }
    double loss(const T *x, int64_t target, const Norm &norm) const {
        double own = -weight_of(target) * norm.log_probability((double)x[target]), sum = 0;
        if (smoothing == 0)
            return own;
        for (int64_t k = 0; k < count; k++)
            sum -= weight_of(k) * norm.log_probability((double)x[k]);
        return own * (1 - smoothing) + sum * (smoothing / (double)count);
    }
    void gradient(const T *x, int64_t target, const Norm &norm, double slope, double sum,
                  T *to) const {
        const bool counts = target != ignored;
        const double own = counts ? slope * (1 - smoothing) * weight_of(target) : 0,
                     each = counts && smoothing != 0 ? slope * (smoothing / (double)count) : 0,
                     both = own + (each != 0 ? each * sum : 0);
        for (int64_t k = 0; k < count; k++) {
            double v = both * std::exp(norm.log_probability((double)x[k]));
            to[k] = (T)(v - (each != 0 ? each * weight_of(k) : 0) - (k == target ? own : 0));
        }
    }
};

template <class T> struct Losses {
    T *result, *total, *highest, *log_total;
};

template <class T>
void forward(const T *x, const int64_t *target, int64_t rows, const Classes<T> &classes,
             int64_t reduction, const Losses<T> &to) {
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < rows; i++) {
        const T *row = x + i * classes.count;
        const Norm norm = norm_of(row, classes.count);
        const bool counts = target[i] != classes.ignored;
        const double loss = counts ? classes.loss(row, target[i], norm) : 0;
        weights += counts ? classes.weight_of(target[i]) : 0;
        sum += loss;
        if (reduction == FL_LOSS_NONE)
            to.result[i] = (T)loss;
        to.highest[i] = (T)norm.highest;
        to.log_total[i] = (T)norm.log_total;
    }
    *to.total = (T)weights;
    if (reduction != FL_LOSS_NONE)
        *to.result = (T)(reduction == FL_LOSS_MEAN ? sum / weights : sum);
}

template <class T> int run(const fl_value *in, fl_tensor *const *outs, int kind) {
    const fl_tensor *self = in[0].t;
    LinesIn x(self, classes_dim(self), kind);
    In target(in[1].t, FL_K_I64);
    OptionalIn weight(in[2], kind);
    Out result(outs[0], kind), total(outs[1], kind), highest(outs[2], kind), logs(outs[3], kind);
    Out *const all[] = {&result, &total, &highest, &logs};
    if (!x.ok() || !target.ok() || !weight.ok())
        return -1;
    for (Out *out : all)
        if (!out->ok())
            return -1;
    if (fl_check_classes(self, target.as<int64_t>(), in[4].i) < 0)
        return -1;
    const Classes<T> classes = {weight.as<T>(), self->shape[classes_dim(self)], in[4].i,
                                fl_as_double(in[5])};
    forward<T>(x.as<T>(), target.as<int64_t>(), in[1].t->numel, classes, in[3].i,
               {result.as<T>(), total.as<T>(), highest.as<T>(), logs.as<T>()});
    for (Out *out : all)
        out->commit();
    return 0;
}

/* (self, grad, target, weight, reduction, ignore_index, label_smoothing, total_weight, highest,
 * log_total) */
template <class T> int run_gradient(const fl_value *in, fl_tensor *out, int kind) {
    const fl_tensor *self = in[0].t;
    LinesIn x(self, classes_dim(self), kind);
    In grad(in[1].t, kind), target(in[2].t, FL_K_I64), total(in[7].t, kind), highest(in[8].t, kind),
        logs(in[9].t, kind);
    OptionalIn weight(in[3], kind);
    LinesOut to(out, classes_dim(self), kind);
    if (!x.ok() || !grad.ok() || !target.ok() || !total.ok() || !highest.ok() || !logs.ok()
        || !weight.ok() || !to.ok())
        return -1;
    if (fl_check_classes(self, target.as<int64_t>(), in[5].i) < 0)
        return -1;
    const Classes<T> classes = {weight.as<T>(), self->shape[classes_dim(self)], in[5].i,
                                fl_as_double(in[6])};
    const double sum = classes.all(), scale = in[4].i == FL_LOSS_MEAN ? *total.as<T>() : 1;
    for (int64_t i = 0; i < in[2].t->numel; i++) {
        const int64_t at = i * classes.count;
        const double slope = (double)grad.as<T>()[in[4].i == FL_LOSS_NONE ? i : 0] / scale;
        classes.gradient(x.as<T>() + at, target.as<int64_t>()[i],
                         {(double)highest.as<T>()[i], (double)logs.as<T>()[i]}, slope, sum,
                         to.as<T>() + at);
    }
    to.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_cross_entropy_rows(const fl_op *op, const fl_value *in, int n,
                                           fl_spec *outs) {
    const fl_tensor *self = in[0].t, *target = in[1].t;
    if (fl_same_device(op, in, n) < 0 ||
        fl_expect_dtype(op, "input", self, fl_floating, "floating point") < 0 ||
        fl_expect_classes(op, self, target, in[2]) < 0)
        return -1;
    const int device = fl_device_code(self), wide = fl_dtype_of_kind[fl_kind_of_dtype[self->dtype]];
    fl_spec_set(&outs[0], self->dtype, device, in[3].i == FL_LOSS_NONE ? target->ndim : 0,
                target->shape);
    fl_spec_set(&outs[1], wide, device, 0, nullptr);
    fl_spec_set(&outs[2], wide, device, target->ndim, target->shape);
    fl_spec_set(&outs[3], wide, device, target->ndim, target->shape);
    return 0;
}

extern "C" int fl_run_cross_entropy_rows(const fl_op *, const fl_value *in, int,
                                         fl_tensor *const *outs) {
    const int kind = fl_kind_of_dtype[in[0].t->dtype];
    return kind == FL_K_F32 ? run<float>(in, outs, kind) : run<double>(in, outs, kind);
}

extern "C" int fl_infer_cross_entropy_grad(const fl_op *op, const fl_value *in, int n,
                                           fl_spec *outs) {
    const fl_tensor *self = in[0].t, *target = in[2].t;
    if (fl_same_device(op, in, n) < 0 ||
        fl_expect_dtype(op, "self", self, fl_floating, "floating point") < 0 ||
        fl_expect_classes(op, self, target, in[3]) < 0 ||
        fl_expect_numel(op, "total_weight", in[7].t, 1) < 0 ||
        fl_expect_same_shape(op, "highest", in[8].t, "target", target) < 0 ||
        fl_expect_same_shape(op, "log_total", in[9].t, "target", target) < 0)
        return -1;
    if (in[4].i == FL_LOSS_NONE
            ? fl_expect_same_shape(op, "grad", in[1].t, "target", target) < 0
            : fl_expect_numel(op, "grad", in[1].t, 1) < 0)
        return -1;
    fl_spec_like(outs, self);
    return 0;
}

extern "C" int fl_run_cross_entropy_grad(const fl_op *, const fl_value *in, int,
                                         fl_tensor *const *outs) {
    const int kind = fl_kind_of_dtype[in[0].t->dtype];
    return kind == FL_K_F32 ? run_gradient<float>(in, outs[0], kind)
                            : run_gradient<double>(in, outs[0], kind);
}
