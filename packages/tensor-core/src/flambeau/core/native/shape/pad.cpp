/* pad: a border around the last dimensions: one number, or the tensor's own elements reflected,
 * repeated or continued from the other side. */
#include "common/add.h"
#include "common/args.h"
#include "common/raw.h"

namespace {

enum Mode { REFLECT, REPLICATE, CIRCULAR };
const char *const NAMES[] = {"reflect", "replicate", "circular"};

/* Pads come in pairs, the last dimension's first: left, right. */
int64_t left_of(const fl_value &pad, int ndim, int d) {
    int pair = ndim - 1 - d;
    return 2 * pair < (int)pad.len ? pad.is[2 * pair] : 0;
}
int64_t right_of(const fl_value &pad, int ndim, int d) {
    int pair = ndim - 1 - d;
    return 2 * pair < (int)pad.len ? pad.is[2 * pair + 1] : 0;
}

int padded_shape(const fl_op *op, const fl_tensor *t, const fl_value &pad, int64_t *shape) {
    if (pad.len % 2 || (int)pad.len > 2 * t->ndim)
        return fl_error(FL_RUNTIME_ERROR, "%s: pad %s must hold pairs (left, right), at most one for "
                        "each of the %d dimensions, the last dimension first", fl_op_title(op),
                        fl_shape_text(pad.is, (int)pad.len), t->ndim);
    for (int d = 0; d < t->ndim; d++) {
        int64_t both = 0;
        bool fits = !__builtin_add_overflow(left_of(pad, t->ndim, d), right_of(pad, t->ndim, d),
                                            &both) &&
                    !__builtin_add_overflow(t->shape[d], both, &shape[d]);
        if (!fits)
            return fl_error(FL_RUNTIME_ERROR, "%s: pad %s makes dimension %d of shape %s larger "
                            "than 64 bits can count", fl_op_title(op),
                            fl_shape_text(pad.is, (int)pad.len), d,
                            fl_shape_text(t->shape, t->ndim));
        if (shape[d] < 0)
            return fl_error(FL_RUNTIME_ERROR, "%s: the input size %lld in dimension %d, plus %lld "
                            "and %lld, gives the negative size %lld; negative padding crops and may "
                            "not crop more than there is", fl_op_title(op), (long long)t->shape[d],
                            d, (long long)left_of(pad, t->ndim, d),
                            (long long)right_of(pad, t->ndim, d), (long long)shape[d]);
    }
    return 0;
}

int check_mode(const fl_op *op, const fl_tensor *t, const fl_value &mode) {
    if (mode.i < REFLECT || mode.i > CIRCULAR)
        return fl_error(FL_RUNTIME_ERROR, "%s: mode is %lld; it must be 0 (reflect), 1 (replicate) "
                        "or 2 (circular)", fl_op_title(op), (long long)mode.i);
    if (t->ndim == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: mode '%s' needs at least one dimension to pad, but "
                        "the tensor has none", fl_op_title(op), NAMES[mode.i]);
    return 0;
}

int check_reach(const fl_op *op, const fl_tensor *t, const fl_value &pad, int mode) {
    for (int d = 0; d < t->ndim; d++) {
        int64_t l = left_of(pad, t->ndim, d), r = right_of(pad, t->ndim, d), n = t->shape[d];
        int64_t most = mode == REFLECT ? n - 1 : n;
        if (l == 0 && r == 0)
            continue;
        if ((l > 0 || r > 0) && n == 0)
            return fl_error(FL_RUNTIME_ERROR, "%s: mode '%s' cannot pad dimension %d of shape %s, "
                            "which is empty", fl_op_title(op), NAMES[mode], d,
                            fl_shape_text(t->shape, t->ndim));
        if (l < -n || r < -n)
            return fl_error(FL_RUNTIME_ERROR, "%s: (%lld, %lld) crops more of dimension %d than the "
                            "%lld there are", fl_op_title(op), (long long)l, (long long)r, d,
                            (long long)n);
        if (mode != REPLICATE && (l > most || r > most))
            return fl_error(FL_RUNTIME_ERROR, "%s: mode '%s' can pad dimension %d of shape %s by at "
                            "most %lld on each side, got (%lld, %lld)", fl_op_title(op),
                            NAMES[mode], d, fl_shape_text(t->shape, t->ndim), (long long)most,
                            (long long)l, (long long)r);
    }
    return 0;
}

int64_t source_of(int mode, int64_t at, int64_t n) {
    if (mode == REFLECT)
        return at < 0 ? -at : at >= n ? 2 * (n - 1) - at : at;
    if (mode == REPLICATE)
        return at < 0 ? 0 : at >= n ? n - 1 : at;
    return at < 0 ? at + n : at >= n ? at - n : at;
}

/* How a padded tensor reads the one inside, dense in both. */
struct Border {
    int ndim, mode, first;              /* first: the outermost padded dimension */
    const int64_t *inner, *outer;       /* shapes */
    int64_t left[FL_MAX_DIMS], step[FL_MAX_DIMS];
    int64_t same_begin, same_end;       /* columns of a line that are copied in order */
};

Border border_of(const fl_value &pad, int mode, int ndim, const int64_t *inner,
                 const int64_t *outer) {
    Border b;
    b.ndim = ndim;
    b.mode = mode;
    b.inner = inner;
    b.outer = outer;
    b.first = ndim - (int)pad.len / 2;
    fl_contiguous_strides(ndim, inner, b.step);
    for (int d = 0; d < ndim; d++)
        b.left[d] = left_of(pad, ndim, d);
    int64_t l = b.left[ndim - 1], n = inner[ndim - 1], width = outer[ndim - 1];
    b.same_begin = l > 0 ? l : 0;
    b.same_end = l + n < width ? l + n : width;
    if (b.same_end < b.same_begin)
        b.same_end = b.same_begin;
    return b;
}

/* The inner line that belongs to each line of the padded tensor, one after the other: only where
 * the last row was passed are the dimensions before it looked at. */
class Lines {
  public:
    Lines(const Border &b, int64_t begin)
        : b_(b), d_(b.ndim - 2), rows_(d_ >= 0 ? b.outer[d_] : 1), row_(begin % rows_),
          block_(begin / rows_), base_(base()) {}
    int64_t next() {
        if (row_ == rows_) {
            row_ = 0;
            block_++;
            base_ = base();
        }
        int64_t at = row_++;
        return d_ < 0 ? 0 : base_ + source_of(b_.mode, at - b_.left[d_], b_.inner[d_]) * b_.step[d_];
    }

