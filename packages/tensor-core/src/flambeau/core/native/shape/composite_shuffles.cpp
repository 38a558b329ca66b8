/* Channels and pixels in another order: a view with more dimensions, these permuted, and a copy. */
#include "common/compose.h"

namespace {

enum { ROOM = FL_MAX_DIMS + 2 };    /* the view has two dimensions more; its row counts them */

/* Refuse factors below one and tensors without the three dimensions that are needed. */
int check_factor(const fl_op *op, const fl_tensor *x, int64_t factor) {
    if (factor > 0 && x->ndim >= 3)
        return 0;
    if (factor <= 0)
        fl_error(FL_RUNTIME_ERROR, "%s(): expects a positive factor, but got %lld", op->name,
                 (long long)factor);
    else
        fl_error(FL_RUNTIME_ERROR, "%s(): expects input to have at least 3 dimensions, but got "
                 "shape %s", op->name, fl_shape_text(x->shape, x->ndim));
    return fl_raise();
}

/* x seen as `split`, its dimensions in this order, in the shape `joined`. */
fl_tensor *reordered(const fl_value &x, const int64_t *split, const int64_t *order, int nd,
                     const int64_t *joined) {
    Made seen(fl_compose(FL_OP_reshape, x, fl_ints_value(split, nd)));
    Made turned(seen ? fl_compose(FL_OP_permute, fl_tensor_value(seen), fl_ints_value(order, nd))
                     : nullptr);
    return turned ? fl_in_format_of(x.t, fl_compose(FL_OP_reshape, fl_tensor_value(turned),
                                                    fl_ints_value(joined, x.t->ndim)))
                  : nullptr;
}

/* The dimensions before the last three, which all three shapes begin with. */
int begin(const fl_tensor *x, int64_t *split, int64_t *order, int64_t *joined) {
    int n = x->ndim - 3;
    for (int d = 0; d < n; d++) {
        split[d] = joined[d] = x->shape[d];
        order[d] = d;
    }
    return n;
}

/* What follows them. */
void end(int n, int64_t *split, int64_t *order, int64_t *joined, const int64_t *parts,
         const int64_t *indices, const int64_t *sizes) {
    for (int d = 0; d < 5; d++) {
        split[n + d] = parts[d];
        order[n + d] = n + indices[d];
    }
    for (int d = 0; d < 3; d++)
        joined[n + d] = sizes[d];
}

}  // namespace

int fl_call_pixel_shuffle(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    int64_t r = in[1].i, square, split[ROOM], order[ROOM], joined[ROOM];
    if (check_factor(op, x, r) < 0)
        return -1;
    if (__builtin_mul_overflow(r, r, &square))
        square = INT64_MAX;
    int first = begin(x, split, order, joined);
    const int64_t *of = x->shape + first;
    if (of[0] % square) {
        fl_error(FL_RUNTIME_ERROR, "pixel_shuffle(): expects its input's 'channel' dimension to be "
                 "divisible by the square of upscale_factor, but input.size(-3)=%lld is not "
                 "divisible by %lld", (long long)of[0], (long long)square);
        return fl_raise();
    }
    const int64_t parts[] = {of[0] / square, r, r, of[1], of[2]}, indices[] = {0, 3, 1, 4, 2};
    const int64_t sizes[] = {of[0] / square, fl_wrapping_mul(of[1], r), fl_wrapping_mul(of[2], r)};
    end(first, split, order, joined, parts, indices, sizes);
    return fl_compose_result(op, in, n, out, reordered(in[0], split, order, first + 5, joined));
}

int fl_call_pixel_unshuffle(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    int64_t r = in[1].i, split[ROOM], order[ROOM], joined[ROOM];
    if (check_factor(op, x, r) < 0)
        return -1;
    int first = begin(x, split, order, joined);
    const int64_t *of = x->shape + first;
    if (of[1] % r || of[2] % r) {
        fl_error(FL_RUNTIME_ERROR, "pixel_unshuffle(): expects height and width to be divisible by "
                 "downscale_factor %lld, but got shape %s", (long long)r,
                 fl_shape_text(x->shape, x->ndim));
        return fl_raise();
    }
    const int64_t parts[] = {of[0], of[1] / r, r, of[2] / r, r}, indices[] = {0, 2, 4, 1, 3};
    const int64_t sizes[] = {fl_wrapping_mul(of[0], fl_wrapping_mul(r, r)), of[1] / r, of[2] / r};
    end(first, split, order, joined, parts, indices, sizes);
    return fl_compose_result(op, in, n, out, reordered(in[0], split, order, first + 5, joined));
}

int fl_call_channel_shuffle(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    int64_t groups = in[1].i, split[ROOM], order[ROOM];
    if (check_factor(op, x, groups) < 0)
        return -1;
    if (x->shape[1] % groups) {
        fl_error(FL_RUNTIME_ERROR, "channel_shuffle(): number of channels must be divisible by "
                 "groups. Got %lld channels and %lld groups.", (long long)x->shape[1],
                 (long long)groups);
        return fl_raise();
    }
    split[0] = x->shape[0];
    split[1] = groups;
    split[2] = x->shape[1] / groups;
    for (int d = 0; d <= x->ndim; d++) {
        order[d] = d == 1 ? 2 : d == 2 ? 1 : d;
        if (d > 2)
            split[d] = x->shape[d - 1];
    }
    return fl_compose_result(op, in, n, out,
                             reordered(in[0], split, order, x->ndim + 1, x->shape));
}
