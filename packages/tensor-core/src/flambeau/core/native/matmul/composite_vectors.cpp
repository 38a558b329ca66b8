/* Products along one dimension of many vectors: inner, Kronecker and cross products. */
#include "common/compose.h"

/* ---- inner products -------------------------------------------------------------------------- */

/* All vectors along the last dimension as rows. */
static fl_tensor *rows_of(const fl_value &x) {
    int64_t length = x.t->shape[x.t->ndim - 1], shape[] = {1, length};
    for (int i = 0; i < x.t->ndim - 1; i++)
        shape[0] = fl_wrapping_mul(shape[0], x.t->shape[i]);
    return fl_compose(FL_OP_reshape, x, fl_ints_value(shape, 2));
}

static fl_tensor *inner_products(const fl_value &x, const fl_value &y) {
    int64_t shape[2 * FL_MAX_DIMS];
    int left = x.t->ndim - 1, right = y.t->ndim - 1;
    memcpy(shape, x.t->shape, sizeof(int64_t) * (size_t)left);
    memcpy(shape + left, y.t->shape, sizeof(int64_t) * (size_t)right);
    if (left == 0 && right == 0)
        return fl_compose(FL_OP_matmul, x, y);
    Made a(rows_of(x)), b(a ? rows_of(y) : nullptr);
    Made turned(b ? fl_compose(FL_OP_t, fl_tensor_value(b)) : nullptr);
    Made product(turned ? fl_compose(FL_OP_matmul, fl_tensor_value(a), fl_tensor_value(turned))
                        : nullptr);
    if (!product || (left == 1 && right == 1))
        return product.give();
    return fl_compose(FL_OP_reshape, fl_tensor_value(product), fl_ints_value(shape, left + right));
}

int fl_call_inner(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t, *y = in[1].t;
    if (x->ndim == 0 || y->ndim == 0)
        return fl_compose_result(op, in, n, out, fl_compose(FL_OP_mul, in[0], in[1]));
    if (x->shape[x->ndim - 1] == y->shape[y->ndim - 1])
        return fl_compose_result(op, in, n, out, inner_products(in[0], in[1]));
    fl_error(FL_RUNTIME_ERROR, "%s() the last dimension must match on both input tensors but got "
             "shapes %s and %s", op->name, fl_shape_text(x->shape, x->ndim),
             fl_shape_text(y->shape, y->ndim));
    return fl_raise();
}

/* ---- Kronecker products ---------------------------------------------------------------------- */

/* From so many elements on, the product runs along whole rows of the result: the last two
 * dimensions are merged in both operands, which copies them. */
static const int64_t MIN_ROW_PRODUCTS = (1 << 10) + 1;

/* The last two dimensions, of which one has size 1, expanded and merged. */
static fl_tensor *merged_rows(const fl_value &x, int64_t columns, int64_t width) {
    int64_t shape[2 * FL_MAX_DIMS];
    int nd = x.t->ndim;
    memcpy(shape, x.t->shape, sizeof(int64_t) * (size_t)nd);
    shape[nd - 2] = columns;
    shape[nd - 1] = width;
    Made wide(fl_compose(FL_OP_expand, x, fl_ints_value(shape, nd)));
    shape[nd - 2] = fl_wrapping_mul(columns, width);
    return wide ? fl_compose(FL_OP_reshape, fl_tensor_value(wide), fl_ints_value(shape, nd - 1))
                : nullptr;
}

/* Every element of x times y: dimensions interleaved, [a, 1, b, 1] * [1, c, 1, d], then merged. */
static fl_tensor *kronecker(const fl_value &x, const fl_value &y) {
    int nd = x.t->ndim > y.t->ndim ? x.t->ndim : y.t->ndim;
    int64_t spread[2][2 * FL_MAX_DIMS], merged[FL_MAX_DIMS], count = 1;
    for (int i = 0; i < nd; i++) {
        int of_x = i - nd + x.t->ndim, of_y = i - nd + y.t->ndim;
        int64_t a = of_x < 0 ? 1 : x.t->shape[of_x], b = of_y < 0 ? 1 : y.t->shape[of_y];
        spread[0][2 * i] = a;
        spread[1][2 * i + 1] = b;
        spread[0][2 * i + 1] = spread[1][2 * i] = 1;
        merged[i] = fl_wrapping_mul(a, b);
        count = fl_wrapping_mul(count, merged[i]);
    }
    Made left(fl_compose(FL_OP_reshape, x, fl_ints_value(spread[0], 2 * nd)));
    Made right(left ? fl_compose(FL_OP_reshape, y, fl_ints_value(spread[1], 2 * nd)) : nullptr);
    if (right && nd > 1 && count >= MIN_ROW_PRODUCTS) {
        int64_t columns = spread[0][2 * nd - 2], width = spread[1][2 * nd - 1];
        Made rows(merged_rows(fl_tensor_value(left), columns, width));
        Made others(rows ? merged_rows(fl_tensor_value(right), columns, width) : nullptr);
        left.swap(rows);
        right.swap(others);
    }
    Made all(right ? fl_compose(FL_OP_mul, fl_tensor_value(left), fl_tensor_value(right))
                   : nullptr);
    return all ? fl_compose(FL_OP_reshape, fl_tensor_value(all), fl_ints_value(merged, nd))
               : nullptr;
}

