/* Layer normalization over the last dimensions, and its gradients. Statistics are kept in float32
 * for half precision, else in the input's dtype. */
#include "reduce/kernels/reduce.h"
#include "norm/kernels/norm.h"
#include "common/args.h"
#include "common/half_rows.h"
#include "common/raw.h"
#include "runtime/even.h"

namespace {

const fl_norm_kernels *const kernels = FL_PICK(fl_norm_kernels);
const fl_reduce_kernels *const reduce_kernels = FL_PICK(fl_reduce_kernels);

struct Rows {
    int64_t count, n;
};

Rows rows_of(const fl_tensor *t, int64_t axes) {
    Rows r = {1, 1};
    for (int d = 0; d < t->ndim; d++)
        (d < t->ndim - axes ? r.count : r.n) *= t->shape[d];
    return r;
}

int check_parameter(const fl_op *op, const char *name, const fl_value &v, const fl_tensor *input,
                    int64_t axes) {
    const fl_tensor *t = fl_t(v);
    const int64_t *normalized = input->shape + input->ndim - axes;
    if (!t || (t->ndim == axes && !memcmp(t->shape, normalized, sizeof(int64_t) * (size_t)axes)))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "layer_norm(): expected '%s' to be of the normalized shape "
                    "%s, the last %lld dimension(s) of the input of shape %s; got %s", name,
                    fl_shape_text(normalized, (int)axes), (long long)axes,
                    fl_shape_text(input->shape, input->ndim), fl_shape_text(t->shape, t->ndim));
}

void statistics_spec(fl_spec *s, const fl_tensor *input, int64_t axes) {
    fl_spec_like(s, input);
    s->dtype = fl_dtype_of_kind[fl_kind_of_dtype[input->dtype]];
    for (int64_t d = input->ndim - axes; d < input->ndim; d++)
        s->shape[d] = 1;
}

}  // namespace

extern "C" int fl_infer_native_layer_norm(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    const fl_tensor *input = in[0].t;
    int64_t axes = in[1].i;
    if (axes < 1 || axes > input->ndim)
        return fl_error(FL_RUNTIME_ERROR, "layer_norm(): normalized_shape has %lld dimension(s), "
                        "but the input has shape %s; it must name the last dimensions of the input",
                        (long long)axes, fl_shape_text(input->shape, input->ndim));
    if (fl_same_device(op, in, n) < 0 ||
        fl_expect_dtype(op, "input", input, fl_floating, "floating point") < 0 ||
        check_parameter(op, "weight", in[2], input, axes) < 0 ||
        check_parameter(op, "bias", in[3], input, axes) < 0)
        return -1;
    fl_spec_like(&outs[0], input);
    statistics_spec(&outs[1], input, axes);
    statistics_spec(&outs[2], input, axes);
    return 0;
}

/* Rows of half precision, with parameters in float32. */
static int run_half(const fl_tensor *input, const Rows &r, double eps, const char *w,
                    const char *b, fl_tensor *const *outs) {
    Out mean(outs[1], FL_K_F32), rstd(outs[2], FL_K_F32);
    if (!mean.ok() || !rstd.ok())
        return -1;
    float *means = mean.as<float>(), *factors = rstd.as<float>();
    fl_each_half_rows(input, outs[0], r.count, r.n, [&](float *x, int64_t first, int64_t count) {
        for (int64_t i = 0; i < count; i++)
            kernels->layer_norm[FL_K_F32](x + i * r.n, w, b, x + i * r.n, r.n, eps,
                                          means + first + i, factors + first + i);
    });
    mean.commit();
    rstd.commit();
    return 0;
}

extern "C" int fl_run_native_layer_norm(const fl_op *, const fl_value *in, int,
                                        fl_tensor *const *outs) {
    const fl_tensor *input = in[0].t;
    int kind = fl_kind_of_dtype[input->dtype];
    int64_t size = fl_kind_size[kind];
    Rows r = rows_of(input, in[1].i);
    double eps = fl_as_double(in[4]);
    OptionalIn weight(in[2], kind), bias(in[3], kind);
    if (!weight.ok() || !bias.ok())
        return -1;
    if (fl_half_rows(input, outs[0], r.n))
        return run_half(input, r, eps, weight.data(), bias.data(), outs);
    In x(input, kind);
    Out y(outs[0], kind), mean(outs[1], kind), rstd(outs[2], kind);
    if (!x.ok() || !y.ok() || !mean.ok() || !rstd.ok())
        return -1;
    if (r.n == 0)
        return 0;
    const char *w = weight.data(), *b = bias.data();
    int64_t grain = fl_even_grain(r.count, fl_row_grain(r.n), 1);
    fl_parallel(r.count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            kernels->layer_norm[kind](x.as<char>() + i * r.n * size, w, b,
                                      y.as<char>() + i * r.n * size, r.n, eps,
                                      mean.as<char>() + i * size, rstd.as<char>() + i * size);
    });
    y.commit();
    mean.commit();
    rstd.commit();
    return 0;
}

