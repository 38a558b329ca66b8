/* A convolution of contiguous operands, cut into blocks whose size follows from the shapes. */
#include "conv/conv2d.h"
#include "conv/direct.h"
#include "conv/winograd.h"

namespace {

/* Blocks: pixels about, where a pixel costs little, and at least, even when that makes few blocks.
 * */
const int64_t BLOCK_PIXELS = 768;
const int64_t CHEAP_BLOCK_PIXELS = 8192;
const int64_t MIN_BLOCK_PIXELS = 256;
/* Output channels of a block: at most, at least when they are split for more blocks, and at least
 * when each block gathers for itself. */
const int64_t MAX_BLOCK_CHANNELS = 256;
const int64_t MIN_SPLIT_CHANNELS = 28;
const int64_t MIN_GATHERING_CHANNELS = 56;
/* Strips that are gathered before multiplying, and those gathered at once, about. */
const int64_t MAX_SHARED_BYTES = 8 << 20;
const int64_t STRIP_BYTES = 1 << 20;
/* Blocks that keep all threads busy: at most, and for each; at least so many for each when strips
 * are gathered. */
const int64_t TARGET_BLOCKS = 16;
const int64_t TARGET_BLOCKS_PER_THREAD = 4;
const int64_t MIN_BLOCKS_PER_THREAD = 2;

/* Operands of a convolution, and what does not follow from its sizes. */
struct Operands {
    const char *input, *bias;
    fl_conv_weight weight;
    char *out;
    int64_t size, slabs;
    const fl_conv_depth *depth;
};

/* How a convolution is cut. */
struct Cut {
    int64_t images, rows, channels;             /* of a block */
    int64_t image_parts, row_parts, channel_parts;
};

int64_t pixels_of_block(const fl_conv &p) {
    return p.c == 1 && p.o <= 4 ? CHEAP_BLOCK_PIXELS : BLOCK_PIXELS;
}

/* Small images go together, so that packed weights serve many pixels. */
int64_t images_of(const fl_conv &p, int64_t pixels) {
    int64_t least = fl_chunk_count(MIN_BLOCK_PIXELS, pixels), most = pixels_of_block(p) / pixels;
    int64_t spare = p.n * p.groups / TARGET_BLOCKS;
    int64_t images = most < spare ? most : spare;
    images = images > least ? images : least;
    return images < p.n ? images : p.n;
}

int64_t blocks_wanted() {
    int64_t wanted = TARGET_BLOCKS_PER_THREAD * fl_get_num_threads();
    return wanted < TARGET_BLOCKS ? wanted : TARGET_BLOCKS;
}

/* Fewer parts, if then every thread has as many blocks as any other. */
int64_t even_parts(int64_t blocks, int64_t parts) {
    int64_t threads = fl_get_num_threads(), even = parts;
    while (even > 1 && blocks * even % threads)
        even--;
    return blocks * even % threads ? parts : even;
}

Cut cut_of(const fl_conv &p) {
    Cut cut;
    int64_t pixels = fl_conv_pixels(p);
    cut.row_parts = fl_chunk_count(p.oh, fl_chunk_count(pixels_of_block(p), p.ow));
    cut.rows = fl_chunk_count(p.oh, cut.row_parts);
    cut.row_parts = fl_chunk_count(p.oh, cut.rows);
    cut.images = cut.row_parts == 1 ? images_of(p, pixels) : 1;
    cut.image_parts = fl_chunk_count(p.n, cut.images);
    cut.channel_parts = fl_chunk_count(p.o, MAX_BLOCK_CHANNELS);
    int64_t blocks = cut.image_parts * cut.row_parts * p.groups;
    int64_t gathered = p.n * p.groups * pixels * fl_conv_taps(p);
    bool shared = gathered <= MAX_SHARED_BYTES / (int64_t)sizeof(double);
    while (blocks * cut.channel_parts < blocks_wanted() &&
           p.o / (cut.channel_parts + 1) >= (shared ? MIN_SPLIT_CHANNELS : MIN_GATHERING_CHANNELS))
        cut.channel_parts++;
    cut.channel_parts = even_parts(blocks, cut.channel_parts);
    cut.channels = fl_chunk_count(p.o, cut.channel_parts);
    cut.channel_parts = fl_chunk_count(p.o, cut.channels);
    return cut;
}

/* Where the block begins in input and output. */
void set_block(const fl_conv &p, const Operands &at, int64_t group, int64_t image,
                 fl_conv_block *b) {
    int64_t channels = p.c * p.h * p.w, outputs = p.o * fl_conv_pixels(p);
    b->depth = at.depth;
    b->first_image = image;
    if (at.depth) {
        channels = channels / at.depth->z.size * at.depth->d;
        outputs *= at.depth->od;
        image = 0;
    }
    b->input_step = p.groups * channels;
    b->output_step = p.groups * outputs;
    int64_t input = image * b->input_step + group * channels;
    b->input = at.input + input * at.size;
    b->out = at.out + (image * b->output_step + group * outputs) * at.size;
    b->readable = p.n * b->input_step - input;
}

/* Block number `index`: output channels vary fastest. */
fl_conv_block block_of(const fl_conv &p, const Cut &cut, const Operands &at, int64_t index) {
    int64_t part = index % cut.channel_parts;
    index /= cut.channel_parts;
    int64_t band = index % cut.row_parts;
    index /= cut.row_parts;
    int64_t group = index % p.groups, image = index / p.groups * cut.images;
    int64_t o0 = part * cut.channels, y0 = band * cut.rows;
    fl_conv_block b = {};
    b.p = &p;
    set_block(p, at, group, image, &b);
    b.weight = at.weight;
    b.weight.data = (const char *)at.weight.data + group * at.weight.group * at.size;
    b.bias = at.bias ? at.bias + group * p.o * at.size : nullptr;
    b.images = p.n - image < cut.images ? p.n - image : cut.images;
    b.y0 = y0;
    b.rows = p.oh - y0 < cut.rows ? p.oh - y0 : cut.rows;
    b.o0 = o0;
    b.o1 = p.o - o0 < cut.channels ? p.o : o0 + cut.channels;
    b.steps = FL_CONV_GATHER | FL_CONV_MULTIPLY;
    b.last_slab = at.slabs;
    return b;
}


struct Job {
    const fl_conv &p;
    Cut cut;
    Operands at;
    const fl_conv_dtype *kernels;
    const fl_epilogue *epilogue;
    int64_t pixel_parts() const { return cut.image_parts * p.groups * cut.row_parts; }
};

/* The block is final: all its channels of an image at once, or channel by channel. */
void finish(const fl_epilogue &epilogue, const fl_conv_block &b) {
    const fl_conv &p = *b.p;
    int64_t pixels = fl_conv_pixels(p), runs = b.rows == p.oh ? 1 : b.o1 - b.o0;
    int64_t length = (b.o1 - b.o0) / runs * b.rows * p.ow;
    for (int64_t image = 0; image < b.images; image++)
        for (int64_t i = 0; i < runs; i++) {
            int64_t at = image * b.output_step + (b.o0 + i) * pixels + b.y0 * p.ow;
            epilogue.finish(static_cast<const char *>(b.out) + at * epilogue.size, length);
        }
}

/* Run `count` pieces of work; prepare(i, block) says what piece i is. */
template <class Prepare>
bool run_blocks(const Job &job, int64_t count, int64_t work, const Prepare &prepare) {
    fl_conv_block probe;
    prepare(0, &probe);
    size_t bytes = (size_t)job.kernels->scratch_bytes(&probe);
    bool failed = false;
    fl_parallel(count, (1 << 18) / (work + 1) + 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        if (!scratch.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t i = begin; i < end; i++) {
            fl_conv_block b;
            prepare(i, &b);
            b.scratch = scratch.as<char>();
            job.kernels->block(&b);
            if (job.epilogue && (b.steps & FL_CONV_MULTIPLY))
                finish(*job.epilogue, b);
        }
    });
    return !failed;
}

