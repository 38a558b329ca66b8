/* Products of attention by AMX: see tiles.h. */
#include "attention/tiles.h"
#include "runtime/blas.h"

/* Strides of pairs, and their alignment. */
static bool reads_pairs(const fl_tensor *t) {
    bool fits = t->dtype == FL_BF16 && t->strides[t->ndim - 1] == 1 && (uintptr_t)t->data % 4 == 0;
    for (int d = 0; d < t->ndim - 1; d++)
        fits = fits && t->strides[d] % 2 == 0;
    return fits;
}

AttentionTiles::AttentionTiles(const fl_attention &a,
                               std::initializer_list<const fl_tensor *> tensors)
    : product_(nullptr) {
    bool fits = a.dim % 2 == 0 && a.value_dim % 2 == 0 && a.keys % 2 == 0 &&
                fl_gemm_takes_halves(a.queries, a.keys, a.dim / 2) &&
                fl_gemm_takes_halves(a.queries, a.value_dim, a.keys / 2);
    for (const fl_tensor *t : tensors)
        fits = fits && reads_pairs(t);
    if (fits)
        product_ = &FL_PICK(fl_gemm_tiles_kernels)->product;
}

int64_t AttentionTiles::scratch_bytes(int64_t rows) const {
    fl_gemm_block g = {};
    g.m = rows;
    g.n = product_->widest;
    return product_->scratch_bytes(&g);
}

int64_t AttentionTiles::strips_bytes(int64_t n, int64_t k) const {
    const int64_t width = product_->cols, strips = (n + width - 1) / width;
    return strips * width * product_->packed_terms(k) * (int64_t)sizeof(float);
}

static fl_gemm_block block_with(int64_t n, int64_t k, const fl_tile_operand &b) {
    fl_gemm_block g = {};
    g.n = n;
    g.k = k;
    g.b = b.data;
    g.b_row = b.row;
    g.b_col = b.col;
    g.b_halves = b.halves;
    return g;
}

fl_tile_strips AttentionTiles::pack(int64_t n, int64_t k, fl_tile_operand b, void *memory) const {
    const fl_gemm_block g = block_with(n, k, b);
    product_->pack_b(&g, 0, (n + product_->cols - 1) / product_->cols, memory);
    return {memory, product_->packed_terms(k) * product_->cols};
}

void AttentionTiles::run(fl_gemm_block &g, int64_t m, fl_tile_operand a, fl_attention_matrix c,
                         double beta, void *scratch) const {
    g.m = m;
    g.a = a.data;
    g.a_row = a.row;
    g.a_col = a.col;
    g.a_halves = a.halves;
    g.c = const_cast<void *>(c.data);
    g.c_row = c.row;
    g.c_col = c.col;
    g.alpha = 1;
    g.beta = beta;
    g.scratch = scratch;
    product_->block(&g);
}

void AttentionTiles::multiply(int64_t m, int64_t n, int64_t k, fl_tile_operand a, fl_tile_strips b,
                              fl_attention_matrix c, double beta, void *scratch) const {
    fl_gemm_block g = block_with(n, k, {});
    g.packed = b.data;
    g.packed_strip = b.step;
    run(g, m, a, c, beta, scratch);
}

void AttentionTiles::multiply(int64_t m, int64_t n, int64_t k, fl_tile_operand a,
                              fl_tile_operand b, fl_attention_matrix c, double beta,
                              void *scratch) const {
    fl_gemm_block g = block_with(n, k, b);
    run(g, m, a, c, beta, scratch);
}

fl_tile_operand AttentionTiles::round(void *scores, int64_t rows, int64_t cols,
                                      int64_t pitch) const {
    static const fl_gemm_pairs_kernels *const kernels = FL_PICK(fl_gemm_pairs_kernels);
    for (int64_t i = 0; i < rows; i++) {
        float *row = (float *)scores + i * pitch;
        kernels->round((uint16_t *)row, row, cols);
    }
    return {scores, pitch, 1, false};
}

AttentionInputs::AttentionInputs(const fl_attention &a,
                                 std::initializer_list<const fl_tensor *> tensors, bool wanted)
    : tiles(wanted ? AttentionTiles(a, tensors) : AttentionTiles()), ok_(true) {
    int i = 0;
    for (const fl_tensor *t : tensors) {
        if (!tiles) {
            wide_[i].emplace(t);
            ok_ = ok_ && wide_[i]->ok();
        }
        heads[i] = tiles ? fl_heads_of(a, t->data, t->dtype, t->strides)
                         : fl_heads_of(a, wide_[i]->data, wide_[i]->dtype, wide_[i]->strides);
        i++;
    }
}
