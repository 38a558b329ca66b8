/* Matrix products of bfloat16 by the instruction that adds two products to each float32: the loops
 * of float32, whose elements are here pairs of bfloat16 along k. Compiled for AVX-512 alone, with
 * one extension more, which the caller has to ask the processor for. */
#include "matmul/kernels/gemm.h"

#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx512bf16")
#define FL_GEMM_PAIRS
#include "matmul/kernels/gemm_product.h"
#include "matmul/kernels/gemm_round.h"

namespace {

/* Two rows of B as one row of pairs; without a second one, of pairs with zero. */
void interleave(uint32_t *__restrict out, const uint16_t *__restrict low,
                const uint16_t *__restrict high, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        out[j] = (uint32_t)low[j] | (uint32_t)high[j] << 16;
}

}  // namespace

extern const fl_gemm_pairs_kernels FL_LEVEL(fl_gemm_pairs_kernels) = {true, table<float>(),
                                                                      interleave, round_row};
#else
extern const fl_gemm_pairs_kernels FL_LEVEL(fl_gemm_pairs_kernels) = {};
#endif
