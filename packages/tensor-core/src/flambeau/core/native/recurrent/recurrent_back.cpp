/* Going back through the steps of a recurrent layer: see recurrent_back.h.
 *
 * A step turns the gradients of its states into the slopes of its gates' sums and multiplies these
 * with the packed recurrent weight, which gives the gradient of the state before. */
#include "recurrent/recurrent_back.h"
#include <algorithm>

namespace {

typedef fl_recurrent_layer_back Back;

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
    s.gates_row = l.gates_row;
    s.slopes_row = l.slopes_row;
    s.cells_row = s.cells_before_row = s.hidden_row = s.cell_row = r.hidden;
    s.result_row = s.hidden_before_row = s.grad_row = r.output;
    s.slopes = l.slopes_of(row) + from * size;
    s.hidden = (r.projected ? l.unprojected : l.hidden) + (first * r.hidden + from) * size;
    if (l.grad && !r.projected)
        s.grad = l.grad + (row * r.output + from) * size;
    if (r.plain())
        s.result = l.result + (row * r.output + from) * size;
    else
        s.gates = l.gates + (row * l.gates_row + from) * size;
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
void unproject(const Back &l, const Now &now, const StepRoom &room) {
    int64_t n = l.r.output, bytes = now.count * n;
    char *total = l.projected_of(now.row), *state = l.hidden + now.first * n * l.size;
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

fl_step_rows pack(const Back &l, const Now &now, char *panels) {
    return l.weight->pack(l.hidden_slopes(now.row), l.slopes_row, now.count, panels);
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
        StepRoom room(*l.weight, l.projection);
        if (!room.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        RecurrentStep s = l.piece->start;
        for (int64_t i = 0; i < l.piece->steps; i++, s.next()) {
            Now now = now_of(s, begin, end);
            if (now.count <= 0)
                continue;
            if (l.r.projected)
                unproject(l, now, room);
            slopes_of(l, now, 0, l.r.hidden);
            step_back(l, pack(l, now, room.panels), now, 0, l.r.output, room.product);
        }
    });
    return !failed;
}

/* One step after the other; the units of a step's product are at once those of the slopes of the
 * next one. */
bool run_by_units(const Back &l) {
    SharedRoom room(*l.weight, l.r.hidden, l.cut.tasks);
    if (!room.ok())
        return false;
    RecurrentStep s = l.piece->start;
    Now now = now_of(s, 0, l.r.batch);
    slopes_of(l, now, 0, l.r.hidden);
    for (int64_t left = l.piece->steps - 1;; left--) {
        bool last = left == 0;
        s.next();
        Now then = last ? Now{} : now_of(s, 0, l.r.batch);
        fl_step_rows rows = pack(l, now, room.panels.as<char>());
        room.each([&](int64_t from, int64_t units, char *scratch) {
            step_back(l, rows, now, from, units, scratch);
            if (!last)
                slopes_of(l, then, from, units);
        });
        if (last)
            return true;
        now = then;
    }
}

}  // namespace

bool fl_recurrent_go_back(const Back &l) {
    return l.cut.by_rows ? run_by_rows(l) : run_by_units(l);
}
