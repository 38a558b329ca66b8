/* A linear layer whose weights are int8, int4, float16 or bfloat16, and whose inputs are not
 * rounded. For a few rows, weights become floats in registers, group by group of columns, and
 * results have the same bits wherever there is fused multiply-add; for many, panels of them do in
 * memory. */
#include "matmul/kernels/weight_only.h"
#include "common/args.h"
#include "runtime/blas.h"

namespace {

const fl_weight_only_kernels *const kernels = FL_PICK(fl_weight_only_kernels);
const int64_t BLOCK = 32;
const int64_t LEAST_PANEL_ROWS = 16;        /* rows of x from which floats are multiplied */
const int64_t PANEL_FLOATS = 1 << 18;       /* of a weight that are spread at a time */

int64_t padded(int64_t k) { return (k + BLOCK - 1) / BLOCK * BLOCK; }

bool is_half(int dtype) { return dtype == FL_F16 || dtype == FL_BF16; }

int64_t row_bytes(const fl_tensor *weight) {
    return weight->shape[1] * (is_half(weight->dtype) ? 2 : 1);
}

fl_narrow narrow(const fl_tensor *t) {
    const int dtype = t ? t->dtype : (int)FL_F32;
    return dtype == FL_I8     ? FL_NARROW_I8
           : dtype == FL_U8   ? FL_NARROW_I4
           : dtype == FL_F16  ? FL_NARROW_F16
           : dtype == FL_BF16 ? FL_NARROW_BF16
                              : FL_NARROW_NOT;
}

int check_weight(const fl_op *op, const fl_tensor *input, const fl_tensor *weight) {
    const char *title = fl_op_title(op);
    if (fl_kind_of_dtype[input->dtype] != FL_K_F32)
        return fl_error(FL_TYPE_ERROR, "%s: input must be float32, float16 or bfloat16, got %s",
                        title, fl_dtype_name(input->dtype));
    const int dtype = weight->dtype;
    if ((dtype != FL_I8 && dtype != FL_U8 && !is_half(dtype)) || weight->ndim != 2)
        return fl_error(FL_VALUE_ERROR, "%s: weight must be a matrix of int8, float16, bfloat16 or "
                        "uint8 (two numbers of four bits each), got %s", title,
                        fl_tensor_text(weight));
    const int64_t k = input->ndim ? input->shape[input->ndim - 1] : -1;
    const int64_t columns = dtype == FL_U8 && k >= 0 ? padded(k) / 2 : k;
    if (weight->shape[1] != columns)
        return fl_error(FL_VALUE_ERROR, "%s: input is %s and weight is %s of shape %s; %s", title,
                        fl_shape_text(input->shape, input->ndim), fl_dtype_name(dtype),
                        fl_shape_text(weight->shape, weight->ndim),
                        dtype == FL_U8 ? "each 32 columns take 16 bytes of a row of weight"
                                       : "their last dimensions must be equal");
    return 0;
}

int check_group(const fl_op *op, int64_t group, int64_t k) {
    if (group >= 0 && (group % BLOCK == 0 || group >= k))
        return 0;
    return fl_error(FL_VALUE_ERROR, "%s: group must be a multiple of 32, or 0 for a scale per row, "
                    "got %lld", fl_op_title(op), (long long)group);
}

int64_t groups_of(int64_t group, int64_t k) {
    return group == 0 || group >= k ? 1 : (k + group - 1) / group;
}

int check_factors(const fl_op *op, const char *name, const fl_tensor *t, int64_t n,
                  int64_t groups) {
    if (!t || (fl_kind_of_dtype[t->dtype] == FL_K_F32 && t->ndim == 2 && t->shape[0] == n &&
               t->shape[1] == groups))
        return 0;
    return fl_error(FL_VALUE_ERROR, "%s: %s must be float32, float16 or bfloat16 of shape [%lld, "
                    "%lld], one for each group of a row of weight, got %s", fl_op_title(op), name,
                    (long long)n, (long long)groups, fl_tensor_text(t));
}

int check_scales(const fl_op *op, const fl_tensor *weight, const fl_tensor *scales,
                 const fl_tensor *offsets) {
    if (is_half(weight->dtype) && (scales || offsets))
        return fl_error(FL_VALUE_ERROR, "%s: a weight of %s has no scales and no offsets",
                        fl_op_title(op), fl_dtype_name(weight->dtype));
    if (!is_half(weight->dtype) && !scales)
        return fl_error(FL_VALUE_ERROR, "%s: a weight of %s needs scales", fl_op_title(op),
                        fl_dtype_name(weight->dtype));
    return 0;
}

int check_bias(const fl_op *op, const fl_tensor *bias, int64_t n) {
    if (!bias || (bias->dtype == FL_F32 && bias->ndim == 1 && bias->numel == n))
        return 0;
    return fl_error(FL_VALUE_ERROR, "%s: bias must be %lld numbers of float32, one for each row of "
                    "weight, got %s", fl_op_title(op), (long long)n, fl_tensor_text(bias));
}

/* An optional tensor in C order: its own memory when it lies so. */
class Packed {
  public:
    explicit Packed(const fl_tensor *t)
        : t_(t), own_(!t || fl_is_contiguous(t)),
          room_(own_ ? 0 : (size_t)(t->numel * fl_itemsize(t->dtype))) {
        if (own_ || !room_.ok())
            return;
        int64_t strides[FL_MAX_DIMS];
        fl_contiguous_strides(t->ndim, t->shape, strides);
        fl_copy_strided(fl_strided{room_.as<char>(), t->dtype, strides},
                        fl_strided{t->data, t->dtype, t->strides}, t->ndim, t->shape);
    }
    bool ok() const { return room_.ok(); }
    const char *data() { return !t_ ? nullptr : own_ ? (const char *)t_->data : room_.as<char>(); }

