/* recurrent: one direction of one layer of an LSTM, GRU or plain recurrent network.
 *
 * The input part of all gates of the steps of a piece is one product. A step then adds the product
 * of the hidden state with the packed recurrent weight and applies the activations, while its gates
 * are still in the cache. Sequences do not meet, so that threads take some each; where the batch is
 * small or the weight large they share the units of every step instead. */
#include "recurrent/recurrent.h"
#include "common/raw.h"
#include "matmul/pairs.h"
#include <algorithm>
#include <optional>

namespace {

/* Everything contiguous in the compute kind. Rows of gates have `gates_row` numbers. */
struct Layer {
    const fl_recurrent &r;
    fl_recurrent_cut cut;
    int kind;
    int64_t size, gates_row;
    const fl_recurrent_dtype *unit;
    const StepWeight *weight = nullptr, *projection = nullptr;
    char *gates = nullptr, *hidden = nullptr, *cell = nullptr, *result = nullptr;
    char *cells = nullptr;          /* NULL: not kept */
    char *product = nullptr;        /* GRU: the hidden part of a step, for all sequences */
    char *unprojected = nullptr;    /* the hidden state before its projection */
    const char *bias = nullptr;     /* GRU: of the hidden part */
    const RecurrentPiece *piece = nullptr;
    int64_t first = 0;              /* the row that `gates` begins with */

