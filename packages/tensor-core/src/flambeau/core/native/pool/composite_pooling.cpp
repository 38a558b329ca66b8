/* Pooling along lines by that over planes, and adaptive means by plain ones where windows lie side
 * by side. */
#include "pool/composite_pooling.h"
#include "dispatch/history.h"

namespace {

/* A single result of several, of which the others are dropped. */
template <class... Values> fl_tensor *first_of_two(int row, Values... values) {
    fl_value in[] = {values...}, out[2];
    out[0].tag = out[1].tag = FL_NONE;
    if (fl_dispatch(&fl_builtin_ops[row], in, (int)sizeof...(values), out) < 0)
        return nullptr;
    Py_DECREF(out[1].t);
    return out[0].t;
}

/* Both results, as a tuple. */
PyObject *both_of(int row, const fl_value *in, int n) {
    fl_value out[2];
    out[0].tag = out[1].tag = FL_NONE;
    if (fl_dispatch(&fl_builtin_ops[row], in, n, out) < 0)
        return nullptr;
    PyObject *pair = PyTuple_Pack(2, out[0].o, out[1].o);
    Py_DECREF(out[0].o);
    Py_DECREF(out[1].o);
    return pair;
}

/* Whether a gradient, or a transform, will ask where the maxima were. */
bool order_matters(const fl_tensor *x) {
    return fl_requires_grad(x) || x->flags >> FL_LEVEL_SHIFT;
}

int row_of_maximum(const fl_tensor *x) {
    return order_matters(x) ? FL_OP_max_pool2d_compact_indices : FL_OP_max_pool2d_values;
}

fl_tensor *best_of_planes(const fl_value &x, const fl_value &size, const fl_value &stride,
                          const fl_value &padding, const fl_value &dilation, const fl_value &ceil) {
    int row = row_of_maximum(x.t);
    if (row == FL_OP_max_pool2d_values)
        return fl_compose(row, x, size, stride, padding, dilation, ceil);
    return first_of_two(row, x, size, stride, padding, dilation, ceil);
}

/* ---- blocks ------------------------------------------------------------------------------------ */

/* Pool the planes and then the towers; `pool(x, first)` says which settings are meant. */
template <class Pool> fl_tensor *pool_blocks(const fl_value &x, Pool pool) {
    Made blocks(as_planes(x)), planes(blocks ? pool(fl_tensor_value(blocks), true) : nullptr);
    Made towers(planes ? as_towers(planes) : nullptr);
    Made result(towers ? pool(fl_tensor_value(towers), false) : nullptr);
    if (!result)
        return nullptr;
    int64_t shape[FL_MAX_DIMS];
    int nd = x.t->ndim;
    for (int d = 0; d < nd; d++)
        shape[d] = x.t->shape[d];
    shape[nd - 3] = result.get()->shape[2];
    shape[nd - 2] = planes.get()->shape[2];
    shape[nd - 1] = planes.get()->shape[3];
    return fl_compose(FL_OP_reshape, fl_tensor_value(result), fl_ints_value(shape, nd));
}

/* ---- adaptive ---------------------------------------------------------------------------------- */

bool all_ones(const int64_t *wanted, int n) {
    for (int i = 0; i < n; i++)
        if (wanted[i] != 1)
            return false;
    return true;
}

/* One dimension after the other; half precision is rounded once, at the end. */
fl_tensor *means_by_dimension(const fl_value &x, const int64_t *wanted, int dims) {
    const bool narrow = dims > 1 && fl_itemsize(x.t->dtype) == 2;
    Made means(narrow ? fl_compose(FL_OP_cast, x, fl_dtype_value(FL_F32))
                      : (fl_tensor *)Py_NewRef(x.o));
    for (int i = 0; means && i < dims; i++) {
        if (wanted[i] == x.t->shape[x.t->ndim - dims + i])
            continue;
        Made next(fl_compose(FL_OP_adaptive_mean, fl_tensor_value(means), fl_int_value(i - dims),
                             fl_int_value(wanted[i])));
        means.swap(next);
    }
    if (!means || (!narrow && means.get() != x.t))
        return means.give();
    return fl_compose(narrow ? (int)FL_OP_cast : (int)FL_OP_clone, fl_tensor_value(means),
                      narrow ? fl_dtype_value(x.t->dtype) : fl_none_value());
}

int adaptive_mean(const fl_op *op, const fl_value *in, int n, fl_value *out, int dims) {
    static const int64_t LAST[] = {-1, -2, -3};
    static const int OPERATORS[] = {FL_OP_avg_pool1d, FL_OP_avg_pool2d, FL_OP_avg_pool3d};
    int64_t wanted[3], windows[3];
    if (wanted_sizes(op, in[0].t, in[1], dims, wanted) < 0 || check_floating(op, in[0].t) < 0)
        return -1;
    if (all_ones(wanted, dims))
        return fl_compose_result(op, in, n, out, fl_compose(FL_OP_mean, in[0],
                                                            fl_ints_value(LAST, dims),
                                                            fl_bool_value(true)));
    bool twice = dims == 3 && fl_itemsize(in[0].t->dtype) == 2;     /* would be rounded twice */
    if (twice || !even_windows(in[0].t, wanted, dims, windows))
        return fl_compose_result(op, in, n, out, means_by_dimension(in[0], wanted, dims));
    return fl_compose_result(op, in, n, out, fl_compose(OPERATORS[dims - 1], in[0],
                                                        fl_ints_value(windows, dims)));
}

/* The greatest value of each image, which has the dimensions that are dropped as ones. */
fl_tensor *best_of_whole(const fl_value &x, int dims) {
    Made flat(dims == 1 ? nullptr
                        : fl_compose(FL_OP_flatten, x, fl_int_value(-dims), fl_int_value(-1)));
    if (dims > 1 && !flat)
        return nullptr;
    Made best(first_of_two(FL_OP_max__dim, dims == 1 ? x : fl_tensor_value(flat), fl_int_value(-1),
                           fl_bool_value(true)));
    for (int i = 1; i < dims && best; i++) {
        Made taller(fl_compose(FL_OP_unsqueeze, fl_tensor_value(best), fl_int_value(-1)));
        best.swap(taller);
    }
    return best.give();
}

/* One dimension after the other: the last one first where positions matter, so that the first of
 * equal maxima wins, else last, so that the others are read by rows. */
fl_tensor *best_by_dimension(const fl_value &x, const int64_t *wanted, int dims) {
    const bool last_first = order_matters(x.t);
    Made best(nullptr);
    for (int step = 0; step < dims; step++) {
        const int i = last_first ? dims - 1 - step : step;
        Made next(first_of_two(FL_OP_adaptive_max, best ? fl_tensor_value(best) : x,
                               fl_int_value(i - dims), fl_int_value(wanted[i])));
        if (!next)
            return nullptr;
        best.swap(next);
    }
    return best.give();
}

/* Windows as wide as this are read faster dimension by dimension, if only values matter. */
const int64_t MIN_SEPARABLE_WIDTH = 8;

/* (input, output_size, return_indices) */
int adaptive_max(const fl_op *op, const fl_value *in, int n, fl_value *out, int dims) {
    static const int OPERATORS[] = {FL_OP_max_pool1d, FL_OP_max_pool2d, FL_OP_max_pool3d};
    static const int PAIRS[] = {FL_OP_adaptive_max_pool1d_with_indices,
                                FL_OP_adaptive_max_pool2d_with_indices,
                                FL_OP_adaptive_max_pool3d_with_indices};
    int64_t wanted[3], windows[3];
    if (check_floating(op, in[0].t) < 0 || wanted_sizes(op, in[0].t, in[1], dims, wanted) < 0)
        return -1;
    if (in[2].i)
        return fl_compose_result(op, in, n, out, both_of(PAIRS[dims - 1], in, 2));
    bool even = even_windows(in[0].t, wanted, dims, windows);
    if (even && all_ones(wanted, dims))
        return fl_compose_result(op, in, n, out, best_of_whole(in[0], dims));
    const bool separable = !order_matters(in[0].t) && windows[dims - 1] >= MIN_SEPARABLE_WIDTH;
    if (!even || separable)
        return fl_compose_result(op, in, n, out, best_by_dimension(in[0], wanted, dims));
    return fl_compose_result(op, in, n, out, fl_compose(OPERATORS[dims - 1], in[0],
                                                        fl_ints_value(windows, dims)));
}

}  // namespace

