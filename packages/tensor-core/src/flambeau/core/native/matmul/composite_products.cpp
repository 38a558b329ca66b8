/* Products under the names that fix the dimensions of their operands, and what adds to them.
 * Results of the operands' own dtype here; other dtypes, targets and errors in Python. */
#include "common/compose.h"

static bool have_dims(const fl_value *in, int left, int right) {
    return in[0].t->ndim == left && in[1].t->ndim == right;
}

static fl_tensor *multiplied(const fl_value &left, const fl_value &right) {
    return fl_compose(FL_OP_matmul, left, right);
}

static int product(const fl_op *op, const fl_value *in, int n, fl_value *out, int left,
                   int right) {
    if (!fl_is_short(out, have_dims(in, left, right)))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, multiplied(in[0], in[1]));
}

int fl_call_mm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return product(op, in, n, out, 2, 2);
}

int fl_call_bmm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return product(op, in, n, out, 3, 3);
}

int fl_call_mv(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return product(op, in, n, out, 2, 1);
}

/* Vectors of one length: dot, and vdot and inner of numbers that are their own conjugates. */
int fl_call_dot(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    bool plain = have_dims(in, 1, 1) && in[0].t->numel == in[1].t->numel &&
                 (op == &fl_builtin_ops[FL_OP_dot] || !fl_is_complex(in[0].t->dtype));
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, multiplied(in[0], in[1]));
}

int fl_call_inner(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (have_dims(in, 1, 1))
        return fl_call_dot(op, in, n, out);
    if (!fl_is_short(out, have_dims(in, 2, 2) && in[0].t->shape[1] == in[1].t->shape[1]))
        return fl_call_composite(op, in, n, out);
    Made turned(fl_compose(FL_OP_t, in[1]));
    if (!turned)
        return -1;
    return fl_compose_result(op, in, n, out, multiplied(in[0], fl_tensor_value(turned)));
}

static fl_tensor *outer_product(const fl_value &left, const fl_value &right) {
    Made column(fl_compose(FL_OP_unsqueeze, left, fl_int_value(1)));
    return column ? fl_compose(FL_OP_mul, fl_tensor_value(column), right) : nullptr;
}

int fl_call_outer(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_short(out, have_dims(in, 1, 1)))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, outer_product(in[0], in[1]));
}

/* ---- Kronecker product of few elements ------------------------------------------------------- */

static const int64_t FEW = 1 << 10;     /* beyond, whole rows are multiplied: see kron in Python */

/* [a, b] * [c, d] as [a, 1, b, 1] * [1, c, 1, d]. */
static fl_tensor *kronecker(const fl_value &x, const fl_value &y) {
    const int64_t *s = x.t->shape, *t = y.t->shape;
    int64_t spread[] = {s[0], 1, s[1], 1};
    int64_t merged[] = {fl_wrapping_mul(s[0], t[0]), fl_wrapping_mul(s[1], t[1])};
    int64_t rows[] = {t[0], 1, t[1]};
    Made left(fl_compose(FL_OP_reshape, x, fl_ints_value(spread, 4)));
    if (!left)
        return nullptr;
    Made right(fl_compose(FL_OP_reshape, y, fl_ints_value(rows, 3)));
    if (!right)
        return nullptr;
    Made all(fl_compose(FL_OP_mul, fl_tensor_value(left), fl_tensor_value(right)));
    return all ? fl_compose(FL_OP_view, fl_tensor_value(all), fl_ints_value(merged, 2)) : nullptr;
}

int fl_call_kron(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    bool plain = have_dims(in, 2, 2) && in[0].t->numel <= FEW && in[1].t->numel <= FEW &&
                 in[0].t->numel * in[1].t->numel <= FEW;
    /* the product of samples need not be in C order, as the view wants */
    plain = plain && !((in[0].t->flags | in[1].t->flags) >> FL_LEVEL_SHIFT);
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, kronecker(in[0], in[1]));
}

/* ---- beta * self + alpha * product ----------------------------------------------------------- */

/* Whether all are of one dtype in which numbers are added as they are multiplied. */
static bool sums_in_place(const fl_value *in) {
    int dtype = in[0].t->dtype;
    return (dtype == FL_F32 || dtype == FL_F64 || fl_is_complex(dtype)) &&
           in[1].t->dtype == dtype && in[2].t->dtype == dtype;
}

static bool expands_to(const fl_tensor *x, const fl_tensor *result) {
    int pad = result->ndim - x->ndim;
    for (int i = 0; i < x->ndim && pad >= 0; i++)
        if (x->shape[i] != 1 && x->shape[i] != result->shape[pad + i])
            return false;
    return pad >= 0;
}

static bool is_number(const fl_value &v, double number) {
    return v.tag != FL_COMPLEX && fl_as_double(v) == number;
}