    Layer(const fl_recurrent &sizes, int compute_kind)
        : r(sizes), cut(fl_recurrent_choose(sizes, fl_kind_size[compute_kind])),
          kind(compute_kind), size(fl_kind_size[compute_kind]),
          gates_row(sizes.parts() * sizes.hidden), unit(fl_recurrent_pick(compute_kind)) {}
    int64_t product_row() const { return r.gates() * r.hidden; }
    char *gates_of(int64_t row) const { return gates + (row - first) * gates_row * size; }
};

/* A step of the sequences [first, first + count), which lie in rows from `row` on. */
struct Now {
    int64_t first, count, row;
};

/* The hidden part of all gates of some units. */
void multiply(const Layer &l, const fl_step_rows &rows, const Now &now, int64_t from,
              int64_t units, char *scratch) {
    const fl_recurrent &r = l.r;
    bool apart = r.mode == FL_GRU;
    int64_t c_row = apart ? l.product_row() : l.gates_row;
    char *c = apart ? l.product + now.first * c_row * l.size : l.gates_of(now.row);
    double beta = apart ? 0 : 1;
    if (l.cut.by_rows) {
        l.weight->multiply(rows, 0, 0, l.product_row(), c, c_row, beta, scratch);
        return;
    }
    for (int64_t g = 0; g < r.gates(); g++)
        l.weight->multiply(rows, g, from, units, c + (g * r.hidden + from) * l.size, c_row, beta,
                           scratch);
}

void activate(const Layer &l, const Now &now, int64_t from, int64_t units) {
    const fl_recurrent &r = l.r;
    int64_t size = l.size;
    fl_recurrent_step s = {};
    s.rows = now.count;
    s.units = units;
    s.width = r.hidden;
    s.gates_row = l.gates_row;
    s.product_row = l.product_row();
    s.hidden_row = s.cell_row = s.cells_row = r.hidden;
    s.result_row = r.output;
    s.gates = l.gates_of(now.row) + from * size;
    s.hidden = (r.projected ? l.unprojected : l.hidden) + (now.first * r.hidden + from) * size;
    if (r.mode == FL_GRU)
        s.product = l.product + (now.first * s.product_row + from) * size;
    if (l.bias)
        s.bias = l.bias + from * size;
    if (r.mode == FL_LSTM)
        s.cell = l.cell + (now.first * r.hidden + from) * size;
    if (l.cells)
        s.cells = l.cells + (now.row * r.hidden + from) * size;
    if (!r.projected)
        s.result = l.result + (now.row * r.output + from) * size;
    l.unit->step[r.mode](&s);
}

/* hidden = unprojected * weight_hr^T, and into the result. */
void project(const Layer &l, const Now &now, const StepRoom &room) {
    const fl_recurrent &r = l.r;
    const char *from = l.unprojected + now.first * r.hidden * l.size;
    char *to = l.hidden + now.first * r.output * l.size;
    fl_step_rows rows = l.projection->pack(from, r.hidden, now.count, room.panels);
    l.projection->multiply(rows, 0, 0, r.output, to, r.output, 0, room.product);
    memcpy(l.result + now.row * r.output * l.size, to,
           (size_t)(now.count * r.output * l.size));
}

fl_step_rows pack(const Layer &l, const Now &now, char *panels) {
    return l.weight->pack(l.hidden + now.first * l.r.output * l.size, l.r.output, now.count,
                          panels);
}

/* The steps of a piece for the sequences [begin, end). */
void run_sequences(const Layer &l, int64_t begin, int64_t end, const StepRoom &room) {
    RecurrentStep s = l.piece->start;
    for (int64_t i = 0; i < l.piece->steps; i++, s.next()) {
        Now now = {begin, std::min(s.count(), end) - begin, s.row() + begin};
        if (now.count <= 0)
            continue;
        multiply(l, pack(l, now, room.panels), now, 0, l.r.hidden, room.product);
        activate(l, now, 0, l.r.hidden);
        if (l.r.projected)
            project(l, now, room);
    }
}

bool run_by_rows(const Layer &l) {
    bool failed = false;
    fl_parallel(l.r.batch, l.cut.rows, [&](int64_t begin, int64_t end) {
        StepRoom room(*l.weight, l.projection);
        if (!room.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        run_sequences(l, begin, end, room);
    });
    return !failed;
}

/* One step after the other, its units shared among threads. */
bool run_by_units(const Layer &l) {
    SharedRoom room(*l.weight, l.r.hidden, l.cut.tasks);
    if (!room.ok())
        return false;
    RecurrentStep s = l.piece->start;
    for (int64_t i = 0; i < l.piece->steps; i++, s.next()) {
        Now now = {0, s.count(), s.row()};
        fl_step_rows rows = pack(l, now, room.panels.as<char>());
        room.each([&](int64_t from, int64_t units, char *scratch) {
            multiply(l, rows, now, from, units, scratch);
            activate(l, now, from, units);
        });
    }
    return true;
}

/* The biases that the input part takes: both, but for GRU, whose hidden part has its own. */
void join_biases(const Layer &l, const char *bias_ih, const char *bias_hh, char *out) {
    int64_t n = l.product_row();
    bool both = bias_hh && l.r.mode != FL_GRU;
    for (int64_t i = 0; i < n; i++)
        if (l.kind == FL_K_F64)
            ((double *)out)[i] = (bias_ih ? ((const double *)bias_ih)[i] : 0) +
                                 (both ? ((const double *)bias_hh)[i] : 0);
        else
            ((float *)out)[i] = (bias_ih ? ((const float *)bias_ih)[i] : 0) +
                                (both ? ((const float *)bias_hh)[i] : 0);
}

/* Input and weight in the compute kind, or of bfloat16 as they are, where products take pairs. */
struct InputPart {
    bool pairs;
    RawIn input, weight;

    InputPart(const fl_tensor *x, const fl_tensor *w, int64_t k, int kind)
        : pairs(fl_goes_by_pairs(x, w, k) && ((uintptr_t)x->data | (uintptr_t)w->data) % 4 == 0),
          input(x, pairs ? (int)FL_BF16 : fl_dtype_of_kind[kind]),
          weight(w, pairs ? (int)FL_BF16 : fl_dtype_of_kind[kind]) {}
    bool ok() const { return input.ok() && weight.ok(); }
};

/* One product for all steps of a piece. */
int input_part(const Layer &l, const InputPart &part, const char *bias) {
    const fl_recurrent &r = l.r;
    fl_gemm_args g = {};
    g.dtype = fl_dtype_of_kind[l.kind];
    g.pairs = part.pairs;
    g.trans_b = FL_TRANS;
    g.m = l.piece->rows;
    g.n = l.product_row();
    g.k = part.pairs ? r.input / 2 : r.input;
    g.alpha = 1;
    g.a = part.input.data() + l.piece->row * g.k * l.size;  /* a pair is as large as a float32 */
    g.b = part.weight.data();
    g.c = l.gates_of(l.piece->row);
    g.lda = g.ldb = std::max<int64_t>(g.k, 1);
    g.ldc = l.gates_row;
    g.bias = bias;
    g.batch = 1;
    return fl_gemm_run(&g);
}

int no_memory() { return fl_error(FL_MEMORY_ERROR, "recurrent(): no memory for scratch"); }

}  // namespace

/* in: input, hx, cx, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, batch_sizes, mode, reverse,
 * keep */
static int read_call(const fl_op *op, const fl_value *in, fl_recurrent *r) {
    fl_recurrent_args args = {in[0].t, in[1].t, fl_t(in[2]), in[3].t, in[4].t, fl_t(in[7]),
                              &in[8], &in[9], &in[10]};
    if (fl_recurrent_read(op, args, r) < 0)
        return -1;
    for (int i = 5; i < 7; i++)
        if (fl_t(in[i]) && fl_recurrent_expect(op, i == 5 ? "bias_ih" : "bias_hh", in[i].t,
                                               in[0].t, r->gates() * r->hidden, -1) < 0)
            return -1;
    return 0;
}

static void spec(fl_spec *out, const fl_tensor *like, int dtype, int64_t rows, int64_t cols) {
    int64_t shape[2] = {rows, cols};
    fl_spec_set(out, dtype, fl_device_code(like), 2, shape);
}

extern "C" int fl_infer_recurrent(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    fl_recurrent r;
    if (fl_same_device(op, in, n) < 0 || read_call(op, in, &r) < 0)
        return -1;
    const fl_tensor *x = in[0].t;
    bool lstm = r.mode == FL_LSTM, keep = in[11].i != 0;
    int wide = fl_dtype_of_kind[fl_kind_of_dtype[x->dtype]];
    int64_t shape[3] = {x->shape[0], x->shape[1], r.output};
    if (r.packed)
        shape[1] = r.output;
    fl_spec_set(outs, x->dtype, fl_device_code(x), x->ndim, shape);
    spec(outs + 1, x, x->dtype, r.batch, r.output);
    spec(outs + 2, x, x->dtype, lstm ? r.batch : 0, r.hidden);
    spec(outs + 3, x, wide, keep && !r.plain() ? r.rows : 0, r.parts() * r.hidden);
    spec(outs + 4, x, wide, keep && lstm ? r.rows : 0, r.hidden);
    return 0;
}

namespace {

/* The arguments and results in the compute kind. */
struct Operands {
    InputPart part;
    In hx, weight_hh;
    OptionalIn cx, bias_ih, bias_hh, weight_hr;
    Out result, hidden, cell, gates, cells;

