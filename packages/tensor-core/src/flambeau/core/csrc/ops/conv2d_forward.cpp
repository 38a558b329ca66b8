/* A convolution of contiguous operands, cut into blocks whose size follows from the shapes. */
#include "ops/conv2d.h"

namespace {

const int64_t PIXELS = 768;     /* of a block, about, */
const int64_t FEWEST = 256;     /* and at least, even when that makes few blocks */
const int64_t CHANNELS = 256;   /* output channels of a block, at most, */
const int64_t FEW = 56;         /* and at least when they are split for more blocks */
const int64_t ENOUGH = 12;      /* blocks that keep all threads busy */

int64_t parts_of(int64_t n, int64_t size) { return n > 0 ? (n - 1) / size + 1 : 0; }

/* How a convolution is cut. */
struct Cut {
    int64_t images, rows, channels;             /* of a block */
    int64_t image_parts, row_parts, channel_parts;
};

/* Small images go together, so that packed weights serve many pixels. */
int64_t images_of(const fl_conv &p, int64_t pixels) {
    int64_t few = parts_of(FEWEST, pixels), many = PIXELS / pixels;
    int64_t spare = p.n * p.groups / ENOUGH;
    int64_t images = many < spare ? many : spare;
    images = images > few ? images : few;
    return images < p.n ? images : p.n;
}

Cut cut_of(const fl_conv &p) {
    Cut cut;
    int64_t pixels = fl_conv_pixels(p);
    cut.row_parts = parts_of(p.oh, parts_of(PIXELS, p.ow));
    cut.rows = parts_of(p.oh, cut.row_parts);
    cut.row_parts = parts_of(p.oh, cut.rows);
    cut.images = cut.row_parts == 1 ? images_of(p, pixels) : 1;
    cut.image_parts = parts_of(p.n, cut.images);
    cut.channel_parts = parts_of(p.o, CHANNELS);
    int64_t blocks = cut.image_parts * cut.row_parts * p.groups;
    while (blocks * cut.channel_parts < ENOUGH && p.o / (cut.channel_parts + 1) >= FEW)
        cut.channel_parts++;
    cut.channels = parts_of(p.o, cut.channel_parts);
    cut.channel_parts = parts_of(p.o, cut.channels);
    return cut;
}

struct Operands {
    const char *input, *weight, *bias;
    char *out;
    int64_t size;
};

/* Block number `index`: output channels vary fastest. */
fl_conv_block block_of(const fl_conv &p, const Cut &cut, const Operands &at, int64_t index) {
    int64_t part = index % cut.channel_parts;
    index /= cut.channel_parts;
    int64_t band = index % cut.row_parts;
    index /= cut.row_parts;
    int64_t group = index % p.groups, image = index / p.groups * cut.images;
    int64_t input_step = p.groups * p.c * p.h * p.w;
    int64_t output_step = p.groups * p.o * fl_conv_pixels(p);
    int64_t input = image * input_step + group * p.c * p.h * p.w;
    int64_t output = image * output_step + group * p.o * fl_conv_pixels(p);
    int64_t o0 = part * cut.channels, y0 = band * cut.rows;
    fl_conv_block b = {};
    b.p = &p;
    b.input = at.input + input * at.size;
    b.weight = at.weight + group * p.o * fl_conv_taps(p) * at.size;
    b.bias = at.bias ? at.bias + group * p.o * at.size : nullptr;
    b.out = at.out + output * at.size;
    b.input_step = input_step;
    b.output_step = output_step;
    b.readable = p.n * input_step - input;
    b.images = p.n - image < cut.images ? p.n - image : cut.images;
    b.y0 = y0;
    b.rows = p.oh - y0 < cut.rows ? p.oh - y0 : cut.rows;
    b.o0 = o0;
    b.o1 = p.o - o0 < cut.channels ? p.o : o0 + cut.channels;
    return b;
}

}  // namespace

int fl_conv_forward(const fl_conv &p, int dtype, const char *input, const char *weight,
                    const char *bias, char *out) {
    const fl_conv_dtype *kernels = fl_conv_kernels_of(dtype);
    Operands at = {input, weight, bias, out, fl_itemsize(dtype)};
    Cut cut = cut_of(p);
    fl_conv_block whole = block_of(p, cut, at, 0);
    size_t bytes = (size_t)kernels->scratch_bytes(&whole);
    int64_t blocks = cut.image_parts * p.groups * cut.row_parts * cut.channel_parts;
    int64_t work = cut.images * cut.rows * p.ow * cut.channels * fl_conv_taps(p) + 1;
    bool failed = false;
    fl_parallel(blocks, (1 << 18) / work + 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        if (!scratch.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t i = begin; i < end; i++) {
            fl_conv_block b = block_of(p, cut, at, i);
            b.scratch = scratch.as<char>();
            kernels->block(&b);
        }
    });
    return failed ? fl_error(FL_MEMORY_ERROR, "conv2d(): no memory for %zu bytes of scratch", bytes)
                  : 0;
}
