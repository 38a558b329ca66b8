/* flip: reversed dimensions, copied. */
#include "shape/kernels/reverse.h"
#include "common/args.h"
#include "common/raw.h"

namespace {

const fl_reverse_kernels *const kernels = FL_PICK(fl_reverse_kernels);

struct Flip {
    const fl_tensor *t;
    uint64_t mask;
    int64_t line;                       /* elements of the last dimension */
};

/* Offset in the source of the first element of line `number` of the result. */
int64_t source_of(const Flip &f, int64_t number) {
    int64_t offset = 0;
    for (int d = f.t->ndim - 2; d >= 0; d--) {
        int64_t n = f.t->shape[d], i = number % n;
        number /= n;
        offset += (f.mask >> d & 1 ? n - 1 - i : i) * f.t->strides[d];
    }
    return offset;
}

template <class T> void flip_lines(const Flip &f, char *to, int64_t b, int64_t e) {
    int last = f.t->ndim - 1;
    int64_t step = last >= 0 ? f.t->strides[last] : 0;
    bool turned = last >= 0 && (f.mask >> last & 1);
    T *out = (T *)to + b * f.line;
    for (int64_t number = b; number < e; number++, out += f.line) {
        const T *x = (const T *)f.t->data + source_of(f, number);
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
    Flip f = {self, 0, self->ndim ? self->shape[self->ndim - 1] : 1};
    if (mask_of(op, in, &f.mask) < 0)
        return -1;
    RawOut out(outs[0], self->dtype);
    if (!out.ok())
        return -1;
    if (self->numel == 0)
        return 0;
    fl_parallel(self->numel / f.line, fl_row_grain(f.line), [&](int64_t b, int64_t e) {
        FL_BY_SIZE(fl_itemsize(self->dtype), flip_lines, f, out.data(), b, e)
    });
    out.commit();
    return 0;
}