    Operands(const fl_value *in, fl_tensor *const *outs, int64_t features, int kind)
        : part(in[0].t, in[3].t, features, kind), hx(in[1].t, kind), weight_hh(in[4].t, kind),
          cx(in[2], kind), bias_ih(in[5], kind), bias_hh(in[6], kind),
          weight_hr(in[7], kind), result(outs[0], kind), hidden(outs[1], kind),
          cell(outs[2], kind), gates(outs[3], kind), cells(outs[4], kind) {}
    bool ok() {
        return part.ok() && hx.ok() && weight_hh.ok() && cx.ok() && bias_ih.ok() &&
               bias_hh.ok() && weight_hr.ok() && result.ok() && hidden.ok() && cell.ok() &&
               gates.ok() && cells.ok();
    }
    void commit() {
        for (Out *out : {&result, &hidden, &cell, &gates, &cells})
            out->commit();
    }
};

/* What a layer needs beside its operands. */
struct LayerRoom {
    Scratch gates, bias, product, unprojected;

    LayerRoom(const Layer &l, bool keep)
        : gates(keep || l.r.plain() ? 0 : bytes(l, piece_rows(l), l.gates_row)),
          bias(bytes(l, 1, l.product_row())),
          product(l.r.mode == FL_GRU ? bytes(l, l.r.batch, l.product_row()) : 0),
          unprojected(l.r.projected ? bytes(l, l.r.batch, l.r.hidden) : 0) {}
    bool ok() const { return gates.ok() && bias.ok() && product.ok() && unprojected.ok(); }

