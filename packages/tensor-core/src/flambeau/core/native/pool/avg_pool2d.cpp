/* avg_pool2d and its gradient. */
#include "pool/pool.h"
#include "common/args.h"
#include "dispatch/pointwise.h"
#include <algorithm>

namespace {

const int64_t NO_DILATION[2] = {1, 1};

bool averaged(int dtype) { return fl_is_float(dtype) || (fl_is_int(dtype) && dtype != FL_U64); }

/* ceil_mode, count_include_pad and divisor_override stand at in[at..at+3). */
int read_average(const fl_op *op, const fl_value *in, int at, fl_average *by) {
    by->include_padding = in[at + 1].i != 0;
    by->fixed = fl_is_none(in[at + 2]) ? 0 : in[at + 2].i;
    if (!fl_is_none(in[at + 2]) && by->fixed == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: divisor_override must not be zero; leave it out to "
                        "divide by the size of the window", fl_op_title(op));
    return 0;
}

/* in: self, kernel_size, stride, padding, ceil_mode, ... */
int read_forward(const fl_op *op, const fl_value *in, fl_pool_call *c, fl_average *by) {
    return fl_pool_read(op, in, 1, NO_DILATION, in[4].i != 0, "self", in[0].t->ndim,
                        in[0].t->shape, c) < 0 ? -1 : read_average(op, in, 4, by);
}

/* in: grad, input_size, kernel_size, stride, padding, ceil_mode, ... */
int read_grad(const fl_op *op, const fl_value *in, fl_pool_call *c, fl_average *by) {
    return fl_pool_read(op, in, 2, NO_DILATION, in[5].i != 0, "input_size", (int)in[1].len,
                        in[1].is, c) < 0 ? -1 : read_average(op, in, 5, by);
}

const int64_t MAX_ELEMENTS = 16, MIN_PLANES = 32, MIN_CHANNELS = 8;

template <class T> struct Columns {
    alignas(64) T elements[MAX_ELEMENTS * FL_POOL_COLUMNS];
};

/* Planes of few elements, a block of them at a time as columns: each by itself takes longer to
 * find its windows than to sum them. */
template <class T>
bool run_columns(const fl_pool_call &c, const fl_average &by, fl_avg_columns_fn pool,
                 const T *input, T *out) {
    const int64_t read = c.p.h * c.p.w, made = c.p.oh * c.p.ow;
    if (read > MAX_ELEMENTS || made > MAX_ELEMENTS || c.planes < MIN_PLANES)
        return false;
    const auto move = fl_move_of_size(sizeof(T));
    fl_parallel(c.planes, fl_row_grain(read), [&](int64_t begin, int64_t end) {
        Columns<T> columns, means;
        for (int64_t first = begin; first < end; first += FL_POOL_COLUMNS) {
            const int64_t count = std::min(end - first, FL_POOL_COLUMNS);
            move(columns.elements, input + first * read, read, count, 1, read);
            pool(&c.p, &by, columns.elements, count, count, means.elements);
            move(out + first * made, means.elements, count, made, 1, count);
        }
    });
    return true;
}

/* Images whose channels lie side by side, where there are enough of them for all threads. */
bool run_images(const fl_pool_call &c, const fl_average &by, fl_avg_columns_fn pool,
                const fl_tensor *self, int kind, fl_tensor *out) {
    const int dtype = fl_dtype_of_kind[kind];
    if (self->ndim != 4 || self->dtype != dtype || out->dtype != dtype ||
        !fl_has_format(self, "channels_last") || !fl_has_format(out, "channels_last"))
        return false;
    const int64_t channels = self->shape[1], size = fl_kind_size[kind];
    const int64_t blocks = fl_chunk_count(channels, FL_POOL_COLUMNS);
    const int64_t read = c.p.h * c.p.w * channels, made = c.p.oh * c.p.ow * channels;
    if (channels < MIN_CHANNELS || self->shape[0] * blocks < fl_get_num_threads())
        return false;
    fl_parallel(self->shape[0] * blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const int64_t image = i / blocks, first = i % blocks * FL_POOL_COLUMNS;
            pool(&c.p, &by, self->data + (image * read + first) * size,
                 std::min(channels - first, FL_POOL_COLUMNS), channels,
                 out->data + (image * made + first) * size);
        }
    });
    return true;
}

