/* max_pool2d with the positions of the maxima, and its gradient. */
#include "pool/pool.h"
#include "common/args.h"
#include "pool/kernels/byte_maxima.h"
#include <algorithm>

namespace {

bool comparable(int dtype) { return (fl_is_int(dtype) && dtype != FL_U64) || fl_is_float(dtype); }

/* in: self, kernel_size, stride, padding, dilation, ceil_mode */
int read_call(const fl_op *op, const fl_value *in, fl_pool_call *c) {
    int64_t dilation[2];
    if (fl_read_pair(op, "dilation", in[4], 1, dilation) < 0)
        return -1;
    return fl_pool_read(op, in, 1, dilation, in[5].i != 0, "self", in[0].t->ndim, in[0].t->shape,
                        c);
}

/* `Position` is the dtype of the positions; there are none where `positions` is NULL. */
template <class T, class Index>
int run_max(const fl_pool_call &c, fl_max_pool_fn pool, const T *input, T *values,
            Index *positions) {
    int64_t in_plane = c.p.h * c.p.w, out_plane = c.p.oh * c.p.ow;
    bool failed = false;
    bool done = fl_pool_bands<T>(c, [&](int64_t plane, int64_t first, int64_t last, T *scratch) {
        int64_t begin = first * c.p.ow, count = positions ? last * c.p.ow - begin : 0;
        Scratch wide((size_t)count * sizeof(int64_t));
        if (!wide.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        int64_t *at = positions ? wide.as<int64_t>() - begin : nullptr;
        pool(&c.p, input + plane * in_plane, first, last, values + plane * out_plane, at, scratch);
        for (int64_t i = 0; i < count; i++)
            positions[plane * out_plane + begin + i] = (Index)wide.as<int64_t>()[i];
    });
    return done && !failed ? 0 : -1;
}

template <class T>
int run_max(const fl_pool_call &c, fl_max_pool_fn pool, const T *input, T *values,
            int64_t *indices) {
    int64_t in_plane = c.p.h * c.p.w, out_plane = c.p.oh * c.p.ow;
    bool done = fl_pool_bands<T>(c, [&](int64_t plane, int64_t first, int64_t last, T *scratch) {
        pool(&c.p, input + plane * in_plane, first, last, values + plane * out_plane,
             indices ? indices + plane * out_plane : nullptr, scratch);
    });
    return done ? 0 : -1;
}

bool is_half(const fl_window &w, int64_t out, int64_t length) {
    return w.size == 2 && w.stride == 2 && w.padding == 0 && w.dilation == 1 && 2 * out <= length;
}

/* Whether windows are two by two elements side by side, or two of a plane's only row. */
bool has_quarters(const fl_pool &p) {
    const bool one_row = p.h == 1 && p.oh == 1 && p.y.size == 1 && p.y.padding == 0;
    return (one_row || is_half(p.y, p.oh, p.h)) && is_half(p.x, p.ow, p.w) &&
           p.h * p.w <= INT32_MAX;
}

fl_quarters_fn pick_quarters(const fl_pool_kernels *k, const uint8_t *) { return k->quarters_u8; }
fl_quarters_fn pick_quarters(const fl_pool_kernels *k, const uint16_t *) { return k->quarters_u16; }
fl_quarters_fn pick_quarters(const fl_pool_kernels *k, const int64_t *) { return k->quarters_i64; }

template <class Index>
int run_quarters(const fl_pool_call &c, const fl_pool_kernels *kernels, const float *input,
                 float *values, Index *positions) {
    const fl_pool &p = c.p;
    fl_quarters_fn pool = pick_quarters(kernels, positions);
    fl_parallel(c.planes * p.oh, FL_GRAIN / (2 * p.w) + 1, [&](int64_t begin, int64_t end) {
        pool(&p, input, c.planes, begin, end, values, positions);
    });
    return 0;
}

/* Add every gradient to the position its maximum came from; the position of a bad index, or -1. */
template <class T, class Index>
int64_t scatter(const T *grad, const Index *indices, T *out, int64_t planes, int64_t in_plane,
                int64_t out_plane) {
    int64_t bad = -1;
    fl_parallel(planes, FL_GRAIN / (in_plane + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; plane++) {
            T *to = out + plane * in_plane;
            memset(to, 0, (size_t)in_plane * sizeof(T));
            for (int64_t i = plane * out_plane; i < (plane + 1) * out_plane; i++) {
                if ((uint64_t)indices[i] < (uint64_t)in_plane)
                    to[indices[i]] += grad[i];
                else
                    __atomic_store_n(&bad, i, __ATOMIC_RELAXED);
            }
        }
    });
    return bad;
}

/* The smallest dtype that holds every position of a plane. */
int index_dtype(int64_t in_plane) {
    return in_plane <= 1 << 8 ? FL_U8 : in_plane <= 1 << 16 ? FL_U16 : FL_I64;
}

int same_planes(const fl_op *op, const fl_value *in) {
    const fl_tensor *grad = in[0].t, *indices = in[1].t;
    const fl_value &size = in[2];
    int nd = grad->ndim;
    size_t bytes = sizeof(int64_t) * (size_t)(nd > 2 ? nd - 2 : 0);
    bool fits = (nd == 3 || nd == 4) && indices->ndim == nd && (int)size.len == nd &&
                !memcmp(grad->shape, indices->shape, sizeof(int64_t) * (size_t)nd) &&
                !memcmp(grad->shape, size.is, bytes);
    if (fits)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: grad has shape %s, indices %s and input_size is %s; "
                    "grad and indices must be alike, and differ from input_size in height and "
                    "width only", fl_op_title(op), fl_shape_text(grad->shape, nd),
                    fl_shape_text(indices->shape, indices->ndim),
                    fl_shape_text(size.is, (int)size.len));
}

