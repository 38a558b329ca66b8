/* Winograd's convolution, cut into blocks of tiles whose transformed input stays in a near cache.
 *
 * Where there are many tiles, threads take blocks, and the weights are transformed for all of them
 * before. Where there are few, as in late layers, a block has as many as fit the last cache, and
 * threads take output channels, and transform weights as they go: those are larger than the input
 * there. Of very few tiles, vectors run along output channels. In all ways a pixel gets the same
 * sums. */
#include "conv/winograd.h"
#include "conv/direct.h"
#include "conv/kernels/winograd.h"
#include <cmath>

namespace {

/* Below, transforms cost more than they save: channels, pixels, and quarters of pixels for a tile
 * (those at the edge of small images are filled badly). */
const int64_t MIN_CHANNELS = 16;
const int64_t MIN_PIXELS = 48;
const int64_t MIN_TILE_PIXELS = 10;
/* Transformed input of a block: of one thread, half its second cache, or of all together. */
const int64_t NEAR_BYTES_PER_LANE = 32 << 10;
const int64_t SHARED_BYTES = 4 << 20;
/* Transformed weights that are kept for all blocks, at most. */
const int64_t MAX_WEIGHT_BYTES = 6 << 20;
const int64_t MIN_BLOCKS_PER_THREAD = 2;
/* Output channels of a part, at least, where there are fewer parts than would suit the threads. */
const int64_t MIN_PART_CHANNELS = 8;

bool is_allowed = true;

const fl_winograd_kernels *kernels() { return FL_PICK(fl_conv_kernels)->winograd; }

struct Job {
    const fl_conv &p;
    const float *input;
    const fl_conv_weight &weight;
    const float *bias;
    float *out;
    const fl_epilogue *epilogue;
    const float *by_taps, *by_outputs;      /* windows in these layouts, or NULL */
};

/* All tiles in blocks of whole vectors, as even as can be. */
struct Blocks {
    int64_t tiles, count;

    int64_t lanes() const { return kernels()->lanes; }
    int64_t vectors() const { return fl_chunk_count(tiles, lanes()); }
    int64_t first(int64_t i) const { return vectors() * i / count * lanes(); }
    int64_t most() const { return fl_chunk_count(vectors(), count) * lanes(); }
    fl_winograd_block at(const Job &job, int64_t i) const {
        int64_t end = first(i + 1) < tiles ? first(i + 1) : tiles;
        return fl_winograd_block{&job.p, job.input, job.bias, job.out, first(i), end - first(i),
                                 nullptr};
    }
    /* As large as the largest. */
    fl_winograd_block largest(const Job &job) const {
        fl_winograd_block block = at(job, 0);
        block.count = most() < tiles ? most() : tiles;
        return block;
    }
};

/* Blocks that fit `bytes`; `units` of threads take turns. */
Blocks blocks_of(const fl_conv &p, int64_t bytes, int64_t units) {
    int64_t tiles = p.n * fl_winograd_rows(p) * fl_winograd_cols(p), strip = 2 * kernels()->lanes;
    int64_t most = bytes / (16 * p.c * (int64_t)sizeof(float)) / strip * strip;
    int64_t count = fl_chunk_count(tiles, most > strip ? most : strip);
    return Blocks{tiles, count > units ? fl_chunk_count(count, units) * units : count};
}

Blocks shared_blocks(const fl_conv &p) { return blocks_of(p, SHARED_BYTES, 1); }

bool has_few_tiles(const fl_conv &p) { return shared_blocks(p).most() <= kernels()->few.tiles; }

/* Parts of the output channels, whole units: as even as can be, and as many for each thread as for
 * any other. */
struct Parts {
    int64_t channels, unit, count;

