/* One run of numbers added to another. */
#include "kernels/accumulate.h"

namespace {

template <class T> void add(void *to, const void *from, int64_t n, double scale) {
    T *out = (T *)to;
    const T *x = (const T *)from;
    if (scale == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] += x[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] += (T)scale * x[i];
}

/* Whole numbers wrap, so a negative factor passes through int64. */
void add_whole(void *to, const void *from, int64_t n, double scale) {
    uint64_t *out = (uint64_t *)to;
    const uint64_t *x = (const uint64_t *)from;
    const uint64_t factor = (uint64_t)(int64_t)scale;
    for (int64_t i = 0; i < n; i++)
        out[i] += factor * x[i];
}

template <class T> void add_pairs(void *to, const void *from, int64_t n, double scale) {
    add<T>(to, from, 2 * n, scale);
}

void add_bools(void *to, const void *from, int64_t n, double scale) {
    uint8_t *out = (uint8_t *)to;
    const uint8_t *x = (const uint8_t *)from;
    for (int64_t i = 0; i < n && scale != 0; i++)
        out[i] |= x[i];
}

}  // namespace

extern const fl_accumulate_kernels FL_LEVEL(fl_accumulate_kernels) = {
    {add<float>, add<double>, add_whole, add_bools, add_pairs<float>, add_pairs<double>}};