/* ---- maxima ------------------------------------------------------------------------------------ */
int fl_call_max_pool2d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (in[6].i)
        return fl_compose_result(op, in, n, out, both_of(FL_OP_max_pool2d_with_indices, in, 6));
    return fl_compose_result(op, in, n, out,
                             best_of_planes(in[0], in[1], in[2], in[3], in[4], in[5]));
}

int fl_call_max_pool1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (in[6].i)
        return fl_compose_result(op, in, n, out, both_of(FL_OP_max_pool1d_with_indices, in, 6));
    Lines s;
    if (read_lines(op, in, &s) < 0 || fl_spread(op, "dilation", in[4], 1, s.dilation + 1) < 0)
        return -1;
    Made x(fl_plane_of(in[0]));
    if (!x)
        return -1;
    fl_tensor *best = best_of_planes(fl_tensor_value(x), fl_ints_value(s.size, 2),
                                     fl_ints_value(s.stride, 2), fl_ints_value(s.padding, 2),
                                     fl_ints_value(s.dilation, 2), in[5]);
    return fl_compose_result(op, in, n, out, fl_line_of(best));
}

int fl_call_max_pool3d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (in[6].i)
        return fl_compose_result(op, in, n, out, both_of(FL_OP_max_pool3d_with_indices, in, 6));
    Blocks s;
    if (read_blocks(op, in, &s) < 0 || fl_spread(op, "dilation", in[4], 3, s.dilation) < 0)
        return -1;
    auto pool = [&](const fl_value &x, bool planes) {
        const int64_t along[4][2] = {{s.size[0], 1}, {s.stride[0], 1}, {s.padding[0], 0},
                                     {s.dilation[0], 1}};
        return best_of_planes(x, fl_ints_value(planes ? s.size + 1 : along[0], 2),
                              fl_ints_value(planes ? s.stride + 1 : along[1], 2),
                              fl_ints_value(planes ? s.padding + 1 : along[2], 2),
                              fl_ints_value(planes ? s.dilation + 1 : along[3], 2), in[5]);
    };
    return fl_compose_result(op, in, n, out, pool_blocks(in[0], pool));
}