    int64_t units() const { return fl_chunk_count(channels, unit); }
    int64_t first(int64_t part) const {
        int64_t at = units() * part / count * unit;
        return at < channels ? at : channels;
    }
};

/* Of `most` channels at most, and of `least` at least if that makes them even. */
Parts parts_of(int64_t channels, int64_t unit, int64_t most, int64_t least) {
    int64_t threads = fl_get_num_threads(), count = fl_chunk_count(channels, most);
    int64_t even = fl_chunk_count(count, threads) * threads;
    return Parts{channels, unit, even * least <= channels ? even : count};
}

Parts parts_of_many(const fl_conv &p) {
    return parts_of(p.o, 1, kernels()->channels, MIN_PART_CHANNELS);
}

Parts parts_of_few(const fl_conv &p) {
    return parts_of(p.o, kernels()->lanes, 2 * kernels()->lanes, kernels()->lanes);
}

/* ---- what is not finite ---------------------------------------------------------------------- */

/* The pixels of the rows of tiles [run.y, y1) of an image, as a convolution of their own. */
fl_conv rows_of(const fl_conv &p, const fl_winograd_run &run, int64_t y1, int64_t channels) {
    fl_conv q = p;
    q.n = 1;
    q.o = channels;
    q.oh = (2 * y1 < p.oh ? 2 * y1 : p.oh) - 2 * run.y;
    q.y.padding = p.y.padding - 2 * run.y;
    return q;
}

bool run_directly(const Job &job) {
    return fl_conv_by_sums(job.p, FL_F32, (const char *)job.input, job.weight,
                           (const char *)job.bias, (char *)job.out, nullptr, job.epilogue) == 0;
}

/* Pixels of a run that are not finite become those of `direct`. */
void replace_run(const Job &job, const fl_winograd_run &run, int64_t o0, const fl_conv &q,
                 const float *direct) {
    const fl_conv &p = job.p;
    int64_t x1 = 2 * (run.x + run.count) < p.ow ? 2 * (run.x + run.count) : p.ow;
    for (int64_t o = 0; o < q.o; o++)
        for (int64_t y = 0; y < 2 && 2 * run.y + y < p.oh; y++) {
            float *to = job.out + ((run.image * p.o + o0 + o) * p.oh + 2 * run.y + y) * p.ow;
            const float *from = direct + (o * q.oh + y) * p.ow;
            for (int64_t x = 2 * run.x; x < x1; x++)
                if (!std::isfinite(to[x]))
                    to[x] = from[x];
        }
}

/* Transforms add what a pixel does not see, so that infinities and overflow would spread. */
bool replace_not_finite(const Job &job, const fl_winograd_block &b, int64_t o0, int64_t o1) {
    const fl_conv &p = job.p;
    for (int64_t lane = 0; lane < b.count;) {
        fl_winograd_run first = fl_winograd_run_at(b, lane), run = first, last = first;
        for (; run.image == first.image && lane < b.count; run = fl_winograd_run_at(b, lane)) {
            last = run;
            lane += run.count;
        }
        fl_conv q = rows_of(p, first, last.y + 1, o1 - o0);
        fl_conv_weight weight = job.weight;
        weight.data = (const float *)weight.data + o0 * weight.out;
        Scratch direct((size_t)(q.o * q.oh * q.ow) * sizeof(float));
        if (!direct.ok() ||
            !run_directly(Job{q, job.input + first.image * p.c * p.h * p.w, weight,
                              job.bias ? job.bias + o0 : nullptr, direct.as<float>(), nullptr,
                              nullptr, nullptr}))
            return false;
        for (int64_t at = first.lane; at < lane; at += run.count) {
            run = fl_winograd_run_at(b, at);
            replace_run(job, run, o0, q,
                        direct.as<float>() + 2 * (run.y - first.y) * p.ow);
        }
    }
    return true;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Output channels [o0, o1) of a block are final: whole rows of an image at once, or a run. */
void finish(const Job &job, const fl_winograd_block &b, int64_t o0, int64_t o1) {
    const fl_conv &p = job.p;
    int64_t cols = fl_winograd_cols(p), rows = fl_winograd_rows(p), size = p.oh * p.ow;
    for (int64_t lane = 0; lane < b.count;) {
        fl_winograd_run run = fl_winograd_run_at(b, lane);
        int64_t whole = (b.count - lane) / cols, left = rows - run.y;
        whole = run.x || run.count < cols ? 0 : whole < left ? whole : left;
        lane += whole ? whole * cols : run.count;
        int64_t y1 = 2 * (run.y + (whole ? whole : 1)), x1 = 2 * (run.x + run.count);
        y1 = y1 < p.oh ? y1 : p.oh;
        x1 = x1 < p.ow ? x1 : p.ow;
        for (int64_t o = o0; o < o1; o++) {
            const float *at = job.out + (run.image * p.o + o) * size + 2 * run.x;
            if (whole)
                job.epilogue->finish(at + 2 * run.y * p.ow, (y1 - 2 * run.y) * p.ow);
            else
                for (int64_t y = 2 * run.y; y < y1; y++)
                    job.epilogue->finish(at + y * p.ow, x1 - 2 * run.x);
        }
    }
}

/* Parts [first, last) of the output channels of a block: multiply(o0, o1, part) writes each. */
template <class Multiply>
bool run_parts(const Job &job, const fl_winograd_block &b, const Parts &parts, int64_t first,
               int64_t last, const Multiply &multiply) {
    bool is_finite = true;
    for (int64_t part = first; part < last; part++)
        is_finite = multiply(parts.first(part), parts.first(part + 1), part) && is_finite;
    int64_t o0 = parts.first(first), o1 = parts.first(last);
    if (!is_finite && !replace_not_finite(job, b, o0, o1))
        return false;
    if (job.epilogue)
        finish(job, b, o0, o1);
    return true;
}

/* body(begin, end, scratch), in parallel, with so many elements of scratch for each thread. */
template <class Body>
bool run_items(int64_t count, int64_t grain, int64_t elements, const Body &body) {
    bool failed = false;
    fl_parallel(count, grain, [&](int64_t begin, int64_t end) {
        Scratch scratch((size_t)elements * sizeof(float));
        if (!scratch.ok() || !body(begin, end, scratch.as<float>()))
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    });
    return !failed;
}

/* Every thread takes blocks. */
bool run_blocks(const Job &job, const Blocks &blocks) {
    const fl_winograd_kernels *k = kernels();
    const Parts parts = parts_of_many(job.p);
    const int64_t elements = k->weight_elements(&job.p);
    Scratch weights((size_t)(parts.count * elements) * sizeof(float));
    if (!weights.ok())
        return false;
    fl_parallel(parts.count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            k->weight(&job.p, &job.weight, job.by_taps, parts.first(i), parts.first(i + 1),
                      weights.as<float>() + i * elements);
    });
    fl_winograd_block whole = blocks.largest(job);
    int64_t room = k->input_elements(&whole), work = k->scratch_elements(&whole);
    return run_items(blocks.count, 1, room + work,
                     [&](int64_t begin, int64_t end, float *scratch) {
        bool done = true;
        for (int64_t i = begin; i < end; i++) {
            fl_winograd_block b = blocks.at(job, i);
            b.scratch = scratch + room;
            k->input(&b, 0, job.p.c, scratch);
            done = run_parts(job, b, parts, 0, parts.count,
                             [&](int64_t o0, int64_t o1, int64_t part) {
                return k->multiply(&b, o0, o1, weights.as<float>() + part * elements, scratch);
            }) && done;
        }
        return done;
    });
}

/* Transform the input of a block, every thread some channels. */
bool run_input(const Job &job, const fl_winograd_block &block, float *input) {
    return run_items(job.p.c, 16, kernels()->scratch_elements(&block),
                     [&](int64_t begin, int64_t end, float *scratch) {
        fl_winograd_block b = block;
        b.scratch = scratch;
        kernels()->input(&b, begin, end, input);
        return true;
    });
}

/* Block after block, every thread takes channels: multiply(block, o0, o1, weights, input) has room
 * for `elements` of weights, and as much scratch as `work` says. */
template <class Multiply>
bool run_channels(const Job &job, const Parts &parts, int64_t elements, int64_t work,
                  const Multiply &multiply) {
    const Blocks blocks = shared_blocks(job.p);
    fl_winograd_block whole = blocks.largest(job);
    Scratch input((size_t)kernels()->input_elements(&whole) * sizeof(float));
    bool done = input.ok();
    for (int64_t i = 0; done && i < blocks.count; i++) {
        fl_winograd_block block = blocks.at(job, i);
        done = run_input(job, block, input.as<float>()) &&
               run_items(parts.count, 1, elements + work,
                         [&](int64_t begin, int64_t end, float *scratch) {
            fl_winograd_block b = block;
            b.scratch = scratch + elements;
            return run_parts(job, b, parts, begin, end, [&](int64_t o0, int64_t o1, int64_t) {
                return multiply(b, o0, o1, scratch, input.as<float>());
            });
        });
    }
    return done;
}

bool run_few(const Job &job) {
    const fl_winograd_few_kernels &few = kernels()->few;
    fl_winograd_block whole = shared_blocks(job.p).largest(job);
    return run_channels(job, parts_of_few(job.p), few.weight_elements(&job.p),
                        few.scratch_elements(&whole),
                        [&](const fl_winograd_block &b, int64_t o0, int64_t o1, float *room,
                            const float *input) {
        return few.multiply(&b, &job.weight, job.by_outputs, o0, o1, room, input);
    });
}

bool run_many(const Job &job) {
    const fl_winograd_kernels *k = kernels();
    fl_winograd_block whole = shared_blocks(job.p).largest(job);
    return run_channels(job, parts_of_many(job.p), k->weight_elements(&job.p),
                        k->scratch_elements(&whole),
                        [&](const fl_winograd_block &b, int64_t o0, int64_t o1, float *room,
                            const float *input) {
        k->weight(&job.p, &job.weight, job.by_taps, o0, o1, room);
        return k->multiply(&b, o0, o1, room, input);
    });
}

bool run_job(const Job &job) {
    int64_t threads = fl_get_num_threads();
    Blocks near = blocks_of(job.p, kernels()->lanes * NEAR_BYTES_PER_LANE, threads);
    int64_t weight_bytes = parts_of_many(job.p).count * kernels()->weight_elements(&job.p) *
                           (int64_t)sizeof(float);
    if (has_few_tiles(job.p))
        return run_few(job);
    if (weight_bytes <= MAX_WEIGHT_BYTES && near.count >= MIN_BLOCKS_PER_THREAD * threads)
        return run_blocks(job, near);
    return run_many(job);
}

bool can_run(const fl_conv &p) {
    auto fits = [](const fl_window &window) {
        return window.size == 3 && window.stride == 1 && window.dilation == 1;
    };
    return kernels() && p.groups == 1 && fits(p.y) && fits(p.x);
}

/* Windows in C order, or turned around. */
bool lies_in_order(const fl_conv_weight &w) { return w.y == 3 * w.x && (w.x == 1 || w.x == -1); }

/* By sizes alone, so that all threads and processors agree. Images of MIN_PIXELS and more are
 * computed one way, however many there are. */
bool is_faster(const fl_conv &p) {
    int64_t tiles = fl_winograd_rows(p) * fl_winograd_cols(p), pixels = fl_conv_pixels(p);
    return p.c >= MIN_CHANNELS && p.o >= MIN_CHANNELS && p.n * pixels >= MIN_PIXELS &&
           4 * pixels >= MIN_TILE_PIXELS * tiles;
}

}  // namespace

