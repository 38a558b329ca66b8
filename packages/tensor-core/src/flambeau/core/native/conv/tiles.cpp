/* A convolution of bfloat16, cut into bands of rows for the kernels of conv_tiles.h. */
#include "conv/tiles.h"
#include "common/pool_error.h"
#include "conv/kernels/conv_tiles.h"
#include "matmul/kernels/gemm.h"
#include <algorithm>

namespace {

const int64_t SIDE = 16;                    /* of a tile */
const int64_t BAND_BYTES = 1 << 18;         /* of padded planes, about: a part of the L2 cache */
const int64_t TASKS_PER_THREAD = 4;
const int64_t MIN_CHANNELS = 16;            /* of input; half of the terms of a block are zeros */
const int64_t MIN_COLUMNS = 16;             /* of output, and of pixels */
const int64_t MIN_MULTIPLICATIONS = 1 << 16;

struct Job {
    fl_conv p;
    const uint16_t *input;
    const uint32_t *weight;
    const float *bias;
    uint16_t *out;
    const int64_t *offsets;     /* of taps, for the band's padded width */
    int64_t taps, blocks, padded_width, extra_rows, rows, bands, channels, parts;

    void cut();
    int64_t tasks() const { return p.n * p.groups * bands * parts; }
    int64_t plane() const { return (rows + extra_rows) * padded_width; }
    size_t bytes() const {
        return (size_t)(SIDE * blocks * plane() + FL_CONV_BAND_SLACK + padded_width) * 4;
    }
    void run(int64_t task, uint32_t *planes) const;

  private:
    void pad(int64_t which, int64_t y, uint32_t *to) const;
    void pad_row(const uint16_t *low, const uint16_t *high, uint32_t *to) const;
};

/* Bands whose planes fit the cache, more of them or parts of the output channels where there are
 * threads without work. All follows from the sizes but the number of tasks, which bits ignore. */
void Job::cut() {
    const int64_t wanted = TASKS_PER_THREAD * fl_get_num_threads();
    const int64_t row_bytes = SIDE * blocks * padded_width * 4;
    rows = std::max<int64_t>(BAND_BYTES / row_bytes - extra_rows, 2 * extra_rows + 1);
    rows = std::min(rows, p.oh);
    bands = fl_chunk_count(p.oh, rows);
    rows = fl_chunk_count(p.oh, bands);
    bands = fl_chunk_count(p.oh, rows);
    parts = std::max<int64_t>(1, std::min(wanted / (p.n * p.groups * bands), p.o / (4 * SIDE)));
    channels = fl_chunk_count(fl_chunk_count(p.o, parts), 2 * SIDE) * 2 * SIDE;
    parts = fl_chunk_count(p.o, channels);
}

/* A row of two channels, padded, as pairs; without a channel, of pairs with zero. */
void Job::pad_row(const uint16_t *low, const uint16_t *high, uint32_t *to) const {
    const int64_t begin = std::min(std::max<int64_t>(p.x.padding, 0), padded_width);
    const int64_t end = std::max(std::min(p.w + p.x.padding, padded_width), begin);
    std::fill_n(to, begin, 0);
    low += begin - p.x.padding;
    if (high)
        FL_PICK(fl_gemm_pairs_kernels)->interleave(to + begin, low, high + begin - p.x.padding,
                                                   end - begin);
    else
        std::copy_n(low, end - begin, to + begin);
    std::fill_n(to + end, padded_width - end, 0);
}

/* The planes of a band of an image and group, from row y of the output on. */
void Job::pad(int64_t which, int64_t y, uint32_t *to) const {
    const uint16_t *image = input + which * p.c * p.h * p.w;
    const int64_t count = std::min(rows, p.oh - y) + extra_rows;
    for (int64_t c = 0; c < 2 * SIDE * blocks; c += 2, to += plane())
        for (int64_t r = 0; r < count; r++) {
            const int64_t from = y + r - p.y.padding;
            const uint16_t *low = image + (c * p.h + from) * p.w;
            uint32_t *row = to + r * padded_width;
            if (c >= p.c || from < 0 || from >= p.h)
                std::fill_n(row, padded_width, 0);
            else
                pad_row(low, c + 1 < p.c ? low + p.h * p.w : nullptr, row);
        }
}

void Job::run(int64_t task, uint32_t *planes) const {
    const int64_t o = task % parts * channels, band = task / parts % bands;
    const int64_t which = task / parts / bands, group = which % p.groups, y = band * rows;
    pad(which, y, planes);
    fl_conv_band b = {};
    b.planes = planes;
    b.plane = plane();
    b.offsets = offsets;
    b.taps = taps;
    b.blocks = blocks;
    const int64_t line = group * fl_chunk_count(p.o, SIDE) + o / SIDE;
    b.weight = weight + line * taps * blocks * SIDE * SIDE;
    b.bias = bias ? bias + group * p.o + o : nullptr;
    b.channels = std::min(channels, p.o - o);
    b.rows = std::min(rows, p.oh - y);
    b.width = p.ow;
    b.padded_width = padded_width;
    b.out_plane = p.oh * p.ow;
    b.out = out + ((which * p.o + o) * p.oh + y) * p.ow;
    FL_PICK(fl_conv_tiles_kernels)->band(&b);
}

/* The weights of one output channel, each tap's as pairs of channels, in rows of tiles. */
void lay_channel(const fl_conv &p, int64_t taps, int64_t blocks, const uint16_t *weight,
                 uint16_t *to) {
    for (int64_t c = 0; c < p.c; c++) {
        uint16_t *at = to + c / (2 * SIDE) * 2 * SIDE * SIDE + c % (2 * SIDE);
        for (int64_t t = 0; t < taps; t++)
            at[t * blocks * 2 * SIDE * SIDE] = weight[c * taps + t];
    }
}

void lay_weight(const Job &job, const uint16_t *weight, uint16_t *to) {
    const fl_conv &p = job.p;
    const int64_t lines = fl_chunk_count(p.o, SIDE), tile = 2 * SIDE * SIDE;
    const int64_t line = job.taps * job.blocks * tile;
    fl_parallel(p.groups * lines, FL_GRAIN / line + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const int64_t group = i / lines, first = i % lines * SIDE;
            memset(to + i * line, 0, (size_t)line * sizeof *to);
            for (int64_t o = first; o < std::min(first + SIDE, p.o); o++)
                lay_channel(p, job.taps, job.blocks,
                            weight + (group * p.o + o) * p.c * job.taps,
                            to + i * line + (o - first) * 2 * SIDE);
        }
    });
}

}  // namespace

