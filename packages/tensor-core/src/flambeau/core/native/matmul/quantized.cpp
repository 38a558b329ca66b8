/* A linear layer whose weights are int8: rows of the input are rounded to int8 as they come. */
#include "common/pool_error.h"
#include "matmul/kernels/quantized.h"
#include "common/args.h"

namespace {

const int64_t MOST_TERMS = 131072;      /* of -128 * 127, whose sum fits into 32 bits */
const fl_quantized_kernels *const kernels = FL_PICK(fl_quantized_kernels);

int check_row(const fl_op *op, const char *name, const fl_tensor *t, int64_t n) {
    if (t->dtype == FL_F32 && t->ndim == 1 && t->numel == n)
        return 0;
    return fl_error(FL_VALUE_ERROR, "%s: %s must be %lld numbers of float32, one for each row of "
                    "weight, got %s", fl_op_title(op), name, (long long)n, fl_tensor_text(t));
}

int check_weight(const fl_op *op, const fl_tensor *input, const fl_tensor *weight) {
    if (fl_kind_of_dtype[input->dtype] != FL_K_F32)
        return fl_error(FL_TYPE_ERROR, "%s: input must be float32, float16 or bfloat16, got %s",
                        fl_op_title(op), fl_dtype_name(input->dtype));
    if (weight->dtype != FL_I8 || weight->ndim != 2)
        return fl_error(FL_VALUE_ERROR, "%s: weight must be a matrix of int8, got %s",
                        fl_op_title(op), fl_tensor_text(weight));
    if (input->ndim == 0 || input->shape[input->ndim - 1] != weight->shape[1])
        return fl_error(FL_VALUE_ERROR, "%s: input is %s and weight is %s; their last dimensions "
                        "must be equal", fl_op_title(op),
                        fl_shape_text(input->shape, input->ndim),
                        fl_shape_text(weight->shape, weight->ndim));
    if (weight->shape[1] > MOST_TERMS)
        return fl_error(FL_VALUE_ERROR, "%s: rows of at most %lld numbers have sums that fit into "
                        "int32, got %lld", fl_op_title(op), (long long)MOST_TERMS,
                        (long long)weight->shape[1]);
    return 0;
}

/* The weight, in C order. */
class Rows {
  public:
    explicit Rows(const fl_tensor *t)
        : own_(fl_is_contiguous(t)), room_(own_ ? 0 : (size_t)t->numel),
          data(own_ ? (const int8_t *)t->data : room_.as<int8_t>()) {
        if (own_ || !data)
            return;
        int64_t strides[FL_MAX_DIMS];
        fl_contiguous_strides(t->ndim, t->shape, strides);
        fl_copy_strided(fl_strided{room_.as<char>(), t->dtype, strides},
                        fl_strided{t->data, t->dtype, t->strides}, t->ndim, t->shape);
    }
    bool ok() const { return own_ || room_.ok(); }

  private:
    bool own_;
    Scratch room_;