fl_conv_layout fl_conv_layout_of(const fl_conv &p) {
    return has_few_tiles(p) ? FL_CONV_BY_OUTPUTS : FL_CONV_BY_TAPS;
}

int64_t fl_conv_laid_elements(fl_conv_layout layout, int64_t o, int64_t c) {
    return layout == FL_CONV_BY_OUTPUTS ? kernels()->few.laid_elements(o, c)
                                        : kernels()->laid_elements(o, c);
}

void fl_conv_lay_windows(fl_conv_layout layout, const float *weight, int64_t o, int64_t c,
                         float *to) {
    if (layout == FL_CONV_BY_OUTPUTS)
        kernels()->few.lay_windows(weight, o, c, to);
    else
        kernels()->lay_windows(weight, o, c, to);
}

void fl_conv_allow_winograd(bool allow) { __atomic_store_n(&is_allowed, allow, __ATOMIC_RELAXED); }

bool fl_conv_suits_winograd(const fl_conv &p) {
    return __atomic_load_n(&is_allowed, __ATOMIC_RELAXED) && can_run(p) && is_faster(p);
}

int fl_conv_winograd(const fl_conv &p, const float *input, const fl_conv_weight &weight,
                     const float *bias, float *out, const fl_epilogue *epilogue) {
    if (!fl_conv_suits_winograd(p) || !lies_in_order(weight))
        return 0;
    const bool is_dense = weight.x == 1 && weight.in == 9 && weight.out == 9 * p.c;
    auto laid = [&](fl_conv_layout layout) {
        return is_dense ? fl_conv_take_packed(weight.data, layout) : nullptr;
    };
    const float *by_taps = laid(FL_CONV_BY_TAPS), *by_outputs = laid(FL_CONV_BY_OUTPUTS);
    Scratch even((size_t)p.n);
    bool done = even.ok() && fl_winograd_find_even(p, input, even.as<char>());
    for (int64_t first = 0, last; done && first < p.n; first = last) {
        for (last = first + 1; last < p.n && even.as<char>()[last] == even.as<char>()[first];)
            last++;
        fl_conv q = p;
        q.n = last - first;
        Job job = {q, input + first * p.c * p.h * p.w, weight, bias,
                   out + first * p.o * fl_conv_pixels(p), epilogue, by_taps, by_outputs};
        done = even.as<char>()[first] ? run_job(job) : run_directly(job);
    }
    return done ? 1 : -1;
}
