/* Inputs of convolutions of integers: where their pixels lie, and copies with borders. */
#include "conv/quantized_input.h"
#include "common/args.h"

namespace {

/* Strides in elements of the input of a convolution, in the order images to channels. */
struct Strides {
    int64_t image, plane, row, pixel, channel;
    Strides(const fl_tensor *t, const fl_conv_nd &c) {
        const int64_t *s = t->strides + t->ndim - c.spatial;
        pixel = s[c.spatial - 1];
        row = s[c.spatial - 2];
        plane = c.spatial == 3 ? s[0] : 0;
        channel = s[-1];
        image = c.p.batched ? t->strides[0] : 0;
    }
};

/* Neighbouring pixels of a row. */
void copy_row(const uint8_t *from, const Strides &s, int64_t w, int64_t channels, uint8_t flip,
              uint8_t *to) {
    if (s.channel == 1 && !flip) {
        if (s.pixel == channels)
            memcpy(to, from, (size_t)(w * channels));
        else
            for (int64_t x = 0; x < w; x++)
                memcpy(to + x * channels, from + x * s.pixel, (size_t)channels);
        return;
    }
    for (int64_t k = 0; k < channels; k++)
        for (int64_t x = 0; x < w; x++)
            to[x * channels + k] = from[x * s.pixel + k * s.channel] ^ flip;
}

}  // namespace

bool fl_quantized_planes::as_it_is(const fl_tensor *input, int64_t run, bool neighbours) {
    const Strides s(input, c);
    if (padded() || run % 4 || (s.channel != 1 && channels > 1) ||
        (neighbours && s.pixel != channels))
        return false;
    image = s.image;
    plane = s.plane;
    row = s.row;
    pixel = s.pixel;
    data = (const uint8_t *)input->data;
    return true;
}

size_t fl_quantized_planes::bytes() const {
    const int64_t shape[5] = {images, d, h, w, channels};
    int64_t count;
    return fl_count_elements(5, shape, &count) ? (size_t)count + FL_QUANTIZED_BLOCK : SIZE_MAX;
}

void fl_quantized_planes::copy(const fl_tensor *input, uint8_t zero, uint8_t flip, uint8_t *to) {
    const Strides s(input, c);
    const fl_conv &p = c.p;
    row = w * channels;
    plane = h * row;
    image = d * plane;
    const int64_t left = p.x.padding * channels, inside = p.w * channels;
    data = to;
    memset(to + images * image, zero, FL_QUANTIZED_BLOCK);
    fl_parallel(images * d * h, fl_row_grain(row / 8), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const int64_t y = i % h - p.y.padding, z = i / h % d - c.z.padding, n = i / h / d;
            uint8_t *line = to + i * row;
            if (y < 0 || y >= p.h || z < 0 || z >= c.d) {
                memset(line, zero, (size_t)row);
                continue;
            }
            memset(line, zero, (size_t)left);
            copy_row((const uint8_t *)input->data + n * s.image + z * s.plane + y * s.row, s, p.w,
                     channels, flip, line + left);
            memset(line + left + inside, zero, (size_t)left);
        }
    });
}

void fl_quantized_planes::windows(int64_t first, int64_t count, const uint8_t **to) const {
    const fl_conv &p = c.p;
    const int64_t step = p.x.stride * pixel;
    for (int64_t i = first, last = first + count; i < last;) {
        const int64_t x = i % p.ow, y = i / p.ow % p.oh, z = i / p.ow / p.oh;
        const uint8_t *at = data + z / c.od * image + z % c.od * c.z.stride * plane +
                            y * p.y.stride * row + x * step;
        const int64_t end = last - i < p.ow - x ? last : i + p.ow - x;
        for (; i < end; i++, at += step)
            *to++ = at;
    }
}