  public:
    const int8_t *data;
};

int64_t up_to(int64_t count, int64_t unit) { return fl_chunk_count(count, unit) * unit; }

const int64_t MIN_TILE_ROWS = 8;            /* that tiles of AMX are worth it for */
const int64_t MIN_TILE_TERMS = 32;

bool by_tiles(int64_t m, int64_t k) {
    return m >= MIN_TILE_ROWS && k >= MIN_TILE_TERMS && k % 4 == 0 && fl_has_amx() &&
           FL_PICK(fl_quantized_products_by_tiles)->columns;
}

int multiply_tiles(const fl_quantized_product &p) {
    const int64_t group = FL_QUANTIZED_BLOCK_ROWS, strips = fl_chunk_count(p.n, group);
    const int64_t grain = FL_GRAIN * 32 / (p.m * p.k * group + 1) + 1;
    PoolError error;
    fl_parallel(strips, grain, [&](int64_t begin, int64_t end) {
        Scratch strip((size_t)(group * up_to(p.k, FL_QUANTIZED_ROW)));
        if (!strip.ok())
            return error.capture();
        FL_PICK(fl_quantized_products_by_tiles)->columns(
            &p, begin * group, end * group < p.n ? end * group : p.n, strip.as<char>());
    });
    return error.result();
}

void multiply(const fl_quantized_product &p) {
    const bool dots = fl_has_vnni() && kernels->columns_vnni;
    auto columns = dots ? kernels->columns_vnni : kernels->columns;
    int64_t group = 4, groups = (p.n + group - 1) / group;
    int64_t grain = FL_GRAIN * 8 / (p.m * p.k * group + 1) + 1;
    fl_parallel(groups, grain, [&](int64_t begin, int64_t end) {
        int64_t last = end * group;
        columns(&p, begin * group, last < p.n ? last : p.n);
    });
}

/* Rows of x rounded, and what one is worth in each. */
void round_rows(const float *x, fl_quantized_product &p, int8_t *to, float *steps) {
    fl_parallel(p.m, fl_row_grain(p.k), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            steps[i] = kernels->round_row(x + i * p.k, p.k, to + i * p.x_row);
            memset(to + i * p.x_row + p.k, 0, (size_t)(p.x_row - p.k));
        }
    });
    p.x = to;
    p.steps = steps;
}

}  // namespace

extern "C" {
int fl_infer_quantized_linear(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *input = in[0].t, *weight = in[1].t, *scales = in[2].t, *bias = fl_t(in[3]);
    if (fl_same_device(op, in, n) < 0 || check_weight(op, input, weight) < 0 ||
        check_row(op, "scales", scales, weight->shape[0]) < 0 ||
        (bias && check_row(op, "bias", bias, weight->shape[0]) < 0))
        return -1;
    int64_t shape[FL_MAX_DIMS];
    memcpy(shape, input->shape, sizeof(int64_t) * (size_t)input->ndim);
    shape[input->ndim - 1] = weight->shape[0];
    fl_spec_set(outs, input->dtype, fl_device_code(input), input->ndim, shape);
    return 0;
}

int fl_run_quantized_linear(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    fl_quantized_product p = {};
    p.n = in[1].t->shape[0];
    p.k = in[1].t->shape[1];
    if (outs[0]->numel == 0)
        return 0;
    p.m = outs[0]->numel / p.n;
    const bool tiles = by_tiles(p.m, p.k);
    p.x_row = tiles ? up_to(p.k, FL_QUANTIZED_ROW) : p.k;
    const int64_t rows = tiles ? up_to(p.m, FL_QUANTIZED_BLOCK_ROWS) : p.m;
    In input(in[0].t, FL_K_F32), scales(in[2].t, FL_K_F32);
    Out out(outs[0], FL_K_F32);
    Rows weight(in[1].t);
    Scratch rounded((size_t)(rows * p.x_row)), steps((size_t)p.m * sizeof(float));
    Scratch bias(fl_t(in[3]) ? (size_t)p.n * sizeof(float) : 0);
    if (!input.ok() || !scales.ok() || !out.ok() || !weight.ok() || !rounded.ok() || !steps.ok() ||
        !bias.ok())
        return -1;
    int64_t one = 1;
    if (const fl_tensor *b = fl_t(in[3]))
        fl_copy_strided(fl_strided{bias.as<char>(), FL_F32, &one},
                        fl_strided{b->data, b->dtype, b->strides}, 1, &p.n);
    round_rows(input.as<float>(), p, rounded.as<int8_t>(), steps.as<float>());
    p.weight = weight.data;
    p.scales = scales.as<float>();
    p.bias = fl_t(in[3]) ? bias.as<float>() : nullptr;
    p.c = out.as<float>();
    if (tiles && multiply_tiles(p) < 0)
        return -1;
    if (!tiles)
        multiply(p);
    out.commit();
    return 0;
}

}  // extern "C"