  private:
    int64_t base() const {
        int64_t number = block_, offset = 0;
        for (int d = d_ - 1; d >= 0; d--) {
            int64_t at = number % b_.outer[d] - b_.left[d];
            number /= b_.outer[d];
            offset += source_of(b_.mode, at, b_.inner[d]) * b_.step[d];
        }
        return offset;
    }
    const Border &b_;
    int d_;
    int64_t rows_, row_, block_, base_;
};

template <class T>
void read_lines(const Border &b, const char *from, char *to, int64_t begin, int64_t end) {
    int last = b.ndim - 1;
    int64_t width = b.outer[last], n = b.inner[last], left = b.left[last];
    T *out = (T *)to + begin * width;
    Lines lines(b, begin);
    for (int64_t line = begin; line < end; line++, out += width) {
        const T *x = (const T *)from + lines.next();
        for (int64_t i = 0; i < b.same_begin; i++)
            out[i] = x[source_of(b.mode, i - left, n)];
        if (b.same_end > b.same_begin)
            memcpy(out + b.same_begin, x + b.same_begin - left,
                   (size_t)(b.same_end - b.same_begin) * sizeof(T));
        for (int64_t i = b.same_end; i < width; i++)
            out[i] = x[source_of(b.mode, i - left, n)];
    }
}

/* Add columns begin .. end of a padded line to where they come from. */
template <class T>
void add_border(const Border &b, const T *x, T *out, int64_t begin, int64_t end) {
    int last = b.ndim - 1;
    for (int64_t i = begin; i < end; i++) {
        T &element = out[source_of(b.mode, i - b.left[last], b.inner[last])];
        element = fl_plus(element, x[i]);
    }
}

template <class T>
void add_lines(const Border &b, const char *from, char *to, int64_t begin, int64_t end) {
    int last = b.ndim - 1;
    int64_t width = b.outer[last], left = b.left[last];
    const T *x = (const T *)from + begin * width;
    Lines lines(b, begin);
    for (int64_t line = begin; line < end; line++, x += width) {
        T *out = (T *)to + lines.next();
        add_border(b, x, out, 0, b.same_begin);
        T *__restrict same = out - left;
        for (int64_t i = b.same_begin; i < b.same_end; i++)
            same[i] = fl_plus(same[i], x[i]);
        add_border(b, x, out, b.same_end, width);
    }
}

}  // namespace

