/* Batch normalization: every channel has its own mean and variance over all else.
 *
 * Outputs `mean` and `rstd` are those used: of the batch when training, else the running ones. */
#include "statistics/kernels/moments.h"
#include "norm/batch_norm.h"
#include <math.h>
#include <optional>

namespace {

const fl_norm_kernels *const kernels = FL_PICK(fl_norm_kernels);
const fl_moments_kernels *const moments = FL_PICK(fl_moments_kernels);

/* mean and m2 of every channel by columns. */
int column_moments(const fl_batch &b, const char *x, double *mean, double *m2) {
    Scratch room((size_t)b.width() * 16);
    if (!room.ok())
        return -1;
    double *means = room.as<double>(), *m2s = means + b.width();
    fl_batch_strips(b, [&](int64_t j, int64_t width) {
        double sums[FL_BATCH_STRIP];
        for (int64_t i = 0; i < b.n; i += FL_BATCH_BLOCK) {
            int64_t n = b.n - i < FL_BATCH_BLOCK ? b.n - i : FL_BATCH_BLOCK;
            moments->columns[b.kind](x + (i * b.width() + j) * b.size(), n, b.width(), width, i,
                                     means + j, m2s + j, sums);
        }
    });
    for (int64_t c = 0; c < b.channels; c++) {
        mean[c] = m2[c] = 0;
        for (int64_t k = 0; k < b.inner; k++)
            fl_join_moments(k * b.n, &mean[c], &m2[c], b.n, means[c * b.inner + k],
                            m2s[c * b.inner + k]);
    }
    return 0;
}

/* The same for planes: each gives a pair, pairs are joined in order. */
int plane_moments(const fl_batch &b, const char *x, double *mean, double *m2) {
    Scratch parts((size_t)(b.n * b.channels) * 16);
    if (!parts.ok())
        return -1;
    double *pair = parts.as<double>();
    memset(pair, 0, (size_t)(b.n * b.channels) * 16);
    fl_batch_planes(b, [&](int64_t t, int64_t at, int64_t n) {
        double part_mean, part_m2;
        moments->row[b.kind](x + (t * b.inner + at) * b.size(), n, &part_mean, &part_m2);
        fl_join_moments(at, pair + 2 * t, pair + 2 * t + 1, n, part_mean, part_m2);
    });
    for (int64_t c = 0; c < b.channels; c++) {
        mean[c] = m2[c] = 0;
        for (int64_t i = 0; i < b.n; i++) {
            const double *p = pair + 2 * (i * b.channels + c);
            fl_join_moments(i * b.inner, &mean[c], &m2[c], b.inner, p[0], p[1]);
        }
    }
    return 0;
}

/* running = (1 - momentum) * running + momentum * now */
int update_running(const fl_batch &b, const fl_value &v, double momentum, const double *now,
                   double factor) {
    if (!fl_t(v))
        return 0;
    Out running(fl_t(v), FL_K_F64, true);
    if (!running.ok())
        return -1;
    double *r = running.as<double>();
    for (int64_t c = 0; c < b.channels; c++)
        r[c] = (1 - momentum) * r[c] + momentum * now[c] * factor;
    running.commit();
    return 0;
}

/* Mean and variance to normalize with; the running ones are updated when training. */
int statistics(const fl_batch &b, const fl_value *in, const char *x, double *mean, double *var) {
    if (!fl_value_true(in[5])) {
        if (fl_batch_widen(b, in[3], 0, mean) < 0)
            return -1;
        return fl_batch_widen(b, in[4], 1, var);
    }
    if (b.count() == 0) {  /* nothing was seen: the running ones stay */
        memset(mean, 0, (size_t)b.channels * 8);
        memset(var, 0, (size_t)b.channels * 8);
        return 0;
    }
    if ((b.by_columns() ? column_moments(b, x, mean, var) : plane_moments(b, x, mean, var)) < 0)
        return -1;
    double n = (double)b.count(), momentum = fl_as_double(in[6]);
    for (int64_t c = 0; c < b.channels; c++)
        var[c] /= n;
    if (update_running(b, in[3], momentum, mean, 1) < 0)
        return -1;
    return update_running(b, in[4], momentum, var, n / (n - 1));
}

int apply(const fl_batch &b, const char *x, char *y, const double *scale, const double *shift) {
    if (!b.by_columns()) {
        fl_parallel(b.n * b.channels, fl_row_grain(b.inner), [&](int64_t first, int64_t last) {
            for (int64_t t = first; t < last; t++) {
                int64_t at = t * b.inner * b.size(), c = t % b.channels;
                kernels->affine[b.kind](x + at, y + at, b.inner, scale[c], shift[c]);
            }
        });
        return 0;
    }
    Scratch room((size_t)(2 * b.width() * b.size()));
    if (!room.ok())
        return -1;
    char *scales = room.as<char>(), *shifts = scales + b.width() * b.size();
    fl_batch_spread(b, scale, scales);
    fl_batch_spread(b, shift, shifts);
    fl_parallel(b.n, fl_row_grain(b.width()), [&](int64_t first, int64_t last) {
        int64_t at = first * b.width() * b.size();
        kernels->affine_columns[b.kind](x + at, y + at, last - first, b.width(), scales, shifts);
    });
    return 0;
}

}  // namespace

fl_batch fl_batch_of(const fl_tensor *input) {
    fl_batch b = {input->shape[0], input->shape[1], 1, fl_kind_of_dtype[input->dtype]};
    for (int d = 2; d < input->ndim; d++)
        b.inner *= input->shape[d];
    return b;
}

