/* recurrent_grad: back through all steps of a recurrent layer.
 *
 * Going back, a step turns the gradients of its states into the slopes of its gates' sums and
 * multiplies these with the packed recurrent weight, which gives the gradient of the state before.
 * Slopes of all steps are kept: the gradients of input, weights and biases are one product each. */
#include "ops/recurrent.h"
#include "ops/args.h"
#include "ops/raw.h"
#include <algorithm>
#include <optional>

namespace {

enum { NEED_INPUT = 1, NEED_WEIGHTS = 2, NEED_BIASES = 4 };

/* Everything contiguous in the compute kind. */
struct Back {
    const fl_recurrent &r;
    fl_recurrent_cut cut;
    int kind;
    int64_t size, slopes_row;
    const fl_recurrent_dtype *unit;
    const char *grad;           /* NULL: none */
    const char *hx, *cx, *result, *gates, *cells;
    char *slopes;
    char *hidden, *cell;        /* gradients of the states, going back */
    const StepWeight *weight, *projection;
    char *projected;            /* of each row, the gradient of the state after projection */
    char *unprojected;          /* of each sequence, that before projection */

    /* GRU's slopes have the input part of n first, its hidden part last. */
    int64_t hidden_part() const { return r.mode == FL_GRU ? r.hidden : 0; }
    int64_t sums() const { return r.gates() * r.hidden; }
};

struct Room {
    Scratch memory;
    char *panels, *product;

