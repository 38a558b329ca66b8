/* Direct convolution: the input padded, pixels cut into bands, channels into blocks. */
#include "conv/direct.h"
#include "conv/kernels/conv_direct.h"

namespace {

/* Pixels of a band at most, whose sums stay near a slab of weights: whole tiles of any level. */
const int64_t BAND_PIXELS = 252;
/* The padded input is one copy; larger ones are unfolded strip by strip. */
const int64_t MAX_PADDED_BYTES = 8 << 20;
/* Weights that are not packed yet are packed for each band: worth it for late layers, which have
 * many taps and so few pixels that strips of them would be filled badly. */
const int64_t MIN_TAPS = 128;
const int64_t MIN_TAPS_OF_ONE_PIXEL = 64;
const int64_t MIN_PACKING_TAPS = 1024;
const int64_t MAX_PACKING_PIXELS = 128;
/* Beyond, strips are gathered from rows that are split element by element. */
const int64_t MAX_SPLIT_STRIDE = 2;
/* Products for each element of the padded copy, which several threads write and all read: strips
 * are as fast as direct sums of less work. */
const int64_t MIN_PRODUCTS = 256;
const int64_t ITEMS_PER_THREAD = 4;

thread_local const fl_conv_packed *offered = nullptr;

const fl_conv_direct_kernels *kernels() { return FL_PICK(fl_conv_direct_kernels); }

int64_t slabs_of(int64_t taps) { return fl_chunk_count(taps, FL_DIRECT_TAPS); }

/* How the input lies that taps read: padded, or as it is. */
struct Planes {
    const float *data;
    int64_t h, w;               /* of a plane */
    bool is_padded;
};

Planes planes_of(const fl_conv &p, const float *input) {
    int64_t h = (p.oh - 1) * p.y.stride + fl_window_reach(p.y);
    int64_t w = (p.ow - 1) * p.x.stride + fl_window_reach(p.x);
    if (!p.y.padding && !p.x.padding && h <= p.h && w <= p.w)
        return Planes{input, p.h, p.w, false};
    return Planes{nullptr, h, w, true};
}

/* One plane with zeros around it; what lies behind the last window is left out. */
void pad_plane(const fl_conv &p, const Planes &planes, const float *from, float *to) {
    int64_t first = p.x.padding < planes.w ? p.x.padding : planes.w;
    int64_t count = planes.w - first < p.w ? planes.w - first : p.w;
    for (int64_t y = 0; y < planes.h; y++, to += planes.w) {
        int64_t row = y - p.y.padding;
        if (row < 0 || row >= p.h) {
            memset(to, 0, (size_t)planes.w * sizeof(float));
            continue;
        }
        memset(to, 0, (size_t)first * sizeof(float));
        memcpy(to + first, from + row * p.w, (size_t)count * sizeof(float));
        memset(to + first + count, 0, (size_t)(planes.w - first - count) * sizeof(float));
    }
}

void pad_input(const fl_conv &p, const Planes &planes, const float *input, float *to) {
    int64_t size = planes.h * planes.w;
    fl_parallel(p.n * p.groups * p.c, (1 << 15) / size + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            pad_plane(p, planes, input + i * p.h * p.w, to + i * size);
    });
}

void set_taps(const fl_conv &p, const Planes &planes, int64_t *taps) {
    for (int64_t c = 0; c < p.c; c++)
        for (int64_t y = 0; y < p.y.size; y++)
            for (int64_t x = 0; x < p.x.size; x++)
                *taps++ = (c * planes.h + y * p.y.dilation) * planes.w + x * p.x.dilation;
}

/* The work: items are a part of the channel blocks of a group, for a band of pixels. */
struct Job {
    const fl_conv &p;
    const Planes planes;
    const fl_conv_weight &weight;
    const float *packed, *bias;
    float *out;
    const fl_epilogue *epilogue;
    const int64_t *taps;
    int64_t channels, blocks, bands, band, parts;   /* band: pixels of one */

    int64_t pixels() const { return p.n * fl_conv_pixels(p); }
    int64_t items() const { return p.groups * bands * parts; }
};

/* Scratch of one thread. */
struct Work {
    float *sums, *weights, *start;
    int64_t *pixels;
    static size_t bytes(int64_t channels) {
        return (size_t)(BAND_PIXELS * 8 + (BAND_PIXELS + FL_DIRECT_TAPS + 1) * channels * 4);
    }
    Work(char *memory, int64_t channels)
        : sums((float *)memory + BAND_PIXELS * 2), weights(sums + BAND_PIXELS * channels),
          start(weights + FL_DIRECT_TAPS * channels), pixels((int64_t *)memory) {}
};

