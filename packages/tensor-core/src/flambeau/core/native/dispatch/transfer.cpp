/* Moving tensors between devices: the operators to_device and copy. Everything else stays on one.
 * */
#include "deferral/deferral.h"
#include "dispatch/python.h"

static int plain_copy(fl_tensor *dst, fl_tensor *src, int kind, int device) {
    const fl_backend *b = fl_backend_of(device >> 8);
    if (!b) {
        PyErr_Format(PyExc_RuntimeError, "no backend for device '%s'", fl_device_name(device >> 8));
        return -1;
    }
    size_t bytes = (size_t)src->numel * (size_t)fl_itemsize(src->dtype);
    return bytes ? b->copy(b->ctx, device & 255, dst->data, src->data, bytes, kind) : 0;
}

/* The tensor itself where its elements lie as those of `model` do, else a copy that does. */
static fl_tensor *laid_out(fl_tensor *t, const fl_tensor *model) {
    const size_t bytes = sizeof(int64_t) * (size_t)t->ndim;
    if ((t->flags & model->flags & FL_CONTIGUOUS) || !memcmp(t->strides, model->strides, bytes)) {
        Py_INCREF(t);
        return t;
    }
    static const fl_op *op = nullptr;
    if (!op)
        op = fl_find_op("clone");
    fl_value in[2], out[1];
    in[0].tag = FL_TENSOR;
    in[0].t = t;
    in[1].tag = FL_NONE;
    out[0].tag = FL_NONE;
    return fl_call_generic(op, in, 2, out) < 0 ? nullptr : out[0].t;
}

/* Memory without gaps for a tensor on another device, in the order of the tensor's. */
static fl_tensor *room_for(const fl_tensor *source, int device) {
    int64_t strides[FL_MAX_DIMS];
    const int ordered = fl_format_strides(source, "preserve_format", strides);
    return ordered < 0 ? nullptr
                       : fl_tensor_strided(source->dtype, device, source->ndim, source->shape,
                                           ordered ? strides : nullptr);
}

static fl_tensor *moved(fl_tensor *source, int device) {
    int from = fl_device_code(source);
    if (from >> 8 == FL_META && device >> 8 != FL_META) {
        PyErr_SetString(PyExc_NotImplementedError, "to(): Cannot copy out of meta tensor; no data! "
                        "Make a tensor with memory, e.g. flambeau.empty_like(x, device='cpu')");
        return nullptr;
    }
    fl_tensor *result = room_for(source, device);
    if (!result || device >> 8 == FL_META)
        return result;
    if (from >> 8 != FL_CPU && device >> 8 != FL_CPU && from != device) {
        fl_tensor *host = moved(source, 0);
        Py_DECREF(result);
        result = host ? moved(host, device) : nullptr;
        Py_XDECREF(host);
        return result;
    }
    fl_tensor *packed = laid_out(source, result);
    if (packed && fl_any_waiting() && fl_settle("to", packed, true) < 0)
        Py_CLEAR(packed);
    int status = -1;
    if (packed && from == device && from >> 8 == FL_CPU) {
        fl_copy_tensor(result, packed);
        status = 0;
    } else if (packed) {
        int kind = from >> 8 == FL_CPU ? 0 : device >> 8 == FL_CPU ? 1 : 2;
        status = plain_copy(result, packed, kind, kind == 1 ? from : device);
    }
    Py_XDECREF(packed);
    if (status < 0)
        Py_CLEAR(result);
    return result;
}

/* fl_dispatch_sparse where a tensor is of a level or sparse. */
static inline int run_sparse(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    uint32_t flags = in[0].t->flags | (in[1].tag == FL_TENSOR ? in[1].t->flags : 0);
    return FL_UNLIKELY(flags >> FL_LEVEL_SHIFT) ? fl_dispatch_sparse(op, in, n, out) : 0;
}

int fl_call_to_device(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int met = run_sparse(op, in, n, out);
    if (met)
        return met < 0 ? -1 : 0;
    fl_tensor *result = moved(in[0].t, (int)in[1].i);
    if (!result)
        return -1;
    out[0].tag = FL_TENSOR;
    out[0].t = result;
    return 0;
}

/* copy_ from another device moves the source first. */
int fl_call_copy(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_tensor *self = in[0].t, *src = in[1].t;
    int met = run_sparse(op, in, n, out);
    if (met)
        return met < 0 ? -1 : 0;
    if (fl_device_code(self) == fl_device_code(src))
        return fl_call_generic(op, in, n, out);
    fl_tensor *here = moved(src, fl_device_code(self));
    if (!here)
        return -1;
    fl_value pair[2] = {in[0], in[1]};
    pair[1].t = here;
    int status = fl_call_generic(op, pair, 2, out);
    Py_DECREF(here);
    return status;
}