    explicit Room(const Back &l) : memory(bytes(l)) {
        panels = memory.as<char>();
        product = panels + panel_bytes(l);
    }
    static size_t panel_bytes(const Back &l) {
        size_t own = l.weight->panel_bytes();
        return l.projection ? std::max(own, l.projection->panel_bytes()) : own;
    }
    static size_t bytes(const Back &l) {
        size_t own = l.weight->scratch_bytes();
        size_t other = l.projection ? l.projection->scratch_bytes() : 0;
        return panel_bytes(l) + std::max(own, other);
    }
};

/* A step of the sequences [first, first + count), in rows from `row` on; the first `continued` of
 * them were in rows from `before` on at the layer's step before, the others began here. */
struct Now {
    int64_t first, count, row, continued, before;
};

Now now_of(const RecurrentStep &s, int64_t begin, int64_t end) {
    int64_t count = std::min(s.count(), end) - begin;
    int64_t continued = std::max<int64_t>(std::min(s.continued() - begin, count), 0);
    return {begin, count, s.row() + begin, continued, s.row_before() + begin};
}

/* Slopes of sequences whose states before lie side by side. */
void slopes_of(const Back &l, int64_t first, int64_t count, int64_t row, const char *cells_before,
               const char *hidden_before, int64_t from, int64_t units) {
    const fl_recurrent &r = l.r;
    int64_t size = l.size;
    fl_recurrent_back s = {};
    s.rows = count;
    s.units = units;
    s.width = r.hidden;
    s.gates_row = s.slopes_row = l.slopes_row;
    s.cells_row = s.cells_before_row = s.hidden_row = s.cell_row = r.hidden;
    s.result_row = s.hidden_before_row = s.grad_row = r.output;
    s.slopes = l.slopes + (row * l.slopes_row + from) * size;
    s.hidden = (r.projected ? l.unprojected : l.hidden) + (first * r.hidden + from) * size;
    if (l.grad && !r.projected)
        s.grad = l.grad + (row * r.output + from) * size;
    if (r.plain()) {
        s.result = l.result + (row * r.output + from) * size;
    } else {
        s.gates = l.gates + (row * l.slopes_row + from) * size;
    }
    if (r.mode == FL_GRU)
        s.hidden_before = hidden_before + from * size;
    if (r.mode == FL_LSTM) {
        s.cells = l.cells + (row * r.hidden + from) * size;
        s.cells_before = cells_before + from * size;
        s.cell = l.cell + (first * r.hidden + from) * size;
    }
    l.unit->back[r.mode](&s);
}

void slopes_of(const Back &l, const Now &now, int64_t from, int64_t units) {
    int64_t cell = l.r.hidden * l.size, state = l.r.output * l.size;
    if (now.continued > 0)
        slopes_of(l, now.first, now.continued, now.row, l.cells + now.before * cell,
                  l.result + now.before * state, from, units);
    int64_t fresh = now.first + now.continued;
    if (now.continued < now.count)
        slopes_of(l, fresh, now.count - now.continued, now.row + now.continued,
                  l.cx + fresh * cell, l.hx + fresh * state, from, units);
}

/* The gradient of the state before the projection, from that after it, which is kept. */
void unproject(const Back &l, const Now &now, const Room &room) {
    int64_t n = l.r.output, bytes = now.count * n;
    char *total = l.projected + now.row * n * l.size, *state = l.hidden + now.first * n * l.size;
    memcpy(total, state, (size_t)(bytes * l.size));
    if (l.grad && l.kind == FL_K_F64)
        for (int64_t i = 0; i < bytes; i++)
            ((double *)total)[i] += ((const double *)(l.grad + now.row * n * l.size))[i];
    else if (l.grad)
        for (int64_t i = 0; i < bytes; i++)
            ((float *)total)[i] += ((const float *)(l.grad + now.row * n * l.size))[i];
    fl_step_rows rows = l.projection->pack(total, n, now.count, room.panels);
    l.projection->multiply(rows, 0, 0, l.r.hidden, l.unprojected + now.first * l.r.hidden * l.size,
                           l.r.hidden, 0, room.product);
}

const char *hidden_slopes(const Back &l, int64_t row) {
    return l.slopes + (row * l.slopes_row + l.hidden_part()) * l.size;
}

/* The gradient of some units of the state before. */
void step_back(const Back &l, const fl_step_rows &rows, const Now &now, int64_t from,
               int64_t units, char *scratch) {
    l.weight->multiply(rows, 0, from, units,
                       l.hidden + (now.first * l.r.output + from) * l.size, l.r.output,
                       l.r.mode == FL_GRU ? 1 : 0, scratch);
}

bool run_by_rows(const Back &l) {
    bool failed = false;
    fl_parallel(l.r.batch, l.cut.rows, [&](int64_t begin, int64_t end) {
        Room room(l);
        if (!room.memory.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (RecurrentStep s(l.r, true); !s.done(); s.next()) {
            Now now = now_of(s, begin, end);
            if (now.count <= 0)
                continue;
            if (l.r.projected)
                unproject(l, now, room);
            slopes_of(l, now, 0, l.r.hidden);
            fl_step_rows rows = l.weight->pack(hidden_slopes(l, now.row), l.slopes_row, now.count,
                                               room.panels);
            step_back(l, rows, now, 0, l.r.output, room.product);
        }
    });
    return !failed;
}

/* One step after the other; the units of a step's product are at once those of the slopes of the
 * next one. */
bool run_by_units(const Back &l) {
    const fl_recurrent &r = l.r;
    int64_t width = l.weight->width(), blocks = (r.hidden + width - 1) / width;
    int64_t grain = (blocks + l.cut.tasks - 1) / l.cut.tasks;
    size_t piece = l.weight->scratch_bytes();
    Scratch panels(l.weight->panel_bytes());
    Scratch scratch(piece * (size_t)fl_chunk_count(blocks, grain));
    if (!panels.ok() || !scratch.ok())
        return false;
    RecurrentStep s(r, true);
    Now now = now_of(s, 0, r.batch);
    slopes_of(l, now, 0, r.hidden);
    for (s.next();; s.next()) {
        bool last = s.done();
        Now then = last ? Now{} : now_of(s, 0, r.batch);
        fl_step_rows rows = l.weight->pack(hidden_slopes(l, now.row), l.slopes_row, now.count,
                                           panels.as<char>());
        fl_parallel(blocks, grain, [&](int64_t begin, int64_t end) {
            int64_t from = begin * width, units = std::min(end * width, r.hidden) - from;
            step_back(l, rows, now, from, units,
                      scratch.as<char>() + (size_t)(begin / grain) * piece);
            if (!last)
                slopes_of(l, then, from, units);
        });
        if (last)
            return true;
        now = then;
    }
}

/* ---- products over all rows ---------------------------------------------------------------- */

/* c = op(a) b + beta c with rows of so many elements. */
struct Matrix {
    const char *data;
    int64_t row;
};

int product(const Back &l, bool transposed, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b,
            Matrix c, double beta) {
    return fl_gemm(fl_dtype_of_kind[l.kind], transposed ? FL_TRANS : FL_NO_TRANS, FL_NO_TRANS, m, n,
                   k, 1, a.data, a.row, b.data, b.row, beta, const_cast<char *>(c.data), c.row);
}

Matrix at(const Back &l, Matrix m, int64_t row, int64_t col) {
    return {m.data + (row * m.row + col) * l.size, m.row};
}

/* The slopes of the input part: for GRU first those of r and z, then those of n. */
int input_grad(const Back &l, const char *weight, char *out) {
    const fl_recurrent &r = l.r;
    if (r.input == 0)
        return 0;
    Matrix s = {l.slopes, l.slopes_row}, w = {weight, r.input}, c = {out, r.input};
    int64_t h = r.hidden;
    if (r.mode != FL_GRU)
        return product(l, false, r.rows, r.input, l.sums(), s, w, c, 0);
    if (product(l, false, r.rows, r.input, 2 * h, at(l, s, 0, h), w, c, 0) < 0)
        return -1;
    return product(l, false, r.rows, r.input, h, s, at(l, w, 2 * h, 0), c, 1);
}

int weight_ih_grad(const Back &l, const char *input, char *out) {
    const fl_recurrent &r = l.r;
    if (r.input == 0)
        return 0;
    Matrix s = {l.slopes, l.slopes_row}, x = {input, r.input}, c = {out, r.input};
    int64_t h = r.hidden;
    if (r.mode != FL_GRU)
        return product(l, true, l.sums(), r.input, r.rows, s, x, c, 0);
    if (product(l, true, 2 * h, r.input, r.rows, at(l, s, 0, h), x, c, 0) < 0)
        return -1;
    return product(l, true, h, r.input, r.rows, s, x, at(l, c, 2 * h, 0), 0);
}

/* out += the slopes of some rows, transposed, times states in as many rows. */
int add_weight_hh(const Back &l, int64_t row, int64_t count, const char *states, char *out,
                  double beta) {
    if (count == 0)
        return 0;
    Matrix s = {hidden_slopes(l, row), l.slopes_row};
    return product(l, true, l.sums(), l.r.output, count, s, Matrix{states, l.r.output},
                   Matrix{out, l.r.output}, beta);
}

/* Without lengths the states before all steps but one are the result, moved by a step. */
int weight_hh_grad(const Back &l, char *out) {
    const fl_recurrent &r = l.r;
    int64_t row = r.output * l.size, rest = r.rows - r.batch;
    if (!r.packed) {
        int64_t start = r.reverse ? rest : 0, moved = r.reverse ? 0 : r.batch;
        if (add_weight_hh(l, start, r.batch, l.hx, out, 0) < 0)
            return -1;
        return add_weight_hh(l, moved, rest, l.result + (r.batch - moved) * row, out, 1);
    }
    Scratch before((size_t)(r.rows * row));
    if (!before.ok())
        return -1;
    for (RecurrentStep s(r, false); !s.done(); s.next()) {
        char *to = before.as<char>() + s.row() * row;
        int64_t continued = s.continued();
        memcpy(to, l.result + s.row_before() * row, (size_t)(continued * row));
        memcpy(to + continued * row, l.hx + continued * row,
               (size_t)((s.count() - continued) * row));
    }
    return add_weight_hh(l, 0, r.rows, before.as<char>(), out, 0);
}

/* Gradients of the projection: the states before it are computed anew. */
int weight_hr_grad(const Back &l, char *out) {
    const fl_recurrent &r = l.r;
    Scratch states((size_t)(r.rows * r.hidden * l.size));
    if (!states.ok())
        return -1;
    fl_recurrent_step s = {};
    s.rows = r.rows;
    s.units = s.width = r.hidden;
    s.gates = const_cast<char *>(l.gates);
    s.cells = const_cast<char *>(l.cells);
    s.hidden = states.as<char>();
    s.gates_row = l.slopes_row;
    s.cells_row = s.hidden_row = r.hidden;
    l.unit->output(&s);
    return product(l, true, r.output, r.hidden, r.rows, Matrix{l.projected, r.output},
                   Matrix{states.as<char>(), r.hidden}, Matrix{out, r.hidden}, 0);
}

/* Sums of the slopes over all rows, as a product with ones; every part of GRU's. */
int bias_sums(const Back &l, char *out) {
    Scratch ones((size_t)(l.r.rows * l.size));
    if (!ones.ok())
        return -1;
    for (int64_t i = 0; i < l.r.rows; i++)
        if (l.kind == FL_K_F64)
            ones.as<double>()[i] = 1;
        else
            ones.as<float>()[i] = 1;
    return product(l, false, 1, l.slopes_row, l.r.rows, Matrix{ones.as<char>(), l.r.rows},
                   Matrix{l.slopes, l.slopes_row}, Matrix{out, l.slopes_row}, 0);
}

int bias_grads(const Back &l, char *by_input, char *by_hidden) {
    int64_t h = l.r.hidden * l.size;
    Scratch sums((size_t)(l.slopes_row * l.size));
    if (!sums.ok() || bias_sums(l, sums.as<char>()) < 0)
        return -1;
    memcpy(by_hidden, sums.as<char>() + l.hidden_part() * l.size, (size_t)(l.sums() * l.size));
    memcpy(by_input, by_hidden, (size_t)(l.sums() * l.size));
    if (l.r.mode == FL_GRU)
        memcpy(by_input + 2 * h, sums.as<char>(), (size_t)h);
    return 0;
}

int no_memory() { return fl_error(FL_MEMORY_ERROR, "recurrent_grad(): no memory for scratch"); }

}  // namespace

/* in: grad, grad_hidden, grad_cell, input, hx, cx, weight_ih, weight_hh, weight_hr, batch_sizes,
 * mode, reverse, result, gates, cells, needs */
static int read_call(const fl_op *op, const fl_value *in, fl_recurrent *r) {
    fl_recurrent_args args = {in[3].t, in[4].t, fl_t(in[5]), in[6].t, in[7].t, fl_t(in[8]),
                              &in[9], &in[10], &in[11]};
    return fl_recurrent_read(op, args, r);
}

static int check_shape(const fl_op *op, const char *name, const fl_value &v, const fl_tensor *like,
                       int64_t rows, int64_t cols) {
    return fl_t(v) ? fl_recurrent_expect(op, name, v.t, like, rows, cols) : 0;
}

/* What the layer kept is in the compute dtype. */
static int check_kept(const fl_op *op, const char *name, const fl_tensor *t, int dtype,
                      int64_t rows, int64_t cols) {
    int64_t shape[2] = {rows, cols};
    if (t->dtype != dtype)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s is %s; it must be what recurrent() returned, %s",
                        fl_op_title(op), name, fl_dtype_name(t->dtype), fl_dtype_name(dtype));
    return fl_expect_shape(op, name, t, 2, shape);
}

