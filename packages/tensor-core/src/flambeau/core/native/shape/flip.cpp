/* flip: reversed dimensions, copied from the other end. */
#include "common/args.h"

namespace {

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
    fl_tensor *out = outs[0];
    uint64_t mask;
    if (mask_of(op, in, &mask) < 0)
        return -1;
    if (self->numel == 0)
        return 0;
    int64_t strides[FL_MAX_DIMS], last = 0;
    for (int d = 0; d < self->ndim; d++) {
        const bool turned = mask >> d & 1;
        strides[d] = turned ? -self->strides[d] : self->strides[d];
        last += turned ? (self->shape[d] - 1) * self->strides[d] : 0;
    }
    fl_copy_strided(fl_strided{out->data, out->dtype, out->strides},
                    fl_strided{self->data + last * fl_itemsize(self->dtype), self->dtype, strides},
                    self->ndim, self->shape);
    return 0;
}