/* x is not read where beta is zero. Here a bool is a number, unlike in a sum. */
static fl_tensor *scaled_sum(const fl_value &x, Made &product, const fl_value &beta,
                             fl_value alpha) {
    if (alpha.tag == FL_BOOLEAN)
        alpha = fl_int_value(alpha.i);
    if (is_number(beta, 0))
        return is_number(alpha, 1) ? product.give()
                                   : fl_compose(FL_OP_mul, fl_tensor_value(product), alpha);
    if (is_number(beta, 1))
        return fl_compose(FL_OP_add, x, fl_tensor_value(product), alpha);
    Made scaled(fl_compose(FL_OP_mul, x, beta));
    return scaled ? fl_compose(FL_OP_add, fl_tensor_value(scaled), fl_tensor_value(product), alpha)
                  : nullptr;
}

using Product = fl_tensor *(const fl_value &, const fl_value &);

static int add_product(const fl_op *op, const fl_value *in, int n, fl_value *out, Product *multiply,
                       int left, int right) {
    if (!fl_is_short(out, have_dims(in + 1, left, right) && sums_in_place(in)))
        return fl_call_composite(op, in, n, out);
    Made made(multiply(in[1], in[2]));
    if (!made)
        return -1;
    if (!expands_to(in[0].t, made.get()))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, scaled_sum(in[0], made, in[3], in[4]));
}

int fl_call_addmm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return add_product(op, in, n, out, multiplied, 2, 2);
}

int fl_call_addmv(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return add_product(op, in, n, out, multiplied, 2, 1);
}

int fl_call_addr(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (in[3].tag == FL_BOOLEAN || in[4].tag == FL_BOOLEAN)
        return fl_call_composite(op, in, n, out);
    return add_product(op, in, n, out, outer_product, 1, 1);
}

int fl_call_baddbmm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return add_product(op, in, n, out, multiplied, 3, 3);
}

/* The sum over a stack of products is one product: the stack joins the inner dimension. */
static fl_tensor *sum_of_products(const fl_value &left, const fl_value &right) {
    const int64_t *s = left.t->shape, *t = right.t->shape;
    int64_t inside = fl_wrapping_mul(s[0], s[2]);
    int64_t wide[] = {s[1], inside}, tall[] = {inside, t[2]};
    Made turned(fl_compose(FL_OP_transpose, left, fl_int_value(0), fl_int_value(1)));
    if (!turned)
        return nullptr;
    Made a(fl_compose(FL_OP_reshape, fl_tensor_value(turned), fl_ints_value(wide, 2)));
    if (!a)
        return nullptr;
    Made b(fl_compose(FL_OP_reshape, right, fl_ints_value(tall, 2)));
    return b ? multiplied(fl_tensor_value(a), fl_tensor_value(b)) : nullptr;
}

int fl_call_addbmm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *a = in[1].t, *b = in[2].t;
    bool plain = have_dims(in + 1, 3, 3) && a->shape[0] == b->shape[0] &&
                 a->shape[2] == b->shape[1];
    return plain ? add_product(op, in, n, out, sum_of_products, 3, 3)
                 : fl_call_composite(op, in, n, out);
}

/* ---- cross product --------------------------------------------------------------------------- */

static fl_tensor *narrowed(const fl_value &x, int dim, int64_t start, int64_t length) {
    return fl_compose(FL_OP_narrow, x, fl_int_value(dim), fl_int_value(start),
                      fl_int_value(length));
}

/* The three components from one of them on: (y, z, x) or (z, x, y). */
static fl_tensor *turned(const fl_value &x, int dim, int by) {
    Made head(narrowed(x, dim, by, 3 - by)), tail(narrowed(x, dim, 0, by));
    if (!head || !tail)
        return nullptr;
    fl_tensor *parts[] = {head.get(), tail.get()};
    return fl_compose(FL_OP_cat, fl_tensors_value(parts, 2), fl_int_value(dim));
}

static fl_tensor *half_of_cross(const fl_value &x, const fl_value &y, int dim, int by) {
    Made left(turned(x, dim, by));
    if (!left)
        return nullptr;
    Made right(turned(y, dim, 3 - by));
    return right ? fl_compose(FL_OP_mul, fl_tensor_value(left), fl_tensor_value(right)) : nullptr;
}

static fl_tensor *crossed(const fl_value &x, const fl_value &y, int dim) {
    Made plus(half_of_cross(x, y, dim, 1));
    if (!plus)
        return nullptr;
    Made minus(half_of_cross(x, y, dim, 2));
    return minus ? fl_compose(FL_OP_sub, fl_tensor_value(plus), fl_tensor_value(minus)) : nullptr;
}

/* (self, other, dim); where dim is None, the first dimension of three elements. */
int fl_call_cross(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t, *y = in[1].t;
    int64_t dim = in[2].i;
    if (fl_is_none(in[2]))
        for (dim = 0; dim < x->ndim && x->shape[dim] != 3; dim++)
            ;
    dim += dim < 0 ? x->ndim : 0;
    bool plain = fl_same_shape(x, y) && dim >= 0 && dim < x->ndim && x->shape[dim] == 3;
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, crossed(in[0], in[1], (int)dim));
}
