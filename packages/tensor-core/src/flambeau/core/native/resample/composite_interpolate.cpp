/* interpolate where nothing is unusual; the composite in Python has the rest, and the refusals. */
#include "common/compose.h"

namespace {

struct Mode {
    const char *name, *kind;    /* what users and what the kernel call it */
    int ndim;                   /* of the input; 0 for any */
};
const Mode MODES[] = {{"nearest", "nearest", 0}, {"nearest-exact", "nearest-exact", 0},
                      {"linear", "linear", 3}, {"bilinear", "linear", 4},
                      {"trilinear", "linear", 5}, {"bicubic", "cubic", 4}};

const char *kind_of(const fl_value &mode, int ndim, bool corners_given) {
    for (const Mode &m : MODES)
        if (mode.len == strlen(m.name) && !memcmp(mode.s, m.name, mode.len))
            return (m.ndim ? m.ndim == ndim : !corners_given) ? m.kind : nullptr;
    return nullptr;
}

bool is_false(const fl_value &v) {
    return v.tag == FL_NONE || (v.tag == FL_BOOLEAN && !v.i);
}

/* The factors given as one float or a tuple of them. */
bool read_factors(const fl_value &v, int axes, double *factors) {
    if (v.tag != FL_OBJECT)
        return false;
    bool several = PyTuple_CheckExact(v.o);
    if (several && PyTuple_GET_SIZE(v.o) != axes)
        return false;
    for (int i = 0; i < axes; i++) {
        PyObject *given = several ? PyTuple_GET_ITEM(v.o, i) : v.o;
        if (!PyFloat_CheckExact(given))
            return false;
        factors[i] = PyFloat_AS_DOUBLE(given);
    }
    return true;
}

/* The output's sizes, from those given or from factors on the input's. */
bool read_sizes(const fl_tensor *x, const fl_value *in, int axes, int64_t *sizes, double *factors) {
    bool given = in[1].tag == FL_INTS, scaled = in[2].tag == FL_OBJECT && in[2].o != Py_None;
    if (given == scaled || (scaled && fl_thread.level < fl_thread.watchers))
        return false;   /* who records wants to see how sizes are computed */
    if (scaled && !read_factors(in[2], axes, factors))
        return false;
    if (given && in[1].len != 1 && (int)in[1].len != axes)
        return false;
    for (int i = 0; i < axes; i++) {
        double size = scaled ? (double)x->shape[2 + i] * factors[i] : 0;
        if (scaled && !(factors[i] > 0 && size < 2147483648.0))
            return false;
        sizes[i] = scaled ? (int64_t)size : in[1].is[in[1].len == 1 ? 0 : i];
    }
    return true;
}

}  // namespace

int fl_call_interpolate(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    int axes = x->ndim - 2;
    int64_t sizes[3];
    double factors[3];
    const char *kind = axes >= 1 && axes <= 3 && fl_is_float(x->dtype) && is_false(in[5]) &&
                               is_false(in[6])
                           ? kind_of(in[3], x->ndim, in[4].tag != FL_NONE)
                           : nullptr;
    if (!kind || !read_sizes(x, in, axes, sizes, factors))
        return fl_call_composite(op, in, n, out);
    fl_value mode = fl_none_value(), corners = fl_none_value(), scales = fl_none_value();
    mode.tag = FL_STRING;
    mode.s = kind;
    mode.len = (uint32_t)strlen(kind);
    corners.tag = FL_BOOLEAN;
    corners.i = !is_false(in[4]);
    if (in[1].tag != FL_INTS) {
        scales.tag = FL_FLOATS;
        scales.ds = factors;
        scales.len = (uint32_t)axes;
    }
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_resample, in[0], fl_ints_value(sizes, axes), mode,
                                        corners, scales));
}
