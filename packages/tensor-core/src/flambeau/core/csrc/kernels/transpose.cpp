/* Transposing copies, by the packing that products use. */
#include "kernels/transpose.h"
#include "kernels/gemm_pack.h"

extern const fl_transpose_kernels FL_LEVEL(fl_transpose_kernels) = {pack<float>, pack<double>};
