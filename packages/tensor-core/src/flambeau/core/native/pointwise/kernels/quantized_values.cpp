/* Numbers and the integers of 8 bits that stand for them: loops that the compiler vectorizes. */
#include "pointwise/kernels/quantized_values.h"
#include <math.h>

namespace {

inline uint8_t rounded(float x, float inverse, const fl_quantized_range &range) {
    float value = rintf(x * inverse) + range.zero;
    value = value < range.high ? value : range.high;
    value = value > range.low ? value : range.low;
    return (uint8_t)((uint8_t)(int)value ^ range.flip);
}

inline float number(const fl_quantized_operand &x, int64_t i) {
    return ((float)(uint8_t)(x.data[i] ^ x.flip) - x.zero) * x.scale;
}

void quantize(const float *x, int64_t n, float inverse, const fl_quantized_range *range,
              uint8_t *__restrict to) {
    const fl_quantized_range r = *range;
    for (int64_t i = 0; i < n; i++)
        to[i] = rounded(x[i], inverse, r);
}

void dequantize(const fl_quantized_operand *x, int64_t n, float *__restrict to) {
    const fl_quantized_operand q = *x;
    for (int64_t i = 0; i < n; i++)
        to[i] = number(q, i);
}

template <bool PRODUCT>
void join(const fl_quantized_operand *a, const fl_quantized_operand *b, int64_t n, float inverse,
          const fl_quantized_range *range, uint8_t *__restrict to) {
    const fl_quantized_operand left = *a, right = *b;
    const fl_quantized_range r = *range;
    for (int64_t i = 0; i < n; i++) {
        const float x = number(left, i), y = number(right, i);
        to[i] = rounded(PRODUCT ? x * y : x + y, inverse, r);
    }
}

}  // namespace

extern const fl_quantized_kernels_table FL_LEVEL(fl_quantized_kernels_table) = {
    quantize, dequantize, join<false>, join<true>};
