/* put, and the scatters that name a reduction, written to their tensor and not to a copy of it. */
#include "common/compose.h"

namespace {

fl_value flat_shape() {
    static int64_t all[1] = {-1};
    return fl_ints_value(all, 1);
}

/* Flat positions as one tensor of coordinates per dimension, `made[0 .. ndim)`. The first is not
 * cut to its size: what lies outside of the tensor, and the sign of positions that count from the
 * end, show there. */
bool coordinates(const fl_tensor *x, fl_tensor *index, fl_tensor **made) {
    Made rest(fl_compose(FL_OP_view, fl_tensor_value(index), flat_shape()));
    for (int d = x->ndim - 1; rest && d > 0; d--) {
        fl_value size = fl_int_value(x->shape[d]);
        made[d] = fl_compose(FL_OP_remainder, fl_tensor_value(rest), size);
        Made next(made[d] ? fl_compose(FL_OP_floor_divide, fl_tensor_value(rest), size) : nullptr);
        rest.swap(next);
    }
    made[0] = rest.give();
    return made[0] != nullptr;
}

int put_through(fl_tensor *x, fl_tensor **indices, int n, fl_tensor *source,
                const fl_value &accumulate) {
    return fl_compose_into(FL_OP_index_put, x, fl_tensors_value(indices, n),
                           fl_tensor_value(source), accumulate);
}

/* Contiguous memory is seen as a vector; other memory is written through coordinates. */
int put_into(fl_tensor *x, fl_tensor *index, fl_tensor *source, const fl_value &accumulate) {
    if (x->ndim == 1)
        return put_through(x, &index, 1, source, accumulate);
    if (x->flags & FL_CONTIGUOUS) {
        Made flat(fl_compose(FL_OP_view, fl_tensor_value(x), flat_shape()));
        return flat ? put_through(flat.get(), &index, 1, source, accumulate) : -1;
    }
    fl_tensor *each[FL_MAX_DIMS] = {};
    int status = coordinates(x, index, each)
        ? put_through(x, each, x->ndim, source, accumulate) : -1;
    for (int d = 0; d < x->ndim; d++)
        Py_XDECREF(each[d]);
    return status;
}

const char *reduction_named(const fl_value &name) {
    if (!strcmp(name.s, "add"))
        return "sum";
    if (!strcmp(name.s, "multiply"))
        return "prod";
    PyErr_Format(PyExc_RuntimeError, "scatter(): reduce argument must be either add or multiply, "
                 "got '%s'; scatter_reduce() has more", name.s);
    return nullptr;
}

int scatter(const fl_value *in, fl_tensor *src, const char *reduce, fl_value *out) {
    fl_value text = fl_none_value();
    text.tag = FL_STRING;
    text.s = reduce;
    text.len = (uint32_t)strlen(reduce);
    fl_value args[] = {in[0], in[1], in[2], fl_tensor_value(src), text, fl_bool_value(true)};
    return fl_dispatch(&fl_builtin_ops[FL_OP_scatter_reduce], args, 6, out);
}

}  // namespace

static int check_put(const fl_tensor *index, const fl_tensor *source) {
    if (index->numel != source->numel)
        PyErr_Format(PyExc_RuntimeError, "put(): Expected source and index to have the same number "
                     "of elements, but got source.numel() = %lld, index.numel() = %lld",
                     (long long)source->numel, (long long)index->numel);
    else if (index->dtype != FL_I64 && index->dtype != FL_I32)
        PyErr_Format(PyExc_RuntimeError, "put(): Expected a long tensor for index, but got %s; "
                     "convert it with index.long()", fl_dtype_name(index->dtype));
    else
        return 0;
    return -1;
}

/* A result of its own, in C order. */
static fl_tensor *with_put(const fl_value &x, const Made &index, const Made &source,
                           const fl_value &accumulate) {
    fl_tensor *indices[] = {index.get()};
    Made flat(fl_compose(FL_OP_reshape, x, flat_shape()));
    Made result(flat ? fl_compose(FL_OP_index_put, fl_tensor_value(flat),
                                  fl_tensors_value(indices, 1), fl_tensor_value(source), accumulate)
                     : nullptr);
    return result ? fl_compose(FL_OP_view, fl_tensor_value(result), fl_shape_value(x.t)) : nullptr;
}

int fl_call_put(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_tensor *x = in[0].t, *index = in[1].t, *source = in[2].t;
    if (check_put(index, source) < 0)
        return -1;
    Made flat_index(fl_compose(FL_OP_reshape, fl_tensor_value(index), flat_shape()));
    Made from(flat_index ? fl_compose(FL_OP_reshape, fl_tensor_value(source), flat_shape()) : nullptr);
    if (!from)
        return -1;
    if (out[0].tag != FL_TENSOR || out[0].t != x || x->numel == 0)
        return fl_compose_result(op, in, n, out, with_put(in[0], flat_index, from, in[3]));
    if (put_into(x, flat_index.get(), from.get(), in[3]) < 0)
        return -1;
    Py_INCREF(x);
    return 0;
}

int fl_call_scatter_reduced(const fl_op *, const fl_value *in, int, fl_value *out) {
    const char *reduction = reduction_named(in[4]);
    return reduction ? scatter(in, in[3].t, reduction, out) : -1;
}

int fl_call_scatter_reduced_number(const fl_op *, const fl_value *in, int, fl_value *out) {
    const char *reduction = reduction_named(in[4]);
    Made src(reduction ? fl_compose(FL_OP_full_of, fl_shape_value(in[2].t), in[3],
                                    fl_dtype_value(in[0].t->dtype), fl_device_value(in[0].t))
                       : nullptr);
    return src ? scatter(in, src.get(), reduction, out) : -1;
}