/* Every block gathers its own strips. */
bool run_at_once(const Job &job) {
    int64_t count = job.pixel_parts() * job.cut.channel_parts;
    int64_t work = job.cut.images * job.cut.rows * job.p.ow * job.cut.channels *
                   fl_conv_taps(job.p);
    return run_blocks(job, count, work, [&](int64_t i, fl_conv_block *b) {
        *b = block_of(job.p, job.cut, job.at, i);
    });
}

/* The strips of pixel parts [first, last) are gathered, to serve all parts of the output
 * channels. */
bool run_some_in_steps(const Job &job, char *strips, int64_t strips_bytes, int64_t first,
                       int64_t last) {
    int64_t slabs = job.at.slabs, parts = job.cut.channel_parts;
    int64_t pixels = job.cut.images * job.cut.rows * job.p.ow;
    int64_t taps = fl_conv_taps(job.p);
    bool done = run_blocks(job, (last - first) * slabs, pixels * taps / slabs * 16,
                           [&](int64_t i, fl_conv_block *b) {
        *b = block_of(job.p, job.cut, job.at, (first + i / slabs) * parts);
        b->steps = FL_CONV_GATHER;
        b->first_slab = i % slabs;
        b->last_slab = i % slabs + 1;
        b->strips = strips + i / slabs * strips_bytes;
    });
    return done && run_blocks(job, (last - first) * parts, pixels * taps * job.cut.channels,
                              [&](int64_t i, fl_conv_block *b) {
        *b = block_of(job.p, job.cut, job.at, first * parts + i);
        b->steps = FL_CONV_MULTIPLY;
        b->strips = strips + i / parts * strips_bytes;
    });
}

