/* Views: new geometry over the same memory. `run` has nothing to do. */
#include "dispatch/core.h"

namespace {

void alias_of(fl_spec *s, const fl_tensor *t) {
    fl_spec_like(s, t);
    s->layout = FL_L_ALIAS;
    s->alias = 0;
    for (int i = 0; i < t->ndim; i++)
        s->strides[i] = t->strides[i];
}

void drop_dim(fl_spec *s, int d) {
    for (int i = d; i + 1 < s->ndim; i++) {
        s->shape[i] = s->shape[i + 1];
        s->strides[i] = s->strides[i + 1];
    }
    s->ndim--;
}

int room_for_one(const fl_op *op, const fl_tensor *t) {
    if (t->ndim < FL_MAX_DIMS)
        return 0;
    return fl_error(FL_VALUE_ERROR, "%s: a tensor may have at most %d dimensions",
                    fl_op_title(op), FL_MAX_DIMS);
}

int no_scalar(const fl_op *op, const fl_tensor *t, const char *hint) {
    if (t->ndim > 0)
        return 0;
    return fl_error(FL_INDEX_ERROR, "%s: the tensor has no dimensions; %s", fl_op_title(op), hint);
}

}  // namespace

extern "C" int fl_infer_permute(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    if ((int)in[1].len != t->ndim)
        return fl_error(FL_RUNTIME_ERROR, "permute(): dims %s name %u dimensions, but the tensor of "
                        "shape %s has %d; name every dimension once",
                        fl_shape_text(in[1].is, (int)in[1].len), in[1].len,
                        fl_shape_text(t->shape, t->ndim), t->ndim);
    uint64_t mask = 0;
    bool none = in[1].tag == FL_INTS && in[1].len == 0;     /* unlike in a reduction: no dims */
    if (!none && fl_dims_mask(op, in[1], t->ndim, &mask) < 0)
        return -1;
    alias_of(s, t);
    for (int i = 0; i < t->ndim; i++) {
        int64_t d = in[1].is[i] < 0 ? in[1].is[i] + t->ndim : in[1].is[i];
        s->shape[i] = t->shape[d];
        s->strides[i] = t->strides[d];
    }
    return 0;
}

static void swap(fl_spec *s, int a, int b) {
    int64_t size = s->shape[a], stride = s->strides[a];
    s->shape[a] = s->shape[b];
    s->strides[a] = s->strides[b];
    s->shape[b] = size;
    s->strides[b] = stride;
}

extern "C" int fl_infer_transpose(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    int a, b;
    const fl_tensor *t = in[0].t;
    if (fl_wrap_dim(op, in[1].i, t->ndim, &a) < 0 || fl_wrap_dim(op, in[2].i, t->ndim, &b) < 0)
        return -1;
    alias_of(s, t);
    if (t->ndim)
        swap(s, a, b);
    return 0;
}

extern "C" int fl_infer_t(const fl_op *, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    if (t->ndim > 2)
        return fl_error(FL_RUNTIME_ERROR, "t() expects a tensor with <= 2 dimensions, but self has "
                        "shape %s; use transpose(dim0, dim1) or .mT",
                        fl_shape_text(t->shape, t->ndim));
    alias_of(s, t);
    if (t->ndim == 2)
        swap(s, 0, 1);
    return 0;
}

extern "C" int fl_infer_expand(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    int nd = (int)in[1].len, pad = nd - t->ndim;
    if (pad < 0 || nd > FL_MAX_DIMS)
        return fl_error(FL_RUNTIME_ERROR, "expand(): size %s has fewer dimensions than the tensor of "
                        "shape %s", fl_shape_text(in[1].is, nd), fl_shape_text(t->shape, t->ndim));
    alias_of(s, t);
    s->ndim = nd;
    for (int i = 0; i < nd; i++) {
        int64_t want = in[1].is[i];
        int64_t have = i < pad ? 1 : t->shape[i - pad];
        if (want == -1 && i >= pad)
            want = have;
        if (want < 0 || (want != have && have != 1))
            return fl_error(FL_RUNTIME_ERROR, "expand(): The expanded size of the tensor (%lld) must "
                            "match the existing size (%lld) at non-singleton dimension %d. Target "
                            "sizes: %s. Tensor sizes: %s", (long long)want, (long long)have, i,
                            fl_shape_text(in[1].is, nd), fl_shape_text(t->shape, t->ndim));
        s->shape[i] = want;
        s->strides[i] = want == have && i >= pad ? t->strides[i - pad] : 0;
    }
    /* New dimensions of one element step over what follows, as those that unsqueeze makes. */
    for (int i = pad - 1; i >= 0; i--)
        if (s->shape[i] == 1)
            s->strides[i] = i + 1 == nd ? 1 : fl_wrapping_mul(s->shape[i + 1], s->strides[i + 1]);
    int64_t numel;
    return fl_count_elements(nd, s->shape, &numel) ? 0 : fl_count_error("expand", nd, s->shape);
}

