/* Group normalization: the channels of an instance in groups, each with its own mean and variance.
 *
 * A group is contiguous memory, [channels of the group, inner]; each channel has its own weight. */
#include "statistics/kernels/moments.h"
#include "norm/kernels/norm.h"
#include "norm/channels.h"
#include "common/raw.h"
#include <math.h>

namespace {

const fl_norm_kernels *const kernels = FL_PICK(fl_norm_kernels);
const fl_moments_kernels *const moments = FL_PICK(fl_moments_kernels);
const int64_t PIECE_ELEMENTS = 8192;     /* elements that are summed at once */

struct Groups {
    int64_t n, groups, channels, inner;     /* channels of one group */
    int kind;
    int64_t count() const { return n * groups; }
    int64_t size() const { return channels * inner; }
    int64_t bytes() const { return fl_kind_size[kind]; }
};

Groups groups_of(const fl_tensor *t, int64_t groups) {
    Groups g = {t->shape[0], groups, t->shape[1] / groups, 1, fl_kind_of_dtype[t->dtype]};
    for (int d = 2; d < t->ndim; d++)
        g.inner *= t->shape[d];
    return g;
}

int check_groups(const fl_op *op, const fl_tensor *input, int64_t groups) {
    if (input->ndim < 2)
        return fl_error(FL_RUNTIME_ERROR, "group_norm(): Expected at least 2 dimensions for input "
                        "tensor, [batch, channels, ...], but got shape %s",
                        fl_shape_text(input->shape, input->ndim));
    if (groups < 1 || input->shape[1] % groups)
        return fl_error(FL_RUNTIME_ERROR, "group_norm(): Expected number of channels in input to "
                        "be divisible by num_groups, but got input of shape %s and num_groups=%lld",
                        fl_shape_text(input->shape, input->ndim), (long long)groups);
    return fl_expect_dtype(op, "input", input, fl_floating, "floating point");
}

void row_moments(const Groups &g, const char *x, double *mean, double *m2) {
    *mean = *m2 = 0;
    for (int64_t at = 0; at < g.size(); at += PIECE_ELEMENTS) {
        int64_t n = g.size() - at < PIECE_ELEMENTS ? g.size() - at : PIECE_ELEMENTS;
        double part_mean, part_m2;
        moments->row[g.kind](x + at * g.bytes(), n, &part_mean, &part_m2);
        fl_join_moments(at, mean, m2, n, part_mean, part_m2);
    }
}

/* Sums of g and of g * (x - mean) over one channel. */
void channel_sums(const Groups &s, const char *g, const char *x, double mean, double *sum_g,
                  double *sum_gx) {
    *sum_g = *sum_gx = 0;
    for (int64_t at = 0; at < s.inner; at += PIECE_ELEMENTS) {
        int64_t n = s.inner - at < PIECE_ELEMENTS ? s.inner - at : PIECE_ELEMENTS;
        int64_t skip = at * s.bytes();
        double part_g, part_gx;
        kernels->sums[s.kind](g + skip, x + skip, n, mean, &part_g, &part_gx);
        *sum_g += part_g;
        *sum_gx += part_gx;
    }
}

}  // namespace

extern "C" int fl_infer_native_group_norm(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    const fl_tensor *input = in[0].t;
    if (fl_same_device(op, in, n) < 0 || check_groups(op, input, in[3].i) < 0 ||
        fl_check_channels(op, "weight", in[1], input->shape[1]) < 0 ||
        fl_check_channels(op, "bias", in[2], input->shape[1]) < 0)
        return -1;
    fl_spec_like(&outs[0], input);
    fl_spec_in_format(&outs[0], fl_suggested_format(input));
    int64_t shape[2] = {input->shape[0], in[3].i};
    int64_t count;
    if (!fl_count_elements(2, shape, &count))
        return fl_count_error("group_norm", 2, shape);
    fl_spec_set(&outs[1], fl_dtype_of_kind[fl_kind_of_dtype[input->dtype]], fl_device_code(input),
                2, shape);
    outs[2] = outs[1];
    return 0;
}

