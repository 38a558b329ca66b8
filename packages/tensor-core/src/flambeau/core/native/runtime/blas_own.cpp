/* Real products in our own kernels. See blas.h.
 *
 * docs/design/products.md has the measurements behind the constants. */
#include "runtime/blas_cut.h"

#include "runtime/alloc.h"
#include "runtime/epilogue.h"

#include <atomic>

FL_LEVELS(fl_gemm_kernels);

namespace {

/* Rows of A, packed once by all threads instead of once per column of tiles. Without the memory for
 * them the tiles pack for themselves. */
class Panels {
  public:
    Panels(fl_gemm_block &whole, const fl_gemm_dtype &kernels, int64_t itemsize, bool share,
           int64_t most_rows)
        : whole_(whole), kernels_(kernels), row_(kernels.panel_stride * itemsize), bytes_(0),
          memory_(nullptr) {
        if (!share || whole.dot)
            return;
        whole.panels_slab = most_rows * kernels.panel_stride;
        bytes_ = static_cast<size_t>(ceil_div(whole.k, kernels.slab) * most_rows * row_);
        memory_ = fl_alloc(bytes_);
    }
    ~Panels() { fl_free(memory_, bytes_); }
    Panels(const Panels &) = delete;
    Panels &operator=(const Panels &) = delete;

    /* `panels` of the block is where row 0 would lie. */
    void pack(int64_t first, int64_t end) {
        if (!memory_)
            return;
        whole_.panels = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(memory_) -
                                                 static_cast<uintptr_t>(first * row_));
        fl_parallel(end - first, PANEL_GRAIN, [&](int64_t a, int64_t b) {
            kernels_.pack_a(&whole_, first + a, first + b);
        });
    }

  private:
    fl_gemm_block &whole_;
    const fl_gemm_dtype &kernels_;
    const int64_t row_;
    size_t bytes_;
    void *memory_;
};

/* Columns of B, packed once for several rows of tasks, where products are made of tiles. */
class Strips {
  public:
    Strips(fl_gemm_block &whole, const fl_gemm_dtype &kernels, bool share) {
        const int64_t count = ceil_div(whole.n, kernels.cols), k = kernels.packed_terms(whole.k);
        if (!share)
            return;
        bytes_ = static_cast<size_t>(count * kernels.cols * k) * sizeof(float);
        memory_ = fl_alloc(bytes_);
        if (!memory_)
            return;
        const int64_t grain = STRIPS_GRAIN / k + 1;
        fl_parallel(count, grain, [&](int64_t begin, int64_t end) {
            kernels.pack_b(&whole, begin, end, memory_);
        });
        whole.packed = memory_;
        whole.packed_strip = kernels.cols * k;
    }
    ~Strips() { fl_free(memory_, bytes_); }
    Strips(const Strips &) = delete;
    Strips &operator=(const Strips &) = delete;

  private:
    size_t bytes_ = 0;
    void *memory_ = nullptr;
};

/* How many rows of tiles make a band. */
int64_t band_of(const fl_gemm_block &g, const Grid &grid, int64_t itemsize, bool share) {
    int64_t bytes = g.m * g.k * itemsize;
    int64_t bands = share && !g.dot ? std::min(ceil_div(bytes, BAND_BYTES), grid.rows) : 1;
    return ceil_div(grid.rows, std::max<int64_t>(bands, 1));
}