extern "C" int fl_infer_squeeze(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    uint64_t mask = 0;
    bool none = in[1].tag == FL_INTS && in[1].len == 0;     /* unlike in a reduction: no dims */
    if (!none && fl_dims_mask(op, in[1], t->ndim, &mask) < 0)
        return -1;
    alias_of(s, t);
    for (int i = t->ndim - 1; i >= 0; i--)
        if ((mask >> i & 1) && t->shape[i] == 1)
            drop_dim(s, i);
    return 0;
}

static void insert_dim(fl_spec *s, int d, int64_t size, int64_t stride) {
    for (int i = s->ndim; i > d; i--) {
        s->shape[i] = s->shape[i - 1];
        s->strides[i] = s->strides[i - 1];
    }
    s->shape[d] = size;
    s->strides[d] = stride;
    s->ndim++;
}

extern "C" int fl_infer_unsqueeze(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    int d;
    if (room_for_one(op, t) < 0 || fl_wrap_dim(op, in[1].i, t->ndim + 1, &d) < 0)
        return -1;
    alias_of(s, t);
    insert_dim(s, d, 1, d < t->ndim ? fl_wrapping_mul(t->shape[d], t->strides[d]) : 1);
    return 0;
}

extern "C" int fl_infer_select(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    int d;
    if (no_scalar(op, t, "index a tensor with at least one, or use x.item()") < 0 ||
        fl_wrap_dim(op, in[1].i, t->ndim, &d) < 0)
        return -1;
    int64_t i = in[2].i, size = t->shape[d];
    if (i < -size || i >= size)
        return fl_error(FL_INDEX_ERROR, "select(): index %lld is out of bounds for dimension %d with "
                        "size %lld", (long long)i, d, (long long)size);
    alias_of(s, t);
    s->offset = (i < 0 ? i + size : i) * t->strides[d];
    drop_dim(s, d);
    return 0;
}

static int64_t clamp_index(int64_t i, int64_t size) {
    if (i < 0)
        i += size;
    return i < 0 ? 0 : i > size ? size : i;
}

extern "C" int fl_infer_slice(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    int d;
    if (no_scalar(op, t, "there is nothing to slice") < 0 ||
        fl_wrap_dim(op, in[1].i, t->ndim, &d) < 0)
        return -1;
    int64_t size = t->shape[d], step = in[4].i;
    if (step <= 0)
        return fl_error(FL_VALUE_ERROR, "slice step must be positive, got %lld; reverse with "
                        "x.flip(%d)", (long long)step, d);
    int64_t start = in[2].tag == FL_INT ? clamp_index(in[2].i, size) : 0;
    int64_t end = in[3].tag == FL_INT ? clamp_index(in[3].i, size) : size;
    if (end < start)
        end = start;
    alias_of(s, t);
    s->offset = fl_wrapping_mul(start, t->strides[d]);
    s->shape[d] = end > start ? (end - start - 1) / step + 1 : 0;
    s->strides[d] = fl_wrapping_mul(t->strides[d], step);
    return 0;
}

extern "C" int fl_infer_narrow(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    int d;
    if (t->ndim == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: cannot be applied to a 0-dim tensor, which has no "
                        "dimension to narrow", fl_op_title(op));
    if (fl_wrap_dim(op, in[1].i, t->ndim, &d) < 0)
        return -1;
    int64_t size = t->shape[d], start = in[2].i, length = in[3].i;
    if (start < -size || start > size)
        return fl_error(FL_INDEX_ERROR, "narrow(): start out of range: start=%lld for dimension %d "
                        "of size %lld (expected to be in range of [%lld, %lld])", (long long)start,
                        d, (long long)size, (long long)-size, (long long)size);
    if (start < 0)
        start += size;
    if (length < 0)
        return fl_error(FL_RUNTIME_ERROR, "narrow(): length must be non-negative, got %lld",
                        (long long)length);
    if (start > size - length)
        return fl_error(FL_RUNTIME_ERROR, "narrow(): start (%lld) + length (%lld) exceeds dimension "
                        "size (%lld) of dimension %d", (long long)in[2].i, (long long)length,
                        (long long)size, d);
    alias_of(s, t);
    s->offset = fl_wrapping_mul(start, t->strides[d]);
    s->shape[d] = length;
    return 0;
}

