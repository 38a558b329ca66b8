/* Matrix products of one rectangle of C: see gemm.h.
 *
 * For each slab of k and each panel of rows, the rows of A are copied side by side; then strips of
 * B, as wide as a register tile, are packed one at a time into the L1 cache and multiplied with
 * all tiles of the panel. A strip that is used by a single tile is read in place. */
#pragma once
#include "matmul/kernels/gemm.h"

#include "matmul/kernels/gemm_dot.h"
#include "matmul/kernels/gemm_small.h"
#include "matmul/kernels/gemm_finish.h"
#include "matmul/kernels/gemm_micro.h"
#include "matmul/kernels/gemm_pack.h"

namespace {

/* A panel of A should fill a good third of the L2 cache: of 1 MiB where there is AVX-512, of
 * 512 KiB elsewhere. */
template <class T> constexpr int64_t panel_rows() {
    const int64_t bytes = VECTOR_BYTES == 64 ? 384 << 10 : 192 << 10;
    return bytes / (SLAB * sizeof(T)) / TILE_ROWS * TILE_ROWS;
}

/* Columns of a task, and rows: several panels, which share the strips of B that the first one packs.
 * A slab of these takes up to 1 MiB. */
const int64_t WIDEST = 1024;
template <class T> constexpr int64_t tallest() { return 4 * panel_rows<T>(); }

template <class T> constexpr int strip_cols() {
    return TILE_VECTORS * Lanes<T>::COUNT;
}

template <class T> int64_t strip_cols_of(int64_t rows) {
    if (rows > TILE_ROWS)
        return strip_cols<T>();
    return wide_vectors(static_cast<int>(rows)) * Lanes<T>::COUNT;
}

template <class T>
using Micro = void (*)(int64_t, const T *, const T *, int64_t, T *, int64_t, T *, const T *,
                       bool);

/* By rows and vectors; `wide` has wide_vectors(). */
template <class T> struct Tiles {
    Micro<T> narrow[TILE_ROWS + 1][TILE_VECTORS + 1];
    Micro<T> packing[TILE_ROWS + 1][TILE_VECTORS + 1];
    Micro<T> wide[TILE_ROWS + 1];
};

/* The first tile of several has more than half of the rows of a full one: see tile_height(). */
template <class T, int ROWS, int VECTORS> constexpr Micro<T> packing_micro() {
    if constexpr (ROWS > TILE_ROWS / 2)
        return micro<T, ROWS, VECTORS, true>;
    else
        return nullptr;
}

template <class T, int... R>
constexpr Tiles<T> make_tiles(std::integer_sequence<int, R...>) {
    return Tiles<T>{
        {{}, {nullptr, micro<T, R + 1, 1, false>, micro<T, R + 1, 2, false>}...},
        {{}, {nullptr, packing_micro<T, R + 1, 1>(), packing_micro<T, R + 1, 2>()}...},
        {nullptr, micro<T, R + 1, wide_vectors(R + 1), false>...}};
}

template <class T>
constexpr Tiles<T> tiles = make_tiles<T>(std::make_integer_sequence<int, TILE_ROWS>{});

/* A strip of B ready for tiles: `vectors` wide, of which the first `cols` columns count. `next`: a
 * packed one that follows it, or NULL. */
template <class T> struct Strip {
    const T *b;
    int64_t b_row;
    int64_t first, cols;
    int vectors;
    const T *next;
};

template <class T> class Product {
  public:
    explicit Product(const fl_gemm_block &g) : g_(g) {
        int64_t rows = g.m < panel_rows<T>() ? g.m : panel_rows<T>();
        panel_ = static_cast<T *>(g.scratch);
        packed_ = panel_ + rows * PANEL_STRIDE;
        sums_ = packed_ + SLAB * kept_cols(g);
    }

    void pack_a(int64_t first, int64_t end) const {
        for (int64_t p = 0; p < g_.k; p += SLAB) {
            T *slab = static_cast<T *>(g_.panels) + p / SLAB * g_.panels_slab;
            pack(slab + first * PANEL_STRIDE, PANEL_STRIDE, a(first, p), g_.a_row, g_.a_col,
                 end - first, min(SLAB, g_.k - p));
        }
    }

    void pack_b(int64_t first, int64_t end, T *packed) const {
        const int64_t width = strip_cols<T>();
        for (int64_t s = first; s < end; s++)
            pack(packed + s * width * g_.k, width, b(0, s * width), g_.b_row, g_.b_col, g_.k,
                 min(width, g_.n - s * width));
    }

    static int64_t scratch_elements(const fl_gemm_block &g) {
        int64_t rows = g.m < panel_rows<T>() ? g.m : panel_rows<T>();
        int64_t tile = REGISTERS * Lanes<T>::COUNT; /* its sums fit in registers */
        return rows * PANEL_STRIDE + SLAB * kept_cols(g) + tile;
    }

    void run() {
        for (int64_t p = 0; p < g_.k; p += SLAB)
            for (int64_t i = 0; i < g_.m; i += panel_rows<T>())
                panel(p, min(SLAB, g_.k - p), i, min(panel_rows<T>(), g_.m - i));
        if (g_.k == 0)
            no_terms();
    }

  private:
    static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

    /* Strips of a slab stay packed for the panels that follow. */
    static bool keeps_strips(const fl_gemm_block &g) {
        return g.keeps_b && !g.packed && g.m > panel_rows<T>();
    }

    static int64_t kept_cols(const fl_gemm_block &g) {
        const int64_t width = strip_cols<T>();
        return keeps_strips(g) ? (g.n + width - 1) / width * width : width;
    }

    const T *a(int64_t i, int64_t p) const {
        return static_cast<const T *>(g_.a) + i * g_.a_row + p * g_.a_col;
    }

    const T *b(int64_t p, int64_t j) const {
        return static_cast<const T *>(g_.b) + p * g_.b_row + j * g_.b_col;
    }

    T *c(int64_t i, int64_t j) const {
        return static_cast<T *>(g_.c) + i * g_.c_row + j * g_.c_col;
    }

    void panel(int64_t p, int64_t k, int64_t i, int64_t rows) {
        Finish<T> finish(g_, p == 0, p + k == g_.k);
        if (g_.panels)
            panel_ = static_cast<T *>(g_.panels) + p / SLAB * g_.panels_slab + i * PANEL_STRIDE;
        else
            pack(panel_, PANEL_STRIDE, a(i, p), g_.a_row, g_.a_col, rows, k);
        int64_t j = rows <= TILE_ROWS ? wide_tiles(finish, p, k, i, rows) : 0;
        for (; j < g_.n; j += strip_cols<T>())
            strip(finish, p, k, i, rows, j);
    }

    /* One row of tiles: read B in place, in wide runs. Returns the first column not done. */
    int64_t wide_tiles(const Finish<T> &finish, int64_t p, int64_t k, int64_t i, int64_t rows) {
        int vectors = wide_vectors(static_cast<int>(rows));
        int64_t cols = vectors * Lanes<T>::COUNT;
        int64_t j = 0;
        if (g_.b_col == 1)
            for (; j + cols <= g_.n; j += cols)
                tile(finish, tiles<T>.wide[rows],
                     Strip<T>{b(p, j), g_.b_row, j, cols, vectors, nullptr}, k, panel_, i, rows);
        return j;
    }

    void strip(const Finish<T> &finish, int64_t p, int64_t k, int64_t i, int64_t rows,
               int64_t j) {
        int64_t cols = min(strip_cols<T>(), g_.n - j);
        int vectors = static_cast<int>((cols + Lanes<T>::COUNT - 1) / Lanes<T>::COUNT);
        Strip<T> strip{b(p, j), g_.b_row, j, cols, vectors, nullptr};
        const bool partial = g_.b_col != 1 || cols % Lanes<T>::COUNT;
        /* A low panel has strips of its own: they begin where wide tiles end. */
        const bool shares = keeps_strips(g_) && rows > TILE_ROWS;
        T *kept = packed_ + (shares ? j * SLAB : 0);
        int64_t done = 0;
        if (g_.packed)
            use_packed(strip, p, k);
        else if (shares && i > 0 && (partial || worth_packing(rows)))
            use_kept(strip, kept);
        else if (partial)
            pack_strip(strip, p, k, kept);
        else if (worth_packing(rows))
            done = pack_in_first_tile(finish, strip, k, i, rows, kept);
        for (int64_t tall; done < rows; done += tall) {
            tall = tile_height(rows - done);
            tile(finish, tiles<T>.narrow[tall][vectors], strip, k, panel_ + done * PANEL_STRIDE,
                 i + done, tall);
            strip.next = strip.next && !done ? strip.next + k * LINE<T> : nullptr;
        }
    }

    int64_t pack_in_first_tile(const Finish<T> &finish, Strip<T> &strip, int64_t k, int64_t i,
                               int64_t rows, T *packed) {
        int64_t tall = tile_height(rows);
        tile(finish, tiles<T>.packing[tall][strip.vectors], strip, k, panel_, i, tall, packed);
        strip.b = packed;
        strip.b_row = strip.vectors * Lanes<T>::COUNT;
        return tall;
    }

    /* Rows of the next tile: full ones, the last two sharing what is left evenly. */
    static int64_t tile_height(int64_t left) {
        if (left <= TILE_ROWS)
            return left;
        return left < 2 * TILE_ROWS ? (left + 1) / 2 : TILE_ROWS;
    }

    /* Packing pays when several tiles use the strip and its rows lie far apart. */
    bool worth_packing(int64_t rows) const {
        return rows > TILE_ROWS && g_.b_row * static_cast<int64_t>(sizeof(T)) > IN_PLACE_BYTES;
    }

    /* The tiles of a strip fetch the next one, which comes from memory, while they multiply. */
    void use_packed(Strip<T> &strip, int64_t p, int64_t k) const {
        const int64_t width = strip_cols<T>();
        const T *first = static_cast<const T *>(g_.packed) + p * width;
        strip.b_row = width;
        strip.b = first + strip.first * g_.k;
        strip.next = strip.first + width < g_.n ? strip.b + width * g_.k : first + k * width;
    }

    void pack_strip(Strip<T> &strip, int64_t p, int64_t k, T *packed) {
        int64_t width = strip.vectors * Lanes<T>::COUNT;
        pack(packed, width, b(p, strip.first), g_.b_row, g_.b_col, k, strip.cols);
        strip.b = packed;
        strip.b_row = width;
    }

    /* As `use_packed`: what the first panel packed lies in the second cache, or beyond. */
    void use_kept(Strip<T> &strip, const T *packed) const {
        strip.b = packed;
        strip.b_row = strip.vectors * Lanes<T>::COUNT;
        strip.next = packed + (strip.first + strip_cols<T>() < g_.n ? SLAB * strip_cols<T>() : 0);
    }

    void tile(const Finish<T> &finish, Micro<T> multiply, const Strip<T> &strip, int64_t k,
              const T *panel, int64_t i, int64_t rows, T *packed = nullptr) {
        int64_t width = strip.vectors * Lanes<T>::COUNT;
        T *out = c(i, strip.first);
        const T *next = strip.next ? strip.next : panel;
        prefetch_rows(out, rows, strip.cols);
        if (finish.plain() && strip.cols == width) {
            multiply(k, panel, strip.b, strip.b_row, out, g_.c_row, packed, next, finish.read_c);
            return;
        }
        multiply(k, panel, strip.b, strip.b_row, sums_, width, packed, next, false);
        finish.tile(out, sums_, width, i, rows, strip.first, strip.cols);
    }

    /* C is met again after the whole slab of B went by; let it arrive while the sums run. */
    void prefetch_rows(T *out, int64_t rows, int64_t cols) const {
        if (g_.c_col != 1)
            return;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j += LINE<T>)
                __builtin_prefetch(out + i * g_.c_row + j, 1);
    }

