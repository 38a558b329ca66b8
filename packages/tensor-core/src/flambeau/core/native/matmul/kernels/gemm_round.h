/* Sums rounded to bfloat16, by the instruction: like those of the products it takes numbers below
 * 1.2e-38 for zero. For files compiled with AVX512-BF16. */
#pragma once
#include "matmul/kernels/gemm_vector.h"

namespace {

inline void round_row(uint16_t *out, const float *in, int64_t n) {
    const int L = Lanes<float>::COUNT;
    for (int64_t j = 0; j < n; j += L) {
        const __mmask16 some = n - j < L ? (__mmask16)((1u << (n - j)) - 1) : (__mmask16)~0u;
        const __m256i halves = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(some, in + j));
        _mm256_mask_storeu_epi16(out + j, some, halves);
    }
}

}  // namespace
