/* The gradient of a convolution of bfloat16 for its weight: products of unfolded input with the
 * output's gradient, whose terms are pairs of pixels.
 *
 * The padded input is split by the strides first, so that at every tap all pixels of some rows of
 * the output are one run of memory; what lies between two rows meets zeros of the gradient. The cut
 * follows from the sizes alone, so that the bits do not depend on the number of threads. */
#include "conv/pairs.h"
#include "common/pool_error.h"
#include "common/raw.h"
#include "runtime/blas.h"
#include <algorithm>

namespace {

const int64_t TARGET_TERMS = 1024;          /* of a product, about */
const int64_t TARGET_TAPS = 144;            /* rows of a product, about */
const int64_t TARGET_TASKS = 4;
const int64_t MIN_TAPS = 32;                /* rows of a product, if it is cut for more tasks */
const int64_t LINE = 16;                    /* pairs of a cache line */
const int64_t MIN_CHANNELS = 8;             /* of input and output */
const int64_t MIN_TERMS = 64;
const int64_t MIN_MULTIPLICATIONS = 1 << 18;

int64_t even(int64_t n) { return n + (n & 1); }

/* Padded planes of one channel, split by the strides: [row phase][column phase][h][w]. */
struct Split {
    int64_t h, w, size;
    explicit Split(const fl_conv &p)
        : h(fl_chunk_count(p.h + 2 * p.y.padding, p.y.stride)),
          w(fl_chunk_count(p.w + 2 * p.x.padding, p.x.stride)),
          size(p.y.stride * p.x.stride * h * w) {}
    int64_t at(const fl_conv &p, int64_t y, int64_t x) const {
        const int64_t phase = y % p.y.stride * p.x.stride + x % p.x.stride;
        return (phase * h + y / p.y.stride) * w + x / p.x.stride;
    }
};

struct Job {
    fl_conv p;
    Split split;
    const uint16_t *grad, *input;
    float *sums;                            /* [group][tap][o] */
    uint32_t *terms;                        /* of the gradient: [block][group][pair][o] */
    int64_t window, rows, bands;            /* rows of the output in a unit, units of an image */
    int64_t unit, units, together, blocks;  /* terms of a unit, units of all images, of a block */
    int64_t channels, c_parts;

    Job(const fl_conv &sizes, const void *of_output, const void *of_input)
        : p(sizes), split(sizes), grad((const uint16_t *)of_output),
          input((const uint16_t *)of_input), sums(nullptr), terms(nullptr),
          window(p.y.size * p.x.size) {
        rows = std::min(std::max<int64_t>(TARGET_TERMS / split.w, 1), p.oh);
        bands = fl_chunk_count(p.oh, rows);
        rows = fl_chunk_count(p.oh, bands);
        bands = fl_chunk_count(p.oh, rows);
        unit = even((rows - 1) * split.w + p.ow);
        units = p.n * bands;
        together = bands > 1 ? 1 : std::min(std::max<int64_t>(TARGET_TERMS / unit, 1), p.n);
        blocks = fl_chunk_count(units, together);
        const int64_t wanted = fl_chunk_count(TARGET_TASKS, p.groups), taps = fl_conv_taps(p);
        c_parts = std::max(fl_chunk_count(taps, TARGET_TAPS), std::min(wanted, taps / MIN_TAPS));
        channels = fl_chunk_count(p.c, std::min(c_parts, p.c));
        c_parts = fl_chunk_count(p.c, channels);
    }
    int64_t row_terms() const { return together * unit; }
    int64_t lines() const { return blocks * p.groups * fl_chunk_count(p.o, LINE); }
    int64_t tasks() const { return p.groups * c_parts; }
    size_t terms_bytes() const {
        return fl_bytes(blocks * p.groups * p.o * row_terms(), sizeof(uint16_t));
    }
    size_t sums_bytes() const { return fl_bytes(p.groups * fl_conv_taps(p) * p.o, sizeof(float)); }
    size_t scratch_bytes() const {      /* offsets of taps, split planes, their taps by terms */
        return fl_bytes(4 * window + channels * (split.size + window * row_terms()),
                        sizeof(uint16_t));
    }
    void lay_line(int64_t number, uint16_t *scratch) const;
    int run(int64_t task, uint16_t *scratch) const;

