/* Transposing copies, by the packing that products use. */
#include "common/kernels/transpose.h"
#include "matmul/kernels/gemm_pack.h"

extern const fl_transpose_kernels FL_LEVEL(fl_transpose_kernels) = {pack<float>, pack<double>};