/* Numbers of channels as numbers of columns, of the batch's kind. */
void fl_batch_spread(const fl_batch &b, const double *from, void *to) {
    for (int64_t j = 0; j < b.width(); j++) {
        if (b.kind == FL_K_F64)
            ((double *)to)[j] = from[j / b.inner];
        else
            ((float *)to)[j] = (float)from[j / b.inner];
    }
}

int fl_batch_widen(const fl_batch &b, const fl_value &v, double absent, double *to) {
    OptionalIn x(v, FL_K_F64);
    if (!x.ok())
        return -1;
    for (int64_t c = 0; c < b.channels; c++)
        to[c] = x.data() ? x.as<double>()[c] : absent;
    return 0;
}

int fl_batch_check_input(const fl_op *op, const fl_tensor *input) {
    if (input->ndim < 2)
        return fl_error(FL_VALUE_ERROR, "batch_norm(): expected an input of at least 2 dimensions, "
                        "[batch, channels, ...], got shape %s",
                        fl_shape_text(input->shape, input->ndim));
    return fl_expect_dtype(op, "input", input, fl_floating, "floating point");
}

/* The suggested format, or the one that the input happens to lie in. */
static const char *format_of(const fl_tensor *input) {
    const char *format = fl_suggested_format(input);
    const char *other = input->ndim == 4 ? "channels_last" : "channels_last_3d";
    bool lies_in_other = !format && !(input->flags & FL_CONTIGUOUS) && fl_has_format(input, other);
    return lies_in_other ? other : format;
}

extern "C" int fl_infer_native_batch_norm(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    static const char *const names[] = {"input", "weight", "bias", "running_mean", "running_var"};
    const fl_tensor *input = in[0].t;
    if (fl_same_device(op, in, n) < 0 || fl_batch_check_input(op, input) < 0)
        return -1;
    for (int i = 1; i < 5; i++)
        if (fl_check_channels(op, names[i], in[i], input->shape[1]) < 0)
            return -1;
    bool training = fl_value_true(in[5]);
    if (!training && (!fl_t(in[3]) || !fl_t(in[4])))
        return fl_error(FL_RUNTIME_ERROR, "batch_norm(): expected running_mean and running_var "
                        "when training=False; pass them, or training=True to use the batch's own");
    int64_t count = input->numel / (input->shape[1] ? input->shape[1] : 1);
    if (training && count == 1)
        return fl_error(FL_VALUE_ERROR, "batch_norm(): Expected more than 1 value per channel when "
                        "training, got input size %s", fl_shape_text(input->shape, input->ndim));
    if (input->numel == 0) {
        fl_spec_in_order_of(&outs[0], input);
    } else {
        fl_spec_like(&outs[0], input);
        fl_spec_in_format(&outs[0], format_of(input));
    }
    int dtype = fl_dtype_of_kind[fl_kind_of_dtype[input->dtype]];
    fl_spec_set(&outs[1], dtype, fl_device_code(input), 1, &input->shape[1]);
    outs[2] = outs[1];
    return 0;
}

/* Statistics, and by channel the factor and the summand of every element; `scale` and `shift` come
 * with the weight and the bias. */
static int find_affine(const fl_batch &b, const fl_value *in, const char *x, double *mean,
                       double *rstd, double *scale, double *shift) {
    Scratch room((size_t)b.channels * 8);
    double eps = fl_as_double(in[7]), *var = room.as<double>();
    if (!room.ok() || fl_batch_widen(b, in[1], 1, scale) < 0 ||
        fl_batch_widen(b, in[2], 0, shift) < 0 || statistics(b, in, x, mean, var) < 0)
        return -1;
    for (int64_t c = 0; c < b.channels; c++) {
        rstd[c] = 1 / sqrt(var[c] + eps);
        scale[c] *= rstd[c];
        shift[c] -= mean[c] * scale[c];
    }
    return 0;
}

extern "C" int fl_run_native_batch_norm(const fl_op *, const fl_value *in, int,
                                        fl_tensor *const *outs) {
    fl_batch b = fl_batch_of(in[0].t);
    In x(in[0].t, b.kind);
    Out y(outs[0], b.kind), mean(outs[1], FL_K_F64), rstd(outs[2], FL_K_F64);
    Scratch room((size_t)b.channels * 8 * 2);
    if (!x.ok() || !y.ok() || !mean.ok() || !rstd.ok() || !room.ok())
        return -1;
    double *scale = room.as<double>(), *shift = scale + b.channels;
    if (find_affine(b, in, x.as<char>(), mean.as<double>(), rstd.as<double>(), scale, shift) < 0 ||
        apply(b, x.as<char>(), y.as<char>(), scale, shift) < 0)
        return -1;
    y.commit();
    mean.commit();
    rstd.commit();
    return 0;
}

/* The input is not looked at unless training. */
int fl_batch_norm_affine(const fl_value *in, fl_tensor *const *outs, fl_tensor *scale,
                         fl_tensor *shift) {
    fl_batch b = fl_batch_of(in[0].t);
    std::optional<In> x;
    if (fl_value_true(in[5]))
        x.emplace(in[0].t, b.kind);
    Out mean(outs[1], FL_K_F64), rstd(outs[2], FL_K_F64);
    Out factor(scale, FL_K_F64), summand(shift, FL_K_F64);
    if ((x && !x->ok()) || !mean.ok() || !rstd.ok() || !factor.ok() || !summand.ok() ||
        find_affine(b, in, x ? x->as<char>() : nullptr, mean.as<double>(), rstd.as<double>(),
                    factor.as<double>(), summand.as<double>()) < 0)
        return -1;
    mean.commit();
    rstd.commit();
    factor.commit();
    summand.commit();
    return 0;
}
