/* Matrix products of float32 and float64: see gemm_product.h. */
#include "matmul/kernels/gemm_product.h"

extern const fl_gemm_kernels FL_LEVEL(fl_gemm_kernels);
const fl_gemm_kernels FL_LEVEL(fl_gemm_kernels) = {table<float>(), table<double>()};
