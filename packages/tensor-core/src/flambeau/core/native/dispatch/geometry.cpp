/* Shapes, strides and the checks every infer function shares. */
#include "dispatch/caller.h"
#include "dispatch/core.h"
#include <stdio.h>

bool fl_count_elements(int ndim, const int64_t *shape, int64_t *numel) {
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(product, shape[i], &product))
            return false;
    }
    *numel = empty ? 0 : product;
    return true;
}

int fl_count_error(const char *op_name, int ndim, const int64_t *shape) {
    return fl_error(FL_RUNTIME_ERROR, "%s%snumel: integer multiplication overflow with sizes=%s; "
                    "the product of all sizes but zeros must fit 64 bits", op_name,
                    *op_name ? "(): " : "", fl_shape_text(shape, ndim));
}

int fl_bytes_error(int dtype, int ndim, const int64_t *shape) {
    return fl_error(FL_RUNTIME_ERROR, "Storage size calculation overflowed with sizes=%s: elements "
                    "of dtype %s take %lld bytes each, and the bytes of all must fit 64 bits",
                    fl_shape_text(shape, ndim), fl_dtype_name(dtype),
                    (long long)fl_itemsize(dtype));
}

bool fl_geometry_contiguous(int ndim, const int64_t *shape, const int64_t *strides) {
    int64_t expected = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        if (shape[i] == 0)
            return true;
        if (shape[i] != 1 && strides[i] != expected)
            return fl_numel_of(ndim, shape) == 0;
        expected = fl_wrapping_mul(expected, shape[i]);
    }
    return true;
}

void fl_contiguous_strides(int ndim, const int64_t *shape, int64_t *strides) {
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = step;
        step = fl_wrapping_mul(step, shape[i] > 1 ? shape[i] : 1);
    }
}

bool fl_is_contiguous(const fl_tensor *t) { return t->flags & FL_CONTIGUOUS; }

void fl_spec_set(fl_spec *s, int dtype, int device, int ndim, const int64_t *shape) {
    s->dtype = (uint8_t)dtype;
    s->device_type = (uint8_t)(device >> 8);
    s->device_index = (uint8_t)device;
    s->layout = FL_L_CONTIGUOUS;
    s->ndim = ndim;
    s->alias = -1;
    s->offset = 0;
    for (int i = 0; i < ndim; i++)
        s->shape[i] = shape[i];
}

void fl_spec_like(fl_spec *s, const fl_tensor *t) {
    fl_spec_set(s, t->dtype, fl_device_code(t), t->ndim, t->shape);
}

int64_t fl_spec_numel(const fl_spec *s) { return fl_numel_of(s->ndim, s->shape); }

__thread const fl_op *fl_caller = nullptr, *fl_outermost = nullptr;

/* Operators that do the work of the composite that runs: helpers, and longer names of the same, as
 * constant_pad_nd is of pad. */
static bool works_for_caller(const fl_op *op) {
    size_t n = strlen(fl_caller->name);
    const char *at = strstr(op->name, fl_caller->name);
    bool whole_words = at && (at == op->name || at[-1] == '_') && at[n] == '_';
    return op->flags & FL_O_HELPER || whole_words;
}

/* Windows along one or three dimensions are computed on planes, which the text then describes. */
static bool is_on_planes(const fl_op *op) {
    return strstr(op->name, "2d") &&
           (strstr(fl_caller->name, "1d") || strstr(fl_caller->name, "3d"));
}

/* Operators that users know by another name alone, and operators of namespaces: linalg.inv,
 * fft.fft. */
const char *fl_op_called(const fl_op *op) {
    static const char *const aliases[][2] = {
        {"im2col", "unfold"}, {"col2im", "fold"}, {"full_of", "full"}, {"arange_of", "arange"},
        {"eye_of", "eye"}, {"random_integers", "randint"}, {"inverse", "linalg.inv"}};
    for (auto &names : aliases)
        if (strcmp(op->name, names[0]) == 0)
            return names[1];
    static const char *const spaces[] = {"linalg", "fft", "special"};
    for (const char *space : spaces) {
        size_t n = strlen(space);
        if (strncmp(op->name, space, n) != 0 || op->name[n] != '_')
            continue;
        char *out = fl_text_buffer();
        snprintf(out, FL_TEXT_ROOM, "%s.%.75s", space, op->name + n + 1);
        return out;
    }
    return op->name;
}

const char *fl_op_title(const fl_op *op) {
    const char *call = "()";
    if (fl_caller && is_on_planes(op)) {
        op = fl_caller;
        call = "(), on planes";
    } else if (fl_caller && works_for_caller(op)) {
        op = fl_caller;
    }
    char *out = fl_text_buffer();
    snprintf(out, FL_TEXT_ROOM, "%.85s%s", fl_op_called(op), call);
    return out;
}

int fl_wrap_dim(const fl_op *op, int64_t dim, int ndim, int *out) {
    int64_t limit = ndim > 0 ? ndim : 1;
    if (dim < -limit || dim >= limit)
        return fl_error(FL_INDEX_ERROR,
                        "%s: Dimension out of range: dim=%lld for a tensor of %d dimensions "
                        "(expected to be in range of [%lld, %lld])", fl_op_title(op),
                        (long long)dim, ndim, (long long)-limit, (long long)limit - 1);
    *out = (int)(dim < 0 ? dim + limit : dim);
    return 0;
}

