/* Maxima of windows with their indices. */
#include "pool/composite_pooling.h"

namespace {

/* The two results of a row. */
struct Both {
    fl_value out[2];
    Both() { out[0].tag = out[1].tag = FL_NONE; }
    ~Both() {
        for (fl_value &v : out)
            if (v.tag == FL_TENSOR)
                Py_XDECREF(v.t);
    }
    Both(const Both &) = delete;
    template <class... Values> bool call(int row, const Values &...values) {
        fl_value in[] = {values...};
        return fl_dispatch(&fl_builtin_ops[row], in, (int)sizeof...(values), out) == 0;
    }
};

int give(fl_value *out, fl_tensor *values, fl_tensor *positions) {
    if (!values || !positions) {
        Py_XDECREF(values);
        Py_XDECREF(positions);
        return -1;
    }
    out[0] = fl_tensor_value(values);
    out[1] = fl_tensor_value(positions);
    return 0;
}

int give(fl_value *out, Both *both) {
    out[0] = both->out[0];
    out[1] = both->out[1];
    both->out[0].tag = both->out[1].tag = FL_NONE;
    return 0;
}

/* Planes of height 1 as lines. */
int give_lines(fl_value *out, Both *planes) {
    fl_tensor *values = fl_line_of(planes->out[0].t), *positions = nullptr;
    planes->out[0].tag = FL_NONE;
    if (values) {
        positions = fl_line_of(planes->out[1].t);
        planes->out[1].tag = FL_NONE;
    }
    return give(out, values, positions);
}

fl_tensor *reshaped(const fl_value &x, int64_t rows, int64_t columns) {
    const int64_t shape[] = {rows, columns};
    return fl_compose(FL_OP_reshape, x, fl_ints_value(shape, 2));
}

/* Flat positions in the block, from those in the planes and the choice of planes. */
fl_tensor *indices_in_blocks(const fl_tensor *x, const fl_value &planes, const fl_value &depths,
                            const fl_value &shape) {
    const int64_t *of = planes.t->shape;        /* [blocks, depth, height, width] */
    int64_t area = of[2] * of[3], image = x->shape[x->ndim - 2] * x->shape[x->ndim - 1];
    Made flat(reshaped(depths, of[0], depths.t->shape[2] * area));
    Made towers(flat ? reshaped(planes, of[0], of[1] * area) : nullptr);
    Made inside(towers ? fl_compose(FL_OP_gather, fl_tensor_value(towers), fl_int_value(1),
                                    fl_tensor_value(flat)) : nullptr);
    Made plane(inside ? fl_compose(FL_OP_floor_divide, fl_tensor_value(flat), fl_int_value(area))
                      : nullptr);
    Made before(plane ? fl_compose(FL_OP_mul, fl_tensor_value(plane), fl_int_value(image))
                      : nullptr);
    Made all(before ? fl_compose(FL_OP_add, fl_tensor_value(inside), fl_tensor_value(before))
                    : nullptr);
    return all ? fl_compose(FL_OP_reshape, fl_tensor_value(all), shape) : nullptr;
}

int best_of_blocks(const fl_value &x, const Blocks &s, const fl_value &ceil, fl_value *out) {
    const int64_t size[] = {s.size[0], 1}, stride[] = {s.stride[0], 1};
    const int64_t padding[] = {s.padding[0], 0}, dilation[] = {s.dilation[0], 1};
    Both planes, towers;
    Made blocks(as_planes(x));
    if (!blocks || !planes.call(FL_OP_max_pool2d_with_indices, fl_tensor_value(blocks),
                                fl_ints_value(s.size + 1, 2), fl_ints_value(s.stride + 1, 2),
                                fl_ints_value(s.padding + 1, 2), fl_ints_value(s.dilation + 1, 2),
                                ceil))
        return -1;
    const fl_tensor *of = planes.out[0].t;
    int64_t tall[] = {of->shape[0], 1, of->shape[1], of->shape[2] * of->shape[3]};
    Made upright(fl_compose(FL_OP_reshape, planes.out[0], fl_ints_value(tall, 4)));
    if (!upright || !towers.call(FL_OP_max_pool2d_with_indices, fl_tensor_value(upright),
                                 fl_ints_value(size, 2), fl_ints_value(stride, 2),
                                 fl_ints_value(padding, 2), fl_ints_value(dilation, 2), ceil))
        return -1;
    int64_t shape[FL_MAX_DIMS];
    int nd = x.t->ndim;
    memcpy(shape, x.t->shape, sizeof(int64_t) * (size_t)nd);
    shape[nd - 3] = towers.out[0].t->shape[2];
    shape[nd - 2] = of->shape[2];
    shape[nd - 1] = of->shape[3];
    fl_value whole = fl_ints_value(shape, nd);
    fl_tensor *values = fl_compose(FL_OP_reshape, towers.out[0], whole);
    return give(out, values,
                values ? indices_in_blocks(x.t, planes.out[1], towers.out[1], whole) : nullptr);
}

/* Flat positions so far, where this dimension chose among them; `scale` elements lie behind it. */
fl_tensor *joined_indices(const Made &positions, int64_t dim, const fl_value &chosen,
                          int64_t scale) {
    Made own(fl_compose(FL_OP_mul, chosen, fl_int_value(scale)));
    Made rest(own ? fl_compose(FL_OP_gather, fl_tensor_value(positions), fl_int_value(dim), chosen)
                  : nullptr);
    return rest ? fl_compose(FL_OP_add, fl_tensor_value(own), fl_tensor_value(rest)) : nullptr;
}

/* From the last dimension to the first, so that the first of equal maxima wins. */
int best_by_dimension(const fl_value &x, const int64_t *wanted, int dims, fl_value *out) {
    Made values(nullptr), positions(nullptr);
    int64_t scale = 1;
    for (int i = dims - 1; i >= 0; i--) {
        Both both;
        if (!both.call(FL_OP_adaptive_max, values ? fl_tensor_value(values) : x,
                       fl_int_value(i - dims), fl_int_value(wanted[i])))
            return -1;
        Made best(both.out[0].t), chosen(both.out[1].t);
        both.out[0].tag = both.out[1].tag = FL_NONE;
        if (positions) {
            Made all(joined_indices(positions, i - dims, fl_tensor_value(chosen), scale));
            if (!all)
                return -1;
            chosen.swap(all);
        }
        values.swap(best);
        positions.swap(chosen);
        scale *= x.t->shape[x.t->ndim - dims + i];
    }
    return give(out, values.give(), positions.give());
}

int adaptive_indices(const fl_op *op, const fl_value *in, fl_value *out, int dims) {
    int64_t wanted[3], windows[3];
    if (check_floating(op, in[0].t) < 0 || wanted_sizes(op, in[0].t, in[1], dims, wanted) < 0)
        return -1;
    const int64_t MIN_REDUCED_ELEMENTS = 64;    /* of a window that is reduced like a row */
    if (!even_windows(in[0].t, wanted, dims, windows) ||
        (dims == 1 && windows[0] >= MIN_REDUCED_ELEMENTS))
        return best_by_dimension(in[0], wanted, dims, out);
    Both both;
    static const int OPERATORS[] = {FL_OP_max_pool1d_with_indices, FL_OP_max_pool2d_with_indices,
                               FL_OP_max_pool3d_with_indices};
    bool done = both.call(OPERATORS[dims - 1], in[0], fl_ints_value(windows, dims));
    return done ? give(out, &both) : -1;
}

}  // namespace

