/* Products of a few rows with the same matrix at every step: see step_weight.h. */
#include "recurrent/step_weight.h"
#include <algorithm>

FL_LEVELS(fl_gemm_kernels);

namespace {

/* So few rows are summed in lanes along k, which reads the matrix as it lies. Copying it takes
 * the time of several such products. */
const int64_t DOT_ROWS = 4;
const int64_t DOT_STEPS = 12;
const int64_t SLACK_ELEMENTS = 16;       /* copies are written by whole vectors */

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

const fl_gemm_dtype *pick(int kind) {
    const fl_gemm_kernels *level = FL_PICK(fl_gemm_kernels);
    return kind == FL_K_F64 ? &level->f64 : &level->f32;
}

}  // namespace

static bool worth_a_copy(int64_t rows, int64_t steps) {
    return steps > (rows <= DOT_ROWS ? DOT_STEPS : 1);
}

static size_t copied_bytes(int64_t k, int64_t n, int64_t width, int64_t groups, int64_t size) {
    return (size_t)((groups * round_up(n, width) * k + SLACK_ELEMENTS) * size);
}

StepWeight::StepWeight(int kind, const void *data, int64_t row, int64_t col, int64_t k, int64_t n,
                       int64_t groups, int64_t rows, int64_t steps)
    : kernels_(pick(kind)), size_(fl_kind_size[kind]), row_(row), col_(col), k_(k), n_(n),
      groups_(groups), rows_(std::max<int64_t>(rows, 1)),
      width_(std::min(kernels_->strip_cols(rows_), round_up(n, kernels_->cols))),
      dot_(rows_ <= DOT_ROWS && row == 1), in_place_(!worth_a_copy(rows_, steps)),
      data_((const char *)data),
      memory_(in_place_ ? 0 : copied_bytes(k, n, width_, groups, size_)) {
    dot_ = dot_ && in_place_;
    if (!in_place_ && memory_.ok())
        copy(data);
}

void StepWeight::copy(const void *data) {
    const fl_transpose_kernels *level = FL_PICK(fl_transpose_kernels);
    int64_t strips = round_up(n_, width_) / width_;
    char *out = memory_.as<char>();
    data_ = out;
    fl_parallel(groups_ * strips, std::max<int64_t>(FL_GRAIN / (width_ * k_ + 1), 1),
                [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            int64_t from = i % strips * width_, cols = std::min(width_, n_ - from);
            int64_t start = (i / strips * n_ + from) * col_;
            char *to = out + i * width_ * k_ * size_;
            if (size_ == 4)
                level->f32((float *)to, width_, (const float *)data + start, row_, col_, k_, cols);
            else
                level->f64((double *)to, width_, (const double *)data + start, row_, col_, k_,
                           cols);
        }
    });
}

fl_gemm_block StepWeight::block(int64_t rows, int64_t cols) const {
    fl_gemm_block b = {};
    b.m = rows;
    b.n = cols;
    b.k = k_;
    b.a_col = 1;
    b.b_row = in_place_ ? row_ : width_;
    b.b_col = in_place_ ? col_ : 1;
    b.c_col = 1;
    b.alpha = 1;
    b.dot = dot_;
    return b;
}

size_t StepWeight::panel_bytes() const {
    int64_t slabs = (k_ + kernels_->slab - 1) / kernels_->slab;
    return (size_t)(rows_ * (dot_ ? k_ : slabs * kernels_->panel_stride) * size_);
}

size_t StepWeight::scratch_bytes() const {
    fl_gemm_block b = block(rows_, width_);
    return (size_t)kernels_->scratch_bytes(&b);
}

fl_step_rows StepWeight::pack(const void *rows, int64_t row, int64_t count, char *panels) const {
    int64_t slab = rows_ * kernels_->panel_stride;
    if (dot_) {
        for (int64_t i = 0; i < count; i++)
            memcpy(panels + i * k_ * size_, (const char *)rows + i * row * size_,
                   (size_t)(k_ * size_));
        return fl_step_rows{panels, k_, count, nullptr, 0};
    }
    fl_gemm_block b = block(count, width_);
    b.a = rows;
    b.a_row = row;
    b.panels = panels;
    b.panels_slab = slab;
    kernels_->pack_a(&b, 0, count);
    return fl_step_rows{nullptr, 0, count, panels, slab};
}

void StepWeight::multiply(const fl_step_rows &rows, int64_t group, int64_t from, int64_t cols,
                          void *c, int64_t c_row, double beta, char *scratch) const {
    int64_t strips = round_up(n_, width_) / width_;
    for (int64_t end = from + cols; from < end; from += width_) {
        fl_gemm_block b = block(rows.count, std::min(width_, end - from));
        b.a = rows.data;
        b.a_row = rows.row;
        b.panels = rows.panels;
        b.panels_slab = rows.panels_slab;
        b.b = data_ + (in_place_ ? (group * n_ + from) * col_
                                 : (group * strips + from / width_) * width_ * k_) * size_;
        b.c = c;
        b.c_row = c_row;
        b.beta = beta;
        b.scratch = scratch;
        kernels_->block(&b);
        c = (char *)c + width_ * size_;
    }
}
