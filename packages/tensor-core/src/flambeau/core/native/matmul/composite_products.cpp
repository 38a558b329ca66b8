/* Products under the names that fix the dimensions of their operands, and what adds to them. */
#include "common/compose.h"

/* Operands of these many dimensions, from parameter `first` on. */
static int expect_dims(const fl_op *op, const fl_value *in, int first, int left, int right) {
    static const char *const KINDS[] = {"", "a vector", "a matrix", "a stack of matrices"};
    for (int i = 0; i < 2; i++) {
        int wanted = i ? right : left;
        const fl_tensor *x = in[first + i].t;
        if (FL_LIKELY(x->ndim == wanted))
            continue;
        fl_error(FL_RUNTIME_ERROR, "%s(): argument '%s' must be %s (%d dimensions), got shape %s; "
                 "use matmul for other shapes", op->name, op->params[first + i].name,
                 KINDS[wanted], wanted, fl_shape_text(x->shape, x->ndim));
        return fl_raise();
    }
    return 0;
}

static fl_tensor *multiplied(const fl_value &left, const fl_value &right) {
    return fl_compose(FL_OP_matmul, left, right);
}

static int product(const fl_op *op, const fl_value *in, int n, fl_value *out, int left,
                   int right) {
    if (expect_dims(op, in, 0, left, right) < 0)
        return -1;
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

/* dot, and vdot, which conjugates its first vector. */
int fl_call_dot(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (expect_dims(op, in, 0, 1, 1) < 0)
        return -1;
    if (in[0].t->numel != in[1].t->numel) {
        PyErr_Format(PyExc_RuntimeError, "%s(): inconsistent tensor size, expected tensors of the "
                     "same number of elements, got %lld and %lld", op->name,
                     (long long)in[0].t->numel, (long long)in[1].t->numel);
        return -1;
    }
    if (op == &fl_builtin_ops[FL_OP_dot] || !fl_is_complex(in[0].t->dtype))
        return fl_compose_result(op, in, n, out, multiplied(in[0], in[1]));
    Made conjugate(fl_compose(FL_OP_conj, in[0]));
    return conjugate ? fl_compose_result(op, in, n, out,
                                         multiplied(fl_tensor_value(conjugate), in[1])) : -1;
}

static fl_tensor *outer_product(const fl_value &left, const fl_value &right) {
    Made column(fl_compose(FL_OP_unsqueeze, left, fl_int_value(1)));
    return column ? fl_compose(FL_OP_mul, fl_tensor_value(column), right) : nullptr;
}

int fl_call_outer(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (expect_dims(op, in, 0, 1, 1) < 0)
        return -1;
    return fl_compose_result(op, in, n, out, outer_product(in[0], in[1]));
}

/* ---- beta * self + alpha * product ----------------------------------------------------------- */

static bool is_inexact(const fl_tensor *x) {
    return fl_is_float(x->dtype) || fl_is_complex(x->dtype);
}

static int check_expands(const fl_op *op, const fl_tensor *x, const fl_tensor *result) {
    int pad = result->ndim - x->ndim;
    bool fits = pad >= 0;
    for (int i = 0; i < x->ndim && fits; i++)
        fits = x->shape[i] == 1 || x->shape[i] == result->shape[pad + i];
    if (FL_LIKELY(fits))
        return 0;
    fl_error(FL_RUNTIME_ERROR, "%s(): self of shape %s cannot be expanded to the shape of the "
             "product, %s", op->name, fl_shape_text(x->shape, x->ndim),
             fl_shape_text(result->shape, result->ndim));
    return fl_raise();
}

static bool is_number(const fl_value &v, double number) {
    return v.tag != FL_COMPLEX && fl_as_double(v) == number;
}

/* x is not read where beta is zero. Here a bool is a number, unlike in a sum; integers stay
 * integers. */
static fl_tensor *scaled_sum(const fl_op *op, const fl_value &x, Made &product, fl_value beta,
                             fl_value alpha) {
    if (!product || check_expands(op, x.t, product.get()) < 0)
        return nullptr;
    bool is_integral = !is_inexact(x.t) && !is_inexact(product.get());
    if (alpha.tag == FL_BOOLEAN || (is_integral && alpha.tag == FL_FLOAT))
        alpha = fl_int_value(fl_as_int(alpha));
    if (is_integral && beta.tag == FL_FLOAT)
        beta = fl_int_value(fl_as_int(beta));
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

/* A product of half precision in float32. */
static fl_tensor *wide_product(const fl_value *in, Product *multiply) {
    if (multiply == multiplied)
        return fl_compose(FL_OP_wide_product, in[1], in[2]);
    const fl_value single = fl_dtype_value(FL_F32);
    Made left(fl_compose(FL_OP_cast, in[1], single));
    Made right(left ? fl_compose(FL_OP_cast, in[2], single) : nullptr);
    return right ? multiply(fl_tensor_value(left), fl_tensor_value(right)) : nullptr;
}

/* Half precision is rounded once, at the end: a sum with float32 is one, a multiple is not. */
static fl_tensor *sum_of_halves(const fl_op *op, const fl_value *in, Product *multiply) {
    const bool is_multiple = !is_number(in[3], 1) && !is_number(in[3], 0);
    Made made(wide_product(in, multiply));
    Made x(made && is_multiple ? fl_compose(FL_OP_cast, in[0], fl_dtype_value(FL_F32)) : nullptr);
    if (!made || (is_multiple && !x))
        return nullptr;
    Made sum(scaled_sum(op, is_multiple ? fl_tensor_value(x) : in[0], made, in[3], in[4]));
    return sum ? fl_compose(FL_OP_cast, fl_tensor_value(sum), fl_dtype_value(in[0].t->dtype))
               : nullptr;
}

/* A vector that is added to each row of one product: what a linear layer does in one pass. */
static fl_tensor *as_layer(const fl_value *in) {
    const fl_tensor *x = in[0].t, *left = in[1].t, *right = in[2].t;
    if (x->ndim != 1 || left->ndim != 2 || right->ndim != 2 || x->shape[0] != right->shape[1] ||
        left->shape[1] != right->shape[0] || !is_number(in[3], 1) || !is_number(in[4], 1))
        return nullptr;
    Made weight(fl_compose(FL_OP_transpose, in[2], fl_int_value(0), fl_int_value(1)));
    return weight ? fl_compose(FL_OP_linear, in[1], fl_tensor_value(weight), in[0]) : nullptr;
}

static int add_product(const fl_op *op, const fl_value *in, int n, fl_value *out,
                       Product *multiply) {
    int dtype = in[0].t->dtype;
    bool same = in[1].t->dtype == dtype && in[2].t->dtype == dtype;
    if (out[0].tag == FL_TENSOR)
        return fl_compose_for_target(op, in, n, out);
    if (same && fl_is_float(dtype) && fl_itemsize(dtype) == 2) {
        fl_tensor *sum = multiply == multiplied ? as_layer(in) : nullptr;
        if (!sum && PyErr_Occurred())
            return -1;
        return fl_compose_result(op, in, n, out, sum ? sum : sum_of_halves(op, in, multiply));
    }
    Made made(multiply(in[1], in[2]));
    return fl_compose_result(op, in, n, out, scaled_sum(op, in[0], made, in[3], in[4]));
}

/* Products of matrices do not promote. */
static int add_matrices(const fl_op *op, const fl_value *in, int n, fl_value *out,
                        Product *multiply, int left, int right) {
    const int dtype = in[0].t->dtype;
    if (FL_UNLIKELY(in[1].t->dtype != dtype || in[2].t->dtype != dtype)) {
        PyErr_Format(PyExc_RuntimeError, "%s(): Input dtypes must be the same, for products do not "
                     "promote, got %s, %s and %s; convert with .to()", op->name,
                     fl_dtype_name(dtype), fl_dtype_name(in[1].t->dtype),
                     fl_dtype_name(in[2].t->dtype));
        return -1;
    }
    return expect_dims(op, in, 1, left, right) < 0 ? -1 : add_product(op, in, n, out, multiply);
}

int fl_call_addmm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return add_matrices(op, in, n, out, multiplied, 2, 2);
}

int fl_call_addmv(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return add_matrices(op, in, n, out, multiplied, 2, 1);
}

int fl_call_baddbmm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return add_matrices(op, in, n, out, multiplied, 3, 3);
}

