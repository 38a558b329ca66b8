/* Convolutions of integers of 8 bits, and products as convolutions of single pixels. */
#include "conv/quantized_input.h"
#include "common/args.h"
#include "common/raw.h"

namespace {

const fl_quantized_conv_kernels *const kernels = FL_PICK(fl_quantized_conv_kernels);
const int64_t CHUNK_BYTES = 192 << 10;      /* of input and output, near a core's second cache */
const int64_t CHUNK_PIXELS = 64 * FL_QUANTIZED_PIXELS;
const int64_t TASKS = 8;
const int64_t MIN_TILE_PIXELS = 8;          /* that tiles of AMX are worth it for */
const int64_t TASK_PRODUCTS = 4 << 20;      /* 16 microseconds by dot products */
/* Most terms of 255 * 128, whose sum fits into 32 bits. */
const int64_t MOST_TERMS = INT32_MAX / (255 * 128);

/* The arguments in order. */
enum { INPUT, WEIGHT, SUMS, SCALES, BIAS, KERNEL_SIZE, STRIDE, PADDING, DILATION, GROUPS,
       INPUT_SCALE, INPUT_ZERO, SCALE, ZERO, RELU };

/* How windows are read, and how weights lie. */
struct Plan {
    fl_conv_nd c;
    int64_t channels, outputs, taps;
    bool depthwise, joined;         /* joined: a row of a window is one run */
    int64_t runs, run, words, blocks;