  private:
    void lay_channel(int64_t block, int64_t channel, uint16_t *to) const;
    void split_image(int64_t image, int64_t first, int64_t count, uint16_t *to) const;
    void unfold(const uint16_t *planes, const int64_t *offsets, int64_t u, int64_t count,
                uint16_t *to) const;
    /* Split by nothing: planes are read where they lie. */
    bool in_place() const { return split.h == p.h && split.w == p.w && split.size == p.h * p.w; }
    int64_t units_of(int64_t block) const {
        return std::min(together, units - block * together);
    }
    int64_t rows_of(int64_t u) const { return std::min(rows, p.oh - u % bands * rows); }
};

/* Rows of the gradient as far apart as those of split planes, zeros between them; of a channel,
 * counted through all groups. */
void Job::lay_channel(int64_t block, int64_t channel, uint16_t *to) const {
    memset(to, 0, (size_t)row_terms() * sizeof *to);
    for (int64_t k = 0; k < units_of(block); k++, to += unit) {
        const int64_t u = block * together + k, image = u / bands;
        const uint16_t *from = grad + (image * p.groups * p.o + channel) * fl_conv_pixels(p) +
                               u % bands * rows * p.ow;
        for (int64_t y = 0; y < rows_of(u); y++)
            memcpy(to + y * split.w, from + y * p.ow, (size_t)p.ow * sizeof *to);
    }
}

/* The pairs of some channels of a block, channels side by side. */
void Job::lay_line(int64_t number, uint16_t *scratch) const {
    const int64_t parts = fl_chunk_count(p.o, LINE), first = number % parts * LINE;
    const int64_t group = number / parts % p.groups, block = number / parts / p.groups;
    const int64_t count = std::min(LINE, p.o - first), pairs = row_terms() / 2;
    for (int64_t i = 0; i < count; i++)
        lay_channel(block, group * p.o + first + i, scratch + i * row_terms());
    const uint32_t *from = (const uint32_t *)scratch;
    uint32_t *to = terms + (block * p.groups + group) * pairs * p.o + first;
    for (int64_t k = 0; k < pairs; k++, to += p.o)
        for (int64_t i = 0; i < count; i++)
            to[i] = from[i * pairs + k];
}

/* Whether a tap is at positions of this remainder. */
bool is_met(const fl_window &w, int64_t position) {
    for (int64_t k = 0; k < w.size; k++)
        if ((position - k * w.dilation) % w.stride == 0)
            return true;
    return false;
}

void Job::split_image(int64_t image, int64_t first, int64_t count, uint16_t *to) const {
    memset(to, 0, (size_t)(count * split.size) * sizeof *to);
    const uint16_t *from = input + (image * p.groups * p.c + first) * p.h * p.w;
    for (int64_t y = 0; y < p.h; y++)
        for (int64_t q = 0; q < p.x.stride && is_met(p.y, y + p.y.padding); q++) {
            if (!is_met(p.x, q + p.x.padding))
                continue;
            uint16_t *row = to + split.at(p, y + p.y.padding, p.x.padding + q);
            const uint16_t *x = from + y * p.w;
            for (int64_t c = 0; c < count; c++, row += split.size, x += p.h * p.w) {
                if (p.x.stride == 1)
                    memcpy(row, x, (size_t)p.w * sizeof *row);
                else
                    for (int64_t at = q, i = 0; at < p.w; at += p.x.stride, i++)
                        row[i] = x[at];
            }
        }
}

/* The taps of `count` channels by the terms of a unit, in rows of a block's terms. */
void Job::unfold(const uint16_t *planes, const int64_t *offsets, int64_t u, int64_t count,
                 uint16_t *to) const {
    const int64_t run = (rows_of(u) - 1) * split.w + p.ow, step = row_terms();
    planes += u % bands * rows * split.w;
    for (int64_t c = 0; c < count; c++, planes += split.size)
        for (int64_t tap = 0; tap < window; tap++, to += step) {
            memcpy(to, planes + offsets[tap], (size_t)run * sizeof *to);
            for (int64_t i = run; i < unit; i++)
                to[i] = 0;
        }
}

/* Task number `task`: the taps of some input channels, of all images. */
int Job::run(int64_t task, uint16_t *scratch) const {
    const int64_t c = task % c_parts * channels, group = task / c_parts;
    const int64_t count = std::min(channels, p.c - c), taps = fl_conv_taps(p);
    int64_t *offsets = (int64_t *)scratch, image = -1;
    uint16_t *copied = scratch + 4 * window, *unfolded = copied + channels * split.size;
    for (int64_t tap = 0; tap < window; tap++)
        offsets[tap] = split.at(p, tap / p.x.size * p.y.dilation, tap % p.x.size * p.x.dilation);
    fl_gemm_args g = {};
    g.dtype = FL_F32;
    g.pairs = 1;
    g.m = count * window;
    g.n = g.ldb = g.ldc = p.o;
    g.lda = row_terms() / 2;
    g.alpha = 1;
    g.a = unfolded;
    g.c = sums + (group * taps + c * window) * p.o;
    g.batch = 1;
    for (int64_t block = 0; block < blocks; block++) {
        for (int64_t k = 0; k < units_of(block); k++) {
            const int64_t u = block * together + k;
            const int64_t first = ((u / bands * p.groups + group) * p.c + c) * p.h * p.w;
            if (u / bands != image && !in_place())
                split_image(image = u / bands, group * p.c + c, count, copied);
            unfold(in_place() ? input + first : copied, offsets, u, count, unfolded + k * unit);
        }
        g.k = units_of(block) * unit / 2;
        g.beta = block > 0;
        g.b = terms + (block * p.groups + group) * g.lda * p.o;
        if (fl_gemm_run(&g) < 0)
            return -1;
    }
    return 0;
}

/* body(i, scratch) for all i below `count`, with scratch of so many bytes for each thread. */
template <class Body> int run_each(int64_t count, size_t bytes, const Body &body) {
    PoolError error;
    fl_parallel(count, 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        if (!scratch.ok())
            return error.capture();
        for (int64_t i = begin; i < end && !error.failed(); i++)
            if (body(i, scratch.as<uint16_t>()) < 0)
                error.capture();
    });
    return error.result();
}