/* ---- means ------------------------------------------------------------------------------------- */
int fl_call_avg_pool1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Lines s;
    if (read_lines(op, in, &s) < 0)
        return -1;
    Made x(fl_plane_of(in[0]));
    if (!x)
        return -1;
    return fl_compose_result(op, in, n, out, fl_line_of(fl_compose(
        FL_OP_avg_pool2d, fl_tensor_value(x), fl_ints_value(s.size, 2), fl_ints_value(s.stride, 2),
        fl_ints_value(s.padding, 2), in[4], in[5])));
}

/* Refuse blocks smaller than the window, padded or not, as PyTorch does for these means only. */
static int check_holds_window(const fl_op *op, const fl_tensor *x, const int64_t *size) {
    const int64_t *shape = x->shape + x->ndim - 3;
    if (shape[0] >= size[0] && shape[1] >= size[1] && shape[2] >= size[2])
        return 0;
    fl_error(FL_RUNTIME_ERROR, "%s: input has shape %s, which is smaller than the window [%lld, "
             "%lld, %lld]; make the window smaller, or pad the input by pad()", fl_op_title(op),
             fl_shape_text(x->shape, x->ndim), (long long)size[0], (long long)size[1],
             (long long)size[2]);
    return fl_raise();
}

/* A divisor replaces the counts of both steps. */
static fl_tensor *means_of_blocks(const fl_value &x, const Blocks &s, const fl_value &ceil,
                                  const fl_value &with_padding, const fl_value &divisor) {
    return pool_blocks(x, [&](const fl_value &part, bool planes) {
        const int64_t along[3][2] = {{s.size[0], 1}, {s.stride[0], 1}, {s.padding[0], 0}};
        return fl_compose(FL_OP_avg_pool2d, part, fl_ints_value(planes ? s.size + 1 : along[0], 2),
                          fl_ints_value(planes ? s.stride + 1 : along[1], 2),
                          fl_ints_value(planes ? s.padding + 1 : along[2], 2), ceil, with_padding,
                          planes || fl_is_none(divisor) ? divisor : fl_int_value(1));
    });
}

/* How many elements each mean is of: the sums of ones over their means. */
static fl_tensor *counts_of_blocks(const fl_value *in, const Blocks &s) {
    const fl_tensor *x = in[0].t;
    const int64_t *image = x->shape + x->ndim - 3, shape[] = {1, image[0], image[1], image[2]};
    Made ones(fl_compose(FL_OP_full_of, fl_ints_value(shape, 4), fl_float_value(1),
                         fl_none_value(), fl_device_value(x)));
    Made sums(ones ? means_of_blocks(fl_tensor_value(ones), s, in[4], fl_bool_value(true),
                                     fl_int_value(1)) : nullptr);
    Made means(sums ? means_of_blocks(fl_tensor_value(ones), s, in[4], in[5], fl_none_value())
                    : nullptr);
    Made counts(means ? fl_compose(FL_OP_div, fl_tensor_value(sums), fl_tensor_value(means))
                      : nullptr);
    Made rounded(counts ? fl_compose(FL_OP_round, fl_tensor_value(counts)) : nullptr);
    return rounded ? fl_compose(FL_OP_cast, fl_tensor_value(rounded), fl_dtype_value(x->dtype))
                   : nullptr;
}

/* Integers are divided once, at the end. */
static fl_tensor *integer_means(const fl_value *in, const Blocks &s) {
    Made sums(means_of_blocks(in[0], s, in[4], fl_bool_value(true), fl_int_value(1)));
    if (!sums || !fl_is_none(in[6]))
        return sums ? fl_compose(FL_OP_trunc_divide, fl_tensor_value(sums), in[6]) : nullptr;
    Made counts(counts_of_blocks(in, s));
    return counts ? fl_compose(FL_OP_trunc_divide, fl_tensor_value(sums), fl_tensor_value(counts))
                  : nullptr;
}

int fl_call_avg_pool3d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Blocks s;
    if (read_blocks(op, in, &s) < 0 || check_holds_window(op, in[0].t, s.size) < 0)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_is_float(in[0].t->dtype)
                                 ? means_of_blocks(in[0], s, in[4], in[5], in[6])
                                 : integer_means(in, s));
}

int fl_call_adaptive_avg_pool1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_mean(op, in, n, out, 1);
}

int fl_call_adaptive_avg_pool2d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_mean(op, in, n, out, 2);
}

int fl_call_adaptive_max_pool1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_max(op, in, n, out, 1);
}

int fl_call_adaptive_max_pool2d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_max(op, in, n, out, 2);
}

int fl_call_adaptive_avg_pool3d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_mean(op, in, n, out, 3);
}

int fl_call_adaptive_max_pool3d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_max(op, in, n, out, 3);
}
