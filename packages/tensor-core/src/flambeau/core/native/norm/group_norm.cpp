/* Group normalization: the channels of an instance in groups, each with its own mean and variance.
 *
 * A group is contiguous memory, [channels of the group, inner]; each channel has its own weight. */
#include "statistics/kernels/moments.h"
#include "norm/kernels/groups.h"
#include "norm/kernels/norm.h"
#include "norm/channels.h"
#include "common/raw.h"
#include <math.h>

namespace {

const fl_norm_kernels *const kernels = FL_PICK(fl_norm_kernels);
const fl_moments_kernels *const moments = FL_PICK(fl_moments_kernels);
const fl_group_kernels *const group_kernels = FL_PICK(fl_group_kernels);
const int64_t PIECE_ELEMENTS = 8192;     /* elements that are summed at once */
const int64_t MAX_SHORT_CHANNEL = 16, CHUNK_CHANNELS = 256;

struct Groups {
    int64_t n, groups, channels, inner;     /* channels of one group */
    int kind;
    int64_t count() const { return n * groups; }
    int64_t size() const { return channels * inner; }
    int64_t bytes() const { return fl_kind_size[kind]; }
    bool short_channels() const { return channels > 1 && inner <= MAX_SHORT_CHANNEL; }
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

/* Group number i. */
void normalize(const Groups &s, const fl_small_groups &job, const char *xs, char *ys, int64_t i,
               double *mean, double *rstd) {
    const int64_t start = i * s.size() * s.bytes(), channel = i % s.groups * s.channels;
    const double *w = job.weight ? job.weight + channel : nullptr;
    const double *b = job.bias ? job.bias + channel : nullptr;
    double m, m2;
    row_moments(s, xs + start, &m, &m2);
    const double r = 1 / sqrt((s.size() ? m2 / (double)s.size() : 0) + job.eps);
    mean[i] = m;
    rstd[i] = r;
    if (s.short_channels())
        return group_kernels->affine[s.kind](xs + start, ys + start, s.channels, s.inner, m, r, w,
                                             b);
    for (int64_t c = 0; c < s.channels; c++) {
        const int64_t at = start + c * s.inner * s.bytes();
        const double scale = w ? r * w[c] : r;
        kernels->affine[s.kind](xs + at, ys + at, s.inner, scale, (b ? b[c] : 0) - m * scale);
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

/* The same over every channel of a group. */
void group_sums(const Groups &s, const char *g, const char *x, double mean, double *sum_g,
                double *sum_gx) {
    const int64_t step = s.inner * s.bytes();
    if (s.short_channels())
        return group_kernels->sums[s.kind](g, x, s.channels, s.inner, mean, sum_g, sum_gx);
    for (int64_t c = 0; c < s.channels; c++)
        channel_sums(s, g + c * step, x + c * step, mean, &sum_g[c], &sum_gx[c]);
}

/* The gradient of a group's input, from the sums over its channels; `w` is its weights or NULL. */
void group_dx(const Groups &s, const char *g, const char *x, char *dx, double mean, double r,
              const double *w, const double *sum_g, const double *sum_gx) {
    double inner_g = 0, inner_gx = 0, factor[CHUNK_CHANNELS];
    for (int64_t c = 0; c < s.channels; c++) {
        inner_g += w ? w[c] * sum_g[c] : sum_g[c];
        inner_gx += w ? w[c] * sum_gx[c] : sum_gx[c];
    }
    const double size = s.size() ? (double)s.size() : 1;
    const double b = -r * r * r * inner_gx / size, shift = -r * inner_g / size;
    const int64_t step = s.inner * s.bytes();
    for (int64_t c = 0; c < s.channels; c += CHUNK_CHANNELS) {
        const int64_t n = s.channels - c < CHUNK_CHANNELS ? s.channels - c : CHUNK_CHANNELS;
        for (int64_t k = 0; k < n; k++)
            factor[k] = w ? w[c + k] * r : r;
        const int64_t at = c * step;
        if (s.short_channels())
            group_kernels->dx[s.kind](g + at, x + at, dx + at, n, s.inner, mean, factor, b, shift);
        else
            for (int64_t k = 0; k < n; k++)
                kernels->dx[s.kind](g + at + k * step, x + at + k * step, dx + at + k * step,
                                    s.inner, mean, factor[k], b, shift);
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
    In x(in[0].t, s.kind);
    OptionalIn weight(in[1], FL_K_F64), bias(in[2], FL_K_F64);
    Out y(outs[0], s.kind), mean(outs[1], FL_K_F64), rstd(outs[2], FL_K_F64);
    if (!x.ok() || !weight.ok() || !bias.ok() || !y.ok() || !mean.ok() || !rstd.ok())
        return -1;
    const fl_small_groups job = {s.groups, s.channels, s.inner, weight.as<double>(),
                                 bias.as<double>(), fl_as_double(in[4])};
    const bool small = s.size() > 0 && s.size() <= FL_SMALL_GROUP;
    fl_parallel(s.count(), fl_row_grain(s.size()), [&](int64_t first, int64_t last) {
        const int64_t start = first * s.size() * s.bytes();
        if (small)
            group_kernels->small[s.kind](x.as<char>() + start, y.as<char>() + start, &job, first,
                                         last - first, mean.as<double>() + first,
                                         rstd.as<double>() + first);
        else
            for (int64_t i = first; i < last; i++)
                normalize(s, job, x.as<char>(), y.as<char>(), i, mean.as<double>(),
                          rstd.as<double>());
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
            const int64_t line = i * s.channels, at = line * s.inner * s.bytes();
            group_sums(s, g.as<char>() + at, x.as<char>() + at, means[i], sum_g + line,
                       sum_gx + line);
            group_dx(s, g.as<char>() + at, x.as<char>() + at, dx.as<char>() + at, means[i],
                     rstds[i], w ? w + i % s.groups * s.channels : nullptr, sum_g + line,
                     sum_gx + line);
        }
    });
    double *to_w = dw.as<double>(), *to_b = db.as<double>();
    for (int64_t c = 0; c < all; c++)
        to_w[c] = to_b[c] = 0;
    for (int64_t i = 0; i < s.n * s.groups; i++) {
        const int64_t line = i * s.channels, channel = i % s.groups * s.channels;
        for (int64_t c = 0; c < s.channels; c++) {
            to_w[channel + c] += sum_gx[line + c] * rstds[i];
            to_b[channel + c] += sum_g[line + c];
        }
    }
    dx.commit();
    dw.commit();
    db.commit();
    return 0;
}
