/* The one check that every writing call passes before anything is written. */
#include "dispatch/caller.h"
#include "dispatch/captures.h"
#include "dispatch/overlap.h"
#include "dispatch/objects.h"
#include "op_index.h"

static void byte_range(const fl_tensor *t, const char **low, const char **high) {
    int64_t last = 0;
    for (int i = 0; i < t->ndim; i++)
        last += (t->shape[i] - 1) * t->strides[i];
    *low = t->data;
    *high = t->data + (last + 1) * fl_itemsize(t->dtype);
}

static bool overlap(const fl_tensor *a, const fl_tensor *b) {
    if (a->storage != b->storage && ((fl_storage *)a->storage)->kind == FL_S_INLINE)
        return false;
    if (a->device_type != b->device_type || a->numel == 0 || b->numel == 0)
        return false;
    const char *al, *ah, *bl, *bh;
    byte_range(a, &al, &ah);
    byte_range(b, &bl, &bh);
    return al < bh && bl < ah;
}

static bool same_geometry(const fl_tensor *a, const fl_tensor *b) {
    if (a->data != b->data || a->dtype != b->dtype || a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i] || (a->shape[i] != 1 && a->strides[i] != b->strides[i]))
            return false;
    return true;
}

/* Whether two indices of t may name the same memory: sorted by stride, each dimension must step
 * over everything below it. */
static bool self_overlap(const fl_tensor *t) {
    if ((t->flags & FL_CONTIGUOUS) || t->numel == 0)
        return false;
    int order[FL_MAX_DIMS], nd = fl_dims_by_stride(t, order);
    int64_t reach = 0;
    for (int i = 0; i < nd; i++) {
        if (t->strides[order[i]] <= reach)
            return true;
        reach += (t->shape[order[i]] - 1) * t->strides[order[i]];
    }
    return false;
}

/* Whether the memory of input i may be of account. The tensor written to is not; but as a further
 * input it is, where an operator writes while it reads. Element by element the order is the same. */
static bool may_meet(const fl_op *op, const fl_tensor *t, const fl_tensor *x, int i) {
    if (FL_LIKELY(x == t))
        return i > 0 && op->flags & FL_O_NO_OVERLAP;
    return !(op->category == FL_POINTWISE && same_geometry(t, x));
}

static bool is_input(const fl_value *in, int n, const fl_tensor *t) {
    for (int i = 0; i < n; i++)
        if (in[i].tag == FL_TENSOR && in[i].t == t)
            return true;
    return false;
}

static bool is_in_list(const fl_value *in, int n, const fl_tensor *t) {
    for (int i = 0; i < n; i++)
        for (uint32_t k = 0; in[i].tag == FL_TENSORS && k < in[i].len; k++)
            if (in[i].ts[k] == t)
                return true;
    return false;
}

static int cannot_grow(const fl_op *op, const fl_spec *s, const fl_tensor *t) {
    fl_error(FL_RUNTIME_ERROR, "%s_(): output with shape %s doesn't match the broadcast "
             "shape %s; an in-place call cannot grow its tensor: write x = x.%s(...)",
             op->name, fl_shape_text(t->shape, t->ndim), fl_shape_text(s->shape, s->ndim),
             op->name);
    return fl_raise();
}

/* Whether a pointwise kernel may write results of one dtype to a tensor of another. Kernels compute
 * in the widest dtype of a kind, so that what the dtype of the result would round or wrap reaches
 * the tensor as it is; that is of no account where the tensor's dtype wraps further. */
static bool converts_directly(int result, int target) {
    if (result == target)
        return true;
    if (fl_is_int(result) && fl_is_int(target))
        return fl_itemsize(target) <= fl_itemsize(result);
    return result != FL_C64 && fl_dtype_of_kind[fl_kind_of_dtype[result]] == result;
}

/* Truth is of one dtype, and of uint8 for old times' sake; other numbers would say more. */
static bool is_truth(const fl_op *op) { return op->index == FL_OP_any || op->index == FL_OP_all; }

