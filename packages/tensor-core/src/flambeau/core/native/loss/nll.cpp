/* Negative log likelihood of class numbers: picks -weight[t] * x[t] from every row.
 *
 * The input is [rows, classes] or [rows, classes, inner]; a vector counts as one row. */
#include "loss/nll.h"
#include "common/args.h"
#include "common/raw.h"

namespace {

struct Rows {
    int64_t n, classes, inner;
    int64_t count() const { return n * inner; }
};

Rows rows_of(const fl_tensor *self) {
    Rows r = {1, self->shape[self->ndim > 1 ? 1 : 0], 1};
    if (self->ndim > 1)
        r.n = self->shape[0];
    for (int d = 2; d < self->ndim; d++)
        r.inner *= self->shape[d];
    return r;
}

int check_target(const fl_op *op, const fl_tensor *self, const fl_tensor *target) {
    if (self->ndim == 0)
        return fl_error(FL_VALUE_ERROR, "nll_loss(): the input needs a class dimension, got a 0-d "
                        "tensor");
    if (fl_expect_index(op, "target", target) < 0)
        return -1;
    int64_t shape[FL_MAX_DIMS];
    int nd = 0;
    for (int d = 0; d < self->ndim; d++)
        if (d != (self->ndim > 1 ? 1 : 0))
            shape[nd++] = self->shape[d];
    if (target->ndim == nd && !memcmp(target->shape, shape, sizeof(int64_t) * (size_t)nd))
        return 0;
    return fl_error(FL_VALUE_ERROR, "nll_loss(): for an input of shape %s (batch, classes, ...) "
                    "'target' must have shape %s, one class number each; got %s",
                    fl_shape_text(self->shape, self->ndim), fl_shape_text(shape, nd),
                    fl_shape_text(target->shape, target->ndim));
}

int check_weight(const fl_op *op, const fl_tensor *self, const fl_value &v) {
    int64_t classes = rows_of(self).classes;
    const fl_tensor *weight = fl_t(v);
    if (!weight)
        return 0;
    if (weight->dtype != self->dtype)
        return fl_error(FL_RUNTIME_ERROR, "nll_loss(): expected weight to have dtype %s, that of "
                        "the input, but got %s; write weight.to(input.dtype)",
                        fl_dtype_name(self->dtype), fl_dtype_name(weight->dtype));
    return fl_expect_shape(op, "weight", weight, 1, &classes);
}

int check_classes(const int64_t *target, const Rows &r, int64_t ignore) {
    for (int64_t i = 0; i < r.count(); i++)
        if (target[i] != ignore && (target[i] < 0 || target[i] >= r.classes))
            return fl_error(FL_INDEX_ERROR, "nll_loss(): Target %lld (element %lld) is out of "
                            "bounds: there are %lld classes, numbered from 0; ignore_index is %lld",
                            (long long)target[i], (long long)i, (long long)r.classes,
                            (long long)ignore);
    return 0;
}

struct Loss {
    Rows r;
    const int64_t *target;
    int64_t ignore;
    int reduction;
    int64_t columns;            /* of the input: as many as classes, or one that all share */
};

/* Call body(i, target, index in the input) for all targets, where -1 stands for those ignored. */
template <class Body> void each_target(const Loss &l, const Body &body) {
    const int64_t *target = l.target;
    for (int64_t n = 0, i = 0; n < l.r.n; n++)
        for (int64_t j = 0; j < l.r.inner; j++, i++) {
            int64_t t = target[i] == l.ignore ? -1 : target[i];
            body(i, t, (n * l.columns + (l.columns == 1 ? 0 : t)) * l.r.inner + j);
        }
}

/* Four sums side by side: one addition need not wait for the other. */
class Total {
  public:
    void add(int64_t i, double x) { part_[i & 3] += x; }
    double get() const { return (part_[0] + part_[1]) + (part_[2] + part_[3]); }
  private:
    double part_[4] = {0, 0, 0, 0};
};

template <class T>
void forward(const Loss &l, const void *xs, const void *ws, void *out, void *total) {
    const T *x = (const T *)xs, *w = (const T *)ws;
    Total loss, weights;
    int64_t counted = 0;
    each_target(l, [&](int64_t i, int64_t t, int64_t index) {
        T each = 0;
        if (t >= 0) {
            each = w ? -x[index] * w[t] : -x[index];
            counted++;
            if (w)
                weights.add(i, (double)w[t]);
        }
        if (l.reduction == FL_LOSS_NONE)
            ((T *)out)[i] = each;
        else
            loss.add(i, (double)each);
    });
    double sum = w ? weights.get() : (double)counted;
    *(T *)total = (T)sum;
    if (l.reduction != FL_LOSS_NONE)
        *(T *)out = (T)(l.reduction == FL_LOSS_MEAN ? loss.get() / sum : loss.get());
}

template <class T>
void backward(const Loss &l, const void *gs, const void *ws, double total, void *out) {
    const T *g = (const T *)gs, *w = (const T *)ws;
    T *dx = (T *)out;
    T scale = l.reduction == FL_LOSS_MEAN ? (T)(1 / total) : (T)1;
    each_target(l, [&](int64_t i, int64_t t, int64_t index) {
        if (t >= 0)
            dx[index] = -(l.reduction == FL_LOSS_NONE ? g[i] : g[0] * scale) * (w ? w[t] : (T)1);
    });
}

}  // namespace