class OwnJob {
  public:
    OwnJob(const fl_gemm_args &g, const fl_gemm_block &block, bool sides_swapped,
           const fl_gemm_dtype &table, const Grid &cut)
        : whole(block), swapped(sides_swapped), kernels(table), grid(cut),
            itemsize(fl_itemsize(g.dtype)),
          a_size(block.a_halves ? HALF : itemsize), b_size(block.b_halves ? HALF : itemsize),
          c_size(g.c_half ? HALF : itemsize), stride_a(swapped ? g.stride_b : g.stride_a),
          stride_b(swapped ? g.stride_a : g.stride_b),
          stride_c(g.stride_c), epilogue(epilogue_of(g)) {
        fl_gemm_block tile = whole;
        tile.m = std::min(whole.m, grid.tile_m);
        tile.n = std::min(whole.n, grid.tile_n);
        tile.keeps_b = 1;
        const bool rounded_last = g.c_half && g.k > kernels.rounded_terms;
        sums_bytes = rounded_last ? static_cast<size_t>(tile.m * grid.tile_n * itemsize) : 0;
        scratch_bytes = sums_bytes + static_cast<size_t>(kernels.scratch_bytes(&tile));
        if (scratch_bytes >= HUGE_SCRATCH_BYTES)
            scratch_bytes = std::max(scratch_bytes, HUGE_PAGE_BYTES);
    }

    void run_range(int64_t begin, int64_t end) {
        char *scratch = static_cast<char *>(fl_alloc(scratch_bytes));
        if (!scratch) {
            out_of_memory = true;
            return;
        }
        for (int64_t task = begin; task < end; task++)
            run(task, scratch);
        fl_free(scratch, scratch_bytes);
    }

    int report() const {
        if (!out_of_memory)
            return 0;
        return fl_error(FL_MEMORY_ERROR,
                        "matrix product: no memory for %zu bytes of work space", scratch_bytes);
    }

  private:
    static const int64_t HALF = 2;

    static const char *at(const void *base, int64_t elements, int64_t size) {
        return static_cast<const char *>(base) + elements * size;
    }
    const char *at(const void *base, int64_t elements) const {
        return at(base, elements, itemsize);
    }

    /* Task number `task`: a tile of one product of the batch. */
    void run(int64_t task, char *scratch) const {
        int64_t which = task / grid.count();
        int64_t i = task % grid.count() / grid.cols * grid.tile_m;
        int64_t j = task % grid.cols * grid.tile_n;
        fl_gemm_block tile = whole;
        tile.keeps_b = 1;
        tile.m = std::min(grid.tile_m, whole.m - i);
        tile.n = std::min(grid.tile_n, whole.n - j);
        tile.a = at(whole.a, which * stride_a + i * whole.a_row, a_size);
        tile.b = at(whole.b, which * stride_b + j * whole.b_col, b_size);
        tile.c = const_cast<char *>(
            at(whole.c, which * stride_c + i * whole.c_row + j * whole.c_col, c_size));
        if (tile.bias)
            tile.bias = at(whole.bias, i * whole.bias_row + j * whole.bias_col);
        if (tile.packed)
            tile.packed = at(whole.packed, j * kernels.packed_terms(whole.k));
        if (tile.panels)
            tile.panels = const_cast<char *>(at(whole.panels, i * kernels.panel_stride));
        tile.scratch = scratch + sums_bytes;
        tile.c_half = c_size == HALF && !sums_bytes;
        if (sums_bytes)
            return run_rounded(tile, scratch);
        kernels.block(&tile);
        if (epilogue)
            finish(tile);
    }

    /* The tile's sums in float32 stay in the cache, and are rounded once. */
    void run_rounded(fl_gemm_block &tile, char *sums) const {
        uint16_t *c = static_cast<uint16_t *>(tile.c);
        tile.c = sums;
        tile.c_row = swapped ? 1 : tile.n;
        tile.c_col = swapped ? tile.m : 1;
        kernels.block(&tile);
        const int64_t rows = swapped ? tile.n : tile.m, cols = swapped ? tile.m : tile.n;
        const int64_t step = swapped ? whole.c_col : whole.c_row;
        const float *from = reinterpret_cast<const float *>(sums);
        for (int64_t i = 0; i < rows; i++)
            FL_PICK(fl_gemm_pairs_kernels)->round(c + i * step, from + i * cols, cols);
    }

    /* The epilogue for C, where it is all of a result. */
    static const fl_epilogue *epilogue_of(const fl_gemm_args &g) {
        bool dense = !g.c_half && g.ldc == g.n && (g.batch == 1 || g.stride_c == g.m * g.n);
        return dense ? fl_take_epilogue(g.c, g.batch * g.m * g.n, fl_itemsize(g.dtype)) : nullptr;
    }

