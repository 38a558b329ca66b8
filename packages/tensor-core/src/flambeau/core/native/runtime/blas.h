/* Matrix products: C = activation(alpha * op(A) op(B) + beta * C + bias), row-major.
 *
 * Products of float32 and float64 run in our own kernels (kernels/gemm.h), complex ones in
 * OpenBLAS. Either way the work is cut into tiles fixed by the shapes alone, so the bits do not
 * depend on the number of threads. */
#ifndef FLAMBEAU_RUNTIME_BLAS_H
#define FLAMBEAU_RUNTIME_BLAS_H
#include <stdint.h>

enum fl_trans { FL_NO_TRANS = 0, FL_TRANS = 1, FL_CONJ_TRANS = 2 };
enum fl_activation { FL_ACT_NONE = 0, FL_ACT_RELU = 1 };

/* One product, or `batch` of them. dtype is a code of abi.h: float32, float64, complex64 or
 * complex128. op(A) is m x k, op(B) is k x n, C is m x n. lda, ldb, ldc are the distances, in
 * elements, between the rows of the matrices as stored; complex dtypes need at least the length
 * of a row, real ones take any (0 repeats a row of A or B). */
typedef struct fl_gemm_args {
    int32_t dtype;
    uint8_t trans_a, trans_b;       /* fl_trans */
    uint8_t activation;             /* fl_activation; real dtypes only */
    uint8_t pairs;                  /* A and B are pairs of bfloat16: see fl_has_pairs */
    uint8_t a_halves, b_halves;     /* with `pairs`, where fl_gemm_takes_halves: A or B is bfloat16
                                       whose columns, or rows, lie in memory side by side; its
                                       leading dimension and stride count bfloat16 */
    uint8_t c_half;                 /* with `pairs`: C is bfloat16, written once; beta is 0 */
    int64_t m, n, k;
    double alpha, beta;             /* beta == 0: C is written without being read */
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    const void *bias;               /* n elements, one per column, or NULL; real dtypes only */
    int64_t batch;
    int64_t stride_a, stride_b, stride_c;   /* in elements, between matrices; 0 repeats a or b */
} fl_gemm_args;

#ifdef __cplusplus
extern "C" {
#endif

int fl_gemm_run(const fl_gemm_args *args);      /* 0, or -1 with an error stored */

/* Whether this processor multiplies pairs of bfloat16. Then a product with `pairs` and dtype
 * float32 takes A and B as such pairs along k: k, strides and leading dimensions count them. */
int fl_has_pairs(void);

/* Whether such a product is made of tiles (AMX), which take bfloat16 in either order. */
int fl_gemm_takes_halves(int64_t m, int64_t n, int64_t k);

/* A matrix of float32, n x k as stored, that products with its transpose have packed once. */
struct fl_packed_matrix {
    const void *b;
    int64_t n, k;
    const float *packed;
};
/* The elements that packing takes, for products with m rows and more; 0: it would not be used. */
int64_t fl_packed_matrix_elements(int64_t m, int64_t n, int64_t k);
void fl_pack_matrix(const float *b, int64_t n, int64_t k, float *packed);
/* For the product that this thread runs next; NULL: no more. */
void fl_offer_packed_matrix(const struct fl_packed_matrix *packed);

int fl_gemm(int dtype, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
            const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
            int64_t ldc);

int fl_gemm_batched(int dtype, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                    double alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                    double beta, void *c, int64_t ldc, int64_t batch, int64_t stride_a,
                    int64_t stride_b, int64_t stride_c);

/* Where the OpenBLAS shared library lies; it is opened when first needed. */
void fl_blas_set_path(const char *path);
/* A function of it by its LAPACK or CBLAS name ("dgetrf_", "cblas_sgemv"), whatever prefix the
 * library uses; NULL with an error stored when it cannot be had. */
void *fl_blas_symbol(const char *name);
const char *fl_blas_core(void);     /* the kernels it chose, "SkylakeX"; NULL with an error */

#ifdef __cplusplus
}
#endif
#endif