int fl_expect_classes(const fl_op *op, const fl_tensor *self, const fl_tensor *target,
                      const fl_value &weight) {
    return check_target(op, self, target) < 0 ? -1 : check_weight(op, self, weight);
}

extern "C" int fl_infer_nll_loss_rows(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *target = in[1].t;
    if (fl_same_device(op, in, n) < 0 ||
        fl_expect_dtype(op, "input", self, fl_floating, "floating point") < 0 ||
        fl_expect_classes(op, self, target, in[2]) < 0)
        return -1;
    int nd = in[3].i == FL_LOSS_NONE ? target->ndim : 0;
    fl_spec_set(&outs[0], self->dtype, fl_device_code(self), nd, target->shape);
    /* Halves hold neither great sums of weights nor many rows. */
    fl_spec_set(&outs[1], fl_dtype_of_kind[fl_kind_of_dtype[self->dtype]], fl_device_code(self), 0,
                nullptr);
    return 0;
}

/* One column where all classes are the same memory. */
static fl_tensor first_column(const fl_tensor *self, int64_t *shape) {
    fl_tensor t;
    memcpy(&t, self, sizeof t);
    memcpy(shape, self->shape, sizeof(int64_t) * (size_t)self->ndim);
    if (self->ndim > 1 && self->strides[1] == 0 && self->numel) {
        t.numel /= shape[1];
        shape[1] = 1;
        t.flags &= ~(uint32_t)FL_CONTIGUOUS;
    }
    t.shape = shape;
    return t;
}

extern "C" int fl_run_nll_loss_rows(const fl_op *op, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int kind = fl_kind_of_dtype[self->dtype];
    int64_t shape[FL_MAX_DIMS];
    const fl_tensor input = first_column(self, shape);
    In x(&input, kind), target(in[1].t, FL_K_I64);
    OptionalIn weight(in[2], kind);
    Out out(outs[0], kind), total(outs[1], kind);
    if (!x.ok() || !target.ok() || !weight.ok() || !out.ok() || !total.ok())
        return -1;
    Loss l = {rows_of(self), target.as<int64_t>(), in[4].i, (int)in[3].i, rows_of(&input).classes};
    if (check_classes(l.target, l.r, l.ignore) < 0)
        return -1;
    if (kind == FL_K_F32)
        forward<float>(l, x.as<char>(), weight.data(), out.as<char>(), total.as<char>());
    else
        forward<double>(l, x.as<char>(), weight.data(), out.as<char>(), total.as<char>());
    out.commit();
    total.commit();
    return 0;
}

int fl_check_classes(const fl_tensor *self, const int64_t *target, int64_t ignore) {
    return check_classes(target, rows_of(self), ignore);
}

template <class T> static double weight_of(const Loss &l, const T *w) {
    Total weights;
    int64_t counted = 0;
    each_target(l, [&](int64_t i, int64_t t, int64_t) {
        counted += t >= 0;
        if (w && t >= 0)
            weights.add(i, (double)w[t]);
    });
    return w ? weights.get() : (double)counted;
}

int fl_count_classes(const fl_value *in, fl_tensor *total) {
    const fl_tensor *self = in[0].t;
    int kind = fl_kind_of_dtype[self->dtype];
    OptionalIn weight(in[2], kind);
    Out out(total, kind);
    if (!weight.ok() || !out.ok())
        return -1;
    Rows r = rows_of(self);
    Loss l = {r, (const int64_t *)in[1].t->data, in[4].i, FL_LOSS_SUM, r.classes};
    if (kind == FL_K_F32)
        *out.as<float>() = (float)weight_of<float>(l, (const float *)weight.data());
    else
        *out.as<double>() = weight_of<double>(l, (const double *)weight.data());
    out.commit();
    return 0;
}

extern "C" int fl_infer_nll_loss_grad(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[1].t;
    if (fl_same_device(op, in, n) < 0 || fl_expect_classes(op, self, in[2].t, in[3]) < 0)
        return -1;
    if (fl_expect_dtype(op, "self", self, fl_floating, "floating point") < 0 ||
        fl_expect_numel(op, "total_weight", in[6].t, 1) < 0)
        return -1;
    if (in[4].i == FL_LOSS_NONE ? fl_expect_same_shape(op, "grad", in[0].t, "target", in[2].t) < 0
                        : fl_expect_numel(op, "grad", in[0].t, 1) < 0)
        return -1;
    fl_spec_like(outs, self);
    return 0;
}

extern "C" int fl_run_nll_loss_grad(const fl_op *op, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    const fl_tensor *self = in[1].t;
    int kind = fl_kind_of_dtype[self->dtype];
    In grad(in[0].t, kind), target(in[2].t, FL_K_I64), total(in[6].t, FL_K_F64);
    OptionalIn weight(in[3], kind);
    Out out(outs[0], kind);
    if (!grad.ok() || !target.ok() || !total.ok() || !weight.ok() || !out.ok())
        return -1;
    Rows r = rows_of(self);
    Loss l = {r, target.as<int64_t>(), in[5].i, (int)in[4].i, r.classes};
    if (check_classes(l.target, l.r, l.ignore) < 0)
        return -1;
    memset(out.as<char>(), 0, (size_t)(self->numel * fl_kind_size[kind]));
    double sum = total.as<double>()[0];
    if (kind == FL_K_F32)
        backward<float>(l, grad.as<char>(), weight.data(), sum, out.as<char>());
    else
        backward<double>(l, grad.as<char>(), weight.data(), sum, out.as<char>());
    out.commit();
    return 0;
}