int run(Job &job, float *out) {
    Scratch terms(job.terms_bytes()), sums(job.sums_bytes());
    if (!terms.ok() || !sums.ok())
        return -1;
    job.terms = terms.as<uint32_t>();
    job.sums = sums.as<float>();
    const auto lay = [&](int64_t i, uint16_t *scratch) { return job.lay_line(i, scratch), 0; };
    const auto multiply = [&](int64_t i, uint16_t *scratch) { return job.run(i, scratch); };
    const size_t line = fl_bytes(LINE * job.row_terms(), sizeof(uint16_t));
    if (run_each(job.lines(), line, lay) < 0 ||
        run_each(job.tasks(), job.scratch_bytes(), multiply) < 0)
        return -1;
    const int64_t taps = fl_conv_taps(job.p);
    const int64_t shape[] = {job.p.groups, job.p.o, taps};
    const int64_t from[] = {taps * job.p.o, 1, job.p.o}, to[] = {job.p.o * taps, taps, 1};
    fl_copy_strided(fl_strided{(char *)out, FL_F32, to},
                    fl_strided{(char *)job.sums, FL_F32, from}, 3, shape);
    return 0;
}

}  // namespace

static bool all_finite(const uint16_t *x, int64_t n) {
    const uint16_t EXPONENT = 0x7f80;
    uint16_t special = 0;
    for (int64_t i = 0; i < n; i++)
        special |= (x[i] & EXPONENT) == EXPONENT;
    return !special;
}

bool fl_conv_weight_grad_goes_by_pairs(const fl_conv &p, const fl_tensor *grad,
                                       const fl_tensor *input) {
    return grad->dtype == FL_BF16 && input->dtype == FL_BF16 && fl_has_pairs() &&
           grad->numel > 0 && input->numel > 0 && p.c >= MIN_CHANNELS && p.o >= MIN_CHANNELS &&
           p.n * fl_conv_pixels(p) >= MIN_TERMS &&
           p.o * fl_conv_taps(p) * fl_conv_pixels(p) * p.n >= MIN_MULTIPLICATIONS;
}

int fl_conv_weight_grad_by_pairs(const fl_conv &p, const fl_tensor *grad, const fl_tensor *input,
                                 fl_tensor *result) {
    RawIn of_output(grad, FL_BF16), of_input(input, FL_BF16);
    Out out(result, FL_K_F32);
    if (!of_output.ok() || !of_input.ok() || !out.ok())
        return -1;
    if (!all_finite((const uint16_t *)of_input.data(), input->numel))
        return 1;       /* what lies between two rows would meet zeros, and give NaN */
    Job job(p, of_output.data(), of_input.data());
    if (run(job, out.as<float>()) < 0)
        return -1;
    out.commit();
    return 0;
}