  private:
    const fl_tensor *t_;
    bool own_;
    Scratch room_;
};

/* Rows with zeros at their ends, up to whole blocks. */
void pad(const float *x, int64_t m, int64_t k, float *to) {
    const int64_t wide = padded(k);
    for (int64_t i = 0; i < m; i++) {
        memcpy(to + i * wide, x + i * k, (size_t)k * sizeof(float));
        memset(to + i * wide + k, 0, (size_t)(wide - k) * sizeof(float));
    }
}

void multiply(const fl_weight_only_product &p) {
    const int64_t pieces = (p.n + 3) / 4;
    const int64_t grain = FL_GRAIN / (p.m * p.k + 1) + 1;
    fl_parallel(pieces, grain, [&](int64_t begin, int64_t end) {
        Scratch room(p.m < 4 ? 0 : (size_t)(4 * p.padded) * sizeof(float));
        const int64_t last = end * 4;
        kernels->columns(&p, begin * 4, last < p.n ? last : p.n, room.as<float>());
    });
}

/* The weight as floats, a panel of rows at a time, and products of floats with it. */
int multiply_panels(const fl_weight_only_product &p) {
    const int64_t fit = PANEL_FLOATS / p.padded / 4 * 4;
    const int64_t rows = fit < 64 ? 64 : fit < p.n ? fit : p.n;
    Scratch room((size_t)(rows * p.padded) * sizeof(float));
    if (!room.ok())
        return -1;
    fl_gemm_args g = {};
    g.dtype = FL_F32;
    g.trans_b = FL_TRANS;
    g.m = p.m;
    g.k = p.k;
    g.alpha = 1;
    g.a = p.x;
    g.b = room.as<float>();
    g.lda = g.ldb = p.padded;
    g.ldc = p.n;
    g.batch = 1;
    for (int64_t first = 0; first < p.n; first += rows) {
        g.n = p.n - first < rows ? p.n - first : rows;
        fl_parallel(g.n, FL_GRAIN / p.padded + 1, [&](int64_t begin, int64_t end) {
            kernels->rows(&p, first + begin, first + end, room.as<float>() + begin * p.padded);
        });
        g.bias = p.bias ? p.bias + first : nullptr;
        g.c = p.c + first;
        if (fl_gemm_run(&g) < 0)
            return -1;
    }
    return 0;
}

}  // namespace

extern "C" {
int fl_infer_weight_only_linear(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *input = in[0].t, *weight = in[1].t;
    if (fl_same_device(op, in, n) < 0 || check_weight(op, input, weight) < 0)
        return -1;
    const int64_t k = input->shape[input->ndim - 1], rows = weight->shape[0];
    if (check_group(op, in[5].i, k) < 0 ||
        check_scales(op, weight, fl_t(in[2]), fl_t(in[3])) < 0 ||
        check_factors(op, "scales", fl_t(in[2]), rows, groups_of(in[5].i, k)) < 0 ||
        check_factors(op, "offsets", fl_t(in[3]), rows, groups_of(in[5].i, k)) < 0 ||
        check_bias(op, fl_t(in[4]), rows) < 0)
        return -1;
    int64_t shape[FL_MAX_DIMS];
    memcpy(shape, input->shape, sizeof(int64_t) * (size_t)input->ndim);
    shape[input->ndim - 1] = rows;
    fl_spec_set(outs, input->dtype, fl_device_code(input), input->ndim, shape);
    return 0;
}

int fl_run_weight_only_linear(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *input = in[0].t, *scales = fl_t(in[2]), *offsets = fl_t(in[3]);
    if (outs[0]->numel == 0)
        return 0;
    fl_weight_only_product p = {};
    p.n = in[1].t->shape[0];
    p.k = input->shape[input->ndim - 1];
    p.m = outs[0]->numel / p.n;
    p.padded = padded(p.k);
    p.groups = groups_of(in[5].i, p.k);
    p.group = p.groups == 1 ? p.padded : in[5].i;
    In x(input, FL_K_F32);
    Out out(outs[0], FL_K_F32);
    Packed weight(in[1].t), factors(scales), shifts(offsets), bias(fl_t(in[4]));
    Scratch rows(p.padded == p.k ? 0 : (size_t)(p.m * p.padded) * sizeof(float));
    if (!x.ok() || !out.ok() || !weight.ok() || !factors.ok() || !shifts.ok() || !bias.ok() ||
        !rows.ok())
        return -1;
    p.x = x.as<float>();
    if (p.padded != p.k) {
        pad(p.x, p.m, p.k, rows.as<float>());
        p.x = rows.as<float>();
    }
    p.weight = weight.data();
    p.row_bytes = row_bytes(in[1].t);
    p.kind = narrow(in[1].t);
    p.scales = factors.data();
    p.offsets = shifts.data();
    p.scales_kind = narrow(scales);
    p.offsets_kind = narrow(offsets);
    p.bias = (const float *)bias.data();
    p.c = out.as<float>();
    if (p.m >= LEAST_PANEL_ROWS && p.k) {
        if (multiply_panels(p) < 0)
            return -1;
    } else {
        multiply(p);
    }
    out.commit();
    return 0;
}

}  // extern "C"