extern "C" int fl_infer_constant_pad_nd(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int64_t shape[FL_MAX_DIMS];
    if (padded_shape(op, self, in[1], shape) < 0)
        return -1;
    if (in[2].tag == FL_COMPLEX && !fl_is_complex(self->dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: value is complex, but self is %s", fl_op_title(op),
                        fl_dtype_name(self->dtype));
    if (fl_check_number(fl_op_title(op), "value", in[2], self->dtype) < 0)
        return -1;
    fl_spec_set(outs, self->dtype, fl_device_code(self), self->ndim, shape);
    fl_spec_in_format(outs, fl_suggested_format(self));
    return 0;
}

extern "C" int fl_run_constant_pad_nd(const fl_op *op, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    static const int64_t none[FL_MAX_DIMS] = {0};
    const fl_tensor *self = in[0].t;
    const fl_tensor *out = outs[0];
    alignas(16) char element[16];
    fl_number_as(in[2], out->dtype, element);
    fl_copy_strided(fl_strided{out->data, out->dtype, out->strides},
                    fl_strided{element, out->dtype, none}, out->ndim, out->shape);
    int64_t size = fl_itemsize(out->dtype), shape[FL_MAX_DIMS];
    char *to = out->data, *from = self->data;
    for (int d = 0; d < self->ndim; d++) {
        int64_t l = left_of(in[1], self->ndim, d), r = right_of(in[1], self->ndim, d);
        shape[d] = self->shape[d] + (l < 0 ? l : 0) + (r < 0 ? r : 0);
        if (shape[d] <= 0)
            return 0;
        (l < 0 ? from : to) += (l < 0 ? -l * self->strides[d] : l * out->strides[d]) * size;
    }
    fl_copy_strided(fl_strided{to, out->dtype, out->strides},
                    fl_strided{from, self->dtype, self->strides}, self->ndim, shape);
    return 0;
}

extern "C" int fl_infer_pad_by(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    int64_t shape[FL_MAX_DIMS];
    if (check_mode(op, self, in[2]) < 0 || padded_shape(op, self, in[1], shape) < 0 ||
        check_reach(op, self, in[1], (int)in[2].i) < 0)
        return -1;
    fl_spec_set(outs, self->dtype, fl_device_code(self), self->ndim, shape);
    fl_spec_in_format(outs, fl_suggested_format(self));
    return 0;
}

extern "C" int fl_run_pad_by(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    RawIn x(self, self->dtype);
    RawOut out(outs[0], self->dtype);
    if (!x.ok() || !out.ok())
        return -1;
    if (outs[0]->numel == 0)
        return 0;
    Border b = border_of(in[1], (int)in[2].i, self->ndim, self->shape, outs[0]->shape);
    int64_t width = b.outer[b.ndim - 1];
    fl_parallel(outs[0]->numel / width, fl_row_grain(width), [&](int64_t begin, int64_t end) {
        FL_BY_SIZE(fl_itemsize(self->dtype), read_lines, b, x.data(), out.data(), begin, end)
    });
    out.commit();
    return 0;
}

extern "C" int fl_infer_pad_by_grad(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *grad = in[0].t;
    fl_tensor inner = *grad;
    int64_t shape[FL_MAX_DIMS];
    inner.shape = in[3].is;
    if (check_mode(op, grad, in[2]) < 0)
        return -1;
    bool fits = (int)in[3].len == grad->ndim;
    for (int d = 0; d < grad->ndim && fits; d++)
        fits = in[3].is[d] >= 0;
    fits = fits && padded_shape(op, &inner, in[1], shape) == 0 &&
           check_reach(op, &inner, in[1], (int)in[2].i) == 0 &&
           !memcmp(shape, grad->shape, sizeof(int64_t) * (size_t)grad->ndim);
    if (!fits)
        return fl_error(FL_RUNTIME_ERROR, "%s: a gradient of shape %s does not belong to size %s "
                        "padded by %s", fl_op_title(op), fl_shape_text(grad->shape, grad->ndim),
                        fl_shape_text(in[3].is, (int)in[3].len),
                        fl_shape_text(in[1].is, (int)in[1].len));
    fl_spec_set(outs, grad->dtype, fl_device_code(grad), grad->ndim, in[3].is);
    return 0;
}

extern "C" int fl_run_pad_by_grad(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *grad = in[0].t;
    int kind = fl_kind_of_dtype[grad->dtype];
    In x(grad, kind);
    Out out(outs[0], kind);
    if (!x.ok() || !out.ok())
        return -1;
    if (outs[0]->numel == 0)
        return 0;
    memset(out.as<char>(), 0, (size_t)(outs[0]->numel * fl_kind_size[kind]));
    if (grad->numel == 0) {
        out.commit();
        return 0;
    }
    Border b = border_of(in[1], (int)in[2].i, grad->ndim, in[3].is, grad->shape);
    int64_t width = b.outer[b.ndim - 1], lines = 1;
    for (int d = b.first; d < b.ndim - 1; d++)
        lines *= b.outer[d];
    fl_parallel(grad->numel / width / lines, fl_row_grain(lines * width),
                [&](int64_t begin, int64_t end) {
        FL_BY_KIND(kind, add_lines, b, x.as<char>(), out.as<char>(), begin * lines, end * lines)
    });
    out.commit();
    return 0;
}
