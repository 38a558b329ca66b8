/* softmax and log_softmax along a dimension, and their gradients. */
#include "reduce/kernels/softmax.h"
#include "common/args.h"
#include "common/half_rows.h"
#include "runtime/even.h"

namespace {

const fl_softmax_kernels *const kernels = FL_PICK(fl_softmax_kernels);

int infer_softmax(const fl_op *op, const fl_value *in, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int dim;
    int dtype = in[2].tag == FL_DTYPE ? (int)in[2].i : self->dtype;
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    if (!fl_is_float(dtype))
        return fl_error(FL_NOT_IMPLEMENTED, "%s: not defined for dtype %s (input %s): "
                        "probabilities need a floating point dtype; write x.float() first, or "
                        "pass dtype=float32", fl_op_title(op), fl_dtype_name(dtype),
                        fl_tensor_text(self));
    fl_spec_like(outs, self);
    outs->dtype = (uint8_t)dtype;
    return 0;
}

int infer_grad(const fl_op *op, const fl_value *in, fl_spec *outs) {
    const fl_tensor *grad = in[0].t, *result = in[1].t;
    int dim;
    if (fl_same_device(op, in, 2) < 0 ||
        fl_expect_same_shape(op, "grad", grad, "result", result) < 0 ||
        fl_expect_dtype(op, "result", result, fl_floating, "floating point") < 0 ||
        fl_wrap_dim(op, in[2].i, result->ndim, &dim) < 0)
        return -1;
    fl_spec_like(outs, result);
    return 0;
}

/* Rows per piece of parallel work. */
int64_t row_grain(const fl_middle &m) { return fl_even_grain(m.outer, fl_row_grain(m.n), 1); }

/* Columns per piece of parallel work. */
int64_t strip_of(int64_t n) {
    int64_t strip = FL_GRAIN / (n > 0 ? n : 1) / 64 * 64;
    return strip < 64 ? 64 : strip;
}

/* Call body(offset, width) for every strip of columns, in parallel. */
template <class Body> void each_strip(const fl_middle &m, const Body &body) {
    int64_t strip = strip_of(m.n), strips = fl_chunk_count(m.inner, strip);
    int64_t columns = m.inner < strip ? m.inner : strip;
    fl_parallel(m.outer * strips, fl_row_grain(m.n * columns), [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            int64_t column = t % strips * strip;
            int64_t width = m.inner - column < strip ? m.inner - column : strip;
            body(t / strips * m.n * m.inner + column, width);
        }
    });
}

int run_softmax(const fl_op *op, const fl_value *in, fl_tensor *result, int logs) {
    const fl_tensor *self = in[0].t;
    int kind = fl_kind_of_dtype[in[2].tag == FL_DTYPE ? in[2].i : self->dtype];
    int dim;
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_middle m = fl_middle_of(self, dim);
    if (m.inner == 1 && self->numel && fl_half_rows(self, result, m.n)) {
        fl_each_half_rows(self, result, m.outer, m.n, [&](float *x, int64_t, int64_t count) {
            kernels->rows[logs][FL_K_F32](x, x, count, m.n);
        });
        return 0;
    }
    In x(self, kind);
    Out y(result, kind);
    if (!x.ok() || !y.ok())
        return -1;
    if (self->numel == 0)
        return 0;
    int64_t size = fl_kind_size[kind];
    const char *from = x.as<char>();
    char *to = y.as<char>();
    if (m.inner == 1)
        fl_parallel(m.outer, row_grain(m), [&](int64_t b, int64_t e) {
            int64_t at = b * m.n * size;
            kernels->rows[logs][kind](from + at, to + at, e - b, m.n);
        });
    else
        each_strip(m, [&](int64_t at, int64_t width) {
            kernels->columns[logs][kind](from + at * size, to + at * size, m.n, m.inner, width);
        });
    y.commit();
    return 0;
}