void set_pixels(const Job &job, int64_t group, int64_t first, int64_t last, int64_t *offsets) {
    const fl_conv &p = job.p;
    int64_t size = fl_conv_pixels(p), plane = job.planes.h * job.planes.w;
    for (int64_t q = first; q < last; q++) {
        int64_t image = q / size, y = q % size / p.ow, x = q % size % p.ow;
        *offsets++ = (image * p.groups + group) * p.c * plane +
                     y * p.y.stride * job.planes.w + x * p.x.stride;
    }
}

/* Weights of slab number `slab` of a block, packed. */
const float *slab_of(const Job &job, int64_t group, int64_t block, int64_t first, int64_t count,
                     float *room) {
    int64_t taps = fl_conv_taps(job.p), left = job.p.o - block * job.channels;
    if (job.packed)
        return job.packed + ((group * job.blocks + block) * taps + first) * job.channels;
    const float *from = (const float *)job.weight.data + group * job.weight.group +
                        block * job.channels * job.weight.out + first;
    kernels()->pack(from, job.weight.out, left < job.channels ? left : job.channels, count, room);
    return room;
}

/* Pixels [first, last) of a block are final: to the planes of the output. */
void finish(const Job &job, int64_t group, int64_t block, int64_t first, int64_t last,
            const float *sums) {
    const fl_conv &p = job.p;
    int64_t size = fl_conv_pixels(p), left = p.o - block * job.channels;
    int64_t channels = left < job.channels ? left : job.channels;
    for (int64_t q = first, n; q < last; q += n) {
        int64_t image = q / size, at = q % size;
        n = size - at < last - q ? size - at : last - q;
        float *to = job.out + ((image * p.groups + group) * p.o + block * job.channels) * size + at;
        kernels()->spread(sums + (q - first) * job.channels, n, channels, to, size);
        for (int64_t c = 0; c < channels && job.epilogue; c++)
            job.epilogue->finish(to + c * size, n);
    }
}

void run_block(const Job &job, int64_t group, int64_t block, int64_t first, int64_t last,
               const Work &work) {
    int64_t taps = fl_conv_taps(job.p), size = fl_chunk_count(taps, slabs_of(taps));
    int64_t channels = job.p.o - block * job.channels;
    fl_conv_direct_block b = {job.planes.data, work.pixels, job.taps, last - first, 0,
                              channels < job.channels ? channels : job.channels,
                              nullptr, nullptr, work.sums};
    for (int64_t c = 0; c < job.channels; c++) {
        int64_t channel = block * job.channels + c;
        work.start[c] = job.bias && channel < job.p.o ? job.bias[group * job.p.o + channel] : 0.0f;
    }
    for (int64_t t = 0; t < taps; t += size) {
        b.taps = job.taps + t;
        b.tap_count = taps - t < size ? taps - t : size;
        b.weights = slab_of(job, group, block, t, b.tap_count, work.weights);
        b.start = t ? nullptr : work.start;
        kernels()->multiply(&b);
    }
    finish(job, group, block, first, last, work.sums);
}

void run_item(const Job &job, int64_t index, const Work &work) {
    int64_t part = index % job.parts, band = index / job.parts % job.bands;
    int64_t group = index / job.parts / job.bands;
    int64_t first = band * job.band, left = job.pixels() - first;
    int64_t last = first + (left < job.band ? left : job.band);
    set_pixels(job, group, first, last, work.pixels);
    for (int64_t b = job.blocks * part / job.parts; b < job.blocks * (part + 1) / job.parts; b++)
        run_block(job, group, b, first, last, work);
}

bool run_job(const Job &job) {
    bool failed = false;
    fl_parallel(job.items(), 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(Work::bytes(job.channels));
        if (!scratch.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        Work work(scratch.as<char>(), job.channels);
        for (int64_t i = begin; i < end; i++)
            run_item(job, i, work);
    });
    return !failed;
}

/* So many parts of the channels that every thread has several items, and no more than another. */
int64_t parts_of(int64_t items, int64_t blocks) {
    int64_t threads = fl_get_num_threads(), parts = 1;
    if (threads == 1)
        return 1;
    while (parts < blocks &&
        (items * parts < ITEMS_PER_THREAD * threads || items * parts % threads))
        parts++;
    return parts;
}

/* Whole tiles, in bands as even as can be, and as many for each thread as for any other. */
int64_t pixels_of_band(int64_t pixels) {
    int64_t threads = fl_get_num_threads(), unit = kernels()->pixels;
    int64_t bands = fl_chunk_count(pixels, BAND_PIXELS);
    if (bands > threads)
        bands = fl_chunk_count(bands, threads) * threads;
    return fl_chunk_count(fl_chunk_count(pixels, bands), unit) * unit;
}

