/* Convolutions of integers: by floats where those are exact, by products with unfolded images where
 * these are not too large, else tap by tap: rows of the output gather multiples of rows of the input,
 * or the other way round. */
#include "matmul/kernels/integer_product.h"
#include "common/args.h"
#include "conv/conv2d.h"
#include "matmul/integer.h"
#include <math.h>
#include <optional>

namespace {

/* Planes and steps of one convolution. */
struct Sizes {
    const fl_conv_nd &c;
    int64_t input, output, taps, in_channels, out_channels;
    explicit Sizes(const fl_conv_nd &conv)
        : c(conv), input(c.d * c.p.h * c.p.w), output(c.od * c.p.oh * c.p.ow),
          taps(c.z.size * c.p.y.size * c.p.x.size), in_channels(c.p.groups * c.p.c),
          out_channels(c.p.groups * c.p.o) {}
};

/* Call body(offset in the output, offset in the input, windows) for the rows that a tap joins;
 * neighbours lie 1 apart in the output and a stride apart in the input. */
template <class Body> void each_row(const Sizes &s, int64_t tap, const Body &body) {
    const fl_conv &p = s.c.p;
    int64_t tx = tap % p.x.size, ty = tap / p.x.size % p.y.size, tz = tap / p.x.size / p.y.size;
    int64_t z0, z1, y0, y1, x0, x1;
    fl_windows_inside(s.c.z, tz, s.c.d, s.c.od, &z0, &z1);
    fl_windows_inside(p.y, ty, p.h, p.oh, &y0, &y1);
    fl_windows_inside(p.x, tx, p.w, p.ow, &x0, &x1);
    for (int64_t oz = z0; oz < z1 && x0 < x1; oz++)
        for (int64_t oy = y0; oy < y1; oy++) {
            int64_t z = oz * s.c.z.stride - s.c.z.padding + tz * s.c.z.dilation;
            int64_t y = oy * p.y.stride - p.y.padding + ty * p.y.dilation;
            int64_t x = x0 * p.x.stride - p.x.padding + tx * p.x.dilation;
            body((oz * p.oh + oy) * p.ow + x0, (z * p.h + y) * p.w + x, x1 - x0);
        }
}

const int64_t MAX_COLUMN_ELEMENTS = 1 << 23;   /* elements of the windows of an image as columns */
const int64_t PANEL = FL_INTEGER_TILE / sizeof(uint64_t);

/* The windows of one group of an image as columns, in panels; false when memory ran out. */
bool unfold(const Sizes &s, const uint64_t *image, uint64_t *panels) {
    int64_t k = s.c.p.c * s.taps, stride = s.c.p.x.stride;
    bool memory = true;
    fl_parallel(k, fl_row_grain(s.output), [&](int64_t begin, int64_t end) {
        Scratch line(fl_bytes(s.output + PANEL, sizeof(uint64_t)));
        if (!line.ok())
            return __atomic_store_n(&memory, false, __ATOMIC_RELAXED);
        uint64_t *row = line.as<uint64_t>();
        for (int64_t i = begin; i < end; i++) {
            const uint64_t *from = image + i / s.taps * s.input;
            memset(row, 0, (size_t)(s.output + PANEL) * sizeof(uint64_t));
            each_row(s, i % s.taps, [&](int64_t at_out, int64_t at_in, int64_t n) {
                for (int64_t j = 0; j < n; j++)
                    row[at_out + j] = from[at_in + j * stride];
            });
            for (int64_t j = 0; j < s.output; j += PANEL)
                memcpy(panels + j * k + i * PANEL, row + j, FL_INTEGER_TILE);
        }
    });
    return memory;
}

/* By products of the weight with unfolded images; false where memory does not allow it. */
bool by_columns(const Sizes &s, const uint64_t *x, const uint64_t *w, const int64_t *bias,
                uint64_t *out) {
    const fl_conv &p = s.c.p;
    int64_t k = p.c * s.taps, groups = p.n * p.groups;
    if (p.o < 2 || k > MAX_COLUMN_ELEMENTS / (s.output + PANEL))
        return false;
    Scratch panels(fl_bytes((s.output + PANEL) * k, sizeof(uint64_t)));
    if (!panels.ok())
        return false;
    for (int64_t i = 0; i < groups; i++) {
        int64_t first = i % p.groups * p.o;
        uint64_t *to = out + i * p.o * s.output;
        if (!unfold(s, x + i * p.c * s.input, panels.as<uint64_t>()))
            return false;
        fl_integer_panels(FL_I64, p.o, s.output, k, w + first * k, panels.as<char>(), nullptr, to);
        for (int64_t j = 0; bias && j < p.o * s.output; j++)
            to[j] += (uint64_t)bias[first + j / s.output];
    }
    return true;
}

/* ---- by floats ------------------------------------------------------------------------------- */

/* No element is larger; infinite where that is not known, NaN where memory ran out. */
double largest_of(const fl_tensor *t) {
    switch (t->dtype) {
    case FL_BOOL: return 1;
    case FL_U8: return UINT8_MAX;
    case FL_I8: return -(double)INT8_MIN;
    case FL_I16: return -(double)INT16_MIN;
    case FL_I32: case FL_I64: break;
    default: return INFINITY;
    }
    In elements(t, FL_K_I64);
    if (!elements.ok())
        return NAN;
    uint64_t bits = 0;          /* of all elements, and of the inverses of negative ones */
    for (int64_t i = 0; i < t->numel; i++) {
        const int64_t x = elements.as<int64_t>()[i];
        bits |= (uint64_t)(x < 0 ? ~x : x);
    }
    return (double)bits + 1;
}

/* What no sum of products exceeds on its way. */
double largest_sum(const fl_conv &p, const fl_tensor *input, const fl_tensor *weight,
                   const fl_tensor *bias) {
    return largest_of(input) * largest_of(weight) * (double)fl_conv_taps(p) +
           (bias ? largest_of(bias) : 0);
}

/* The convolution in floats of that dtype; false: no memory. */
template <class T>
bool run_floats(const fl_conv &p, int dtype, const fl_tensor *input, const fl_tensor *weight,
                const fl_tensor *bias, int64_t numel, int64_t *out) {
    const int kind = fl_kind_of_dtype[dtype];
    In x(input, kind), w(weight, kind);
    std::optional<In> b;
    if (bias)
        b.emplace(bias, kind);
    Scratch sums(fl_bytes(numel, sizeof(T)));
    const int64_t taps = fl_conv_taps(p), window = p.y.size * p.x.size;
    const fl_conv_weight rows = {w.as<char>(), p.o * taps, taps, window, p.x.size, 1};
    if (!x.ok() || !w.ok() || !sums.ok() || (b && !b->ok()) ||
        fl_conv_by_sums(p, dtype, x.as<char>(), rows, b ? b->as<char>() : nullptr,
                        sums.as<char>(), nullptr, nullptr) < 0)
        return false;
    fl_parallel(numel, FL_GRAIN, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            out[i] = (int64_t)sums.as<T>()[i];
    });
    return true;
}

}  // namespace