bool fl_conv_tiles_fit(const fl_conv &p) {
    return FL_PICK(fl_conv_tiles_kernels)->built && fl_has_amx() && p.x.stride == 1 &&
           p.y.stride == 1 && p.y.size * p.x.size > 1 && p.c >= MIN_CHANNELS &&
           p.o >= MIN_COLUMNS && fl_conv_pixels(p) >= MIN_COLUMNS &&
           p.o * fl_conv_taps(p) * fl_conv_pixels(p) >= MIN_MULTIPLICATIONS;
}

int fl_conv_by_tiles(const fl_conv &p, const uint16_t *input, const uint16_t *weight,
                     const float *bias, uint16_t *out) {
    Job job = {};
    job.p = p;
    job.input = input;
    job.bias = bias;
    job.out = out;
    job.taps = p.y.size * p.x.size;
    job.blocks = fl_chunk_count(p.c, 2 * SIDE);
    job.padded_width = p.ow + (p.x.size - 1) * p.x.dilation;
    job.extra_rows = (p.y.size - 1) * p.y.dilation;
    job.cut();
    const int64_t lines = p.groups * fl_chunk_count(p.o, SIDE);
    Scratch weights(fl_bytes(lines * job.taps * job.blocks, SIDE * SIDE * 4));
    Scratch offsets(fl_bytes(job.taps, sizeof(int64_t)));
    if (!weights.ok() || !offsets.ok())
        return -1;
    for (int64_t t = 0; t < job.taps; t++)
        offsets.as<int64_t>()[t] = t / p.x.size * p.y.dilation * job.padded_width +
                                   t % p.x.size * p.x.dilation;
    lay_weight(job, weight, weights.as<uint16_t>());
    job.weight = weights.as<uint32_t>();
    job.offsets = offsets.as<int64_t>();
    PoolError error;
    fl_parallel(job.tasks(), 1, [&](int64_t begin, int64_t end) {
        Scratch planes(job.bytes());
        if (!planes.ok())
            return error.capture();
        for (int64_t i = begin; i < end; i++)
            job.run(i, planes.as<uint32_t>());
    });
    return error.result();
}