    int read(const fl_op *op, const fl_value *in);
    int64_t weight_bytes() const {
        return depthwise ? blocks * words * 4 * FL_QUANTIZED_BLOCK
                         : c.p.groups * blocks * runs * words * 4 * FL_QUANTIZED_CHANNELS;
    }
};

int Plan::read(const fl_op *op, const fl_value *in) {
    const fl_tensor *input = in[INPUT].t;
    const fl_value &kernel = in[KERNEL_SIZE];
    const int spatial = kernel.tag == FL_INTS ? (int)kernel.len : 1;
    if (spatial != 2 && spatial != 3)
        return fl_error(FL_VALUE_ERROR, "%s: kernel_size must have 2 or 3 numbers, got %d",
                        fl_op_title(op), spatial);
    if (input->ndim < spatial + 1 || in[GROUPS].i < 1)
        return fl_error(FL_VALUE_ERROR, "%s: input has shape %s and groups is %lld; expected "
                        "channels and %d dimensions behind them, and 1 group or more",
                        fl_op_title(op), fl_shape_text(input->shape, input->ndim),
                        (long long)in[GROUPS].i, spatial);
    int64_t weight[5] = {in[SUMS].t->numel,
                         input->shape[input->ndim - spatial - 1] / in[GROUPS].i};
    for (int i = 0; i < spatial; i++)
        weight[2 + i] = kernel.is[i];
    if (fl_conv_read(op, in, STRIDE, spatial, "input", input->ndim, input->shape, "weight",
                     spatial + 2, weight, &c) < 0)
        return -1;
    channels = c.p.groups * c.p.c;
    outputs = c.p.groups * c.p.o;
    taps = c.z.size * c.p.y.size * c.p.x.size;
    depthwise = c.p.groups > 1 && c.p.c == 1 && c.p.o == 1;
    joined = c.p.groups == 1 && c.p.x.dilation == 1;
    runs = depthwise || !joined ? taps : taps / c.p.x.size;
    run = joined ? c.p.x.size * c.p.c : c.p.c;
    words = depthwise ? fl_chunk_count(taps, 4) : fl_chunk_count(run, 4);
    blocks = depthwise ? fl_chunk_count(channels, FL_QUANTIZED_BLOCK)
                       : fl_chunk_count(c.p.o, FL_QUANTIZED_CHANNELS);
    return 0;
}

int check_row(const fl_op *op, const char *name, const fl_tensor *t, int dtype, int64_t n) {
    if (t->dtype == dtype && t->ndim == 1 && t->numel == n)
        return 0;
    return fl_error(FL_VALUE_ERROR, "%s: %s must be %lld numbers of %s, one for each output "
                    "channel, got %s", fl_op_title(op), name, (long long)n, fl_dtype_name(dtype),
                    fl_tensor_text(t));
}

int check(const fl_op *op, const fl_value *in, const Plan &plan) {
    const fl_tensor *input = in[INPUT].t, *weight = in[WEIGHT].t, *bias = fl_t(in[BIAS]);
    const char *title = fl_op_title(op);
    if (input->dtype != FL_U8 && input->dtype != FL_I8)
        return fl_error(FL_TYPE_ERROR, "%s: input must be uint8 or int8, got %s", title,
                        fl_dtype_name(input->dtype));
    if (fl_check_zero_point(op, "input_zero", in[INPUT_ZERO].i, input->dtype) < 0 ||
        fl_check_zero_point(op, "zero_point", in[ZERO].i, input->dtype) < 0)
        return -1;
    if (plan.c.p.c > MOST_TERMS / plan.taps)
        return fl_error(FL_VALUE_ERROR, "%s: windows of at most %lld elements have sums that fit "
                        "into int32, got %lld channels of %lld", title, (long long)MOST_TERMS,
                        (long long)plan.c.p.c, (long long)plan.taps);
    if (weight->dtype != FL_I8 || weight->numel != plan.weight_bytes())
        return fl_error(FL_VALUE_ERROR, "%s: weight must be int8 in %lld elements, as "
                        "pack_quantized_weight() lays them out, got %s", title,
                        (long long)plan.weight_bytes(), fl_tensor_text(weight));
    if (check_row(op, "sums", in[SUMS].t, FL_I32, plan.outputs) < 0 ||
        check_row(op, "scales", in[SCALES].t, FL_F32, plan.outputs) < 0 ||
        (bias && check_row(op, "bias", bias, FL_F32, plan.outputs) < 0))
        return -1;
    return 0;
}

/* The result's channels lie side by side. -1 where there are more elements than 64 bits count. */
int result_strides(const Plan &plan, int64_t *shape, int64_t *strides) {
    const fl_conv &p = plan.c.p;
    int64_t sizes[5] = {p.n, plan.outputs, plan.c.od, p.oh, p.ow}, count;
    if (!fl_count_elements(5, sizes, &count))
        return -1;
    int64_t steps[5] = {plan.c.od * p.oh * p.ow * plan.outputs, 1, p.oh * p.ow * plan.outputs,
                        p.ow * plan.outputs, plan.outputs};
    int nd = 0;
    for (int i = 0; i < 5; i++) {
        if ((i == 0 && !p.batched) || (i == 2 && plan.c.spatial == 2))
            continue;
        shape[nd] = sizes[i];
        strides[nd++] = steps[i];
    }
    return nd;
}

/* What sums begin with, and how they become results, for each channel in the kernels' order. */
class Factors {
  public:
    Factors(const Plan &plan, const fl_value *in, bool is_signed)
        : count_((plan.depthwise ? 1 : plan.c.p.groups) * plan.blocks *
                 (plan.depthwise ? FL_QUANTIZED_BLOCK : FL_QUANTIZED_CHANNELS)),
          room_((size_t)count_ * 12) {
        if (!ok())
            return;
        int32_t *start = room_.as<int32_t>();
        float *shift = (float *)(start + count_), *factor = shift + count_;
        const uint8_t flip = is_signed ? 128 : 0;
        const int32_t zero = (int32_t)in[INPUT_ZERO].i + flip;
        const float step = (float)in[INPUT_SCALE].d, scale = (float)in[SCALE].d;
        const fl_tensor *sums = in[SUMS].t, *scales = in[SCALES].t, *bias = fl_t(in[BIAS]);
        memset(start, 0, (size_t)count_ * 12);
        for (int64_t i = 0; i < count_; i++) {
            const int64_t k = channel(plan, i);
            if (k < 0)
                continue;
            const float one = step * ((const float *)scales->data)[k * scales->strides[0]];
            const uint32_t sum = ((const uint32_t *)sums->data)[k * sums->strides[0]];
            start[i] = (int32_t)(0 - (uint32_t)zero * sum);
            shift[i] = bias ? ((const float *)bias->data)[k * bias->strides[0]] / one : 0;
            factor[i] = one / scale;
        }
        const int moved = (int)in[ZERO].i + flip;
        all = {start, shift, factor, moved, in[RELU].i ? moved : 0, flip};
    }
    bool ok() const { return room_.ok(); }
    fl_requantization from(int64_t i) const {
        fl_requantization to = all;
        to.start += i;
        to.shift += i;
        to.factor += i;
        return to;
    }

