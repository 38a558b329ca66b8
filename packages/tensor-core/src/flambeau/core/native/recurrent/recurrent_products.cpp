/* Gradients of a recurrent layer from the slopes of all its steps: see recurrent_back.h. */
#include "recurrent/recurrent_back.h"

typedef fl_recurrent_layer_back Back;

namespace {

/* Rows of so many elements. */
struct Matrix {
    const char *data;
    int64_t row;
};

}  // namespace

/* c = op(a) b + beta c */
static int product(const Back &l, bool transposed, int64_t m, int64_t n, int64_t k, Matrix a,
                   Matrix b, Matrix c, double beta) {
    return fl_gemm(fl_dtype_of_kind[l.kind], transposed ? FL_TRANS : FL_NO_TRANS, FL_NO_TRANS, m, n,
                   k, 1, a.data, a.row, b.data, b.row, beta, const_cast<char *>(c.data), c.row);
}

static Matrix at(const Back &l, Matrix m, int64_t row, int64_t col) {
    return {m.data + (row * m.row + col) * l.size, m.row};
}

/* Rows of the piece. */
static Matrix piece_of(const Back &l, const char *data, int64_t row) {
    return {data + l.piece->row * row * l.size, row};
}

/* The slopes of the input part: for GRU first those of r and z, then those of n. */
int fl_recurrent_input_grad(const Back &l, const char *weight, char *out) {
    const fl_recurrent &r = l.r;
    if (r.input == 0)
        return 0;
    Matrix s = {l.slopes, l.slopes_row}, w = {weight, r.input}, c = piece_of(l, out, r.input);
    int64_t h = r.hidden, rows = l.piece->rows;
    if (r.mode != FL_GRU)
        return product(l, false, rows, r.input, l.sums(), s, w, c, 0);
    if (product(l, false, rows, r.input, 2 * h, at(l, s, 0, h), w, c, 0) < 0)
        return -1;
    return product(l, false, rows, r.input, h, s, at(l, w, 2 * h, 0), c, 1);
}

/* out += the slopes of some rows, transposed, times states in as many rows: the gradient of `n`
 * rows of a weight from `first` on. */
static int add_weight(const Back &l, Matrix slopes, int64_t first, int64_t n, Matrix states,
                      int64_t count, char *out, double beta) {
    int64_t cols = states.row;
    if (l.turns(cols))
        return product(l, true, cols, n, count, states, slopes,
                       Matrix{out + first * l.size, l.sums_row()}, beta);
    return product(l, true, n, cols, count, slopes, states,
                   Matrix{out + first * cols * l.size, cols}, beta);
}

int fl_recurrent_weight_ih_grad(const Back &l, const char *input, char *out) {
    const fl_recurrent &r = l.r;
    if (r.input == 0)
        return 0;
    Matrix s = {l.slopes, l.slopes_row}, x = piece_of(l, input, r.input);
    int64_t h = r.hidden, rows = l.piece->rows;
    double beta = l.first ? 0 : 1;
    if (r.mode != FL_GRU)
        return add_weight(l, s, 0, l.sums(), x, rows, out, beta);
    if (add_weight(l, at(l, s, 0, h), 0, 2 * h, x, rows, out, beta) < 0)
        return -1;
    return add_weight(l, s, 2 * h, h, x, rows, out, beta);
}

static int add_weight_hh(const Back &l, int64_t row, int64_t count, const char *states, char *out,
                         double beta) {
    if (count == 0)
        return 0;
    Matrix s = {l.hidden_slopes(row), l.slopes_row};
    return add_weight(l, s, 0, l.sums(), Matrix{states, l.r.output}, count, out, beta);
}

/* The states before the steps of the piece, row by row. */
static void copy_before(const Back &l, char *out) {
    const fl_recurrent &r = l.r;
    int64_t row = r.output * l.size;
    RecurrentStep s = l.piece->start;
    for (int64_t i = 0; i < l.piece->steps; i++, s.next()) {
        char *to = out + (s.row() - l.piece->row) * row;
        int64_t continued = s.continued();
        memcpy(to, l.result + s.row_before() * row, (size_t)(continued * row));
        memcpy(to + continued * row, l.hx + continued * row,
               (size_t)((s.count() - continued) * row));
    }
}

/* Without lengths the states before all steps but the first are the result, moved by a step. */
int fl_recurrent_weight_hh_grad(const Back &l, char *out) {
    const fl_recurrent &r = l.r;
    int64_t row = r.output * l.size, begin = l.piece->row, end = begin + l.piece->rows;
    double beta = l.first ? 0 : 1;
    if (r.packed) {
        Scratch before((size_t)(l.piece->rows * row));
        if (!before.ok())
            return -1;
        copy_before(l, before.as<char>());
        return add_weight_hh(l, begin, l.piece->rows, before.as<char>(), out, beta);
    }
    int64_t start = r.reverse ? r.rows - r.batch : 0;       /* row of the layer's first step */
    int64_t moved = r.reverse ? r.batch : -r.batch;
    if (begin <= start && start < end) {
        if (add_weight_hh(l, start, r.batch, l.hx, out, beta) < 0)
            return -1;
        beta = 1;
        begin += r.reverse ? 0 : r.batch;
        end -= r.reverse ? r.batch : 0;
    }
    return add_weight_hh(l, begin, end - begin, l.result + (begin + moved) * row, out, beta);
}

/* Gradients of the projection: the states before it are computed anew. */
int fl_recurrent_weight_hr_grad(const Back &l, char *out) {
    const fl_recurrent &r = l.r;
    int64_t rows = l.piece->rows;
    Scratch states((size_t)(rows * r.hidden * l.size));
    if (!states.ok())
        return -1;
    fl_recurrent_step s = {};
    s.rows = rows;
    s.units = s.width = r.hidden;
    s.gates = const_cast<char *>(piece_of(l, l.gates, l.gates_row).data);
    s.cells = const_cast<char *>(piece_of(l, l.cells, r.hidden).data);
    s.hidden = states.as<char>();
    s.gates_row = l.gates_row;
    s.cells_row = s.hidden_row = r.hidden;
    l.unit->output(&s);
    return product(l, true, r.output, r.hidden, rows, Matrix{l.projected, r.output},
                   Matrix{states.as<char>(), r.hidden}, Matrix{out, r.hidden}, l.first ? 0 : 1);
}

/* As a product with ones; every part of GRU's slopes. */
int fl_recurrent_bias_sums(const Back &l, char *sums) {
    int64_t rows = l.piece->rows;
    Scratch ones((size_t)(rows * l.size));
    if (!ones.ok())
        return -1;
    for (int64_t i = 0; i < rows; i++)
        if (l.kind == FL_K_F64)
            ones.as<double>()[i] = 1;
        else
            ones.as<float>()[i] = 1;
    return product(l, false, 1, l.gates_row, rows, Matrix{ones.as<char>(), rows},
                   Matrix{l.slopes, l.slopes_row}, Matrix{sums, l.gates_row}, l.first ? 0 : 1);
}

void fl_recurrent_bias_grads(const Back &l, const char *sums, char *by_input, char *by_hidden) {
    int64_t h = l.r.hidden * l.size;
    memcpy(by_hidden, sums + l.hidden_part() * l.size, (size_t)(l.sums() * l.size));
    memcpy(by_input, by_hidden, (size_t)(l.sums() * l.size));
    if (l.r.mode == FL_GRU)
        memcpy(by_input + 2 * h, sums, (size_t)h);
}
