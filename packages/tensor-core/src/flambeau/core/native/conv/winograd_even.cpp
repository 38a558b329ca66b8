/* Images whose elements are so even that Winograd's convolution rounds each pixel well. */
#include "conv/winograd.h"
#include "conv/kernels/winograd.h"

namespace {

/* A tile's rounding errors are those of its largest element, also in pixels that do not see it. At
 * this multiple of the mean they reach 2**-13 of what is usual. */
const float MAX_OF_MEAN = 1024.0f;
/* An image is looked at in so many pieces, and a task looks at so many elements, about. */
const int64_t SPREAD_PIECES = 8;
const int64_t SPREAD_GRAIN = 8192;

/* From the pieces of an image, which are the same for any number of threads. */
bool is_even(const fl_winograd_spread *pieces, int64_t size) {
    fl_winograd_spread all = {};
    for (int64_t i = 0; i < SPREAD_PIECES; i++) {
        all.sum += pieces[i].sum;
        all.largest = pieces[i].largest > all.largest ? pieces[i].largest : all.largest;
    }
    const float mean = all.sum / (float)size;
    return all.largest <= MAX_OF_MEAN * mean && mean - mean == 0.0f;
}

}  // namespace

bool fl_winograd_find_even(const fl_conv &p, const float *input, char *even) {
    const int64_t size = p.c * p.h * p.w, lines = size / 16, count = p.n * SPREAD_PIECES;
    Scratch scratch((size_t)count * sizeof(fl_winograd_spread));
    fl_winograd_spread *pieces = scratch.as<fl_winograd_spread>();
    if (!scratch.ok())
        return false;
    fl_parallel(count, SPREAD_GRAIN * SPREAD_PIECES / size + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const int64_t k = i % SPREAD_PIECES, first = lines * k / SPREAD_PIECES * 16;
            const int64_t next = lines * (k + 1) / SPREAD_PIECES * 16;
            const int64_t last = k + 1 < SPREAD_PIECES ? next : size;
            const float *image = input + i / SPREAD_PIECES * size;
            pieces[i] = FL_PICK(fl_conv_kernels)->winograd->spread(image + first, last - first);
        }
    });
    for (int64_t i = 0; i < p.n; i++)
        even[i] = is_even(pieces + i * SPREAD_PIECES, size);
    return true;
}
