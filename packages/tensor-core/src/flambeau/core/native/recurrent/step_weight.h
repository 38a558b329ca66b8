/* A matrix that multiplies a few rows again and again: the recurrent weights of a layer. */
#pragma once
#include "matmul/kernels/gemm.h"
#include "common/kernels/transpose.h"
#include "matmul/matrix.h"

/* A copy of rows to be multiplied: as they were, or as panels of the product. */
struct fl_step_rows {
    const char *data;
    int64_t row, count;
    char *panels;               /* NULL: `data` */
    int64_t panels_slab;
};

/* `groups` matrices of k x n side by side. They are copied in strips as wide as a register tile,
 * each in contiguous memory, unless there are too few steps to make up for that. */
class StepWeight {
  public:
    /* rows: how many are multiplied at once, at most; steps: how often */
    StepWeight(int kind, const void *data, int64_t row, int64_t col, int64_t k, int64_t n,
               int64_t groups, int64_t rows, int64_t steps);
    bool ok() const { return memory_.ok(); }
    int64_t width() const { return width_; }
    size_t panel_bytes() const;
    size_t scratch_bytes() const;
    /* The rows for multiply(); panels has panel_bytes(). */
    fl_step_rows pack(const void *rows, int64_t row, int64_t count, char *panels) const;
    /* c = rows * W + beta * c, for columns [from, from + cols) of a group; `from` is a multiple of
     * width(). */
    void multiply(const fl_step_rows &rows, int64_t group, int64_t from, int64_t cols, void *c,
                  int64_t c_row, double beta, char *scratch) const;

  private:
    fl_gemm_block block(int64_t rows, int64_t cols) const;
    void copy(const void *data);

    const fl_gemm_dtype *kernels_;
    int64_t size_, row_, col_, k_, n_, groups_, rows_, width_;
    bool dot_, in_place_;
    const char *data_;
    Scratch memory_;
};

/* Memory of one task that multiplies by a weight, and perhaps by another one after it. */
struct StepRoom {
    Scratch memory;
    char *panels, *product;

    StepRoom(const StepWeight &first, const StepWeight *second)
        : memory(panels_of(first, second) + product_of(first, second)),
          panels(memory.as<char>()), product(panels + panels_of(first, second)) {}
    bool ok() const { return memory.ok(); }

  private:
    static size_t most(size_t a, size_t b) { return a > b ? a : b; }
    static size_t panels_of(const StepWeight &first, const StepWeight *second) {
        return most(first.panel_bytes(), second ? second->panel_bytes() : 0);
    }
    static size_t product_of(const StepWeight &first, const StepWeight *second) {
        return most(first.scratch_bytes(), second ? second->scratch_bytes() : 0);
    }
};

/* Memory of the tasks among which the columns of a step's product are shared. */
struct SharedRoom {
    int64_t width, columns, grain;      /* columns of a block, all of them; blocks of a task */
    size_t piece;
    Scratch panels, scratch;

    SharedRoom(const StepWeight &weight, int64_t all, int64_t tasks)
        : width(weight.width()), columns(all), grain((blocks() + tasks - 1) / tasks),
          piece(weight.scratch_bytes()), panels(weight.panel_bytes()),
          scratch(piece * (size_t)fl_chunk_count(blocks(), grain)) {}
    bool ok() const { return panels.ok() && scratch.ok(); }
    int64_t blocks() const { return (columns + width - 1) / width; }

    /* body(first column, columns, scratch) in parallel */
    template <class Body> void each(const Body &body) {
        char *memory = scratch.as<char>();
        fl_parallel(blocks(), grain, [&](int64_t begin, int64_t end) {
            int64_t last = end * width < columns ? end * width : columns;
            body(begin * width, last - begin * width, memory + (size_t)(begin / grain) * piece);
        });
    }
};
