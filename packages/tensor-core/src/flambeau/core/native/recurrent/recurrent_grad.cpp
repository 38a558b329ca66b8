/* recurrent_grad: back through the steps of a recurrent layer, piece by piece. The slopes of a
 * piece are kept, so that the gradients of input, weights and biases are one product each. */
#include "common/args.h"
#include "common/raw.h"
#include "recurrent/recurrent_back.h"
#include <algorithm>
#include <optional>

typedef fl_recurrent_layer_back Back;

enum { NEED_INPUT = 1, NEED_WEIGHTS = 2, NEED_BIASES = 4 };

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
    const fl_tensor *grad = fl_t(in[0]);
    if (grad && (fl_expect_shape(op, "grad", grad, x->ndim, shape) < 0 ||
                 fl_expect_same_dtype(op, x, "grad", grad) < 0))
        return -1;
    if (fl_expect_shape(op, "result", result, x->ndim, shape) < 0 ||
        fl_expect_same_dtype(op, x, "result", result) < 0 ||
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

namespace {

/* The arguments and results in the compute kind. */
struct Operands {
    OptionalIn grad, grad_hidden, grad_cell, cx, weight_hr;
    In input, hx, weight_ih, weight_hh, result, gates, cells;
    Out d_input, d_hx, d_cx, d_weight_ih, d_weight_hh, d_bias_ih, d_bias_hh, d_weight_hr;

    Operands(const fl_value *in, fl_tensor *const *outs, int kind)
        : grad(in[0], kind), grad_hidden(in[1], kind), grad_cell(in[2], kind), cx(in[5], kind),
          weight_hr(in[8], kind), input(in[3].t, kind), hx(in[4].t, kind), weight_ih(in[6].t, kind),
          weight_hh(in[7].t, kind), result(in[12].t, kind), gates(in[13].t, kind),
          cells(in[14].t, kind), d_input(outs[0], kind), d_hx(outs[1], kind), d_cx(outs[2], kind),
          d_weight_ih(outs[3], kind), d_weight_hh(outs[4], kind), d_bias_ih(outs[5], kind),
          d_bias_hh(outs[6], kind), d_weight_hr(outs[7], kind) {}
    bool ok() {
        for (OptionalIn *in : {&grad, &grad_hidden, &grad_cell, &cx, &weight_hr})
            if (!in->ok())
                return false;
        for (In *in : {&input, &hx, &weight_ih, &weight_hh, &result, &gates, &cells})
            if (!in->ok())
                return false;
        return d_input.ok() && d_hx.ok() && d_cx.ok() && d_weight_ih.ok() && d_weight_hh.ok() &&
               d_bias_ih.ok() && d_bias_hh.ok() && d_weight_hr.ok();
    }
    void commit() {
        for (Out *out : {&d_input, &d_hx, &d_cx, &d_weight_ih, &d_weight_hh, &d_bias_ih, &d_bias_hh,
                         &d_weight_hr})
            out->commit();
    }
};

/* What the way back needs beside its operands. */
struct BackRoom {
    int64_t steps;              /* of a piece */
    Scratch slopes, sums, projected, unprojected;
    Scratch weight_ih, weight_hh;       /* gradients, where they are summed transposed */

    BackRoom(const Back &l, bool weights)
        : steps(fl_recurrent_piece_steps(l.r, l.slopes_row * l.size)),
          slopes(bytes(l, piece_rows(l), l.slopes_row)), sums(bytes(l, 1, l.gates_row)),
          projected(l.r.projected ? bytes(l, piece_rows(l), l.r.output) : 0),
          unprojected(l.r.projected ? bytes(l, l.r.batch, l.r.hidden) : 0),
          weight_ih(weights ? turned_bytes(l, l.r.input) : 0),
          weight_hh(weights ? turned_bytes(l, l.r.output) : 0) {}
    bool ok() const {
        return slopes.ok() && sums.ok() && projected.ok() && unprojected.ok() && weight_ih.ok() &&
               weight_hh.ok();
    }

  private:
    int64_t piece_rows(const Back &l) const { return std::min(l.r.rows, l.r.batch * steps); }
    static size_t turned_bytes(const Back &l, int64_t cols) {
        return l.turns(cols) ? bytes(l, cols, l.sums_row()) : 0;
    }
    static size_t bytes(const Back &l, int64_t rows, int64_t cols) {
        return (size_t)(rows * cols * l.size);
    }
};

}  // namespace

static int no_memory() {
    return fl_error(FL_MEMORY_ERROR, "recurrent_grad(): no memory for scratch");
}

/* A state's gradient: the one given, or zeros. */
static void start_from(char *state, OptionalIn &grad, int64_t bytes) {
    if (const char *from = grad.data())
        memcpy(state, from, (size_t)bytes);
    else if (bytes)
        memset(state, 0, (size_t)bytes);
}

static void start(Back &l, Operands &o, BackRoom &room) {
    const fl_recurrent &r = l.r;
    l.grad = o.grad.data();
    l.hx = o.hx.as<char>();
    l.cx = o.cx.data();
    l.result = o.result.as<char>();
    l.gates = o.gates.as<char>();
    l.cells = o.cells.as<char>();
    l.slopes = room.slopes.as<char>();
    l.hidden = o.d_hx.as<char>();
    l.cell = o.d_cx.as<char>();
    l.projected = room.projected.as<char>();
    l.unprojected = room.unprojected.as<char>();
    start_from(l.hidden, o.grad_hidden, r.batch * r.output * l.size);
    start_from(l.cell, o.grad_cell, r.mode == FL_LSTM ? r.batch * r.hidden * l.size : 0);
}

static int run_products(const Back &l, Operands &o, BackRoom &room, int64_t needs) {
    if ((needs & NEED_INPUT) &&
        fl_recurrent_input_grad(l, o.weight_ih.as<char>(), o.d_input.as<char>()) < 0)
        return -1;
    if ((needs & NEED_BIASES) && fl_recurrent_bias_sums(l, room.sums.as<char>()) < 0)
        return -1;
    if (!(needs & NEED_WEIGHTS))
        return 0;
    Scratch &ih = room.weight_ih, &hh = room.weight_hh;
    char *to_ih = l.turns(l.r.input) ? ih.as<char>() : o.d_weight_ih.as<char>();
    char *to_hh = l.turns(l.r.output) ? hh.as<char>() : o.d_weight_hh.as<char>();
    if (fl_recurrent_weight_ih_grad(l, o.input.as<char>(), to_ih) < 0 ||
        fl_recurrent_weight_hh_grad(l, to_hh) < 0)
        return -1;
    return l.r.projected ? fl_recurrent_weight_hr_grad(l, o.d_weight_hr.as<char>()) : 0;
}

static int run_pieces(Back &l, Operands &o, BackRoom &room, int64_t needs) {
    for (RecurrentStep s(l.r, true); !s.done(); l.first = false) {
        RecurrentPiece piece(s, room.steps);
        l.piece = &piece;
        if (!fl_recurrent_go_back(l))
            return no_memory();
        if (run_products(l, o, room, needs) < 0)
            return -1;
    }
    if (needs & NEED_BIASES)
        fl_recurrent_bias_grads(l, room.sums.as<char>(), o.d_bias_ih.as<char>(),
                                o.d_bias_hh.as<char>());
    return 0;
}

static int run_steps(Back &l, Operands &o, BackRoom &room, int64_t needs) {
    const fl_recurrent &r = l.r;
    int64_t together = l.cut.by_rows ? std::min(l.cut.rows, r.batch) : r.batch;
    StepWeight weight(l.kind, o.weight_hh.as<char>(), r.output, 1, l.sums(), r.output, 1, together,
                      r.steps);
    std::optional<StepWeight> projection;
    if (r.projected)
        projection.emplace(l.kind, o.weight_hr.data(), r.hidden, 1, r.output, r.hidden, 1, together,
                           r.steps);
    if (!weight.ok() || (projection && !projection->ok()))
        return no_memory();
    l.weight = &weight;
    l.projection = projection ? &*projection : nullptr;
    return run_pieces(l, o, room, needs);
}

/* Gradients that were not summed in place. */
static void store_turned(const Back &l, Scratch &sums, fl_tensor *out) {
    if (!l.turns(out->shape[1]))
        return;
    int64_t strides[2] = {1, l.sums_row()};
    fl_strided to = {out->data, out->dtype, out->strides};
    fl_copy_strided(to, fl_strided{sums.as<char>(), fl_dtype_of_kind[l.kind], strides}, 2,
                    out->shape);
}

extern "C" int fl_run_recurrent_grad(const fl_op *op, const fl_value *in, int,
                                     fl_tensor *const *outs) {
    fl_recurrent r;
    if (read_call(op, in, &r) < 0)
        return -1;
    if (r.empty()) {
        for (int i = 0; i < 8; i++)
            memset(outs[i]->data, 0, (size_t)(outs[i]->numel * fl_itemsize(outs[i]->dtype)));
        return 0;
    }
    int kind = fl_kind_of_dtype[in[3].t->dtype];
    Operands o(in, outs, kind);
    Back l(r, kind);
    int64_t needs = in[15].i;
    BackRoom room(l, needs & NEED_WEIGHTS);
    if (!o.ok() || !room.ok())
        return no_memory();
    start(l, o, room);
    if (run_steps(l, o, room, needs) < 0)
        return -1;
    o.commit();
    if (needs & NEED_WEIGHTS) {
        store_turned(l, room.weight_ih, outs[3]);
        store_turned(l, room.weight_hh, outs[4]);
    }
    return 0;
}
