/* How a product is cut into tasks: its form, the work in it, tiles that fit the caches. */
#pragma once
#include "runtime/blas_private.h"

#include "matmul/kernels/gemm.h"
#include "runtime/error.h"
#include "runtime/pool.h"

#include <algorithm>

namespace {

/* Sums in vector lanes along k read B in place; packing B costs more than the product when it is
 * used for few rows only. Long sums make up for adding the lanes of each result. */
const int64_t DOT_MIN_K = 64;
const int64_t DOT_ROWS = 16;
const int64_t DOT_LONG_K = 1024;
const int64_t DOT_LONG_ROWS = 32;
const int64_t DOT_COLS = 8;

/* Few columns of C are rather few rows of its transpose, where sums are long enough to make up for
 * writing that element by element: from 2 n^2 terms on, measured for n from 2 to 16. */
bool are_rather_rows(int64_t n, int64_t k) { return n == 1 || (n <= DOT_ROWS && 2 * n * n <= k); }

/* Work is counted in operations of float32, of which a core does 250 in a nanosecond. One byte
 * from memory takes the time of about six. */
const double WORK_PER_BYTE = 6;

/* A task of 2e6 takes 8 us on one core; waking the pool costs about 4. */
const double TWO_TASKS_WORK = 2e6;
const double TASK_WORK = 8e6;
const double BATCH_TASK_WORK = 1e6;
const double MOST_TASKS = 32;
const double MOST_TASKS_OF_THREAD = 8;

/* Register tiles in a task's rows, at least, where there are columns left to cut: each part of the
 * rows reads all of B again. */
const int64_t TILES_DOWN = 3;

/* Columns of a task are whole vectors from so many on. */
const int64_t VECTORS_ACROSS = 6;

/* From here on A is packed once, by all threads, instead of once per column of tiles; earlier where
 * packing transposes so many elements more than once. */
const double SHARED_PANELS_WORK = 2.5e8;
const int64_t MIN_SHARED_TRANSPOSE_ELEMENTS = 1 << 17;
const int64_t PANEL_GRAIN = 64;
const int64_t STRIPS_GRAIN = 2048;      /* terms of the strips that a thread packs at least */

/* What is packed at once takes this much memory; a larger A is packed and multiplied in bands. */
const int64_t BAND_BYTES = 1 << 21;

/* Multiplications up to which a product is small. */
const int64_t MAX_SMALL_MULTIPLICATIONS = 4096;

/* Tiles that keep their part of A in the L2 cache, where several of them use it. With up to so many
 * tiles across, they are taller and pack A for themselves: the panels of one pack B once. */
const int64_t TALLEST_TILE = 378;
const int64_t TALL_TILES_ACROSS = 2;

/* So much work space is made as large as a huge page, and lies on one then: on small pages, strips of
 * B that are kept took back what keeping them had saved. */
const size_t HUGE_SCRATCH_BYTES = 1 << 20, HUGE_PAGE_BYTES = 2 << 20;

/* From here on products of pairs use tiles: rows and columns fill most of one, and what is packed
 * is used often enough. */
const int64_t MIN_TILE_ROWS = 8;
const int64_t MIN_TILE_COLS = 16;
const int64_t MIN_TILE_PAIRS = 8;
const int64_t MIN_TILE_MULTIPLICATIONS = 1 << 15;

/* The whole product as a block with free strides. */
fl_gemm_block block_of(const fl_gemm_args &g) {
    fl_gemm_block block = {};
    block.m = g.m;
    block.n = g.n;
    block.k = g.alpha == 0 ? 0 : g.k;
    block.a = g.a;
    block.b = g.b;
    block.c = g.c;
    block.a_row = g.trans_a ? 1 : g.lda;
    block.a_col = g.trans_a ? g.lda : 1;
    block.b_row = g.trans_b ? 1 : g.ldb;
    block.b_col = g.trans_b ? g.ldb : 1;
    block.c_row = g.ldc;
    block.c_col = 1;
    block.alpha = g.alpha;
    block.beta = g.beta;
    block.bias = g.bias;
    block.bias_col = 1;
    block.relu = g.activation == FL_ACT_RELU;
    block.a_halves = g.a_halves;
    block.b_halves = g.b_halves;
    return block;
}

/* C^T = B^T A^T: the few columns become few rows, which is what the kernels are good at. */
void swap_sides(fl_gemm_block &g) {
    std::swap(g.m, g.n);
    std::swap(g.a, g.b);
    std::swap(g.a_row, g.b_col);
    std::swap(g.a_col, g.b_row);
    std::swap(g.c_row, g.c_col);
    std::swap(g.bias_row, g.bias_col);
}

/* The choices that bits depend on; both look at the shape and the layout only. Returns whether
 * the sides were swapped. */
bool choose_form(fl_gemm_block &g, const fl_gemm_dtype &kernels) {
    bool swapped = g.n < g.m && are_rather_rows(g.n, g.k);
    if (swapped)
        swap_sides(g);
    if (g.m == 1) /* one row has any stride */
        g.a_row = g.k;
    if (g.n == 1)
        g.b_col = g.k;
    int64_t most_rows = std::min(g.k >= DOT_LONG_K ? DOT_LONG_ROWS : DOT_ROWS,
                                 g.k / kernels.dot_row_terms);
    g.dot = g.b_row == 1 && g.k >= DOT_MIN_K && g.m <= most_rows;
    return swapped;
}

double work_of(const fl_gemm_args &g) {
    double m = static_cast<double>(g.m), n = static_cast<double>(g.n);
    double k = static_cast<double>(g.k) + 1;
    double itemsize = static_cast<double>(fl_itemsize(g.dtype));
    double arithmetic = 2 * m * n * k * itemsize / 4;
    double memory = WORK_PER_BYTE * itemsize * (m * k + k * n + m * n);
    return std::max(arithmetic, memory) * static_cast<double>(g.batch);
}

int64_t tasks_wanted(double work, int64_t batch) {
    if (fl_get_num_threads() == 1)
        return 1;           /* each would pack A again */
    double most = std::min(MOST_TASKS_OF_THREAD * fl_get_num_threads(), MOST_TASKS);
    double tasks = std::max(std::min(work / TWO_TASKS_WORK, 2.0), std::min(work / TASK_WORK, most));
    return ceil_div(std::max<int64_t>(static_cast<int64_t>(tasks), 1), batch);
}

/* Columns in so many parts: whole vectors, where there are several per part. Whole register tiles
 * would leave the last part narrower by up to a tile, and its thread would wait. */
int64_t columns_of(int64_t size, int64_t parts, int64_t vector, int64_t most) {
    int64_t part = ceil_div(size, parts);
    if (part >= VECTORS_ACROSS * vector)
        part = ceil_div(part, vector) * vector;
    return std::min(part, most);
}

/* Columns in so many parts that begin where a strip of the packed B begins. */
int64_t packed_columns_of(int64_t size, int64_t parts, int64_t strip, int64_t most) {
    return std::min(ceil_div(ceil_div(size, parts), strip) * strip, most / strip * strip);
}

/* Halve the longer side until there are tasks enough, then keep tiles within the caches. */
Grid choose_grid(const fl_gemm_block &g, const fl_gemm_dtype &kernels, int64_t wanted) {
    int64_t unit_cols = g.dot ? DOT_COLS : kernels.cols;
    int64_t rows = 1, cols = 1;
    while (rows * cols * 2 <= wanted) {
        int64_t tall = g.m / rows, wide = g.n / cols;
        if (!g.dot && tall >= wide && tall >= 2 * TILES_DOWN * kernels.rows)
            rows *= 2;
        else if (wide >= 2 * unit_cols)
            cols *= 2;
        else if (!g.dot && tall >= 2 * kernels.rows)
            rows *= 2;
        else
            break;
    }
    int64_t tile_n = g.packed ? packed_columns_of(g.n, cols, unit_cols, kernels.widest)
                              : columns_of(g.n, cols, unit_cols / 2, kernels.widest);
    int64_t unit = kernels.row_unit;
    int64_t most = ceil_div(g.n, tile_n) <= TALL_TILES_ACROSS ? kernels.tallest : TALLEST_TILE;
    int64_t tile_m = g.dot ? g.m : std::min(ceil_div(ceil_div(g.m, rows), unit) * unit,
                                            most / unit * unit);
    return Grid(g.m, g.n, tile_m, tile_n);
}

}  // namespace