int fl_call_max_pool1d_with_indices(const fl_op *op, const fl_value *in, int, fl_value *out) {
    Lines s;
    if (read_lines(op, in, &s) < 0 || fl_spread(op, "dilation", in[4], 1, s.dilation + 1) < 0)
        return -1;
    Both planes;
    Made x(fl_plane_of(in[0]));
    if (!x || !planes.call(FL_OP_max_pool2d_with_indices, fl_tensor_value(x),
                           fl_ints_value(s.size, 2), fl_ints_value(s.stride, 2),
                           fl_ints_value(s.padding, 2), fl_ints_value(s.dilation, 2), in[5]))
        return -1;
    return give_lines(out, &planes);
}

int fl_call_max_pool3d_with_indices(const fl_op *op, const fl_value *in, int, fl_value *out) {
    Blocks s;
    if (read_blocks(op, in, &s) < 0 || fl_spread(op, "dilation", in[4], 3, s.dilation) < 0)
        return -1;
    return best_of_blocks(in[0], s, in[5], out);
}

int fl_call_adaptive_max_pool1d_with_indices(const fl_op *op, const fl_value *in, int,
                                             fl_value *out) {
    return adaptive_indices(op, in, out, 1);
}

int fl_call_adaptive_max_pool2d_with_indices(const fl_op *op, const fl_value *in, int,
                                             fl_value *out) {
    return adaptive_indices(op, in, out, 2);
}

int fl_call_adaptive_max_pool3d_with_indices(const fl_op *op, const fl_value *in, int,
                                             fl_value *out) {
    return adaptive_indices(op, in, out, 3);
}