extern "C" int fl_run_native_group_norm(const fl_op *, const fl_value *in, int,
                                        fl_tensor *const *outs) {
    Groups s = groups_of(in[0].t, in[3].i);
    double eps = fl_as_double(in[4]);
    In x(in[0].t, s.kind);
    OptionalIn weight(in[1], FL_K_F64), bias(in[2], FL_K_F64);
    Out y(outs[0], s.kind), mean(outs[1], FL_K_F64), rstd(outs[2], FL_K_F64);
    if (!x.ok() || !weight.ok() || !bias.ok() || !y.ok() || !mean.ok() || !rstd.ok())
        return -1;
    const double *w = weight.as<double>(), *b = bias.as<double>();
    fl_parallel(s.count(), fl_row_grain(s.size()), [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; i++) {
            int64_t start = i * s.size() * s.bytes(), channel = i % s.groups * s.channels;
            double m, m2;
            row_moments(s, x.as<char>() + start, &m, &m2);
            double r = 1 / sqrt((s.size() ? m2 / (double)s.size() : 0) + eps);
            mean.as<double>()[i] = m;
            rstd.as<double>()[i] = r;
            for (int64_t c = 0; c < s.channels; c++) {
                int64_t at = start + c * s.inner * s.bytes();
                double scale = w ? r * w[channel + c] : r;
                kernels->affine[s.kind](x.as<char>() + at, y.as<char>() + at, s.inner, scale,
                                        (b ? b[channel + c] : 0) - m * scale);
            }
        }
    });
    y.commit();
    mean.commit();
    rstd.commit();
    return 0;
}

extern "C" int fl_infer_group_norm_grad(const fl_op *op, const fl_value *in, int n,
                                        fl_spec *outs) {
    const fl_tensor *grad = in[0].t, *input = in[1].t;
    if (fl_same_device(op, in, n) < 0 || check_groups(op, input, in[5].i) < 0 ||
        fl_expect_same_shape(op, "grad", grad, "input", input) < 0 ||
        fl_check_channels(op, "weight", in[2], input->shape[1]) < 0)
        return -1;
    int64_t shape[2] = {input->shape[0], in[5].i};
    if (fl_expect_shape(op, "mean", in[3].t, 2, shape) < 0 ||
        fl_expect_shape(op, "rstd", in[4].t, 2, shape) < 0)
        return -1;
    fl_spec_channel_grads(outs, input, fl_t(in[2]));
    return 0;
}

/* Sums over each channel of each instance first; the parameters' gradients are sums of these over
 * the instances, in order, and each group's input gradient is a line in g and x. */
extern "C" int fl_run_group_norm_grad(const fl_op *, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    Groups s = groups_of(in[1].t, in[5].i);
    int64_t all = s.groups * s.channels, lines = s.n * all;
    In g(in[0].t, s.kind), x(in[1].t, s.kind), mean(in[3].t, FL_K_F64), rstd(in[4].t, FL_K_F64);
    OptionalIn weight(in[2], FL_K_F64);
    Out dx(outs[0], s.kind), dw(outs[1], FL_K_F64), db(outs[2], FL_K_F64);
    Scratch room(fl_bytes(lines, 16));
    if (!g.ok() || !x.ok() || !mean.ok() || !rstd.ok() || !weight.ok() || !dx.ok() || !dw.ok() ||
        !db.ok() || !room.ok())
        return -1;
    const double *w = weight.as<double>(), *means = mean.as<double>(), *rstds = rstd.as<double>();
    double *sum_g = room.as<double>(), *sum_gx = sum_g + lines;
    fl_parallel(s.count(), fl_row_grain(s.size()), [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; i++) {
            double m = means[i], r = rstds[i], inner_g = 0, inner_gx = 0;
            int64_t line = i * s.channels, channel = i % s.groups * s.channels;
            int64_t step = s.inner * s.bytes();
            for (int64_t c = 0; c < s.channels; c++) {
                int64_t at = (line + c) * step;
                channel_sums(s, g.as<char>() + at, x.as<char>() + at, m, &sum_g[line + c],
                             &sum_gx[line + c]);
                double factor = w ? w[channel + c] : 1;
                inner_g += factor * sum_g[line + c];
                inner_gx += factor * sum_gx[line + c];
            }
            double size = s.size() ? (double)s.size() : 1;
            double b = -r * r * r * inner_gx / size, shift = -r * inner_g / size;
            for (int64_t c = 0; c < s.channels; c++) {
                int64_t at = (line + c) * step;
                kernels->dx[s.kind](g.as<char>() + at, x.as<char>() + at, dx.as<char>() + at,
                                    s.inner, m, w ? w[channel + c] * r : r, b, shift);
            }
        }
    });
    for (int64_t c = 0; c < all; c++) {
        double to_w = 0, to_b = 0;
        for (int64_t i = 0; i < s.n; i++) {
            to_w += sum_gx[i * all + c] * rstds[i * s.groups + c / s.channels];
            to_b += sum_g[i * all + c];
        }
        dw.as<double>()[c] = to_w;
        db.as<double>()[c] = to_b;
    }
    dx.commit();
    dw.commit();
    db.commit();
    return 0;
}