/* As many pixel parts at once as keep all threads busy. */
bool run_in_steps(const Job &job, int64_t strips_bytes) {
    int64_t all = job.pixel_parts();
    int64_t wanted = MIN_BLOCKS_PER_THREAD * fl_get_num_threads();
    int64_t busy = fl_chunk_count(wanted, job.cut.channel_parts);
    int64_t some = STRIP_BYTES / strips_bytes > busy ? STRIP_BYTES / strips_bytes : busy;
    some = fl_chunk_count(all, fl_chunk_count(all, some));
    Scratch strips((size_t)(strips_bytes * some));
    bool done = strips.ok();
    for (int64_t first = 0; done && first < all; first += some) {
        int64_t last = all - first < some ? all : first + some;
        done = run_some_in_steps(job, strips.as<char>(), strips_bytes, first, last);
    }
    return done;
}

bool run_job(const Job &job) {
    fl_conv_block whole = block_of(job.p, job.cut, job.at, 0);
    int64_t bytes = job.kernels->strips_bytes(&whole);
    bytes += -bytes & 63;
    if (job.cut.channel_parts == 1 || bytes * job.pixel_parts() > MAX_SHARED_BYTES)
        return run_at_once(job);
    return run_in_steps(job, bytes);
}

}  // namespace

static int no_memory() { return fl_error(FL_MEMORY_ERROR, "conv2d(): no memory for scratch"); }

int fl_conv_by_sums(const fl_conv &p, int dtype, const char *input, const fl_conv_weight &weight,
                    const char *bias, char *out, const fl_conv_depth *depth,
                    const fl_epilogue *epilogue) {
    const fl_conv_dtype *kernels = fl_conv_kernels_of(dtype);
    Operands at = {input, bias, weight, out, fl_itemsize(dtype), kernels->slabs(&p),
                   depth};
    int done = 0;
    if (!depth && dtype == FL_F32)
        done = fl_conv_direct(p, (const float *)input, weight, (const float *)bias, (float *)out,
                              epilogue);
    if (done > 0 || (done == 0 && run_job(Job{p, cut_of(p), at, kernels, epilogue})))
        return 0;
    return no_memory();
}

int fl_conv_forward(const fl_conv &p, int dtype, const char *input, const fl_conv_weight &weight,
                    const char *bias, char *out, const fl_conv_depth *depth) {
    const fl_epilogue *epilogue = nullptr;
    if (!depth)
        epilogue = fl_take_epilogue(out, p.n * p.groups * p.o * fl_conv_pixels(p),
                                    fl_itemsize(dtype));
    int done = 0;
    if (!depth && dtype == FL_F32)
        done = fl_conv_winograd(p, (const float *)input, weight, (const float *)bias, (float *)out,
                                epilogue);
    if (done < 0)
        return no_memory();
    return done > 0 ? 0 : fl_conv_by_sums(p, dtype, input, weight, bias, out, depth, epilogue);
}
