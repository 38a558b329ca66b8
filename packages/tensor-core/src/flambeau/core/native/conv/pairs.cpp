/* A convolution of bfloat16 as products of the weight with unfolded input, whose terms are pairs of
 * input channels. Some pixels at a time are unfolded, multiplied, and rounded once.
 *
 * The cut follows from the sizes alone, so that the bits do not depend on the number of threads. */
#include "conv/pairs.h"
#include "common/pool_error.h"
#include "common/raw.h"
#include "conv/tiles.h"
#include "matmul/kernels/gemm.h"
#include "runtime/blas.h"
#include <algorithm>
#include <optional>

namespace {

const int64_t UNFOLDED_BYTES = 1 << 18;     /* of the pixels of one task, about */
const int64_t MIN_COLUMNS = 64;             /* pixels of a task, if there are as many */
const int64_t MAX_COLUMNS = 1024;
const int64_t MIN_ROWS = 112;               /* output channels of a task, if they are cut */
const int64_t TARGET_TASKS = 4;
/* Channels of input and output, else there is less to multiply than to copy; of one pixel, and of
 * larger windows. */
const int64_t MIN_CHANNELS = 2;
const int64_t MIN_OUTPUT_CHANNELS = 16;
const int64_t MIN_WINDOW_CHANNELS = 16;
const int64_t MIN_WINDOW_OUTPUT_CHANNELS = 32;
const int64_t MIN_MULTIPLICATIONS = 1 << 16;

struct Job {
    fl_conv p;
    const uint16_t *input;
    const uint32_t *weight;     /* of every output channel its pairs: [channel / 2][tap] */
    const float *bias;
    uint16_t *out;
    int64_t pairs, columns, rows, column_parts, row_parts;

    Job(const fl_conv &sizes, const void *from, const void *rows_of_weight, const float *added,
        void *to)
        : p(sizes), input((const uint16_t *)from), weight((const uint32_t *)rows_of_weight),
          bias(added), out((uint16_t *)to) {
        if (fl_conv_pointwise(p) && p.h == p.oh && p.w == p.ow) {   /* rows are one row */
            p.w = p.ow = p.h * p.w;
            p.h = p.oh = 1;
        }
        pairs = (p.c + 1) / 2 * p.y.size * p.x.size;
        int64_t pixels = fl_conv_pixels(p), fit = UNFOLDED_BYTES / (4 * pairs);
        int64_t most = std::min(std::max(fit, MIN_COLUMNS), MAX_COLUMNS);
        columns = fl_chunk_count(fl_chunk_count(pixels, fl_chunk_count(pixels, most)), 16) * 16;
        column_parts = fl_chunk_count(pixels, columns);
        int64_t wanted = fl_chunk_count(TARGET_TASKS, p.n * p.groups * column_parts);
        row_parts = std::max<int64_t>(1, std::min(wanted, p.o / MIN_ROWS));
        rows = fl_chunk_count(p.o, row_parts);
        row_parts = fl_chunk_count(p.o, rows);
    }
    int64_t tasks() const { return p.n * p.groups * column_parts * row_parts; }
    int run(int64_t task, char *scratch) const;

  private:
    void unfold(const uint16_t *image, int64_t first, int64_t count, uint32_t *to) const;
};

/* Every `step`th element of two channels as pairs; without a second channel, of pairs with zero. */
void interleave(uint32_t *to, const uint16_t *low, const uint16_t *high, int64_t count,
                int64_t step) {
    if (high && step == 1)
        return FL_PICK(fl_gemm_pairs_kernels)->interleave(to, low, high, count);
    for (int64_t j = 0; j < count; j++)
        to[j] = (uint32_t)low[j * step] | (high ? (uint32_t)high[j * step] << 16 : 0);
}

/* Pixels of one row of the output at one tap: those of the input from `at` on are some in the
 * middle, and outside of it is zero. */
struct Span {
    int64_t count, begin, end, at;