bool holds_indices(int dtype) { return dtype == FL_I64 || dtype == FL_U16 || dtype == FL_U8; }

}  // namespace

extern "C" int fl_infer_max_pool2d_with_indices(const fl_op *op, const fl_value *in, int,
                                                fl_spec *outs) {
    fl_pool_call c;
    if (fl_expect_dtype(op, "self", in[0].t, comparable, "floating or integer") < 0 ||
        read_call(op, in, &c) < 0)
        return -1;
    fl_spec_set(&outs[0], in[0].t->dtype, fl_device_code(in[0].t), c.nd, c.shape);
    fl_spec_in_format(&outs[0], fl_suggested_format(in[0].t));
    outs[1] = outs[0];
    outs[1].dtype = FL_I64;
    return 0;
}

/* Whether both are of bytes whose channels lie side by side; then the maxima are computed. */
static bool run_bytes(const fl_pool_call &c, const fl_tensor *input, fl_tensor *out) {
    const int first = c.nd - 3;
    const int64_t *strides = input->strides + first, *to = out->strides + first;
    const int64_t channels = input->shape[first], area = c.p.oh * c.p.ow * channels;
    const bool bytes = input->dtype == FL_U8 || input->dtype == FL_I8;
    if (!bytes || strides[0] != 1 || to[0] != 1 || to[2] != channels || to[1] != c.p.ow * channels ||
        (first && out->strides[0] != area))
        return false;
    const fl_byte_pool_kernels *kernels = FL_PICK(fl_byte_pool_kernels);
    auto pool = input->dtype == FL_U8 ? kernels->max_u8 : kernels->max_i8;
    const int64_t images = first ? input->shape[0] : 1, row = c.p.ow * channels;
    fl_parallel(images * c.p.oh, fl_row_grain(row), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const int64_t n = i / c.p.oh;
            const fl_byte_pool job = {
                c.p, channels, strides[1], strides[2],
                (const uint8_t *)input->data + (first ? n * input->strides[0] : 0),
                (uint8_t *)out->data + n * area};
            pool(&job, i % c.p.oh, i % c.p.oh + 1);
        }
    });
    return true;
}

/* `at` may be NULL. */
template <class Index>
static int run_values(const fl_op *op, const fl_value *in, fl_tensor *out, Index *at) {
    fl_pool_call c;
    if (read_call(op, in, &c) < 0)
        return -1;
    if (!at && run_bytes(c, in[0].t, out))
        return 0;
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    const fl_pool_kernels *kernels = FL_PICK(fl_pool_kernels);
    In input(in[0].t, kind);
    Out values(out, kind);
    if (!input.ok() || !values.ok())
        return -1;
    int status;
    if (kind == FL_K_F32 && has_quarters(c.p))
        status = run_quarters(c, kernels, input.as<float>(), values.as<float>(), at);
    else if (kind == FL_K_F32)
        status = run_max(c, kernels->max_f32, input.as<float>(), values.as<float>(), at);
    else if (kind == FL_K_F64)
        status = run_max(c, kernels->max_f64, input.as<double>(), values.as<double>(), at);
    else
        status = run_max(c, kernels->max_i64, input.as<int64_t>(), values.as<int64_t>(), at);
    if (status < 0)
        return -1;
    values.commit();
    return 0;
}

