/* A matrix that multiplies a few rows again and again: the recurrent weights of a layer. */
#pragma once
#include "kernels/gemm.h"
#include "kernels/transpose.h"
#include "ops/matrix.h"

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