static int check_results(const fl_op *op, const fl_value *in, const fl_recurrent &r) {
    const fl_tensor *x = in[3].t, *result = in[12].t;
    int64_t shape[3] = {x->shape[0], x->shape[1], r.output};
    if (r.packed)
        shape[1] = r.output;
    for (int i = 0; i < 13; i += 12)
        if (fl_t(in[i]) && (fl_expect_shape(op, i ? "result" : "grad", in[i].t, x->ndim, shape) < 0 ||
                            fl_expect_same_dtype(op, x, i ? "result" : "grad", in[i].t) < 0))
            return -1;
    if (result->dtype != x->dtype ||
        check_shape(op, "grad_hidden", in[1], x, r.batch, r.output) < 0 ||
        check_shape(op, "grad_cell", in[2], x, r.batch, r.hidden) < 0)
        return -1;
    int wide = fl_dtype_of_kind[fl_kind_of_dtype[x->dtype]];
    if (!r.plain() &&
        check_kept(op, "gates", in[13].t, wide, r.rows, r.parts() * r.hidden) < 0)
        return -1;
    return r.mode == FL_LSTM ? check_kept(op, "cells", in[14].t, wide, r.rows, r.hidden) : 0;
}

static void spec(fl_spec *out, const fl_tensor *like, int64_t rows, int64_t cols) {
    int64_t shape[2] = {rows, cols};
    fl_spec_set(out, like->dtype, fl_device_code(like), cols < 0 ? 1 : 2, shape);
}