  private:
    static int64_t piece_rows(const Layer &l) {
        return std::min(l.r.rows, l.r.batch * fl_recurrent_piece_steps(l.r, l.gates_row * l.size));
    }
    static size_t bytes(const Layer &l, int64_t rows, int64_t cols) {
        return (size_t)(rows * cols * l.size);
    }
};

}  // namespace

/* The states begin as those given; steps update them in place. */
static void start(Layer &l, Operands &o, LayerRoom &room, bool keep) {
    const fl_recurrent &r = l.r;
    bool lstm = r.mode == FL_LSTM;
    l.result = o.result.as<char>();
    l.hidden = o.hidden.as<char>();
    l.cell = o.cell.as<char>();
    l.gates = r.plain() ? l.result : keep ? o.gates.as<char>() : room.gates.as<char>();
    l.cells = lstm && keep ? o.cells.as<char>() : nullptr;
    l.product = room.product.as<char>();
    l.unprojected = room.unprojected.as<char>();
    l.bias = r.mode == FL_GRU ? o.bias_hh.data() : nullptr;
    memcpy(l.hidden, o.hx.as<char>(), (size_t)(r.batch * r.output * l.size));
    if (lstm)
        memcpy(l.cell, o.cx.data(), (size_t)(r.batch * r.hidden * l.size));
}

/* Gates that are kept, or that are the result, have room for all rows. */
static int run_pieces(Layer &l, Operands &o, const char *bias, bool whole) {
    int64_t most = fl_recurrent_piece_steps(l.r, l.gates_row * l.size);
    for (RecurrentStep s(l.r, false); !s.done();) {
        RecurrentPiece piece(s, most);
        l.piece = &piece;
        l.first = whole ? 0 : piece.row;
        if (input_part(l, o.part, bias) < 0)
            return -1;
        if (!(l.cut.by_rows ? run_by_rows(l) : run_by_units(l)))
            return no_memory();
    }
    return 0;
}

static int run_steps(Layer &l, Operands &o, const char *bias, bool keep) {
    const fl_recurrent &r = l.r;
    int64_t together = l.cut.by_rows ? std::min(l.cut.rows, r.batch) : r.batch;
    int64_t groups = l.cut.by_rows ? 1 : r.gates();
    StepWeight weight(l.kind, o.weight_hh.as<char>(), 1, r.output, r.output,
                      l.product_row() / groups, groups, together, r.steps);
    std::optional<StepWeight> projection;
    if (r.projected)
        projection.emplace(l.kind, o.weight_hr.data(), 1, r.hidden, r.hidden, r.output, 1, together,
                           r.steps);
    if (!weight.ok() || (projection && !projection->ok()))
        return no_memory();
    l.weight = &weight;
    l.projection = projection ? &*projection : nullptr;
    return run_pieces(l, o, bias, keep || r.plain());
}

extern "C" int fl_run_recurrent(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    fl_recurrent r;
    if (read_call(op, in, &r) < 0)
        return -1;
    if (r.empty())
        return 0;
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    bool keep = in[11].i != 0;
    Operands o(in, outs, r.input, kind);
    Layer l(r, kind);
    LayerRoom room(l, keep);
    if (!o.ok() || !room.ok())
        return no_memory();
    start(l, o, room, keep);
    char *bias = room.bias.as<char>();
    join_biases(l, o.bias_ih.data(), o.bias_hh.data(), bias);
    if (run_steps(l, o, bias, keep) < 0)
        return -1;
    o.commit();
    return 0;
}
