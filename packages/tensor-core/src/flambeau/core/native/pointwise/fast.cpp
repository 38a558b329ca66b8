/* The fast path of pointwise operators: contiguous CPU operands of one shape and dtype, and
 * numbers. Small operands of other kinds go through fl_call_small, everything else through
 * fl_call_generic. */
#include "dispatch/captures.h"
#include "deferral/deferral.h"
#include "pointwise/fast.h"
#include "dispatch/objects.h"

static inline bool number_fits(const fl_value &v, int dtype) {
    switch (v.tag) {
    case FL_BOOLEAN: return true;
    case FL_INT: return dtype != FL_BOOL;
    case FL_FLOAT: return dtype >= FL_F16;
    case FL_COMPLEX: return fl_is_complex(dtype);
    default: return false;
    }
}

static inline bool same_shape(const fl_tensor *a, const fl_tensor *b) {
    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

/* Contiguous, and of no transform level. */
static const uint32_t PLAIN = FL_CONTIGUOUS, PLAIN_MASK = PLAIN | 0xFFu << FL_LEVEL_SHIFT;

/* The tensor all others agree with, or NULL when the call is not simple. */
static inline const fl_tensor *agree(const fl_pointwise *pw, const fl_value *in) {
    const fl_tensor *model = nullptr;
    for (int k = 0; k < pw->n_in; k++) {
        const fl_value &v = in[pw->operand[k]];
        if (v.tag != FL_TENSOR)
            continue;
        const fl_tensor *t = v.t;
        if ((t->flags & PLAIN_MASK) != PLAIN || t->device_type != FL_CPU)
            return nullptr;
        if (pw->is_mask[k])
            continue;
        if (!model)
            model = t;
        else if (t->dtype != model->dtype || !same_shape(t, model))
            return nullptr;
    }
    if (!model || model->numel > FL_GRAIN)
        return nullptr;
    for (int k = 0; k < pw->n_in; k++) {
        const fl_value &v = in[pw->operand[k]];
        if (v.tag != FL_TENSOR ? !number_fits(v, model->dtype)
                               : pw->is_mask[k] && (v.t->dtype != FL_BOOL || !same_shape(v.t, model)))
            return nullptr;
    }
    return model;
}

template <class T> static void repeat(void *tile, const void *element, int64_t n) {
    T one;
    memcpy(&one, element, sizeof one);
    for (int64_t i = 0; i < n; i++)
        ((T *)tile)[i] = one;
}

struct two_words {
    uint64_t words[2];
};

void fl_pw_fill_number(const fl_value &v, int kind, void *tile, int64_t n) {
    alignas(16) char element[16];
    fl_pw_load_number(v, kind, element);
    switch (fl_kind_size[kind]) {
    case 1: return repeat<uint8_t>(tile, element, n);
    case 4: return repeat<uint32_t>(tile, element, n);
    case 8: return repeat<uint64_t>(tile, element, n);
    default: return repeat<two_words>(tile, element, n);
    }
}

static void run_simple(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int kind,
                       fl_tensor *result, int64_t n) {
    const void *ptr[FL_PW_MAX_IN];
    int64_t step[FL_PW_MAX_IN];
    fl_scalar scalars[FL_PW_MAX_SCALARS];
    if (pw->n_scalars)
        fl_pw_load_scalars(pw, in, kind, scalars);
    alignas(64) char numbers[2][FL_TILE * 16];
    bool has_numbers = false;
    int used = 0;
    for (int k = 0; k < pw->n_in; k++) {
        const fl_value &v = in[pw->operand[k]];
        if (v.tag == FL_TENSOR) {
            ptr[k] = v.t->data;
            step[k] = pw->is_mask[k] ? 1 : fl_kind_size[kind];
            continue;
        }
        fl_pw_fill_number(v, kind, numbers[used], n < FL_TILE ? n : FL_TILE);
        ptr[k] = numbers[used++];
        step[k] = 0;
        has_numbers = true;
    }
    fl_pw_fn fn = fl_pw_kernel(pw, kind, in);
    char *out = result->data;
    if (!has_numbers || n <= FL_TILE) {
        void *outs[1] = {out};
        fn(pw->code[kind], ptr, outs, scalars, n);
        return;
    }
    int64_t out_step = fl_kind_size[pw->result_kind[kind]];
    for (int64_t i = 0; i < n; i += FL_TILE) {
        const void *at[FL_PW_MAX_IN];
        for (int k = 0; k < pw->n_in; k++)
            at[k] = (const char *)ptr[k] + i * step[k];
        void *outs[1] = {out + i * out_step};
        fn(pw->code[kind], at, outs, scalars, n - i < FL_TILE ? n - i : FL_TILE);
    }
}

static inline int count_numbers(const fl_pointwise *pw, const fl_value *in) {
    int count = 0;
    for (int k = 0; k < pw->n_in; k++)
        count += in[pw->operand[k]].tag != FL_TENSOR;
    return count;
}

/* Infer has a word to say of a bool. */
static inline bool scalars_fit(const fl_pointwise *pw, const fl_value *in, int dtype) {
    for (int k = 0; k < pw->n_scalars; k++)
        if (in[pw->scalar[k]].tag == FL_BOOLEAN ||
            !number_fits(in[pw->scalar[k]], dtype == FL_BOOL ? FL_I64 : dtype))
            return false;
    return true;
}

bool fl_pw_direct(const fl_op *op, const fl_pointwise *pw, const fl_value *in, int dtype) {
    int kind = fl_kind_of_dtype[dtype];
    return fl_dtype_of_kind[kind] == dtype && (pw->kinds >> kind & 1) &&
           (op->dtype_rule != FL_D_FLOAT || dtype >= FL_F16) && scalars_fit(pw, in, dtype);
}

int fl_call_pointwise(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (fl_any_waiting())
        return fl_call_generic(op, in, n, out);
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    const fl_tensor *model = pw->n_out == 1 && pw->writes[0] == 255 ? agree(pw, in) : nullptr;
    if (!model)
        return fl_call_small(op, in, n, out);
    int dtype = model->dtype;
    int kind = fl_kind_of_dtype[dtype];
    if (count_numbers(pw, in) > 2 || !fl_pw_direct(op, pw, in, dtype))
        return fl_call_generic(op, in, n, out);
    int result_dtype = fl_dtype_of_kind[pw->result_kind[kind]];
    fl_tensor *result;
    if (out[0].tag == FL_TENSOR) {
        result = out[0].t;
        bool own = result == model && result_dtype == dtype &&
                   !(result->flags & (FL_READONLY | FL_INFERENCE)) && !fl_any_capture_scope();
        for (int k = 0; k < pw->n_in && own; k++) {
            const fl_value &v = in[pw->operand[k]];
            own = v.tag != FL_TENSOR || v.t == result || v.t->storage != result->storage;
        }
        if (!own)
            return fl_call_generic(op, in, n, out);
        fl_hold(result);
        fl_count_write(op, result);
    } else {
        result = fl_tensor_empty(result_dtype, 0, model->ndim, model->shape);
        if (!result)
            return -1;
    }
    run_simple(op, pw, in, kind, result, model->numel);
    out[0].tag = FL_TENSOR;
    out[0].t = result;
    return 0;
}
