/* Numbers and the integers of 8 bits that stand for them. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* Integers without sign; signed ones are brought there by `flip`, 128, which zero, low and high
 * count as well. */
struct fl_quantized_range {
    float zero, low, high;
    uint8_t flip;
};
/* x = (q - zero) * scale */
struct fl_quantized_operand {
    const uint8_t *data;
    float scale, zero;
    uint8_t flip;
};

struct fl_quantized_kernels_table {
    /* round(x * inverse) + zero, clamped; NaN becomes the greatest */
    void (*quantize)(const float *x, int64_t n, float inverse, const fl_quantized_range *range,
                     uint8_t *to);
    void (*dequantize)(const fl_quantized_operand *x, int64_t n, float *to);
    /* the same of sums and products of what two operands stand for */
    void (*add)(const fl_quantized_operand *a, const fl_quantized_operand *b, int64_t n,
                float inverse, const fl_quantized_range *range, uint8_t *to);
    void (*mul)(const fl_quantized_operand *a, const fl_quantized_operand *b, int64_t n,
                float inverse, const fl_quantized_range *range, uint8_t *to);
};
extern "C" {
FL_LEVELS(fl_quantized_kernels_table);
}