  private:
    static int64_t channel(const Plan &plan, int64_t i) {
        if (plan.depthwise) {
            const int64_t k = i / FL_QUANTIZED_BLOCK * FL_QUANTIZED_BLOCK +
                              fl_quantized_lane((int)(i % FL_QUANTIZED_BLOCK));
            return k < plan.channels ? k : -1;
        }
        const int64_t wide = plan.blocks * FL_QUANTIZED_CHANNELS;
        return i % wide < plan.c.p.o ? i / wide * plan.c.p.o + i % wide : -1;
    }
    int64_t count_;
    Scratch room_;
    fl_requantization all;
};

/* Where runs lie, in bytes from the first element of a window. */
void read_offsets(const Plan &plan, const fl_quantized_planes &planes, int64_t count,
                  int64_t *offsets) {
    const fl_conv &p = plan.c.p;
    const int64_t across = plan.joined && !plan.depthwise ? 1 : p.x.size;
    for (int64_t i = 0; i < count; i++) {
        const int64_t tap = i < plan.runs ? i : 0, y = tap / across % p.y.size;
        offsets[i] = tap / across / p.y.size * plan.c.z.dilation * planes.plane +
                     y * p.y.dilation * planes.row + tap % across * p.x.dilation * planes.pixel;
    }
}

class Convolution {
  public:
    Convolution(const Plan &plan, const fl_quantized_planes &planes, const Factors &factors,
                const int8_t *weight, const int64_t *offsets, uint8_t *out)
        : plan_(plan), planes_(planes), factors_(factors), weight_(weight), offsets_(offsets),
          out_(out), pixels_(planes.images * plan.c.od * plan.c.p.oh * plan.c.p.ow),
          of_(fl_has_vnni() && kernels->vnni.tile ? &kernels->vnni : &kernels->plain),
          tile_(has_tiles() ? FL_PICK(fl_quantized_tiles_kernels)->tile : of_->tile) {}

    /* Chunks of pixels, and parts of the output channels where these are few chunks and the parts
       are equal; else more chunks. */
    void run() const {
        const int64_t most = CHUNK_BYTES / (plan_.channels + plan_.outputs);
        const int64_t fit = most > CHUNK_PIXELS ? CHUNK_PIXELS : most + 1;
        const int64_t tiles = fl_chunk_count(pixels_, FL_QUANTIZED_PIXELS);
        const int64_t blocks = plan_.depthwise ? 1 : plan_.c.p.groups * plan_.blocks;
        const int64_t products = pixels_ * plan_.outputs * plan_.taps * plan_.c.p.c;
        int64_t chunks = fl_chunk_count(pixels_, fit), parts = 1;
        int64_t wanted = fl_chunk_count(TASKS, chunks);
        if (wanted > products / TASK_PRODUCTS / chunks)
            wanted = products / TASK_PRODUCTS / chunks;
        while (2 * parts <= wanted && blocks % (2 * parts) == 0)
            parts *= 2;
        if (parts == 1 && wanted > 1)
            chunks *= wanted;
        const int64_t each = fl_chunk_count(tiles, chunks);
        chunks = fl_chunk_count(tiles, each);
        const bool small = !plan_.depthwise && products < TASK_PRODUCTS;
        fl_parallel(chunks * parts, small ? chunks * parts : 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++)
                chunk(i % chunks * each, each, i / chunks * blocks / parts,
                      (i / chunks + 1) * blocks / parts);
        });
    }

  private:
    /* Some tiles of pixels by blocks of output channels. */
    void chunk(int64_t tile, int64_t tiles, int64_t begin, int64_t end) const {
        const uint8_t *pixels[CHUNK_PIXELS];
        const int64_t first = tile * FL_QUANTIZED_PIXELS;
        const int64_t last = first + tiles * FL_QUANTIZED_PIXELS;
        const int64_t count = (last < pixels_ ? last : pixels_) - first;
        planes_.windows(first, count, pixels);
        fl_quantized_tile t = {pixels, count, plan_.runs, plan_.words, plan_.channels, offsets_, 0,
                               weight_, factors_.from(0), out_ + first * plan_.outputs,
                               plan_.outputs};
        if (plan_.depthwise)
            return of_->depthwise(&t);
        for (int64_t i = begin; i < end; i++) {
            const int64_t group = i / plan_.blocks;
            const int64_t channel = i % plan_.blocks * FL_QUANTIZED_CHANNELS;
            const int64_t left = plan_.c.p.o - channel;
            t.channels = left < FL_QUANTIZED_CHANNELS ? left : FL_QUANTIZED_CHANNELS;
            t.base = group * plan_.c.p.c;
            t.weight = weight_ + i * plan_.runs * plan_.words * 4 * FL_QUANTIZED_CHANNELS;
            t.to = factors_.from(i * FL_QUANTIZED_CHANNELS);
            t.out = out_ + first * plan_.outputs + group * plan_.c.p.o + channel;
            (t.count < MIN_TILE_PIXELS ? of_->tile : tile_)(&t);
        }
    }

    static bool has_tiles() {
        return fl_has_amx() && FL_PICK(fl_quantized_tiles_kernels)->tile;
    }

    const Plan &plan_;
    const fl_quantized_planes &planes_;
    const Factors &factors_;
    const int8_t *weight_;
    const int64_t *offsets_;
    uint8_t *out_;
    int64_t pixels_;
    const fl_quantized_kernels_of *of_;
    void (*const tile_)(const fl_quantized_tile *t);
};

}  // namespace

