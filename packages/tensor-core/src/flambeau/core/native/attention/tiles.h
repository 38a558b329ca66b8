/* Products of attention of bfloat16 by AMX: query, key, value and the gradient are read where they
 * are, scores are float32, and probabilities are rounded for the products they are in. */
#pragma once
#include "attention/attention.h"
#include <initializer_list>

/* A matrix of bfloat16: as pairs along the terms of the product, which strides count; or, with
 * `halves`, in its own strides, with elements of one term side by side. */
struct fl_tile_operand {
    const void *data;
    int64_t row, col;
    bool halves;
};

/* Rows of a tensor as they meet in a product with others, and turned: rows become terms. */
inline fl_tile_operand fl_tile_rows(const fl_heads &h, const void *data) {
    return {data, h.row / 2, 1, false};
}
inline fl_tile_operand fl_tile_turned(const fl_heads &h, const void *data) {
    return {data, 1, h.row / 2, false};
}
inline fl_tile_operand fl_tile_terms(const fl_heads &h, const void *data) {
    return {data, h.row, 1, true};
}

/* An operand that was packed. */
struct fl_tile_strips {
    const void *data;
    int64_t step;
};

class AttentionTiles {
  public:
    AttentionTiles() : product_(nullptr) {}
    /* Where the products of these tensors are large enough, and the tensors have pairs. */
    AttentionTiles(const fl_attention &a, std::initializer_list<const fl_tensor *> tensors);
    explicit operator bool() const { return product_ != nullptr; }

    int64_t scratch_bytes(int64_t rows) const;
    /* Memory for, and the strips of, an operand b of n columns and k pairs of terms. */
    int64_t strips_bytes(int64_t n, int64_t k) const;
    fl_tile_strips pack(int64_t n, int64_t k, fl_tile_operand b, void *memory) const;
    /* c = a b + beta c of float32, in rows, with the first columns and terms of strips of b. */
    void multiply(int64_t m, int64_t n, int64_t k, fl_tile_operand a, fl_tile_strips b,
                  fl_attention_matrix c, double beta, void *scratch) const;
    void multiply(int64_t m, int64_t n, int64_t k, fl_tile_operand a, fl_tile_operand b,
                  fl_attention_matrix c, double beta, void *scratch) const;
    /* Rows of float32 become as many of bfloat16, in the same memory: `cols` of each. */
    fl_tile_operand round(void *scores, int64_t rows, int64_t cols, int64_t pitch) const;

  private:
    void run(fl_gemm_block &g, int64_t m, fl_tile_operand a, fl_attention_matrix c, double beta,
             void *scratch) const;
    const fl_gemm_dtype *product_;
};

/* Operands by heads: bfloat16 where they are, for products by tiles, if those are `wanted`; else in
 * the compute kind. */
class AttentionInputs {
  public:
    static const int MOST = 4;
    AttentionInputs(const fl_attention &a, std::initializer_list<const fl_tensor *> tensors,
                    bool wanted);
    bool ok() const { return ok_; }
    AttentionTiles tiles;
    fl_heads heads[MOST];

  private:
    std::optional<ProductInput> wide_[MOST];
    bool ok_;
};