extern "C" int fl_infer_layer_norm_grad(const fl_op *op, const fl_value *in, int n,
                                        fl_spec *outs) {
    const fl_tensor *grad = in[0].t, *input = in[1].t;
    int64_t axes = in[5].i;
    if (axes < 1 || axes > input->ndim)
        return fl_error(FL_RUNTIME_ERROR, "layer_norm_grad(): axes is %lld for an input of shape %s",
                        (long long)axes, fl_shape_text(input->shape, input->ndim));
    Rows r = rows_of(input, axes);
    if (fl_same_device(op, in, n) < 0 ||
        fl_expect_dtype(op, "input", input, fl_floating, "floating point") < 0 ||
        fl_expect_numel(op, "mean", in[2].t, r.count) < 0 ||
        fl_expect_numel(op, "rstd", in[3].t, r.count) < 0 ||
        fl_expect_same_shape(op, "grad", grad, "input", input) < 0 ||
        check_parameter(op, "weight", in[4], input, axes) < 0)
        return -1;
    const fl_tensor *weight = fl_t(in[4]);
    fl_spec_like(&outs[0], input);
    fl_spec_set(&outs[1], weight ? weight->dtype : input->dtype, fl_device_code(input), (int)axes,
                input->shape + input->ndim - axes);
    outs[2] = outs[1];
    return 0;
}

namespace {

/* What the gradient reads and writes; each chunk of `grain` rows sums its parameters' gradients on
 * its own. */
struct Grad {
    Rows r;
    int kind;
    int64_t grain, chunks, bytes;
    const char *w;
    const void *mean, *rstd;
    char *sums;

    void row(const char *g, const char *x, char *dx, int64_t i) const {
        char *part_w = sums + i / grain * bytes, *part_b = part_w + chunks * bytes;
        bool wide = kind == FL_K_F64;
        double m = wide ? ((const double *)mean)[i] : (double)((const float *)mean)[i];
        double s = wide ? ((const double *)rstd)[i] : (double)((const float *)rstd)[i];
        kernels->layer_norm_grad[kind](g, x, w, m, s, dx, part_w, part_b, r.n);
    }
};

int grad_rows(const Grad &j, const fl_tensor *grad, const fl_tensor *input, fl_tensor *out) {
    if (fl_half_rows(input, out, j.r.n) && fl_half_rows(grad, out, j.r.n)) {
        fl_each_half_pair(grad, input, out, j.r.count, j.r.n,
                          [&](float *g, const float *x, int64_t first, int64_t count) {
                              for (int64_t i = 0; i < count; i++)
                                  j.row((char *)(g + i * j.r.n), (const char *)(x + i * j.r.n),
                                        (char *)(g + i * j.r.n), first + i);
                          });
        return 0;
    }
    In g(grad, j.kind), x(input, j.kind);
    Out dx(out, j.kind);
    if (!g.ok() || !x.ok() || !dx.ok())
        return -1;
    fl_parallel(j.r.count, j.grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            j.row(g.as<char>() + i * j.bytes, x.as<char>() + i * j.bytes,
                  dx.as<char>() + i * j.bytes, i);
    });
    dx.commit();
    return 0;
}

}  // namespace

/* Chunks of rows are added in order. */
extern "C" int fl_run_layer_norm_grad(const fl_op *, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    const fl_tensor *input = in[1].t;
    int kind = fl_kind_of_dtype[input->dtype];
    Rows r = rows_of(input, in[5].i);
    int64_t grain = fl_row_grain(r.n), chunks = fl_chunk_count(r.count, grain);
    int64_t bytes = r.n * fl_kind_size[kind];
    In mean(in[2].t, kind), rstd(in[3].t, kind);
    OptionalIn weight(in[4], kind);
    Out dw(outs[1], kind), db(outs[2], kind);
    Scratch parts((size_t)(2 * chunks * bytes));
    if (!mean.ok() || !rstd.ok() || !weight.ok() || !dw.ok() || !db.ok() || !parts.ok())
        return -1;
    char *sums = parts.as<char>();
    if (chunks)
        memset(sums, 0, (size_t)(2 * chunks * bytes));
    Grad j = {r, kind, grain, chunks, bytes, weight.data(), mean.as<char>(), rstd.as<char>(),
              sums};
    if (grad_rows(j, in[0].t, input, outs[0]) < 0)
        return -1;
    fl_reduce_columns_fn sum = reduce_kernels->columns[FL_REDUCE_SUM][kind];
    sum(sums, chunks, r.n, r.n, dw.as<char>());
    sum(sums + chunks * bytes, chunks, r.n, r.n, db.as<char>());
    dw.commit();
    db.commit();
    return 0;
}
