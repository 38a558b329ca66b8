/* flip: reversed dimensions, copied. */
#include "shape/kernels/reverse.h"
#include "common/args.h"
#include "common/raw.h"

namespace {

const fl_reverse_kernels *const kernels = FL_PICK(fl_reverse_kernels);

/* The input, its dimensions in the order in which the result lies. */
struct Flip {
    const char *data;
    int ndim;
    uint64_t mask;                      /* of the reversed ones */
    int64_t shape[FL_MAX_DIMS], strides[FL_MAX_DIMS];
    int64_t line;                       /* elements of the last dimension */

    /* Dimension i is the input's order[i], or its own where no order is given. */
    void set(const fl_tensor *t, uint64_t reversed, const int *order) {
        data = t->data;
        ndim = t->ndim;
        mask = 0;
        line = 1;
        for (int i = 0; i < ndim; i++) {
            const int d = order ? order[i] : i;
            line = shape[i] = t->shape[d];
            strides[i] = t->strides[d];
            mask |= (reversed >> d & 1) << i;
        }
    }
};

/* Whether the result is dense, in some order of its dimensions; the flip then follows it. */
bool follow(const fl_tensor *t, uint64_t mask, const fl_tensor *out, Flip *f) {
    int order[FL_MAX_DIMS];
    int64_t strides[FL_MAX_DIMS];
    fl_order_by_stride(t->ndim, out->strides, order);
    f->set(t, mask, order);
    for (int i = 0; i < t->ndim; i++)
        strides[i] = out->strides[order[i]];
    return fl_geometry_contiguous(t->ndim, f->shape, strides);
}

/* Offset in the source of the first element of line `number` of the result. */
int64_t source_of(const Flip &f, int64_t number) {
    int64_t offset = 0;
    for (int d = f.ndim - 2; d >= 0; d--) {
        int64_t n = f.shape[d], i = number % n;
        number /= n;
        offset += (f.mask >> d & 1 ? n - 1 - i : i) * f.strides[d];
    }
    return offset;
}

template <class T> void flip_lines(const Flip &f, char *to, int64_t b, int64_t e) {
    int last = f.ndim - 1;
    int64_t step = last >= 0 ? f.strides[last] : 0;
    bool turned = last >= 0 && (f.mask >> last & 1);
    T *out = (T *)to + b * f.line;
    for (int64_t number = b; number < e; number++, out += f.line) {
        const T *x = (const T *)f.data + source_of(f, number);
        if (step == 1 && turned)
            kernels->line[__builtin_ctz(sizeof(T))](x, out, f.line);
        else if (step == 1)
            memcpy(out, x, (size_t)f.line * sizeof(T));
        else if (turned)
            for (int64_t i = 0; i < f.line; i++)
                out[i] = x[(f.line - 1 - i) * step];
        else
            for (int64_t i = 0; i < f.line; i++)
                out[i] = x[i * step];
    }
}

void flip(const Flip &f, const fl_tensor *self, char *to) {
    fl_parallel(self->numel / f.line, fl_row_grain(f.line), [&](int64_t b, int64_t e) {
        FL_BY_SIZE(fl_itemsize(self->dtype), flip_lines, f, to, b, e)
    });
}

/* Unlike in reductions, no dims means: reverse nothing. */
int mask_of(const fl_op *op, const fl_value *in, uint64_t *mask) {
    *mask = 0;
    if (in[1].tag == FL_INTS && in[1].len == 0)
        return 0;
    return fl_dims_mask(op, in[1], in[0].t->ndim, mask);
}

}  // namespace

extern "C" int fl_infer_flip(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    uint64_t mask;
    if (mask_of(op, in, &mask) < 0)
        return -1;
    fl_spec_in_order_of(outs, in[0].t);
    return 0;
}

extern "C" int fl_run_flip(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    uint64_t mask;
    if (mask_of(op, in, &mask) < 0)
        return -1;
    if (self->numel == 0)
        return 0;
    Flip f;
    if (outs[0]->dtype == self->dtype && follow(self, mask, outs[0], &f)) {
        flip(f, self, outs[0]->data);
        return 0;
    }
    RawOut out(outs[0], self->dtype);
    if (!out.ok())
        return -1;
    f.set(self, mask, nullptr);
    flip(f, self, out.data());
    out.commit();
    return 0;
}