    /* The tile is final: whole rows of C at once, or row by row. */
    void finish(const fl_gemm_block &tile) const {
        int64_t rows = swapped ? tile.n : tile.m, cols = swapped ? tile.m : tile.n;
        int64_t step = swapped ? whole.c_col : whole.c_row;
        if (cols == step)
            return epilogue->finish(tile.c, rows * cols);
        for (int64_t i = 0; i < rows; i++)
            epilogue->finish(at(tile.c, i * step), cols);
    }

    const fl_gemm_block &whole;
    const bool swapped;
    const fl_gemm_dtype &kernels;
    const Grid grid;
    const int64_t itemsize, a_size, b_size, c_size, stride_a, stride_b, stride_c;
    const fl_epilogue *const epilogue;
    size_t sums_bytes, scratch_bytes;
    std::atomic<bool> out_of_memory{false};
};

bool is_small(const fl_gemm_block &g) {
    return !g.dot && g.k <= FL_GEMM_SMALL_TERMS && g.m <= MAX_SMALL_MULTIPLICATIONS &&
           g.n <= MAX_SMALL_MULTIPLICATIONS &&
           g.m * g.n * g.k <= MAX_SMALL_MULTIPLICATIONS;
}

/* Few elements, of one product or of several behind each other. */
bool run_small(const fl_gemm_args &g, const fl_gemm_dtype &kernels, fl_gemm_block *block,
             bool swapped) {
    const int64_t most = MAX_SMALL_MULTIPLICATIONS / (g.m * g.n * (g.k + 1)) + 1;
    if (g.c_half || !is_small(*block) || g.batch > most)
        return false;
    int64_t itemsize = fl_itemsize(g.dtype);
    int64_t a = (swapped ? g.stride_b : g.stride_a) * itemsize;
    int64_t b = (swapped ? g.stride_a : g.stride_b) * itemsize;
    for (int64_t i = 0; i < g.batch; i++) {
        kernels.small(block);
        block->a = static_cast<const char *>(block->a) + a;
        block->b = static_cast<const char *>(block->b) + b;
        block->c = static_cast<char *>(block->c) + g.stride_c * itemsize;
    }
    return true;
}

} // namespace

/* ---- a B that was packed before -------------------------------------------------------------- */

namespace {

thread_local const fl_packed_matrix *offered = nullptr;

/* What was offered, if it is this product's B; it is offered once. */
const void *take_packed(const fl_gemm_args &g) {
    const fl_packed_matrix *found = offered;
    offered = nullptr;
    bool fits = found && found->b == g.b && g.trans_b == FL_TRANS && fl_itemsize(g.dtype) == 4 &&
                !g.pairs && g.batch == 1 && g.ldb == g.k && g.n == found->n && g.k == found->k;
    return fits ? found->packed : nullptr;
}

/* A stored as n x k, as B of a product with many rows. */
fl_gemm_block weight_block(const float *b, int64_t n, int64_t k) {
    fl_gemm_block block = {};
    block.n = n;
    block.k = k;
    block.b = b;
    block.b_row = 1;
    block.b_col = k;
    return block;
}

}  // namespace

void fl_offer_packed_matrix(const fl_packed_matrix *packed) { offered = packed; }

int64_t fl_packed_matrix_elements(int64_t m, int64_t n, int64_t k) {
    fl_gemm_block block = weight_block(nullptr, n, k);
    block.m = m;
    block.a_col = 1;
    const fl_gemm_dtype &kernels = FL_PICK(fl_gemm_kernels)->f32;
    if (n == 1 || choose_form(block, kernels) || block.dot || is_small(block))
        return 0;
    int64_t width = kernels.cols;
    return ceil_div(n, width) * width * k;
}

