/* Contractions as one product of matrices, and covariances. Sizes of 1 that broadcast, weights,
 * targets for the result and errors in Python. */
#include "common/compose.h"

/* ---- tensordot ------------------------------------------------------------------------------- */

/* The number of dimensions where it is a plain int, else -1. */
static int64_t count_dims(const fl_value &v) {
    int overflow;
    if (v.tag != FL_OBJECT || !PyLong_CheckExact(v.o))
        return -1;
    int64_t count = PyLong_AsLongLongAndOverflow(v.o, &overflow);
    return overflow ? -1 : count;
}

/* Whether the last `count` sizes of x are the first ones of y. */
static bool meet(const fl_tensor *x, const fl_tensor *y, int64_t count) {
    return count >= 0 && count <= x->ndim && count <= y->ndim &&
           !memcmp(x->shape + x->ndim - count, y->shape, sizeof(int64_t) * (size_t)count);
}

static int64_t product_of(const int64_t *sizes, int count) {
    int64_t product = 1;
    for (int i = 0; i < count; i++)
        product = fl_wrapping_mul(product, sizes[i]);
    return product;
}

static fl_tensor *as_matrix(const fl_value &x, int64_t rows, int64_t columns) {
    int64_t shape[] = {rows, columns};
    return fl_compose(FL_OP_reshape, x, fl_ints_value(shape, 2));
}

static fl_tensor *contracted(const fl_value &x, const fl_value &y, int count) {
    int left = x.t->ndim - count, right = y.t->ndim - count;
    int64_t inside = product_of(y.t->shape, count), shape[2 * FL_MAX_DIMS];
    memcpy(shape, x.t->shape, sizeof(int64_t) * (size_t)left);
    memcpy(shape + left, y.t->shape + count, sizeof(int64_t) * (size_t)right);
    Made a(as_matrix(x, product_of(shape, left), inside));
    if (!a)
        return nullptr;
    Made b(as_matrix(y, inside, product_of(shape + left, right)));
    if (!b)
        return nullptr;
    Made product(fl_compose(FL_OP_matmul, fl_tensor_value(a), fl_tensor_value(b)));
    if (!product || (left == 1 && right == 1))
        return product ? product.give() : nullptr;
    return fl_compose(FL_OP_reshape, fl_tensor_value(product), fl_ints_value(shape, left + right));
}

int fl_call_tensordot(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int64_t count = count_dims(in[2]);
    bool plain = meet(in[0].t, in[1].t, count) &&
                 in[0].t->ndim + in[1].t->ndim - 2 * count <= FL_MAX_DIMS;
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, contracted(in[0], in[1], (int)count));
}

/* ---- bilinear -------------------------------------------------------------------------------- */

/* [count, out]: rows of the first input times the weight, then times rows of the second. */
static fl_tensor *twice_weighted(const fl_value *in, int64_t count) {
    static const int64_t order[] = {1, 0, 2};
    const int64_t *w = in[2].t->shape;
    int64_t split[] = {count, w[0], w[2]}, column[] = {count, w[2], 1};
    Made rows(as_matrix(in[0], count, w[1]));
    if (!rows)
        return nullptr;
    Made turned(fl_compose(FL_OP_permute, in[2], fl_ints_value(order, 3)));
    if (!turned)
        return nullptr;
    Made table(as_matrix(fl_tensor_value(turned), w[1], fl_wrapping_mul(w[0], w[2])));
    if (!table)
        return nullptr;
    Made half(fl_compose(FL_OP_matmul, fl_tensor_value(rows), fl_tensor_value(table)));
    if (!half)
        return nullptr;
    Made stack(fl_compose(FL_OP_reshape, fl_tensor_value(half), fl_ints_value(split, 3)));
    if (!stack)
        return nullptr;
    Made second(fl_compose(FL_OP_reshape, in[1], fl_ints_value(column, 3)));
    return second ? fl_compose(FL_OP_matmul, fl_tensor_value(stack), fl_tensor_value(second))
                  : nullptr;
}