extern "C" int fl_infer_recurrent_grad(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    fl_recurrent r;
    if (fl_same_device(op, in, n) < 0 || read_call(op, in, &r) < 0 ||
        check_results(op, in, r) < 0)
        return -1;
    const fl_tensor *x = in[3].t;
    int64_t needs = in[15].i, none[3] = {0, 0, 0}, sums = r.gates() * r.hidden;
    bool weights = needs & NEED_WEIGHTS;
    fl_spec_set(outs, x->dtype, fl_device_code(x), x->ndim, needs & NEED_INPUT ? x->shape : none);
    spec(outs + 1, x, r.batch, r.output);
    spec(outs + 2, x, r.mode == FL_LSTM ? r.batch : 0, r.hidden);
    spec(outs + 3, x, weights ? sums : 0, r.input);
    spec(outs + 4, x, weights ? sums : 0, r.output);
    spec(outs + 5, x, needs & NEED_BIASES ? sums : 0, -1);
    spec(outs + 6, x, needs & NEED_BIASES ? sums : 0, -1);
    spec(outs + 7, x, weights && r.projected ? r.output : 0, r.hidden);
    return 0;
}

/* A state's gradient: the one given, or zeros. */
static void start_from(char *state, OptionalIn &grad, int64_t bytes) {
    if (const char *from = grad.data())
        memcpy(state, from, (size_t)bytes);
    else if (bytes)
        memset(state, 0, (size_t)bytes);
}