/* What the user called decides: a composite hands its out= on to operators that may convert. */
static int check_dtype(const fl_op *op, bool inplace, const fl_spec *s, const fl_tensor *t) {
    op = fl_caller ? fl_caller : op;
    const char *result = fl_dtype_name(s->dtype), *target = fl_dtype_name(t->dtype);
    bool is_same_number = op->index == FL_OP_bernoulli || op->index == FL_OP_bernoulli__p; /* 0, 1 */
    if (is_truth(op) && (t->dtype == FL_BOOL || t->dtype == FL_U8))
        return 0;
    if (is_truth(op))
        fl_error(FL_RUNTIME_ERROR, "%s only supports bool tensor for result, got: %s; give "
                 "out= a bool tensor", op->name, target);
    else if (!fl_can_cast(s->dtype, t->dtype) && !is_same_number)
        fl_error(FL_RUNTIME_ERROR, "%s(): result type %s can't be cast to the desired output "
                 "type %s; write x = x.%s(...) to get a new tensor", op->name, result, target,
                 op->name);
    else if (!(op->flags & FL_O_EXACT_OUT))
        return 0;
    else if (inplace)
        fl_error(FL_RUNTIME_ERROR, "%s_(): the result is %s, which a tensor of dtype %s does "
                 "not take: %s does not convert; write x = x.%s(...)", op->name, result, target,
                 op->name, op->name);
    else
        fl_error(FL_RUNTIME_ERROR, "%s(): expected out to have dtype %s, that of the result, "
                 "but got %s: %s does not convert; give out= a tensor of dtype %s, or convert "
                 "the result with .to(flambeau.%s)", op->name, result, target, op->name, result,
                 target);
    return fl_raise();
}

static int captured(const fl_op *op, const fl_tensor *t) {
    fl_error(FL_RUNTIME_ERROR, "%s_() would mutate a captured Tensor of shape %s: it was made "
             "outside the function that a transform (grad, vjp, jvp, ...) differentiates, and is "
             "no argument of it. Pass it to the function as an argument and return it, or write "
             "x = x.%s(...)", op->name, fl_shape_text(t->shape, t->ndim), op->name);
    return fl_raise();
}

/* 0: write directly; 1: compute into a temporary and copy; 2: write element after element, see
 * overlap.h; -1: refused. */
int fl_check_write(const fl_op *op, const fl_value *in, int n, const fl_spec *s, fl_tensor *t) {
    bool inplace = is_input(in, n, t);
    if (t->device_type != s->device_type || t->device_index != s->device_index) {
        fl_error(FL_RUNTIME_ERROR, "%s(): the result is on %s, but the tensor to write to, of "
                 "shape %s, is on %s; give out= a tensor on the same device", op->name,
                 fl_device_name(s->device_type), fl_shape_text(t->shape, t->ndim),
                 fl_device_name(t->device_type));
        return fl_raise();
    }
    if (t->flags & FL_READONLY) {
        fl_error(FL_RUNTIME_ERROR, "%s(): the tensor of shape %s is read-only (it shares "
                 "memory with a read-only array or file); write to x.clone() instead",
                 op->name, fl_shape_text(t->shape, t->ndim));
        return fl_raise();
    }
    if ((t->flags & FL_INFERENCE) && !(fl_thread.mode & FL_M_INFERENCE)) {
        fl_error(FL_RUNTIME_ERROR, "%s(): Inplace update to inference tensor outside "
                 "InferenceMode is not allowed; write to x.clone() instead", op->name);
        return fl_raise();
    }
    if (fl_any_capture_scope() && inplace && fl_is_captured(t))
        return captured(op, t);
    bool same = t->ndim == s->ndim &&
                memcmp(t->shape, s->shape, sizeof(int64_t) * (size_t)s->ndim) == 0;
    if (FL_UNLIKELY(!same) && (inplace || is_in_list(in, n, t)))
        return cannot_grow(op, s, t);
    if (FL_UNLIKELY(t->dtype != s->dtype) && check_dtype(op, inplace, s, t) < 0)
        return -1;
    if (self_overlap(t) && op->index != FL_OP_fill) {     /* one number may be written twice */
        if (fl_writes_expanded(op, in, n, t))
            return 2;
        fl_error(FL_RUNTIME_ERROR, "%s(): unsupported operation: more than one element of the "
                 "written-to tensor refers to a single memory location (shape %s, stride %s, an "
                 "expanded tensor?). Please clone() the tensor before performing the operation.",
                 op->name, fl_shape_text(t->shape, t->ndim),
                 fl_shape_text(t->strides, t->ndim));
        return fl_raise();
    }
    if (FL_UNLIKELY(!same) && fl_resize_out(fl_caller ? fl_caller : op, s, t) < 0)
        return -1;
    bool apart = false;
    for (int i = 0; i < n; i++) {
        const fl_tensor *x = fl_t(in[i]);
        if (x && may_meet(op, t, x, i) && overlap(t, x)) {
            if (fl_refuse_overlap(op, t, x, i == 0) < 0)
                return -1;
            apart = true;
        }
        for (uint32_t k = 0; in[i].tag == FL_TENSORS && k < in[i].len; k++)
            if (in[i].ts[k] && overlap(t, in[i].ts[k])) {
                if (fl_refuse_overlap(op, t, in[i].ts[k], false) < 0)
                    return -1;
                apart = true;
            }
    }
    if (FL_UNLIKELY(apart))
        return 1;
    return op->category == FL_POINTWISE ? !converts_directly(s->dtype, t->dtype)
                                        : t->dtype != s->dtype;
}