int fl_call_bilinear(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t, *y = in[1].t, *weight = in[2].t;
    int lead = x->ndim - 1;
    bool plain = weight->ndim == 3 && x->ndim == y->ndim && lead >= 0 &&
                 !memcmp(x->shape, y->shape, sizeof(int64_t) * (size_t)lead) &&
                 x->shape[lead] == weight->shape[1] && y->shape[lead] == weight->shape[2];
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    int64_t shape[FL_MAX_DIMS];
    memcpy(shape, x->shape, sizeof(int64_t) * (size_t)lead);
    shape[lead] = weight->shape[0];
    Made whole(twice_weighted(in, product_of(shape, lead)));
    if (!whole)
        return -1;
    Made result(fl_compose(FL_OP_reshape, fl_tensor_value(whole), fl_ints_value(shape, lead + 1)));
    if (!result || fl_is_none(in[3]))
        return fl_compose_result(op, in, n, out, result.give());
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_add, fl_tensor_value(result), in[3]));
}

/* ---- covariances ----------------------------------------------------------------------------- */

static bool is_plain_matrix(const fl_tensor *x) {
    return x->ndim == 2 && (x->dtype == FL_F32 || x->dtype == FL_F64);
}

static fl_tensor *without_mean(const fl_value &x) {
    static const int64_t along[] = {1};
    Made sum(fl_compose(FL_OP_sum, x, fl_ints_value(along, 1), fl_bool_value(true)));
    if (!sum)
        return nullptr;
    Made mean(fl_compose(FL_OP_div, fl_tensor_value(sum), fl_int_value(x.t->shape[1])));
    return mean ? fl_compose(FL_OP_sub, x, fl_tensor_value(mean)) : nullptr;
}

static fl_tensor *covariances(const fl_value &x, int64_t correction) {
    int64_t norm = x.t->shape[1] - correction;
    Made centred(without_mean(x));
    if (!centred)
        return nullptr;
    Made turned(fl_compose(FL_OP_t, fl_tensor_value(centred)));
    if (!turned)
        return nullptr;
    Made product(fl_compose(FL_OP_matmul, fl_tensor_value(centred), fl_tensor_value(turned)));
    if (!product)
        return nullptr;
    Made result(fl_compose(FL_OP_div, fl_tensor_value(product), fl_int_value(norm > 0 ? norm : 0)));
    return result ? fl_compose(FL_OP_squeeze, fl_tensor_value(result)) : nullptr;
}

/* (self, correction, fweights, aweights) */
int fl_call_cov(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    bool plain = is_plain_matrix(in[0].t) && fl_is_none(in[2]) && fl_is_none(in[3]) &&
                 in[1].i >= 0 && in[1].i <= in[0].t->shape[1];
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, covariances(in[0], in[1].i));
}

static fl_tensor *divided_by(const fl_value &x, const fl_value &spread, int dim) {
    Made line(fl_compose(FL_OP_unsqueeze, spread, fl_int_value(dim)));
    return line ? fl_compose(FL_OP_div, x, fl_tensor_value(line)) : nullptr;
}

static fl_tensor *correlations(const fl_value &x) {
    Made c(covariances(x, 1));
    if (!c || c.get()->ndim == 0)
        return c ? fl_compose(FL_OP_div, fl_tensor_value(c), fl_tensor_value(c)) : nullptr;
    Made diagonal(fl_compose(FL_OP_diagonal, fl_tensor_value(c)));
    if (!diagonal)
        return nullptr;
    Made spread(fl_compose(FL_OP_sqrt, fl_tensor_value(diagonal)));
    if (!spread)
        return nullptr;
    Made half(divided_by(fl_tensor_value(c), fl_tensor_value(spread), 1));
    if (!half)
        return nullptr;
    Made whole(divided_by(fl_tensor_value(half), fl_tensor_value(spread), 0));
    return whole ? fl_compose(FL_OP_clamp_both, fl_tensor_value(whole), fl_int_value(-1),
                              fl_int_value(1)) : nullptr;
}

int fl_call_corrcoef(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_short(out, is_plain_matrix(in[0].t)))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, correlations(in[0]));
}
