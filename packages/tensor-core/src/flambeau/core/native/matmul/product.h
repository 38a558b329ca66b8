/* The operands of one product over the batch dimensions that they are broadcast to. */
#pragma once
#include "common/args.h"
#include "matmul/matrix.h"

/* One operand over the batch dimensions of the result. */
struct Batched {
    const char *data;
    bool halves;        /* of pairs: as bfloat16, which strides count */
    int64_t row, col;
    int64_t batch[FL_MAX_DIMS];
};

/* m x k by k x n, once for every position of the batch. */
struct Product {
    int dtype;
    bool pairs;         /* of bfloat16; k counts them */
    bool half_result;   /* of pairs: rounded to bfloat16 */
    int64_t m, n, k;
    int nbatch;
    int64_t batch[FL_MAX_DIMS];
    Batched a, b;
    fl_matrix ma, mb;
};

inline int64_t inner_of_a(const fl_tensor *t) { return t->shape[t->ndim - 1]; }
inline int64_t inner_of_b(const fl_tensor *t) { return t->shape[t->ndim > 1 ? t->ndim - 2 : 0]; }

/* The operand's strides; a vector becomes a row (a) or a column (b). */
template <class Input>
inline void view_operand(const fl_tensor *t, const Input &in, bool is_a, const Product &p,
                         Batched *out) {
    int64_t last = in.strides[t->ndim - 1];
    int64_t before = t->ndim > 1 ? in.strides[t->ndim - 2] : 0;
    out->data = in.data;
    out->row = t->ndim > 1 ? before : is_a ? p.k : last;
    out->col = t->ndim > 1 ? last : is_a ? last : 1;
    int own = t->ndim > 2 ? t->ndim - 2 : 0;
    for (int i = 0; i < p.nbatch; i++) {
        int d = i - (p.nbatch - own);
        out->batch[i] = d >= 0 && t->shape[d] != 1 ? in.strides[d] : 0;
    }
}

/* Bytes of what the strides of an operand, or of the result, count. */
inline int64_t operand_size(const Product &p, const Batched &x) {
    return x.halves ? fl_itemsize(FL_BF16) : fl_itemsize(p.dtype);   /* a pair is as large */
}
inline int64_t result_size(const Product &p) {
    return fl_itemsize(p.half_result ? (int)FL_BF16 : p.dtype);
}

/* Merge neighbouring batch dimensions that step evenly in both operands. */
inline void merge_batch(Product *p) {
    int n = 0;
    for (int i = 0; i < p->nbatch; i++) {
        if (p->batch[i] == 1)
            continue;
        bool joins = n > 0 && p->a.batch[n - 1] == p->a.batch[i] * p->batch[i] &&
                     p->b.batch[n - 1] == p->b.batch[i] * p->batch[i];
        int at = joins ? n - 1 : n++;
        p->batch[at] = joins ? p->batch[at] * p->batch[i] : p->batch[i];
        p->a.batch[at] = p->a.batch[i];
        p->b.batch[at] = p->b.batch[i];
    }
    p->nbatch = n;
}

/* Every batch of `a` meets the same matrix: the batch becomes more rows of one product. */
inline void fold_rows(Product *p) {
    if (p->nbatch != 1 || p->b.batch[0] != 0)
        return;
    int64_t shape[2] = {p->batch[0], p->m};
    int64_t strides[2] = {p->a.batch[0], p->a.row};
    int64_t row;
    fl_matrix folded;
    if (!fl_collapse(2, shape, strides, p->k, &row) ||
        !fl_as_matrix(p->batch[0] * p->m, p->k, row, p->a.col, &folded))
        return;
    p->m *= p->batch[0];
    p->a.row = row;
    p->nbatch = 0;
}

inline bool readable_a(Product *p) { return fl_as_matrix(p->m, p->k, p->a.row, p->a.col, &p->ma); }
inline bool readable_b(Product *p) { return fl_as_matrix(p->k, p->n, p->b.row, p->b.col, &p->mb); }

/* Sizes and strides of the whole call; batch dimensions are broadcast. */
inline void set_product(const fl_tensor *a, const fl_tensor *b, Product *p) {
    p->pairs = p->half_result = p->a.halves = p->b.halves = false;
    p->m = a->ndim > 1 ? a->shape[a->ndim - 2] : 1;
    p->k = inner_of_a(a);
    p->n = b->ndim > 1 ? b->shape[b->ndim - 1] : 1;
    int na = a->ndim > 2 ? a->ndim - 2 : 0, nb = b->ndim > 2 ? b->ndim - 2 : 0;
    fl_broadcast_shape("matmul", na, a->shape, nb, b->shape, &p->nbatch, p->batch);
}

template <class Input>
inline void view_both(const fl_tensor *a, const Input &ia, const fl_tensor *b, const Input &ib,
                      Product *p) {
    set_product(a, b, p);
    view_operand(a, ia, true, *p, &p->a);
    view_operand(b, ib, false, *p, &p->b);
    merge_batch(p);
    fold_rows(p);
}

/* Element offsets of a and b at position `index` of the outer batch dimensions. */
inline void outer_offsets(const Product &p, int64_t index, int64_t *a, int64_t *b) {
    *a = *b = 0;
    for (int i = p.nbatch - 2; i >= 0; i--) {
        int64_t at = index % p.batch[i];
        index /= p.batch[i];
        *a += at * p.a.batch[i];
        *b += at * p.b.batch[i];
    }
}

/* A long batch of tiny products; false where it is not one. */
bool fl_run_tiny_products(const Product &p, char *c);
