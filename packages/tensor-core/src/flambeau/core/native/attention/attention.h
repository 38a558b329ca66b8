/* What attention and its gradient share: arguments, operands with any strides, blocks. */
#pragma once
#include "attention/kernels/attention.h"
#include "matmul/kernels/gemm.h"
#include "common/kernels/transpose.h"
#include "matmul/matrix.h"

/* Heads are all positions of the leading dimensions. */
struct fl_attention {
    int nlead;
    const int64_t *lead;
    int64_t heads, queries, keys, dim, value_dim;
    double scale;
    bool causal;
};

/* One tensor as matrices, one for each head. */
struct fl_heads {
    char *data;
    int64_t size;               /* of an element */
    int64_t lead[FL_MAX_DIMS];
    int64_t row, col;

    char *at(const fl_attention &a, int64_t head) const {
        int64_t offset = 0;
        for (int i = a.nlead - 1; i >= 0; i--) {
            offset += head % a.lead[i] * lead[i];
            head /= a.lead[i];
        }
        return data + offset * size;
    }
    char *at(const fl_attention &a, int64_t head, int64_t r) const {
        return at(a, head) + r * row * size;
    }
};

fl_heads fl_heads_of(const fl_attention &a, const void *data, int dtype, const int64_t *strides);

/* The mask over all heads, in a dtype the kernels read. */
class AttentionMask {
  public:
    AttentionMask(const fl_attention &a, const fl_tensor *mask, int kind);
    bool ok() const { return !input_ || input_->ok(); }
    fl_mask part(const fl_attention &a, int64_t head, int64_t query, int64_t key) const;

  private:
    std::optional<In> input_;
    fl_heads heads_ = {};
    int64_t kind_ = FL_MASK_NONE;
};

/* A result written by heads: the tensor's own memory, or scratch in the compute kind. */
class AttentionOut {
  public:
    AttentionOut(const fl_attention &a, fl_tensor *t, int kind);
    bool ok() const { return !scratch_ || scratch_->ok(); }
    void commit();
    fl_heads heads;

  private:
    fl_tensor *t_;
    int dtype_;
    int64_t strides_[FL_MAX_DIMS];
    std::optional<Scratch> scratch_;
};

/* Check query, key, value, the mask and the options, and read them. */
int fl_attention_read(const fl_op *op, const fl_tensor *query, const fl_tensor *key,
                      const fl_tensor *value, const fl_value &mask, const fl_value &causal,
                      const fl_value &scale, fl_attention *out);

/* A result with the shape given, in the order of dimensions of a tensor that it stems from. */
void fl_attention_layout(const fl_tensor *like, int ndim, const int64_t *shape, fl_spec *out);

/* The distance of rows of `keys` scores: whole vectors, and rows in different cache sets. */
static inline int64_t fl_attention_pitch(int64_t keys, int64_t most) {
    return ((keys < most ? keys : most) + 15) / 16 * 16 + 16;
}

/* The kernels of one dtype, picked once. */
struct fl_attention_tools {
    int64_t size;
    const fl_attention_dtype *block;
    const fl_gemm_dtype *product;
    bool is_double;
    explicit fl_attention_tools(int kind);
    /* Columns up to a whole vector: copies of keys end in zeros there, and what they give is not
     * read. */
    int64_t whole_vectors(int64_t cols) const {
        int64_t lanes = product->cols / 2;
        return (cols + lanes - 1) / lanes * lanes;
    }
    int64_t product_bytes(int64_t rows) const;      /* scratch of products of up to `rows` rows */
    void pack(void *out, int64_t out_row, const fl_heads &from, const void *data, int64_t rows,
              int64_t cols) const;      /* out = transposed rows x cols of `from` */
};

/* c = a b + beta c; matrices given by their first element and strides. With `dot`, for few rows of
 * a, elements are inner products, and b.row is 1. */
struct fl_attention_matrix {
    const void *data;
    int64_t row, col;
};
void fl_attention_product(const fl_attention_tools &tools, int64_t m, int64_t n, int64_t k,
                          fl_attention_matrix a, fl_attention_matrix b, fl_attention_matrix c,
                          double beta, void *scratch, bool dot = false);