extern "C" int fl_run_recurrent_grad(const fl_op *op, const fl_value *in, int,
                                     fl_tensor *const *outs) {
    fl_recurrent r;
    if (read_call(op, in, &r) < 0)
        return -1;
    if (r.rows == 0) {
        for (int i = 0; i < 8; i++)
            memset(outs[i]->data, 0, (size_t)(outs[i]->numel * fl_itemsize(outs[i]->dtype)));
        return 0;
    }
    int kind = fl_kind_of_dtype[in[3].t->dtype];
    int64_t size = fl_kind_size[kind], needs = in[15].i;
    OptionalIn grad(in[0], kind), grad_hidden(in[1], kind), grad_cell(in[2], kind);
    In input(in[3].t, kind), hx(in[4].t, kind), w_ih(in[6].t, kind), w_hh(in[7].t, kind);
    OptionalIn cx(in[5], kind), w_hr(in[8], kind);
    In result(in[12].t, kind), gates(in[13].t, kind), cells(in[14].t, kind);
    Out d_input(outs[0], kind), d_hx(outs[1], kind), d_cx(outs[2], kind), d_ih(outs[3], kind);
    Out d_hh(outs[4], kind), d_bias_ih(outs[5], kind), d_bias_hh(outs[6], kind);
    Out d_hr(outs[7], kind);
    Back l = {r, fl_recurrent_choose(r, size), kind, size, r.parts() * r.hidden,
              fl_recurrent_pick(kind)};
    Scratch slopes((size_t)(r.rows * l.slopes_row * size));
    Scratch projected(r.projected ? (size_t)(r.rows * r.output * size) : 0);
    Scratch unprojected(r.projected ? (size_t)(r.batch * r.hidden * size) : 0);
    bool ok = grad.ok() && grad_hidden.ok() && grad_cell.ok() && input.ok() && hx.ok() &&
              w_ih.ok() && w_hh.ok() && cx.ok() && w_hr.ok() && result.ok() && gates.ok() &&
              cells.ok() && d_input.ok() && d_hx.ok() && d_cx.ok() && d_ih.ok() && d_hh.ok() &&
              d_bias_ih.ok() && d_bias_hh.ok() && d_hr.ok() && slopes.ok() && projected.ok() &&
              unprojected.ok();
    if (!ok)
        return no_memory();
    l.grad = grad.data();
    l.hx = hx.as<char>();
    l.cx = cx.data();
    l.result = result.as<char>();
    l.gates = gates.as<char>();
    l.cells = cells.as<char>();
    l.slopes = slopes.as<char>();
    l.hidden = d_hx.as<char>();
    l.cell = d_cx.as<char>();
    l.projected = projected.as<char>();
    l.unprojected = unprojected.as<char>();
    start_from(l.hidden, grad_hidden, r.batch * r.output * size);
    start_from(l.cell, grad_cell, r.mode == FL_LSTM ? r.batch * r.hidden * size : 0);
    {
        int64_t together = l.cut.by_rows ? std::min(l.cut.rows, r.batch) : r.batch;
        StepWeight weight(kind, w_hh.as<char>(), r.output, 1, l.sums(), r.output, 1, together,
                          r.steps);
        std::optional<StepWeight> projection;
        if (r.projected)
            projection.emplace(kind, w_hr.data(), r.hidden, 1, r.output, r.hidden, 1, together,
                               r.steps);
        if (!weight.ok() || (projection && !projection->ok()))
            return no_memory();
        l.weight = &weight;
        l.projection = projection ? &*projection : nullptr;
        if (!(l.cut.by_rows ? run_by_rows(l) : run_by_units(l)))
            return no_memory();
    }
    if ((needs & NEED_INPUT) && input_grad(l, w_ih.as<char>(), d_input.as<char>()) < 0)
        return -1;
    if ((needs & NEED_BIASES) &&
        bias_grads(l, d_bias_ih.as<char>(), d_bias_hh.as<char>()) < 0)
        return no_memory();
    if ((needs & NEED_WEIGHTS) && (weight_ih_grad(l, input.as<char>(), d_ih.as<char>()) < 0 ||
                                   weight_hh_grad(l, d_hh.as<char>()) < 0 ||
                                   (r.projected && weight_hr_grad(l, d_hr.as<char>()) < 0)))
        return -1;
    d_input.commit();
    d_hx.commit();
    d_cx.commit();
    d_ih.commit();
    d_hh.commit();
    d_bias_ih.commit();
    d_bias_hh.commit();
    d_hr.commit();
    return 0;
}
