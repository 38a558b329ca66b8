/* Pooling along lines by that over planes, and adaptive means by plain ones where windows lie side
 * by side. */
#include "composites/windows.h"
#include "core/history.h"

namespace {

/* Refuse what is not [batch,] channels and n dimensions that hold something. */
int check_image(const fl_op *op, const fl_tensor *x, int n) {
    bool fits = x->ndim == n + 1 || x->ndim == n + 2;
    for (int d = x->ndim - n - 1; fits && d < x->ndim; d++)
        fits = x->shape[d] != 0;
    if (fits)
        return 0;
    fl_error(FL_RUNTIME_ERROR, "%s(): input has shape %s; expected %s, of which only the batch may "
             "be empty", op->name, fl_shape_text(x->shape, x->ndim), fl_image_text(n));
    return fl_raise();
}

bool is_left_out(const fl_value &v) {
    return v.tag == FL_NONE || (v.tag == FL_INTS && v.len == 0);
}

/* The settings of a pooling along lines as those over planes of height 1. */
struct Lines {
    int64_t size[2] = {1}, stride[2] = {1}, padding[2] = {0}, dilation[2] = {1};
};

int read_lines(const fl_op *op, const fl_value *in, Lines *s) {
    if (check_image(op, in[0].t, 1) < 0 || fl_spread(op, "kernel_size", in[1], 1, s->size + 1) < 0 ||
        fl_spread(op, "padding", in[3], 1, s->padding + 1) < 0)
        return -1;
    s->stride[1] = s->size[1];
    return is_left_out(in[2]) ? 0 : fl_spread(op, "stride", in[2], 1, s->stride + 1);
}

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
bool places_matter(const fl_tensor *x) {
    return fl_requires_grad(x) || x->flags >> FL_LEVEL_SHIFT;
}

fl_tensor *best_of_planes(const fl_value &x, const fl_value &size, const fl_value &stride,
                          const fl_value &padding, const fl_value &dilation, const fl_value &ceil) {
    if (!places_matter(x.t))
        return fl_compose(FL_OP_max_pool2d_values, x, size, stride, padding, dilation, ceil);
    return first_of_two(FL_OP_max_pool2d_with_indices, x, size, stride, padding, dilation, ceil);
}

/* ---- blocks: planes, then what these leave along the depth -------------------------------------- */
struct Blocks {
    int64_t size[3], stride[3], padding[3], dilation[3] = {1, 1, 1};
};

int read_blocks(const fl_op *op, const fl_value *in, Blocks *s) {
    if (check_image(op, in[0].t, 3) < 0 || fl_spread(op, "kernel_size", in[1], 3, s->size) < 0 ||
        fl_spread(op, "padding", in[3], 3, s->padding) < 0)
        return -1;
    return fl_spread(op, is_left_out(in[2]) ? "kernel_size" : "stride",
                     is_left_out(in[2]) ? in[1] : in[2], 3, s->stride);
}

/* [batch times channels, depth, height, width] */
fl_tensor *as_planes(const fl_value &x) {
    int nd = x.t->ndim;
    const int64_t *image = x.t->shape + nd - 3;
    int64_t shape[] = {1, image[0], image[1], image[2]};
    for (int d = 0; d < nd - 3; d++)
        shape[0] *= x.t->shape[d];
    return fl_compose(FL_OP_reshape, x, fl_ints_value(shape, 4));
}

/* Planes over each other as one plane, whose columns go through the depth. */
fl_tensor *as_towers(const Made &planes) {
    const int64_t *of = planes.get()->shape;
    int64_t shape[] = {of[0], 1, of[1], of[2] * of[3]};
    return fl_compose(FL_OP_reshape, fl_tensor_value(planes), fl_ints_value(shape, 4));
}

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

/* The windows where they lie side by side: whole numbers that divide the image's sizes. Anything
 * else, errors too, is for the composite in Python. */
bool even_windows(const fl_tensor *x, const fl_value &sizes, int n, int64_t *windows) {
    PyObject *wanted = sizes.tag == FL_OBJECT ? sizes.o : Py_None;
    bool several = PyTuple_CheckExact(wanted);
    if (!fl_is_float(x->dtype) || (x->ndim != n + 1 && x->ndim != n + 2) || x->numel == 0 ||
        (several && PyTuple_GET_SIZE(wanted) != n))
        return false;
    for (int i = 0; i < n; i++) {
        PyObject *given = several ? PyTuple_GET_ITEM(wanted, i) : wanted;
        int64_t length = x->shape[x->ndim - n + i];
        int64_t size = given == Py_None ? length : PyLong_CheckExact(given) ? PyLong_AsLong(given) : 0;
        if (size == -1 && PyErr_Occurred())
            PyErr_Clear();
        if (size < 1 || length % size)
            return false;
        windows[i] = length / size;
    }
    return true;
}

bool is_whole(const fl_tensor *x, const int64_t *windows, int n) {
    bool whole = true;
    for (int i = 0; i < n; i++)
        whole = whole && windows[i] == x->shape[x->ndim - n + i];
    return whole;
}

int adaptive_mean(const fl_op *op, const fl_value *in, int n, fl_value *out, int dims) {
    static const int64_t LAST[] = {-1, -2, -3};
    int64_t windows[3];
    if (!even_windows(in[0].t, in[1], dims, windows))
        return fl_call_composite(op, in, n, out);
    fl_value sizes = fl_ints_value(windows, dims);
    if (is_whole(in[0].t, windows, dims))
        return fl_compose_result(op, in, n, out, fl_compose(FL_OP_mean, in[0],
                                                            fl_ints_value(LAST, dims),
                                                            fl_int_value(1)));
    static const int ROWS[] = {FL_OP_avg_pool1d, FL_OP_avg_pool2d, FL_OP_avg_pool3d};
    return fl_compose_result(op, in, n, out, fl_compose(ROWS[dims - 1], in[0], sizes));
}

/* The greatest value of each image, which has the dimensions that are dropped as ones. */
fl_tensor *best_of_whole(const fl_value &x, int dims) {
    Made flat(dims == 1 ? nullptr
                        : fl_compose(FL_OP_flatten, x, fl_int_value(-dims), fl_int_value(-1)));
    if (dims > 1 && !flat)
        return nullptr;
    Made best(first_of_two(FL_OP_max__dim, dims == 1 ? x : fl_tensor_value(flat), fl_int_value(-1),
                           fl_int_value(1)));
    if (dims == 1 || !best)
        return best.give();
    return fl_compose(FL_OP_unsqueeze, fl_tensor_value(best), fl_int_value(-1));
}

int adaptive_best(const fl_op *op, const fl_value *in, int n, fl_value *out, int dims) {
    int64_t windows[3];
    if (in[2].i || !even_windows(in[0].t, in[1], dims, windows))
        return fl_call_composite(op, in, n, out);
    if (is_whole(in[0].t, windows, dims))
        return fl_compose_result(op, in, n, out, best_of_whole(in[0], dims));
    return fl_compose_result(op, in, n, out,
                             fl_compose(dims == 1 ? FL_OP_max_pool1d : FL_OP_max_pool2d, in[0],
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

/* A divisor takes the place of the counts of both steps. */
int fl_call_avg_pool3d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_float(in[0].t->dtype))
        return fl_call_composite(op, in, n, out);
    Blocks s;
    if (read_blocks(op, in, &s) < 0)
        return -1;
    auto pool = [&](const fl_value &x, bool planes) {
        const int64_t along[3][2] = {{s.size[0], 1}, {s.stride[0], 1}, {s.padding[0], 0}};
        fl_value divisor = planes || fl_is_none(in[6]) ? in[6] : fl_int_value(1);
        return fl_compose(FL_OP_avg_pool2d, x, fl_ints_value(planes ? s.size + 1 : along[0], 2),
                          fl_ints_value(planes ? s.stride + 1 : along[1], 2),
                          fl_ints_value(planes ? s.padding + 1 : along[2], 2), in[4], in[5],
                          divisor);
    };
    return fl_compose_result(op, in, n, out, pool_blocks(in[0], pool));
}

int fl_call_adaptive_avg_pool1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_mean(op, in, n, out, 1);
}

int fl_call_adaptive_avg_pool2d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_mean(op, in, n, out, 2);
}

int fl_call_adaptive_max_pool1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_best(op, in, n, out, 1);
}

int fl_call_adaptive_max_pool2d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return adaptive_best(op, in, n, out, 2);
}