int fl_conv_integers_by_floats(const fl_conv &p, const fl_tensor *input, const fl_tensor *weight,
                               const fl_tensor *bias, int64_t numel, int64_t *out) {
    const double most = largest_sum(p, input, weight, bias);
    if (most > 0x1p53)
        return 0;
    const bool done = most <= 0x1p24 ? run_floats<float>(p, FL_F32, input, weight, bias, numel, out)
                      : most <= 0x1p53
                          ? run_floats<double>(p, FL_F64, input, weight, bias, numel, out)
                          : false;
    return done ? 1 : fl_error(FL_MEMORY_ERROR, "conv2d(): no memory for integers as floats");
}

void fl_conv_integers(const fl_conv_nd &c, const int64_t *input, const int64_t *weight,
                      const int64_t *bias, int64_t *out) {
    Sizes s(c);
    if (by_columns(s, (const uint64_t *)input, (const uint64_t *)weight, bias, (uint64_t *)out))
        return;
    const uint64_t *x = (const uint64_t *)input, *w = (const uint64_t *)weight;
    int64_t grain = fl_row_grain(s.output * s.taps * c.p.c), stride = c.p.x.stride;
    fl_parallel(c.p.n * s.out_channels, grain, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            int64_t o = i % s.out_channels, image = i / s.out_channels;
            uint64_t *to = (uint64_t *)out + i * s.output;
            for (int64_t j = 0; j < s.output; j++)
                to[j] = bias ? (uint64_t)bias[o] : 0;
            for (int64_t k = 0; k < c.p.c * s.taps; k++) {
                int64_t channel = o / c.p.o * c.p.c + k / s.taps;
                const uint64_t *from = x + (image * s.in_channels + channel) * s.input;
                uint64_t factor = w[o * c.p.c * s.taps + k];
                each_row(s, k % s.taps, [&](int64_t at_out, int64_t at_in, int64_t n) {
                    for (int64_t j = 0; j < n; j++)
                        to[at_out + j] += factor * from[at_in + j * stride];
                });
            }
        }
    });
}

void fl_conv_integers_input_grad(const fl_conv_nd &c, const int64_t *grad, const int64_t *weight,
                                 int64_t *out) {
    Sizes s(c);
    const uint64_t *g = (const uint64_t *)grad, *w = (const uint64_t *)weight;
    int64_t grain = fl_row_grain(s.output * s.taps * c.p.o), stride = c.p.x.stride;
    fl_parallel(c.p.n * s.in_channels, grain, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            int64_t channel = i % s.in_channels, image = i / s.in_channels;
            uint64_t *to = (uint64_t *)out + i * s.input;
            memset(to, 0, (size_t)s.input * sizeof(uint64_t));
            for (int64_t k = 0; k < c.p.o * s.taps; k++) {
                int64_t o = channel / c.p.c * c.p.o + k / s.taps, tap = k % s.taps;
                const uint64_t *from = g + (image * s.out_channels + o) * s.output;
                uint64_t factor = w[(o * c.p.c + channel % c.p.c) * s.taps + tap];
                each_row(s, tap, [&](int64_t at_out, int64_t at_in, int64_t n) {
                    for (int64_t j = 0; j < n; j++)
                        to[at_in + j * stride] += factor * from[at_out + j];
                });
            }
        }
    });
}