int fl_call_kron(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out, kronecker(in[0], in[1]));
}

/* ---- cross products -------------------------------------------------------------------------- */

/* x[i] * y[j], of components along a dimension. */
static fl_tensor *of_components(const fl_value &x, int64_t i, const fl_value &y, int64_t j,
                                int64_t dim) {
    Made left(fl_compose(FL_OP_select, x, fl_int_value(dim), fl_int_value(i)));
    Made right(left ? fl_compose(FL_OP_select, y, fl_int_value(dim), fl_int_value(j)) : nullptr);
    return right ? fl_compose(FL_OP_mul, fl_tensor_value(left), fl_tensor_value(right)) : nullptr;
}

static fl_tensor *component(const fl_value &x, const fl_value &y, int64_t k, int64_t dim) {
    const int64_t i = (k + 1) % 3, j = (k + 2) % 3;
    Made plus(of_components(x, i, y, j, dim));
    Made minus(plus ? of_components(x, j, y, i, dim) : nullptr);
    return minus ? fl_compose(FL_OP_sub, fl_tensor_value(plus), fl_tensor_value(minus)) : nullptr;
}

static fl_tensor *crossed(const fl_value &x, const fl_value &y, int64_t dim) {
    Made first(component(x, y, 0, dim)), second(first ? component(x, y, 1, dim) : nullptr);
    Made third(second ? component(x, y, 2, dim) : nullptr);
    fl_tensor *parts[] = {first.get(), second.get(), third.get()};
    return third ? fl_compose(FL_OP_stack, fl_tensors_value(parts, 3), fl_int_value(dim)) : nullptr;
}

/* The first dimension of three elements, in either; -1 where there is none. */
static int64_t dim_of_three(const fl_tensor *x, const fl_tensor *y) {
    for (int i = 0; i < x->ndim && i < y->ndim; i++)
        if ((x->shape[i] > y->shape[i] ? x->shape[i] : y->shape[i]) == 3)
            return i;
    return -1;
}

static int refuse_shapes(const char *text, const fl_tensor *x, const fl_tensor *y) {
    fl_error(FL_RUNTIME_ERROR, "linalg.cross: %s, got shapes %s and %s", text,
             fl_shape_text(x->shape, x->ndim), fl_shape_text(y->shape, y->ndim));
    return fl_raise();
}

/* (self, other, dim) */
int fl_call_cross(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t, *y = in[1].t;
    bool any = fl_is_none(in[2]);
    int64_t dim = any ? dim_of_three(x, y) : in[2].i + (in[2].i < 0 ? x->ndim : 0);
    if (any && dim < 0) {
        fl_error(FL_RUNTIME_ERROR, "%s(): no dimension of size 3 in input of shape %s", op->name,
                 fl_shape_text(x->shape, x->ndim));
        return fl_raise();
    }
    if (x->ndim != y->ndim)
        return refuse_shapes("inputs must have the same number of dimensions", x, y);
    if (dim < 0 || dim >= x->ndim) {
        fl_error(FL_INDEX_ERROR, "%s: Dimension out of range (expected to be in range of [%d, %d], "
                 "but got %lld)", fl_op_title(op), -x->ndim, x->ndim - 1, (long long)in[2].i);
        return fl_raise();
    }
    if (x->shape[dim] == 3 && y->shape[dim] == 3)
        return fl_compose_result(op, in, n, out, crossed(in[0], in[1], dim));
    fl_error(FL_RUNTIME_ERROR, "linalg.cross: inputs dimension %lld must have length 3. Got %lld "
             "and %lld", (long long)(any ? dim : in[2].i), (long long)x->shape[dim],
             (long long)y->shape[dim]);
    return fl_raise();
}