int fl_dims_mask(const fl_op *op, const fl_value &v, int ndim, uint64_t *mask) {
    uint64_t all = ndim ? (~0ull >> (64 - ndim)) : 0;
    *mask = all;
    if (v.tag == FL_NONE || (v.tag == FL_INTS && v.len == 0))
        return 0;
    const int64_t *dims = v.tag == FL_INTS ? v.is : &v.i;
    int count = v.tag == FL_INTS ? (int)v.len : 1;
    uint64_t seen = 0;
    for (int i = 0; i < count; i++) {
        int d = 0;
        if (fl_wrap_dim(op, dims[i], ndim, &d) < 0)
            return -1;
        if (seen >> d & 1)
            return fl_error(FL_VALUE_ERROR, "%s: dim %d appears multiple times in the list of dims "
                            "%s; name each dimension once", fl_op_title(op), d,
                            fl_shape_text(dims, count));
        seen |= 1ull << d;
    }
    *mask = ndim ? seen : 0;
    return 0;
}

static const fl_tensor *first_tensor(const fl_value &v) {
    if (v.tag == FL_TENSOR)
        return v.t;
    if (v.tag == FL_TENSORS)
        for (uint32_t i = 0; i < v.len; i++)
            if (v.ts[i])
                return v.ts[i];
    return nullptr;
}

const char *fl_device_name(int device_type);

/* "cuda:1"; the CPU and meta devices have no number. */
static const char *device_text(const fl_tensor *t, char (&text)[64]) {
    const char *name = fl_device_name(t->device_type);
    if (t->device_type < FL_FIRST_BACKEND)
        return name;
    snprintf(text, sizeof text, "%s:%d", name, t->device_index);
    return text;
}

static int device_clash(const fl_op *op, const fl_tensor *a, const fl_tensor *b, const char *name) {
    char text_a[64], text_b[64];
    return fl_error(FL_RUNTIME_ERROR,
                    "%s: Expected all tensors to be on the same device, but argument '%s' of shape "
                    "%s is on %s and an earlier one of shape %s on %s; move one with "
                    "x.to(device)", fl_op_title(op), name, fl_shape_text(b->shape, b->ndim),
                    device_text(b, text_b), fl_shape_text(a->shape, a->ndim),
                    device_text(a, text_a));
}

/* A 0-d CPU tensor may meet tensors of any device, as a number would. */
static bool clashes(const fl_tensor *a, const fl_tensor *b) {
    if (fl_device_code(a) == fl_device_code(b))
        return false;
    bool a_free = a->ndim == 0 && a->device_type == FL_CPU;
    bool b_free = b->ndim == 0 && b->device_type == FL_CPU;
    return !a_free && !b_free;
}

int fl_same_device(const fl_op *op, const fl_value *in, int n) {
    const fl_tensor *first = nullptr;
    for (int i = 0; i < n; i++) {
        const fl_tensor *t = first_tensor(in[i]);
        if (!t)
            continue;
        if (first && clashes(first, t))
            return device_clash(op, first, t, op->params[i].name);
        if (!first || first->ndim == 0)
            first = t;
        for (uint32_t k = 0; in[i].tag == FL_TENSORS && k < in[i].len; k++)
            if (in[i].ts[k] && clashes(first, in[i].ts[k]))
                return device_clash(op, first, in[i].ts[k], op->params[i].name);
    }
    return 0;
}

int fl_expect_dtype(const fl_op *op, const char *param, const fl_tensor *t, bool (*ok)(int),
                    const char *wanted) {
    if (ok(t->dtype))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: argument '%s' has dtype %s and shape %s; it must be %s",
                    fl_op_title(op), param, fl_dtype_name(t->dtype),
                    fl_shape_text(t->shape, t->ndim), wanted);
}

int fl_broadcast_shape(const char *op_name, int nd_a, const int64_t *a, int nd_b, const int64_t *b,
                       int *nd_out, int64_t *out) {
    int nd = nd_a > nd_b ? nd_a : nd_b;
    for (int i = 1; i <= nd; i++) {
        int64_t x = i <= nd_a ? a[nd_a - i] : 1;
        int64_t y = i <= nd_b ? b[nd_b - i] : 1;
        if (x != y && x != 1 && y != 1)
            return fl_error(FL_RUNTIME_ERROR,
                            "%s(): shapes %s and %s do not broadcast: The size of tensor a (%lld) "
                            "must match the size of tensor b (%lld) at non-singleton dimension %d; "
                            "sizes must be equal or one of them 1, counted from the last dimension",
                            op_name, fl_shape_text(a, nd_a), fl_shape_text(b, nd_b), (long long)x,
                            (long long)y, nd - i);
        out[nd - i] = x == 1 ? y : x;
    }
    *nd_out = nd;
    int64_t numel;
    if (!fl_count_elements(nd, out, &numel))
        return fl_count_error(op_name, nd, out);
    return 0;
}
