/* Arguments and sizes of the pooling rows. */
#include "pool/pool.h"
#include <initializer_list>

/* Positions of the window; in ceil mode the last one may reach past the input, but must start
 * inside it or its left padding. */
static int64_t positions(const fl_window &w, int64_t length, bool ceil_mode) {
    int64_t span = length + 2 * w.padding - fl_window_reach(w) + (ceil_mode ? w.stride - 1 : 0);
    if (span < 0)
        return 0;
    int64_t count = span / w.stride + 1;
    if (ceil_mode && (count - 1) * w.stride >= length + w.padding)
        count--;
    return count;
}

static int check_input(const fl_op *op, const char *name, int nd, const int64_t *shape) {
    if (nd != 3 && nd != 4)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s has shape %s; expected [batch, channels, height, "
                        "width], or 3 dimensions for a single image", fl_op_title(op), name,
                        fl_shape_text(shape, nd));
    for (int i = nd - 3; i < nd; i++)
        if (shape[i] < 1)
            return fl_error(FL_RUNTIME_ERROR, "%s: %s has shape %s; only the batch dimension may "
                            "be empty", fl_op_title(op), name, fl_shape_text(shape, nd));
    return 0;
}

static int check_padding(const fl_op *op, const int64_t padding[2], const fl_pool &p) {
    int64_t reach[2] = {fl_window_reach(p.y), fl_window_reach(p.x)};
    if (2 * padding[0] <= reach[0] && 2 * padding[1] <= reach[1])
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: padding %s should be at most half of the effective "
                    "kernel size %s", fl_op_title(op), fl_shape_text(padding, 2),
                    fl_shape_text(reach, 2));
}

static bool absent(const fl_value &v) { return v.tag == FL_NONE || (v.tag == FL_INTS && !v.len); }

static bool meets_few_taps(const fl_pool &p, int64_t planes) {
    int64_t taps = 1;
    for (int64_t n : {planes, p.oh, p.ow, p.y.size, p.x.size}) {
        if (n > 64 || taps > 64)
            return false;
        taps *= n;
    }
    return taps <= 64;
}

int fl_pool_read(const fl_op *op, const fl_value *in, int at, const int64_t dilation[2],
                 bool ceil_mode, const char *input_name, int nd, const int64_t *input,
                 fl_pool_call *c) {
    int64_t size[2], stride[2], padding[2];
    if (check_input(op, input_name, nd, input) < 0 ||
        fl_read_pair(op, "kernel_size", in[at], 1, size) < 0 ||
        fl_read_pair(op, "stride", absent(in[at + 1]) ? in[at] : in[at + 1], 1, stride) < 0 ||
        fl_read_pair(op, "padding", in[at + 2], 0, padding) < 0 ||
        fl_check_window_sizes(op, input_name, nd, input, padding) < 0)
        return -1;
    c->nd = nd;
    c->p = fl_pool{input[nd - 2], input[nd - 1], 0, 0,
                   {size[0], stride[0], padding[0], dilation[0]},
                   {size[1], stride[1], padding[1], dilation[1]}, false};
    if (check_padding(op, padding, c->p) < 0)
        return -1;
    c->p.oh = positions(c->p.y, c->p.h, ceil_mode);
    c->p.ow = positions(c->p.x, c->p.w, ceil_mode);
    if (c->p.oh < 1 || c->p.ow < 1)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s has shape %s, which is smaller than the window "
                        "%s; the output would be empty", fl_op_title(op), input_name,
                        fl_shape_text(input, nd), fl_shape_text(size, 2));
    c->planes = fl_numel_of(nd - 2, input);
    memcpy(c->shape, input, sizeof(int64_t) * (size_t)(nd - 2));
    c->shape[nd - 2] = c->p.oh;
    c->shape[nd - 1] = c->p.ow;
    c->p.small = meets_few_taps(c->p, c->planes);
    return 0;
}

int64_t fl_pool_band(const fl_pool &p) {
    const fl_pool_kernels *kernels = FL_PICK(fl_pool_kernels);
    int64_t one = kernels->scratch_elements(&p, 1);
    int64_t more = kernels->scratch_elements(&p, 2) - one;
    int64_t rows = one < FL_POOL_SCRATCH ? 1 + (FL_POOL_SCRATCH - one) / (more + 1) : 1;
    return rows < p.oh ? rows : p.oh;
}