void fl_pack_matrix(const float *b, int64_t n, int64_t k, float *packed) {
    const fl_gemm_dtype &kernels = FL_PICK(fl_gemm_kernels)->f32;
    const fl_gemm_block block = weight_block(b, n, k);
    fl_parallel(ceil_div(n, kernels.cols), (1 << 16) / (kernels.cols * k + 1) + 1,
                [&](int64_t begin, int64_t end) { kernels.pack_b(&block, begin, end, packed); });
}

int fl_has_pairs(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    static const bool has = FL_PICK(fl_gemm_pairs_kernels)->built &&
                            __builtin_cpu_supports("avx512bf16");
    return has;
#else
    return 0;
#endif
}

int fl_gemm_takes_halves(int64_t m, int64_t n, int64_t k) {
    return m >= MIN_TILE_ROWS && n >= MIN_TILE_COLS && k >= MIN_TILE_PAIRS &&
           m * n * k >= MIN_TILE_MULTIPLICATIONS && FL_PICK(fl_gemm_tiles_kernels)->built &&
           fl_has_amx();
}

bool fl_gemm_small(bool wide, fl_gemm_block *g) {
    if (g->m > MAX_SMALL_MULTIPLICATIONS || g->n > MAX_SMALL_MULTIPLICATIONS)
        return false;
    const fl_gemm_kernels *level = FL_PICK(fl_gemm_kernels);
    const fl_gemm_dtype &kernels = wide ? level->f64 : level->f32;
    choose_form(*g, kernels);
    if (!is_small(*g))
        return false;
    kernels.small(g);
    return true;
}

static const fl_gemm_dtype &kernels_of(const fl_gemm_args &g, bool tiles) {
    if (tiles)
        return FL_PICK(fl_gemm_tiles_kernels)->product;
    if (g.pairs)
        return FL_PICK(fl_gemm_pairs_kernels)->product;
    const fl_gemm_kernels *level = FL_PICK(fl_gemm_kernels);
    return fl_itemsize(g.dtype) == 4 ? level->f32 : level->f64;
}

int fl_gemm_own(const fl_gemm_args &g) {
    const bool tiles = g.pairs && g.alpha == 1 && fl_gemm_takes_halves(g.m, g.n, g.k);
    const fl_gemm_dtype &kernels = kernels_of(g, tiles);
    fl_gemm_block whole = block_of(g);
    bool swapped = !tiles && choose_form(whole, kernels);
    const void *packed = take_packed(g);
    if (!tiles && run_small(g, kernels, &whole, swapped))
        return 0;
    whole.packed = swapped || whole.dot ? nullptr : packed;
    double work = work_of(g);
    Grid grid = choose_grid(whole, kernels, tasks_wanted(work, g.batch));
    int64_t tasks = g.batch * grid.count();
    int64_t grain = tasks;
    if (work >= TWO_TASKS_WORK)
        grain = std::max<int64_t>(
            static_cast<int64_t>(BATCH_TASK_WORK * static_cast<double>(tasks) / work), 1);
    bool share = g.batch == 1 && grid.cols > 1 && grid.tile_m <= TALLEST_TILE &&
                 (tiles || work >= SHARED_PANELS_WORK ||
                  (whole.a_col != 1 &&
                   (grid.cols - 1) * whole.m * whole.k >= MIN_SHARED_TRANSPOSE_ELEMENTS));
    int64_t band = band_of(whole, grid, fl_itemsize(g.dtype), share);
    int64_t height = std::min(band * grid.tile_m, whole.m), unit = kernels.row_unit;
    const Strips strips(whole, kernels, tiles && g.batch == 1 && grid.rows > 1);
    Panels panels(whole, kernels, fl_itemsize(g.dtype), share, ceil_div(height, unit) * unit);
    OwnJob job(g, whole, swapped, kernels, grid);
    int64_t step = share ? band * grid.cols : tasks;
    for (int64_t first = 0; first < tasks; first += step) {
        int64_t row = first / grid.cols * grid.tile_m;
        panels.pack(row, std::min(row + height, whole.m));
        fl_parallel(std::min(step, tasks - first), grain, [&](int64_t begin, int64_t end) {
            job.run_range(first + begin, first + end);
        });
    }
    return job.report();
}