    Span(const fl_conv &p, int64_t tap, int64_t y, int64_t x, int64_t pixels) : count(pixels) {
        int64_t row = y * p.y.stride - p.y.padding + tap / p.x.size * p.y.dilation;
        int64_t shift = tap % p.x.size * p.x.dilation - p.x.padding, step = p.x.stride;
        int64_t before = shift >= 0 ? 0 : fl_chunk_count(-shift, step);
        int64_t after = p.w > shift ? fl_chunk_count(p.w - shift, step) : 0;
        bool outside = row < 0 || row >= p.h;
        begin = outside ? 0 : std::min(std::max<int64_t>(before - x, 0), count);
        end = outside ? 0 : std::min(std::max(after - x, begin), count);
        at = row * p.w + (x + begin) * step + shift;
    }
    void write(const uint16_t *low, const uint16_t *high, int64_t step, uint32_t *to) const {
        std::fill_n(to, begin, 0);
        if (end > begin)
            interleave(to + begin, low + at, high ? high + at : nullptr, end - begin, step);
        std::fill_n(to + end, count - end, 0);
    }
};

/* [pairs, count] of pixels [first, first + count) of an image. */
void Job::unfold(const uint16_t *image, int64_t first, int64_t count, uint32_t *to) const {
    int64_t taps = p.y.size * p.x.size, plane = p.h * p.w, some;
    for (int64_t tap = 0; tap < taps; tap++)
        for (int64_t done = 0; done < count; done += some) {
            int64_t y = (first + done) / p.ow, x = (first + done) % p.ow;
            some = std::min(p.ow - x, count - done);
            const Span span(p, tap, y, x, some);
            const uint16_t *low = image;
            uint32_t *row = to + tap * count + done;
            for (int64_t c = 0; c < p.c; c += 2, low += 2 * plane, row += taps * count)
                span.write(low, c + 1 < p.c ? low + plane : nullptr, p.x.stride, row);
        }
}

/* Task number `task`: some output channels of some pixels of a group of an image. */
int Job::run(int64_t task, char *scratch) const {
    int64_t o = task % row_parts * rows, part = task / row_parts;
    int64_t first = part % column_parts * columns, which = part / column_parts;
    int64_t group = which % p.groups, pixels = fl_conv_pixels(p);
    int64_t count = std::min(columns, pixels - first), m = std::min(rows, p.o - o);
    uint32_t *unfolded = (uint32_t *)scratch;
    float *sums = (float *)(unfolded + pairs * columns);
    unfold(input + which * p.c * p.h * p.w, first, count, unfolded);
    for (int64_t i = 0; bias && i < m; i++)
        std::fill_n(sums + i * count, count, bias[group * p.o + o + i]);
    fl_gemm_args g = {};
    g.dtype = FL_F32;
    g.pairs = 1;
    g.m = m;
    g.n = g.ldb = g.ldc = count;
    g.k = g.lda = pairs;
    g.alpha = 1;
    g.beta = bias ? 1 : 0;
    g.a = weight + (group * p.o + o) * pairs;
    g.b = unfolded;
    g.c = sums;
    g.batch = 1;
    if (fl_gemm_run(&g) < 0)
        return -1;
    const int64_t shape[] = {m, count}, from[] = {count, 1}, to[] = {pixels, 1};
    fl_copy_strided(fl_strided{(char *)(out + (which * p.o + o) * pixels + first), FL_BF16, to},
                    fl_strided{(char *)sums, FL_F32, from}, 2, shape);
    return 0;
}

int run(const Job &job) {
    size_t bytes = (size_t)((job.pairs + job.rows) * job.columns * 4);
    int64_t work = job.rows * job.columns * job.pairs;
    PoolError error;
    fl_parallel(job.tasks(), (1 << 18) / (work + 1) + 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        if (!scratch.ok())
            return error.capture();
        for (int64_t i = begin; i < end && !error.failed(); i++)
            if (job.run(i, scratch.as<char>()) < 0)
                error.capture();
    });
    return error.result();
}

/* Windows that transforms save more multiplications of than pairs do: Winograd's. */
bool has_transform(const fl_conv &p) {
    auto fits = [](const fl_window &w) { return w.size == 3 && w.stride == 1 && w.dilation == 1; };
    return p.groups == 1 && fits(p.y) && fits(p.x);
}

/* Weights as rows of pairs: in place where there is one tap, and no channel is left over. */
const void *paired(const fl_conv &p, const uint16_t *weight, std::optional<Scratch> &memory) {
    int64_t taps = p.y.size * p.x.size, channels = p.groups * p.o;
    if (taps == 1 && p.c % 2 == 0 && (uintptr_t)weight % 4 == 0)
        return weight;
    int64_t row = p.c * taps, pairs = (p.c + 1) / 2;
    memory.emplace((size_t)(channels * pairs * taps * 4));
    if (!memory->ok())
        return nullptr;
    uint32_t *to = memory->as<uint32_t>();
    fl_parallel(channels * pairs, FL_GRAIN / taps + 1, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const uint16_t *low = weight + i / pairs * row + i % pairs * 2 * taps;
            interleave(to + i * taps, low, i % pairs * 2 + 1 < p.c ? low + taps : nullptr, taps, 1);
        }
    });
    return to;
}

}  // namespace

bool fl_conv_pairs_fit(const fl_conv &p) {
    bool is_window = p.y.size * p.x.size > 1;
    return fl_has_pairs() && p.c >= (is_window ? MIN_WINDOW_CHANNELS : MIN_CHANNELS) &&
           p.o >= (is_window ? MIN_WINDOW_OUTPUT_CHANNELS : MIN_OUTPUT_CHANNELS) &&
           p.o * fl_conv_taps(p) * fl_conv_pixels(p) >= MIN_MULTIPLICATIONS &&
           (!has_transform(p) || fl_conv_tiles_fit(p));
}

bool fl_conv_goes_by_pairs(const fl_conv &p, const fl_tensor *input, const fl_tensor *weight) {
    return input->dtype == FL_BF16 && weight->dtype == FL_BF16 && fl_conv_pairs_fit(p);
}

int fl_conv_pairs(const fl_conv &p, const void *input, const void *weight, const float *bias,
                  void *out) {
    if (fl_conv_tiles_fit(p))
        return fl_conv_by_tiles(p, (const uint16_t *)input, (const uint16_t *)weight, bias,
                                (uint16_t *)out);
    std::optional<Scratch> memory;
    const void *rows = paired(p, (const uint16_t *)weight, memory);
    return rows ? run(Job(p, input, rows, bias, out)) : -1;
}

int fl_conv_by_pairs(const fl_conv &p, const fl_tensor *input, const fl_tensor *weight,
                     const fl_value &bias, fl_tensor *out) {
    RawIn x(input, FL_BF16), w(weight, FL_BF16);
    RawOut y(out, FL_BF16);
    OptionalIn b(bias, FL_K_F32);
    if (!x.ok() || !w.ok() || !y.ok() || !b.ok() ||
        fl_conv_pairs(p, x.data(), w.data(), b.as<float>(), y.data()) < 0)
        return -1;
    y.commit();
    return 0;
}
