/* Matrix products of bfloat16 by AMX: registers that hold a tile of 16 rows of 64 bytes, and an
 * instruction that adds to a tile of sums the products of two others.
 *
 * Rows of A are read where they are, or copied side by side, in pairs along k; strips of B, two
 * tiles wide, are packed with a row for each pair; the sums of a slab for two tiles by two stay in
 * registers. Compiled for AVX-512 alone; the caller has to ask the processor, and the system, for
 * the rest. */
#include "common/kernels/amx.h"
#include "matmul/kernels/gemm.h"

#if defined(FL_COMPILES_AMX)
#include "matmul/kernels/gemm_finish.h"
#include "matmul/kernels/gemm_micro.h"
#include "matmul/kernels/gemm_pack.h"
#include "matmul/kernels/gemm_round.h"
#include "matmul/kernels/gemm_tiles_pack.h"

namespace {

/* So that a panel of A, in 400 KiB, sums of C and B stay in the L2 cache, of 2 MiB. */
const int64_t PANEL_ROWS = 384;
const int64_t WIDEST = 256;
const int64_t TALLEST = 378;

/* Terms of a strip: whole tiles. */
inline int64_t packed_terms(int64_t k) { return up_to(k, SIDE); }

struct Sums {
    float *at;
    int64_t row;
};

/* Sums of one block of R x C tiles: those that are at `from`, if anywhere, and the products of
 * `steps` tiles of A and B along k. Tiles 0 to 3 are sums, 4 and 5 rows of A, 6 and 7 columns of
 * B. */
template <int R, int C>
void multiply(int64_t steps, Rows a, const float *b, Sums from, Sums to) {
    const int64_t a_bytes = a.row * 4, b_bytes = BLOCK * 4;
    const float *upper = a.at, *lower = a.at + SIDE * a.row;
    before_tiles();
    if (from.at)
        load_sums<R, C>(from.at, from.row);
    else
        zero_sums();
    for (; steps > 0; steps--, upper += SIDE, lower += SIDE, b += SIDE * BLOCK) {
        _tile_loadd(6, b, b_bytes);
        _tile_loadd(4, upper, a_bytes);
        _tile_dpbf16ps(0, 4, 6);
        if (C > 1) {
            _tile_loadd(7, b + SIDE, b_bytes);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (R > 1) {
            _tile_loadd(5, lower, a_bytes);
            _tile_dpbf16ps(2, 5, 6);
            if (C > 1)
                _tile_dpbf16ps(3, 5, 7);
        }
    }
    store_sums<R, C>(to.at, to.row);
}

template <bool WIDE> auto multiply_rows(bool tall) {
    return tall ? multiply<2, WIDE ? 2 : 1> : multiply<1, WIDE ? 2 : 1>;
}

class TileProduct {
  public:
    explicit TileProduct(const fl_gemm_block &g)
        : g_(g), to_sums_(g), source_(g),
          goes_on_(g.beta == 0 && g.alpha == 1 && g.c_col == 1),
          in_place_(!g.panels && !g.a_halves && g.a_col == 1 && g.k % SIDE == 0) {
        if (g.c_half)
            to_sums_.c_row = BLOCK;
        panel_ = static_cast<float *>(g.scratch);
        packed_ = panel_ + panel_rows(g.m) * PANEL_STRIDE;
        sums_ = packed_ + strips(g.n) * STRIP;
    }

    static int64_t scratch_elements(const fl_gemm_block &g) {
        return panel_rows(g.m) * PANEL_STRIDE + strips(g.n) * STRIP + BLOCK * BLOCK;
    }

    void run() {
        _tile_loadconfig(&CONFIG);
        for (int64_t p = 0; p < g_.k; p += SLAB) {
            const int64_t k = min(SLAB, g_.k - p);
            set_strips(p, k);
            for (int64_t i = 0; i < g_.m; i += PANEL_ROWS)
                panel(p, k, i, min(PANEL_ROWS, g_.m - i));
        }
        _tile_release();        /* a thread that sleeps has fewer registers to keep */
    }

  private:
    static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
    static int64_t panel_rows(int64_t m) { return min(up_to(m, BLOCK), PANEL_ROWS); }
    static int64_t strips(int64_t n) { return up_to(min(n, WIDEST), BLOCK) / BLOCK; }

    static const int64_t STRIP = SLAB * BLOCK;

    /* Strips of B for a slab: those that were packed for all tasks, or our own. */
    void set_strips(int64_t p, int64_t k) {
        strips_ = static_cast<const float *>(g_.packed) + p * BLOCK;
        strip_ = g_.packed_strip;
        if (g_.packed)
            return;
        source_.strips_of_b(packed_, STRIP, 0, g_.n, p, k);
        strips_ = packed_;
        strip_ = STRIP;
    }

    void panel(int64_t p, int64_t k, int64_t i, int64_t rows) {
        const Finish<float> finish(to_sums_, p == 0 || goes_on_, p + k == g_.k);
        const int64_t copied = in_place_ ? rows / BLOCK * BLOCK : 0;
        if (!g_.panels && copied < rows)
            source_.rows_of_a(panel_, i + copied, p, rows - copied, k);
        for (int64_t j = 0; j < g_.n; j += BLOCK)
            for (int64_t done = 0; done < rows; done += BLOCK) {
                const Rows a = done < copied ? source_.rows_at(i + done, p)
                               : g_.panels   ? packed_rows(p, i + done)
                                             : Rows{panel_ + (done - copied) * PANEL_STRIDE,
                                                    PANEL_STRIDE};
                block(finish, k, p == 0, a, i + done, min(BLOCK, rows - done), j,
                      min(BLOCK, g_.n - j));
            }
    }

    Rows packed_rows(int64_t p, int64_t i) const {
        const float *slab = static_cast<const float *>(g_.panels) + p / SLAB * g_.panels_slab;
        return {slab + i * PANEL_STRIDE, PANEL_STRIDE};
    }

    /* Whole blocks lie in C from the first slab to the last; parts of blocks, and what is more than
     * sums, go through memory of their own. */
    void block(const Finish<float> &finish, int64_t k, bool first, Rows a, int64_t i, int64_t rows,
               int64_t j, int64_t cols) {
        const float *b = strips_ + j / BLOCK * strip_;
        const auto some = cols > SIDE ? multiply_rows<true>(rows > SIDE)
                                      : multiply_rows<false>(rows > SIDE);
        const Sums own = {sums_, BLOCK}, none = {nullptr, 0};
        if (g_.c_half) {
            some(steps(k), a, b, none, own);
            if (!finish.plain())
                finish.tile(sums_, sums_, BLOCK, i, rows, j, cols);
            return round(i, rows, j, cols);
        }
        const Sums c = {static_cast<float *>(g_.c) + i * g_.c_row + j * g_.c_col, g_.c_row};
        const bool fits = rows == BLOCK && cols == BLOCK, goes_on = goes_on_ && !first;
        if (fits && finish.plain() && !finish.read_c)
            return some(steps(k), a, b, goes_on ? c : none, c);
        if (goes_on && !fits)
            for (int64_t r = 0; r < rows; r++)
                copy_row(sums_ + r * BLOCK, c.at + r * c.row, cols);
        some(steps(k), a, b, !goes_on ? none : fits ? c : own, own);
        finish.tile(c.at, sums_, BLOCK, i, rows, j, cols);
    }

    void round(int64_t i, int64_t rows, int64_t j, int64_t cols) const {
        uint16_t *c = static_cast<uint16_t *>(g_.c) + i * g_.c_row + j;
        for (int64_t r = 0; r < rows; r++)
            round_row(c + r * g_.c_row, sums_ + r * BLOCK, cols);
    }

    static int64_t steps(int64_t k) { return (k + SIDE - 1) / SIDE; }

    const fl_gemm_block &g_;
    fl_gemm_block to_sums_;     /* the same, finished before it is rounded */
    const PairsSource source_;
    const bool goes_on_;        /* sums of a slab begin with those of the one before, in C */
    const bool in_place_;       /* whole blocks of rows of A are read where they are */
    float *panel_, *packed_, *sums_;
    const float *strips_;
    int64_t strip_;             /* elements from one to the next */
};

void block(const fl_gemm_block *g) { TileProduct(*g).run(); }

int64_t scratch_bytes(const fl_gemm_block *g) { return TileProduct::scratch_elements(*g) * 4; }

void pack_a(const fl_gemm_block *g, int64_t first_row, int64_t end_row) {
    const PairsSource source(*g);
    for (int64_t p = 0; p < g->k; p += SLAB) {
        float *slab = static_cast<float *>(g->panels) + p / SLAB * g->panels_slab;
        source.rows_of_a(slab + first_row * PANEL_STRIDE, first_row, p, end_row - first_row,
                         g->k - p < SLAB ? g->k - p : SLAB);
    }
}

void pack_b(const fl_gemm_block *g, int64_t first_strip, int64_t end_strip, void *packed) {
    const PairsSource source(*g);
    const int64_t step = packed_terms(g->k) * BLOCK, first = first_strip * BLOCK;
    const int64_t end = end_strip * BLOCK < g->n ? end_strip * BLOCK : g->n;
    source.strips_of_b(static_cast<float *>(packed) + first_strip * step, step, first, end, 0,
                       g->k);
}

int64_t strip_cols(int64_t) { return BLOCK; }

}  // namespace

extern const fl_gemm_tiles_kernels FL_LEVEL(fl_gemm_tiles_kernels) = {
    true,
    {block, nullptr, scratch_bytes, pack_a, pack_b, packed_terms, SLAB, PANEL_STRIDE, BLOCK, BLOCK,
     PANEL_ROWS, 0, BLOCK, WIDEST, TALLEST, SLAB, strip_cols}};
#else
extern const fl_gemm_tiles_kernels FL_LEVEL(fl_gemm_tiles_kernels) = {};
#endif
