/* The OpenBLAS shared library, opened on first use with one thread. Private to the runtime. */
#ifndef FLAMBEAU_RUNTIME_OPENBLAS_H
#define FLAMBEAU_RUNTIME_OPENBLAS_H
#include <stdint.h>

enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112, CBLAS_CONJ_TRANS = 113 };

/* The gemm of one dtype with its scalars already in the shape CBLAS wants. */
typedef struct fl_cblas_gemm {
    int trans_a, trans_b;
    int m, n, k;
    double alpha, beta;
    const void *a, *b;
    void *c;
    int lda, ldb, ldc;
} fl_cblas_gemm;

typedef struct fl_openblas {
    void *sgemm, *dgemm, *cgemm, *zgemm;    /* cblas_?gemm with 32-bit integers */
    void *cdotu_sub, *zdotu_sub;            /* inner products: ten times as fast as by a gemm */
    const char *core;                       /* name of the kernels in use */
} fl_openblas;

/* NULL with an error stored when the library cannot be opened. */
const fl_openblas *fl_openblas_get(void);

void fl_openblas_gemm(const fl_openblas *blas, int dtype, const fl_cblas_gemm *args);
#endif
