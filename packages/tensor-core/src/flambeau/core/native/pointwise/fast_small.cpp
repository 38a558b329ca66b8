/* The fast path of pointwise operators on small operands that are strided, broadcast or of several
 * dtypes: operands are brought into the result's order on the stack, and the kernel called once.
 * Only where the result lies in C order; everything else goes through fl_call_generic. */
#include "pointwise/fast.h"
#include "dispatch/objects.h"
#include "common/small.h"
#include "common/stored.h"

namespace {

/* The operand that has the shape of the result, or NULL when the shapes make a new one. */
const fl_tensor *largest(const fl_pointwise *pw, const fl_value *in) {
    const fl_tensor *model = nullptr;
    for (int k = 0; k < pw->n_in; k++) {
        const fl_tensor *t = fl_t(in[pw->operand[k]]);
        if (!t)
            continue;
        if (t->device_type != FL_CPU || t->dtype == FL_U64 || fl_is_stored(t->dtype) ||
            t->flags >> FL_LEVEL_SHIFT)
            return nullptr;
        if (!model || t->ndim > model->ndim || (t->ndim == model->ndim && t->numel > model->numel))
            model = t;
    }
    return model && model->numel <= FL_SMALL_NUMEL && model->numel > 0 ? model : nullptr;
}

/* Strides over the dimensions of the model; false when t does not broadcast to it. */
bool strides_over(const fl_tensor *model, const fl_tensor *t, int64_t *strides) {
    int pad = model->ndim - t->ndim;
    for (int i = 0; i < pad; i++)
        strides[i] = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] != model->shape[pad + i] && t->shape[i] != 1)
            return false;
        strides[pad + i] = t->shape[i] == 1 ? 0 : t->strides[i];
    }
    return true;
}

bool has_shape(const fl_tensor *t, const fl_tensor *model) {
    return t->ndim == model->ndim && t->numel == model->numel;     /* as it broadcasts to it */
}

/* The dtype computed in where kernels take it as it is, or FL_NO_DTYPE. */
int direct_dtype(const fl_op *op, const fl_pointwise *pw, const fl_value *in) {
    const fl_value *operands[FL_PW_MAX_IN];
    int count = 0;
    for (int k = 0; k < pw->n_in; k++) {
        const fl_value &v = in[pw->operand[k]];
        if (!pw->is_mask[k])
            operands[count++] = &v;
        else if (v.tag != FL_TENSOR || v.t->dtype != FL_BOOL)
            return FL_NO_DTYPE;
    }
    int dtype = fl_result_type(operands, count);
    return dtype != FL_NO_DTYPE && fl_pw_direct(op, pw, in, dtype) ? dtype : (int)FL_NO_DTYPE;
}

}  // namespace

int fl_call_small(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    const fl_tensor *model = out[0].tag == FL_NONE ? largest(pw, in) : nullptr;
    if (!model || pw->n_out != 1 || pw->writes[0] != 255)
        return fl_call_generic(op, in, n, out);
    int dtype = direct_dtype(op, pw, in);
    int order[FL_MAX_DIMS];
    if (dtype == FL_NO_DTYPE || fl_pw_memory_order(pw, in, model->ndim, model->shape, order))
        return fl_call_generic(op, in, n, out);
    int kind = fl_kind_of_dtype[dtype];
    alignas(64) char tiles[FL_PW_MAX_IN][FL_SMALL_NUMEL * 16];
    const void *ptr[FL_PW_MAX_IN];
    for (int k = 0; k < pw->n_in; k++) {
        const fl_value &v = in[pw->operand[k]];
        int own = pw->is_mask[k] ? (int)FL_K_BOOL : kind;
        ptr[k] = tiles[k];
        if (v.tag != FL_TENSOR) {
            fl_pw_fill_number(v, own, tiles[k], model->numel);
            continue;
        }
        int64_t strides[FL_MAX_DIMS];
        if (!strides_over(model, v.t, strides))
            return fl_call_generic(op, in, n, out);
        if (v.t->dtype == fl_dtype_of_kind[own] && (v.t->flags & FL_CONTIGUOUS) &&
            has_shape(v.t, model))
            ptr[k] = v.t->data;
        else
            fl_gather_small(tiles[k], own, v.t->data, v.t->dtype,
                          fl_walk(model->ndim, model->shape, strides));
    }
    fl_tensor *result = fl_tensor_empty(fl_dtype_of_kind[pw->result_kind[kind]], 0, model->ndim,
                                        model->shape);
    if (!result)
        return -1;
    fl_scalar scalars[FL_PW_MAX_SCALARS];
    fl_pw_load_scalars(pw, in, kind, scalars);
    void *outs[1] = {result->data};
    fl_pw_kernel(pw, kind, in)(pw->code[kind], ptr, outs, scalars, model->numel);
    out[0].tag = FL_TENSOR;
    out[0].t = result;
    return 0;
}