int run_grad(const fl_op *op, const fl_value *in, fl_tensor *out, int logs) {
    const fl_tensor *result = in[1].t;
    int kind = fl_kind_of_dtype[result->dtype];
    int dim;
    if (fl_wrap_dim(op, in[2].i, result->ndim, &dim) < 0)
        return -1;
    fl_middle m = fl_middle_of(result, dim);
    if (m.inner == 1 && result->numel && fl_half_rows(result, out, m.n) &&
        fl_half_rows(in[0].t, out, m.n)) {
        auto rows = kernels->grad_rows[logs][FL_K_F32];
        fl_each_half_pair(in[0].t, result, out, m.outer, m.n,
                          [&](float *g, const float *y, int64_t, int64_t count) {
                              rows(g, y, g, count, m.n);
                          });
        return 0;
    }
    In grad(in[0].t, kind), value(result, kind);
    Out target(out, kind);
    if (!grad.ok() || !value.ok() || !target.ok())
        return -1;
    if (result->numel == 0)
        return 0;
    int64_t size = fl_kind_size[kind];
    const char *g = grad.as<char>(), *y = value.as<char>();
    char *to = target.as<char>();
    if (m.inner == 1)
        fl_parallel(m.outer, row_grain(m), [&](int64_t b, int64_t e) {
            int64_t at = b * m.n * size;
            kernels->grad_rows[logs][kind](g + at, y + at, to + at, e - b, m.n);
        });
    else
        each_strip(m, [&](int64_t at, int64_t width) {
            kernels->grad_columns[logs][kind](g + at * size, y + at * size, to + at * size, m.n,
                                              m.inner, width);
        });
    target.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_log_softmax_at(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim;
    if (fl_same_device(op, in, n) < 0 ||
        fl_expect_dtype(op, "self", self, fl_floating, "floating point") < 0 ||
        fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0 || fl_expect_index(op, "index", index) < 0)
        return -1;
    if (self->ndim == 0 || dim != self->ndim - 1)
        return fl_error(FL_RUNTIME_ERROR, "log_softmax_at(): dim is %d of an input of shape %s; it "
                        "must be the last", dim, fl_shape_text(self->shape, self->ndim));
    if (fl_expect_shape(op, "index", index, dim, self->shape) < 0)
        return -1;
    fl_spec_like(outs, self);
    outs->shape[dim] = 1;
    return 0;
}

extern "C" int fl_run_log_softmax_at(const fl_op *, const fl_value *in, int,
                                     fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int kind = fl_kind_of_dtype[self->dtype];
    int64_t n = self->shape[self->ndim - 1], size = fl_kind_size[kind];
    In x(self, kind), index(in[2].t, FL_K_I64);
    Out y(outs[0], kind);
    if (!x.ok() || !index.ok() || !y.ok())
        return -1;
    if (n > 0)
        fl_parallel(outs[0]->numel, fl_row_grain(n), [&](int64_t b, int64_t e) {
            kernels->log_softmax_at[kind](x.as<char>() + b * n * size, index.as<int64_t>() + b,
                                          y.as<char>() + b * size, e - b, n);
        });
    else
        memset(y.as<char>(), 0, (size_t)(outs[0]->numel * size));
    y.commit();
    return 0;
}

#define SOFTMAX(name, logs)                                                                      \
    extern "C" int fl_infer_##name(const fl_op *op, const fl_value *in, int, fl_spec *outs) {    \
        return infer_softmax(op, in, outs);                                                      \
    }                                                                                            \
    extern "C" int fl_run_##name(const fl_op *op, const fl_value *in, int,                       \
                                 fl_tensor *const *outs) {                                       \
        return run_softmax(op, in, outs[0], logs);                                               \
    }                                                                                            \
    extern "C" int fl_infer_##name##_grad(const fl_op *op, const fl_value *in, int,              \
                                          fl_spec *outs) {                                       \
        return infer_grad(op, in, outs);                                                         \
    }                                                                                            \
    extern "C" int fl_run_##name##_grad(const fl_op *op, const fl_value *in, int,                \
                                        fl_tensor *const *outs) {                                \
        return run_grad(op, in, outs[0], logs);                                                  \
    }
SOFTMAX(softmax, 0)
SOFTMAX(log_softmax, 1)