extern "C" {
int fl_infer_quantized_conv(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    Plan plan;
    if (fl_same_device(op, in, n) < 0 || plan.read(op, in) < 0 || check(op, in, plan) < 0)
        return -1;
    int64_t shape[5], strides[5];
    const int nd = result_strides(plan, shape, strides);
    if (nd < 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: the result would have more elements than 64 bits "
                        "count; make stride larger or padding smaller", fl_op_title(op));
    fl_spec_set(outs, in[INPUT].t->dtype, fl_device_code(in[INPUT].t), nd, shape);
    outs->layout = FL_L_STRIDED;
    memcpy(outs->strides, strides, sizeof(int64_t) * (size_t)nd);
    return 0;
}

int fl_run_quantized_conv(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *input = in[INPUT].t;
    fl_tensor *out = outs[0];
    Plan plan;
    if (out->numel == 0)
        return 0;
    if (plan.read(op, in) < 0)
        return -1;
    int64_t shape[5], strides[5];
    const int nd = result_strides(plan, shape, strides);
    const bool own = !memcmp(out->strides, strides, sizeof(int64_t) * (size_t)nd);
    const bool is_signed = input->dtype == FL_I8;
    const uint8_t flip = is_signed ? 128 : 0;
    fl_quantized_planes planes(plan.c);
    const bool there = !is_signed && !plan.depthwise &&
                       planes.as_it_is(input, plan.run, plan.joined && plan.c.p.x.size > 1);
    const int64_t count = plan.depthwise ? 4 * plan.words : plan.runs;
    Scratch copied(there ? 0 : planes.bytes()), offsets((size_t)count * sizeof(int64_t));
    Scratch result(own ? 0 : (size_t)out->numel);
    Factors factors(plan, in, is_signed);
    RawIn weight(in[WEIGHT].t, FL_I8);
    if (!copied.ok() || !offsets.ok() || !result.ok() || !factors.ok() || !weight.ok())
        return -1;
    if (!there)
        planes.copy(input, (uint8_t)(in[INPUT_ZERO].i + flip), flip, copied.as<uint8_t>());
    read_offsets(plan, planes, count, offsets.as<int64_t>());
    char *to = own ? out->data : result.as<char>();
    Convolution(plan, planes, factors, (const int8_t *)weight.data(), offsets.as<int64_t>(),
                (uint8_t *)to).run();
    if (!own)
        fl_copy_strided(fl_strided{out->data, out->dtype, out->strides},
                        fl_strided{to, out->dtype, strides}, nd, out->shape);
    return 0;
}
}  // extern "C"