bool lies_in_order(const fl_conv &p, const fl_conv_weight &w) {
    int64_t window = p.y.size * p.x.size;
    return w.x == 1 && w.y == p.x.size && w.in == window;
}

/* Enough to do for each sum, and at most a sixteenth of the lanes without work. */
bool fills_tiles(const fl_conv &p) {
    int64_t lanes = kernels()->channels / 2, all = fl_chunk_count(p.o, lanes) * lanes;
    int64_t least = p.y.size * p.x.size == 1 ? MIN_TAPS_OF_ONE_PIXEL : MIN_TAPS;
    return fl_conv_taps(p) >= least && p.o >= 2 * lanes && 15 * all <= 16 * p.o;
}

bool is_worth_padding(const fl_conv &p) {
    Planes planes = planes_of(p, nullptr);
    return !planes.is_padded || p.o * fl_conv_taps(p) * fl_conv_pixels(p) >=
                                    MIN_PRODUCTS * p.c * planes.h * planes.w;
}

bool is_faster(const fl_conv &p, bool is_packed) {
    int64_t taps = fl_conv_taps(p), pixels = p.n * fl_conv_pixels(p);
    if (fl_conv_pointwise(p) && pixels > MAX_PACKING_PIXELS)
        return false;                   /* vectors along pixels need no copy at all */
    return (is_packed && is_worth_padding(p)) || p.x.stride > MAX_SPLIT_STRIDE ||
           (taps >= MIN_PACKING_TAPS && pixels <= MAX_PACKING_PIXELS);
}

}  // namespace

void fl_conv_offer_packed(const fl_conv_packed *packed) { offered = packed; }

const float *fl_conv_take_packed(const void *weight, fl_conv_layout layout) {
    const fl_conv_packed *found = offered;
    if (!found || found->weight != weight || found->layout != layout)
        return nullptr;
    offered = nullptr;
    return found->packed;
}

int64_t fl_conv_packed_elements(const fl_conv &p) {
    int64_t channels = kernels()->channels, taps = fl_conv_taps(p);
    if (!channels || !fills_tiles(p) || !is_faster(p, true))
        return 0;
    return p.groups * fl_chunk_count(p.o, channels) * channels * taps;
}

void fl_conv_pack(const float *weight, int64_t groups, const int64_t *shape, float *packed) {
    int64_t channels = kernels()->channels, taps = shape[1] * shape[2] * shape[3];
    int64_t outputs = shape[0] / groups, blocks = fl_chunk_count(outputs, channels);
    fl_parallel(groups * blocks, (1 << 16) / (channels * taps) + 1, [&](int64_t begin,
        int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            int64_t first = i % blocks * channels, left = outputs - first;
            kernels()->pack(weight + (i / blocks * outputs + first) * taps, taps,
                            left < channels ? left : channels, taps, packed + i * channels * taps);
        }
    });
}

int fl_conv_direct(const fl_conv &p, const float *input, const fl_conv_weight &weight,
                   const float *bias, float *out, const fl_epilogue *epilogue) {
    const float *packed = fl_conv_take_packed(weight.data, FL_CONV_DIRECT);
    int64_t channels = kernels()->channels, taps = fl_conv_taps(p);
    if (!channels || !fills_tiles(p) || !lies_in_order(p, weight) || p.y.padding < 0 ||
        p.x.padding < 0 || !is_faster(p, packed))
        return 0;
    Planes planes = planes_of(p, input);
    int64_t size = p.n * p.groups * p.c * planes.h * planes.w * (int64_t)sizeof(float);
    if (planes.is_padded && size > MAX_PADDED_BYTES)
        return 0;
    Scratch padded(planes.is_padded ? (size_t)size : 0), offsets((size_t)taps * sizeof(int64_t));
    if (!padded.ok() || !offsets.ok())
        return -1;
    if (planes.is_padded) {
        pad_input(p, planes, input, padded.as<float>());
        planes.data = padded.as<float>();
    }
    set_taps(p, planes, offsets.as<int64_t>());
    int64_t pixels = p.n * fl_conv_pixels(p), blocks = fl_chunk_count(p.o, channels);
    int64_t band = pixels_of_band(pixels), bands = fl_chunk_count(pixels, band);
    Job job = {p, planes, weight, packed, bias, out, epilogue, offsets.as<int64_t>(), channels,
               blocks, bands, band, parts_of(p.groups * bands, blocks)};
    return run_job(job) ? 1 : -1;
}