extern "C" int fl_infer_diagonal(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    int a, b;
    if (fl_wrap_dim(op, in[2].i, t->ndim, &a) < 0 || fl_wrap_dim(op, in[3].i, t->ndim, &b) < 0)
        return -1;
    if (a == b)
        return fl_error(FL_RUNTIME_ERROR, "diagonal(): dim1 and dim2 must differ, both are %d", a);
    int64_t k = in[1].i;
    int64_t rows = t->shape[a] + (k < 0 ? k : 0), cols = t->shape[b] - (k > 0 ? k : 0);
    int64_t size = rows < cols ? rows : cols;
    if (size < 0)
        size = 0;
    alias_of(s, t);
    if (size > 0)
        s->offset = k >= 0 ? k * t->strides[b] : -k * t->strides[a];
    int64_t stride = t->strides[a] + t->strides[b];
    drop_dim(s, a > b ? a : b);
    drop_dim(s, a > b ? b : a);
    insert_dim(s, s->ndim, size, stride);
    return 0;
}

extern "C" int fl_infer_unfold(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    int d;
    if (room_for_one(op, t) < 0 || fl_wrap_dim(op, in[1].i, t->ndim, &d) < 0)
        return -1;
    int64_t size = in[2].i, step = in[3].i, have = t->ndim ? t->shape[d] : 1;
    if (size < 0 || size > have || step <= 0)
        return fl_error(FL_RUNTIME_ERROR, "unfold(): size %lld and step %lld do not fit dimension %d "
                        "of size %lld; size lies between 0 and that, step is positive",
                        (long long)size, (long long)step, d, (long long)have);
    alias_of(s, t);
    int64_t stride = t->ndim ? t->strides[d] : 1;
    if (t->ndim) {
        s->shape[d] = (have - size) / step + 1;
        s->strides[d] = fl_wrapping_mul(stride, step);
    }
    insert_dim(s, s->ndim, size, stride);
    return 0;
}

extern "C" int fl_infer_alias(const fl_op *, const fl_value *in, int, fl_spec *s) {
    alias_of(s, in[0].t);
    return 0;
}

extern "C" int fl_infer_view_as_real(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    if (room_for_one(op, t) < 0 ||
        fl_expect_dtype(op, "self", t, fl_is_complex, "complex64 or complex128") < 0)
        return -1;
    alias_of(s, t);
    s->dtype = (uint8_t)fl_real_dtype(t->dtype);
    for (int i = 0; i < s->ndim; i++)
        s->strides[i] = fl_wrapping_mul(s->strides[i], 2);
    insert_dim(s, s->ndim, 2, 1);
    return 0;
}

static bool real_pair(int d) { return d == FL_F16 || d == FL_F32 || d == FL_F64; }

extern "C" int fl_infer_view_as_complex(const fl_op *op, const fl_value *in, int, fl_spec *s) {
    const fl_tensor *t = in[0].t;
    if (fl_expect_dtype(op, "self", t, real_pair, "float16, float32 or float64") < 0)
        return -1;
    bool even = t->ndim > 0 && t->shape[t->ndim - 1] == 2 && t->strides[t->ndim - 1] == 1;
    for (int i = 0; i + 1 < t->ndim; i++)
        even &= t->strides[i] % 2 == 0 || t->shape[i] <= 1;
    even &= fl_storage_offset(t) % 2 == 0;
    if (!even)
        return fl_error(FL_RUNTIME_ERROR, "view_as_complex(): the last dimension must be 2 adjacent "
                        "numbers and all else step by pairs; got shape %s and stride %s",
                        fl_shape_text(t->shape, t->ndim), fl_shape_text(t->strides, t->ndim));
    alias_of(s, t);
    s->dtype = t->dtype == FL_F16 ? FL_C32 : t->dtype == FL_F32 ? FL_C64 : FL_C128;
    s->ndim--;
    for (int i = 0; i < s->ndim; i++)
        s->strides[i] /= 2;
    return 0;
}