    void no_terms() {
        Finish<T> finish(g_, true, true);
        const int L = Lanes<T>::COUNT;
        T zeros[L] = {};
        for (int64_t i = 0; i < g_.m; i++)
            for (int64_t j = 0; j < g_.n; j += L)
                finish.tile(c(i, j), zeros, 0, i, 1, j, min(L, g_.n - j));
    }

    static const int64_t IN_PLACE_BYTES = 1024;

    const fl_gemm_block &g_;
    T *panel_, *packed_, *sums_;
};

template <class T> void block(const fl_gemm_block *g) {
    if (g->dot)
        dot_product<T>(*g);
    else
        Product<T>(*g).run();
}

template <class T> void pack_a(const fl_gemm_block *g, int64_t first_row, int64_t end_row) {
    Product<T>(*g).pack_a(first_row, end_row);
}

template <class T>
void pack_b(const fl_gemm_block *g, int64_t first_strip, int64_t end_strip, void *packed) {
    Product<T>(*g).pack_b(first_strip, end_strip, static_cast<T *>(packed));
}

inline int64_t packed_terms(int64_t k) { return k; }

template <class T> int64_t scratch_bytes(const fl_gemm_block *g) {
    int64_t elements = g->dot ? dot_scratch_elements<T>(*g) : Product<T>::scratch_elements(*g);
    return elements * static_cast<int64_t>(sizeof(T));
}

template <class T> constexpr fl_gemm_dtype table() {
    return {block<T>, small<T>,       scratch_bytes<T>, pack_a<T>, pack_b<T>, packed_terms,
            SLAB,     PANEL_STRIDE, TILE_ROWS,        strip_cols<T>(),
            panel_rows<T>(),        dot_row_terms<T>(), 1, WIDEST, tallest<T>(), 0, strip_cols_of<T>};
}

} // namespace
