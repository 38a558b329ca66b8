/* Matrix products on packed panels, compiled per ISA level.
 *
 * The sum over k of every element of C is taken in the same order whatever the tiling: slabs of
 * fl_gemm_slab terms, each summed from its first term to its last by fused multiply-add, and the
 * slabs added in order. Callers may therefore cut C any way they like. The exception is `dot`,
 * which sums in vector lanes and is a choice made from the shape of the whole product. */
#pragma once
#include "common/kernels/level.h"

#include <stdint.h>

/* One rectangle of C = activation(alpha * A B + beta * C + bias). All strides in elements; both
 * strides of A, B and C are free. */
typedef struct fl_gemm_block {
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    double alpha, beta;         /* beta == 0: C is not read */
    const void *bias;           /* NULL, or strided like a matrix that is added to all */
    int64_t bias_row, bias_col;
    int32_t relu;
    int32_t dot;                /* vectors run along k: for few rows, and only with b_row == 1 */
    void *panels;               /* NULL, or all rows of A as pack_a left them: row i of the block
                                   starts i * panel_stride elements from here */
    int64_t panels_slab;        /* elements between the slabs of `panels` */
    const void *packed;         /* NULL, or B as pack_b left it, from the block's first column on;
                                   that is a multiple of `cols` then */
    int64_t packed_strip;       /* of fl_gemm_tiles_kernels: elements from a strip to the next */
    void *scratch;              /* at least scratch_bytes of the table, for a block of this k, dot
                                   and a_col, and no fewer rows */
    int32_t keeps_b;            /* scratch_bytes was asked with this n and this set as well: panels of
                                   rows share what they pack of B */
    int32_t a_halves, b_halves; /* of fl_gemm_tiles_kernels: this operand is bfloat16 of which two
                                   terms make a pair; strides count bfloat16, and elements of one
                                   term (a_row, b_col) are neighbours */
    int32_t c_half;             /* C is bfloat16: only up to `rounded_terms`, and beta is 0 */
} fl_gemm_block;

enum { FL_GEMM_SMALL_TERMS = 64 };        /* the longest sums of `small` */

/* The kernels of one dtype. */
typedef struct fl_gemm_dtype {
    void (*block)(const fl_gemm_block *);
    void (*small)(const fl_gemm_block *);     /* the same for small elements, without scratch */
    int64_t (*scratch_bytes)(const fl_gemm_block *);
    /* Fill `panels` with these rows of A: slabs of m rows of panel_stride elements each. */
    void (*pack_a)(const fl_gemm_block *, int64_t first_row, int64_t end_row);
    /* Strips of B, `cols` columns each: [strip][term][column], with packed_terms(k) terms. */
    void (*pack_b)(const fl_gemm_block *, int64_t first_strip, int64_t end_strip, void *packed);
    int64_t (*packed_terms)(int64_t k);
    int64_t slab, panel_stride;
    int64_t rows, cols;                     /* of the register tile */
    int64_t panel_rows;                     /* rows of A used at once: a good height of blocks */
    int64_t dot_row_terms;                  /* terms of a sum for each row that `dot` has at most */
    int64_t row_unit;                       /* rows of a task are a multiple, but for the last */
    int64_t widest, tallest;                /* columns and rows of a task at most */
    int64_t rounded_terms;                  /* of sums that `block` rounds, at most */
    /* How many columns of B a block of so many rows reads at once: a good width of copies of B. */
    int64_t (*strip_cols)(int64_t rows);
} fl_gemm_dtype;

typedef struct fl_gemm_kernels {
    fl_gemm_dtype f32, f64;
} fl_gemm_kernels;

/* Do a small product, of float64 where `wide` and else of float32, whatever its strides;
 * false where there are more, and then the block is of no more use. The sizes must not be 0. */
bool fl_gemm_small(bool wide, fl_gemm_block *g);

/* Products of bfloat16 with float32 for C: k, strides and pointers of A and B count pairs of
 * neighbours along k. */
struct fl_gemm_pairs_kernels {
    bool built;                 /* for processors with AVX512-BF16 */
    fl_gemm_dtype product;
    /* out[j] = the pair of low[j] and high[j] */
    void (*interleave)(uint32_t *out, const uint16_t *low, const uint16_t *high, int64_t n);
    void (*round)(uint16_t *out, const float *in, int64_t n);
};

/* The same by AMX, whose registers hold tiles of 16 x 16 sums or of 16 pairs of 16 rows. They are
 * worth it for matrices, not for vectors. */
struct fl_gemm_tiles_kernels {
    bool built;                 /* for processors with AMX-BF16; `small` and `dot` are not */
    fl_gemm_dtype product;
};
extern "C" {
FL_LEVELS(fl_gemm_pairs_kernels);
FL_LEVELS(fl_gemm_tiles_kernels);
}