extern "C" int fl_run_max_pool2d_with_indices(const fl_op *op, const fl_value *in, int,
                                              fl_tensor *const *outs) {
    if (outs[0]->numel == 0)
        return 0;
    Out indices(outs[1], FL_K_I64);
    if (!indices.ok() || run_values(op, in, outs[0], indices.as<int64_t>()) < 0)
        return -1;
    indices.commit();
    return 0;
}

extern "C" int fl_infer_max_pool2d_compact_indices(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    if (fl_infer_max_pool2d_with_indices(op, in, n, outs) < 0)
        return -1;
    const int64_t *image = in[0].t->shape + in[0].t->ndim - 2;
    outs[1].dtype = index_dtype(image[0] * image[1]);
    return 0;
}

extern "C" int fl_run_max_pool2d_compact_indices(const fl_op *op, const fl_value *in, int n,
                                        fl_tensor *const *outs) {
    fl_tensor *positions = outs[1];
    if (positions->dtype == FL_I64 || !fl_is_contiguous(positions))
        return fl_run_max_pool2d_with_indices(op, in, n, outs);
    if (positions->numel == 0)
        return 0;
    return positions->dtype == FL_U8
        ? run_values(op, in, outs[0], reinterpret_cast<uint8_t *>(positions->data))
        : run_values(op, in, outs[0], reinterpret_cast<uint16_t *>(positions->data));
}

extern "C" int fl_infer_max_pool2d_values(const fl_op *op, const fl_value *in, int n,
                                          fl_spec *outs) {
    fl_spec both[2];
    if (fl_infer_max_pool2d_with_indices(op, in, n, both) < 0)
        return -1;
    outs[0] = both[0];
    return 0;
}

extern "C" int fl_run_max_pool2d_values(const fl_op *op, const fl_value *in, int,
                                        fl_tensor *const *outs) {
    return outs[0]->numel == 0 ? 0 : run_values<int64_t>(op, in, outs[0], nullptr);
}

extern "C" int fl_infer_max_pool2d_grad(const fl_op *op, const fl_value *in, int n,
                                        fl_spec *outs) {
    if (fl_expect_dtype(op, "grad", in[0].t, fl_is_float, "floating") < 0 ||
        fl_expect_dtype(op, "indices", in[1].t, holds_indices, "int64, uint16 or uint8") < 0 ||
        fl_same_device(op, in, n) < 0 || same_planes(op, in) < 0)
        return -1;
    fl_spec_set(outs, in[0].t->dtype, fl_device_code(in[0].t), (int)in[2].len, in[2].is);
    return 0;
}

template <class T, class Index>
static int run_grad(const fl_op *op, const fl_value *in, const T *grad, const Index *positions,
                    T *out) {
    const fl_tensor *g = in[0].t;
    const fl_value &size = in[2];
    int nd = g->ndim;
    int64_t bad = scatter(grad, positions, out, fl_numel_of(nd - 2, g->shape),
                          size.is[nd - 2] * size.is[nd - 1], g->shape[nd - 2] * g->shape[nd - 1]);
    if (bad < 0)
        return 0;
    return fl_error(FL_INDEX_ERROR, "%s: index %lld lies outside a plane of input_size %s",
                    fl_op_title(op), (long long)positions[bad],
                    fl_shape_text(size.is, (int)size.len));
}

/* Narrow positions are read as they are, if they lie side by side. */
template <class T>
static int run_grad_of(const fl_op *op, const fl_value *in, const T *grad, T *out) {
    const fl_tensor *positions = in[1].t;
    bool plain = fl_is_contiguous(positions);
    if (plain && positions->dtype == FL_U8)
        return run_grad(op, in, grad, reinterpret_cast<const uint8_t *>(positions->data), out);
    if (plain && positions->dtype == FL_U16)
        return run_grad(op, in, grad, reinterpret_cast<const uint16_t *>(positions->data), out);
    In at(positions, FL_K_I64);
    return at.ok() ? run_grad(op, in, grad, at.as<int64_t>(), out) : -1;
}

extern "C" int fl_run_max_pool2d_grad(const fl_op *op, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    In g(in[0].t, kind);
    Out out(outs[0], kind);
    if (!g.ok() || !out.ok())
        return -1;
    int status = kind == FL_K_F64 ? run_grad_of(op, in, g.as<double>(), out.as<double>())
                                  : run_grad_of(op, in, g.as<float>(), out.as<float>());
    if (status < 0)
        return -1;
    out.commit();
    return 0;
}