/* The sum over a stack of products is one product: the stack joins the inner dimension. */
static fl_tensor *sum_of_products(const fl_value &left, const fl_value &right) {
    const int64_t *s = left.t->shape, *t = right.t->shape;
    int64_t inside = fl_wrapping_mul(s[0], s[2]);
    int64_t wide[] = {s[1], inside}, tall[] = {inside, t[2]};
    Made turned(fl_compose(FL_OP_transpose, left, fl_int_value(0), fl_int_value(1)));
    Made a(turned ? fl_compose(FL_OP_reshape, fl_tensor_value(turned), fl_ints_value(wide, 2))
                  : nullptr);
    Made b(a ? fl_compose(FL_OP_reshape, right, fl_ints_value(tall, 2)) : nullptr);
    return b ? multiplied(fl_tensor_value(a), fl_tensor_value(b)) : nullptr;
}

int fl_call_addbmm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *a = in[1].t, *b = in[2].t;
    if (a->ndim == 3 && b->ndim == 3 &&
        (a->shape[0] != b->shape[0] || a->shape[2] != b->shape[1])) {
        fl_error(FL_RUNTIME_ERROR, "%s(): batch1 of shape %s and batch2 of shape %s do not match: "
                 "expected batch2 of shape [%lld, %lld, any]", op->name,
                 fl_shape_text(a->shape, 3), fl_shape_text(b->shape, 3), (long long)a->shape[0],
                 (long long)a->shape[2]);
        return fl_raise();
    }
    return add_matrices(op, in, n, out, sum_of_products, 3, 3);
}