template <class T>
int run_average(const fl_pool_call &c, const fl_average &by, fl_avg_pool_fn pool,
                fl_avg_columns_fn columns, const T *input, T *out) {
    if (run_columns(c, by, columns, input, out))
        return 0;
    bool done = fl_pool_bands<T>(c, [&](int64_t plane, int64_t first, int64_t last, T *scratch) {
        pool(&c.p, &by, input + plane * c.p.h * c.p.w, first, last, out + plane * c.p.oh * c.p.ow,
             scratch);
    });
    return done ? 0 : -1;
}

template <class T>
int run_grad(const fl_pool_call &c, const fl_average &by, fl_avg_grad_fn pool, const T *grad,
             T *out) {
    int64_t elements = FL_PICK(fl_pool_kernels)->scratch_elements(&c.p, c.p.oh);
    bool failed = false;
    fl_parallel(c.planes, FL_GRAIN / (c.p.h * c.p.w + 1) + 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(fl_bytes(elements, sizeof(T)));
        if (!scratch.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t i = begin; i < end; i++)
            pool(&c.p, &by, grad + i * c.p.oh * c.p.ow, out + i * c.p.h * c.p.w,
                 scratch.as<T>());
    });
    return failed ? fl_error(FL_MEMORY_ERROR, "avg_pool2d_grad(): no memory for scratch") : 0;
}

}  // namespace

extern "C" int fl_infer_avg_pool2d(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    fl_pool_call c;
    fl_average by;
    if (fl_expect_dtype(op, "self", in[0].t, averaged, "floating or integer; convert it with "
                        ".float()") < 0 ||
        read_forward(op, in, &c, &by) < 0)
        return -1;
    fl_spec_set(outs, in[0].t->dtype, fl_device_code(in[0].t), c.nd, c.shape);
    fl_spec_in_format(outs, fl_suggested_format(in[0].t));
    return 0;
}

extern "C" int fl_run_avg_pool2d(const fl_op *op, const fl_value *in, int,
                                 fl_tensor *const *outs) {
    fl_pool_call c;
    fl_average by;
    if (outs[0]->numel == 0)
        return 0;
    if (read_forward(op, in, &c, &by) < 0)
        return -1;
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    const fl_pool_kernels *kernels = FL_PICK(fl_pool_kernels);
    const fl_avg_columns_fn columns = kind == FL_K_F64   ? kernels->avg_columns_f64
                                      : kind == FL_K_I64 ? kernels->avg_columns_i64
                                                         : kernels->avg_columns_f32;
    if (run_images(c, by, columns, in[0].t, kind, outs[0]))
        return 0;
    In input(in[0].t, kind);
    Out out(outs[0], kind);
    if (!input.ok() || !out.ok())
        return -1;
    int status = kind == FL_K_F64
        ? run_average(c, by, kernels->avg_f64, columns, input.as<double>(),
                      out.as<double>())
        : kind == FL_K_I64
        ? run_average(c, by, kernels->avg_i64, columns, input.as<int64_t>(),
                      out.as<int64_t>())
        : run_average(c, by, kernels->avg_f32, columns, input.as<float>(),
                      out.as<float>());
    if (status == 0)
        out.commit();
    return status;
}

extern "C" int fl_infer_avg_pool2d_grad(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    fl_pool_call c;
    fl_average by;
    const fl_tensor *grad = in[0].t;
    if (fl_expect_dtype(op, "grad", grad, fl_is_float, "floating") < 0 ||
        read_grad(op, in, &c, &by) < 0)
        return -1;
    if (grad->ndim != c.nd || memcmp(grad->shape, c.shape, sizeof(int64_t) * (size_t)c.nd))
        return fl_error(FL_RUNTIME_ERROR, "%s: grad has shape %s; the output of this pooling has "
                        "shape %s", fl_op_title(op), fl_shape_text(grad->shape, grad->ndim),
                        fl_shape_text(c.shape, c.nd));
    fl_spec_set(outs, grad->dtype, fl_device_code(grad), c.nd, in[1].is);
    return 0;
}

extern "C" int fl_run_avg_pool2d_grad(const fl_op *op, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    fl_pool_call c;
    fl_average by;
    if (outs[0]->numel == 0)
        return 0;
    if (read_grad(op, in, &c, &by) < 0)
        return -1;
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    const fl_pool_kernels *kernels = FL_PICK(fl_pool_kernels);
    In grad(in[0].t, kind);
    Out out(outs[0], kind);
    if (!grad.ok() || !out.ok())
        return -1;
    int status = kind == FL_K_F64
        ? run_grad(c, by, kernels->avg_grad_f64, grad.as<double>(), out.as<double>())
        : run_grad(c, by, kernels->avg_grad_f32, grad.as<float>(), out.as<float>());
    if (status == 0)
        out.commit();
    return status;
}