/* ---- addr, which promotes -------------------------------------------------------------------- */

/* beta and alpha say whether to look at self and the product. */
static fl_tensor *either(const fl_value *in) {
    Made product(outer_product(in[1], in[2]));
    if (product && !fl_as_double(in[4])) {
        Made none(fl_compose(FL_OP_zeros_like, fl_tensor_value(product)));
        product.swap(none);
    }
    if (!product || !fl_as_double(in[3]))
        return product.give();
    return fl_compose(FL_OP_logical_or, fl_tensor_value(product), in[0]);
}

static int check_factors(const fl_op *op, const fl_value *in) {
    bool is_integral = !is_inexact(in[0].t) && !is_inexact(in[1].t) && !is_inexact(in[2].t);
    for (int i = 3; i < 5; i++) {
        const char *name = op->params[i].name;
        if (in[i].tag == FL_BOOLEAN)
            fl_error(FL_RUNTIME_ERROR, "%s(): Boolean %s only supported for Boolean results.; "
                     "write %s=%d", op->name, name, name, (int)in[i].i);
        else if (is_integral && in[i].tag == FL_FLOAT)
            fl_error(FL_RUNTIME_ERROR, "%s(): For integral input tensors, argument %s must not be "
                     "a floating point number; got %g (write an int, or x.float())", op->name,
                     name, in[i].d);
        else
            continue;
        return fl_raise();
    }
    return 0;
}

int fl_call_addr(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    bool truths = true;
    for (int i = 0; i < 3; i++)
        truths = truths && in[i].t->dtype == FL_BOOL;
    if (out[0].tag == FL_TENSOR)
        return fl_compose_for_target(op, in, n, out);
    if (expect_dims(op, in, 1, 1, 1) < 0 || (!truths && check_factors(op, in) < 0))
        return -1;
    return truths ? fl_compose_result(op, in, n, out, either(in))
                  : add_product(op, in, n, out, outer_product);
}
