/* Connectionist temporal classification (Graves et al., 2006).
 *
 * A target of n labels is walked as 2n + 1 states, a blank before, between and after the labels.
 * Forward and backward variables are kept in double; the gradient computes them anew. They are
 * scaled probabilities (ctc_scaled.cpp), or logarithms where those are out of range. */
#include "loss/ctc.h"
#include "common/raw.h"
#include <atomic>

namespace {

const double NEVER = -INFINITY;

double log_add(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    return high == NEVER ? NEVER : high + log1p(exp(low - high));
}

typedef fl_ctc_sequences Sequences;
typedef fl_ctc_item Item;

void forward_start(const Item &item, double *alpha) {
    for (int64_t k = 0; k < item.states(); k++)
        alpha[k] = k < 2 ? item.score(0, k) : NEVER;
}

void forward_step(const Item &item, int64_t t, const double *before, double *alpha) {
    for (int64_t k = 0; k < item.states(); k++) {
        double sum = k > 0 ? log_add(before[k], before[k - 1]) : before[k];
        if (item.skips(k))
            sum = log_add(sum, before[k - 2]);
        alpha[k] = sum + item.score(t, k);
    }
}

double loss_of(const Item &item, const double *alpha) {
    int64_t last = item.states() - 1;
    return -(last > 0 ? log_add(alpha[last], alpha[last - 1]) : alpha[last]);
}

/* `rows` has room for two rows of states and one of labels. */
double forward(const Item &item, double *rows) {
    if (item.steps == 0)
        return item.labels == 0 ? 0 : INFINITY;
    const double loss = fl_ctc_scaled_loss(item, rows);
    if (loss == loss)
        return loss;
    double *now = rows, *next = rows + item.states();
    forward_start(item, now);
    for (int64_t t = 1; t < item.steps; t++) {
        forward_step(item, t, now, next);
        double *swap = now;
        now = next;
        next = swap;
    }
    return loss_of(item, now);
}

void backward_step(const Item &item, int64_t t, const double *after, double *beta) {
    int64_t n = item.states();
    for (int64_t k = 0; k < n; k++) {
        if (t == item.steps - 1) {
            beta[k] = k >= n - 2 ? item.score(t, k) : NEVER;
            continue;
        }
        double sum = k + 1 < n ? log_add(after[k], after[k + 1]) : after[k];
        if (k + 2 < n && item.skips(k + 2))
            sum = log_add(sum, after[k + 2]);
        beta[k] = sum + item.score(t, k);
    }
}

/* Room of one thread: all forward variables, rows of backward ones, one number per class. */
struct Room {
    Scratch memory;
    double *alpha, *beta, *classes;
    explicit Room(const Sequences &s)
        : memory(fl_bytes(s.steps * (2 * s.longest() + 1) + fl_ctc_row_elements(s) + s.classes,
                          8)),
          alpha(memory.as<double>()), beta(alpha + s.steps * (2 * s.longest() + 1)),
          classes(beta + fl_ctc_row_elements(s)) {}
};

/* grad[t, c] = g * (p - probability that a path of the target is at c at step t). */
template <class T> void write_step(const Item &item, int64_t t, const double *alpha,
                                   const double *beta, double loss, double g, double *sums,
                                   T *out) {
    const Sequences &s = item.s;
    for (int64_t c = 0; c < s.classes; c++)
        sums[c] = NEVER;
    for (int64_t k = 0; k < item.states(); k++) {
        double &sum = sums[item.label(k)];
        sum = log_add(sum, alpha[k] + beta[k]);
    }
    for (int64_t c = 0; c < s.classes; c++) {
        double p = s.score(t, item.number, c);
        out[c] = (T)(g * (exp(p) - exp(sums[c] + loss - p)));
    }
}

/* The same from the probabilities of states. */
template <class T> void write_scaled_step(const Item &item, int64_t t, const double *states,
                                          double g, double *sums, T *out) {
    const Sequences &s = item.s;
    for (int64_t c = 0; c < s.classes; c++)
        sums[c] = 0;
    for (int64_t k = 0; k < item.states(); k++)
        sums[item.label(k)] += states[k];
    for (int64_t c = 0; c < s.classes; c++)
        out[c] = (T)(g * (exp(s.score(t, item.number, c)) - sums[c]));
}

template <class T> void backward(const Item &item, double loss, double g, const Room &room, T *out) {
    const Sequences &s = item.s;
    int64_t n = item.states(), step = s.batch * s.classes;
    T *rows = out + item.number * s.classes;
    for (int64_t t = 0; t < s.steps; t++)
        for (int64_t c = 0; c < s.classes; c++)
            rows[t * step + c] = 0;
    if (g == 0 || item.steps == 0)
        return;
    if (fl_ctc_scaled_paths(item, room.beta, room.alpha)) {
        for (int64_t t = 0; t < item.steps; t++)
            write_scaled_step(item, t, room.alpha + t * n, g, room.classes, rows + t * step);
        return;
    }
    forward_start(item, room.alpha);
    for (int64_t t = 1; t < item.steps; t++)
        forward_step(item, t, room.alpha + (t - 1) * n, room.alpha + t * n);
    double *now = room.beta, *after = room.beta + n;
    for (int64_t t = item.steps - 1; t >= 0; t--) {
        backward_step(item, t, after, now);
        write_step(item, t, room.alpha + t * n, now, loss, g, room.classes, rows + t * step);
        double *swap = now;
        now = after;
        after = swap;
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

int check_shapes(const fl_op *op, const fl_tensor *log_probs, const fl_value *rest, int64_t blank) {
    const fl_tensor *targets = rest[0].t;
    if (fl_expect_dtype(op, "log_probs", log_probs, fl_floating, "floating point") < 0)
        return -1;
    if (log_probs->ndim != 3)
        return fl_error(FL_RUNTIME_ERROR, "ctc_loss(): log_probs must be [time, batch, classes] or "
                        "[time, classes], got shape %s",
                        fl_shape_text(log_probs->shape, log_probs->ndim));
    if (blank < 0 || blank >= log_probs->shape[2])
        return fl_error(FL_RUNTIME_ERROR, "ctc_loss(): blank must be in label range, 0 to %lld, got "
                        "%lld", (long long)log_probs->shape[2] - 1, (long long)blank);
    static const char *const names[] = {"targets", "input_lengths", "target_lengths"};
    for (int i = 0; i < 3; i++)
        if (fl_expect_index(op, names[i], rest[i].t) < 0 ||
            (i && fl_expect_shape(op, names[i], rest[i].t, 1, log_probs->shape + 1) < 0))
            return -1;
    if (targets->ndim != 1 && !(targets->ndim == 2 && targets->shape[0] == log_probs->shape[1]))
        return fl_error(FL_RUNTIME_ERROR, "ctc_loss(): targets must be [batch, length] or all "
                        "targets one after the other, got shape %s for a batch of %lld",
                        fl_shape_text(targets->shape, targets->ndim),
                        (long long)log_probs->shape[1]);
    return 0;
}

int check_labels(const Sequences &s, int64_t item) {
    const int64_t *target = s.target(item);
    for (int64_t k = 0; k < s.target_lengths[item]; k++)
        if (target[k] < 0 || target[k] >= s.classes)
            return fl_error(FL_RUNTIME_ERROR, "ctc_loss(): target %lld of item %lld is %lld; labels "
                            "go from 0 to %lld", (long long)k, (long long)item,
                            (long long)target[k], (long long)s.classes - 1);
    return 0;
}

int check_lengths(const Sequences &s, const fl_tensor *targets) {
    int64_t total = 0, most = s.stride ? s.stride : targets->numel;
    for (int64_t i = 0; i < s.batch; i++) {
        int64_t input = s.input_lengths[i], target = s.target_lengths[i];
        if (input < 0 || input > s.steps)
            return fl_error(FL_RUNTIME_ERROR, "ctc_loss(): Expected input_lengths to have value at "
                            "most %lld, the steps of log_probs, but got %lld",
                            (long long)s.steps, (long long)input);
        total += target < 0 || target > most ? 0 : target;
        if (target < 0 || target > most || (!s.stride && total > most))
            return fl_error(FL_RUNTIME_ERROR, "ctc_loss(): Expected tensor to have size at least "
                            "the target_lengths: item %lld wants %lld labels of targets of shape "
                            "%s", (long long)i, (long long)target,
                            fl_shape_text(targets->shape, targets->ndim));
        if (check_labels(s, i) < 0)
            return -1;
    }
    return 0;
}

/* What both operators read; `lengths` are the inputs after the scores. */
struct Reader {
    In x, targets, inputs, wanted;
    Sequences s;
    Reader(const fl_tensor *log_probs, const fl_value *rest, int64_t blank)
        : x(log_probs, fl_kind_of_dtype[log_probs->dtype]), targets(rest[0].t, FL_K_I64),
          inputs(rest[1].t, FL_K_I64), wanted(rest[2].t, FL_K_I64),
          s{log_probs->shape[0], log_probs->shape[1], log_probs->shape[2], blank,
            fl_kind_of_dtype[log_probs->dtype], x.as<char>(), targets.as<int64_t>(),
            inputs.as<int64_t>(), wanted.as<int64_t>(),
            rest[0].t->ndim == 2 ? rest[0].t->shape[1] : 0} {}
    bool ok() const { return x.ok() && targets.ok() && inputs.ok() && wanted.ok(); }
};

}  // namespace

extern "C" int fl_infer_ctc_loss_rows(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *log_probs = in[0].t;
    if (fl_same_device(op, in, n) < 0 || check_shapes(op, log_probs, in + 1, in[4].i) < 0)
        return -1;
    /* Gradients take exponentials of it: halves would be off by what they round. */
    fl_spec_set(outs, fl_dtype_of_kind[fl_kind_of_dtype[log_probs->dtype]],
                fl_device_code(log_probs), 1, &log_probs->shape[1]);
    return 0;
}

extern "C" int fl_run_ctc_loss_rows(const fl_op *, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    Reader r(in[0].t, in + 1, in[4].i);
    const Sequences &s = r.s;
    Out out(outs[0], FL_K_F64);
    if (!r.ok() || !out.ok() || check_lengths(s, in[1].t) < 0)
        return -1;
    std::atomic<bool> failed(false);
    fl_parallel(s.batch, 1, [&](int64_t first, int64_t last) {
        Scratch rows(fl_bytes(fl_ctc_row_elements(s), 8));
        if (!rows.ok())
            failed = true;
        for (int64_t i = first; i < last && rows.ok(); i++)
            out.as<double>()[i] = forward(fl_ctc_item_of(s, i), rows.as<double>());
    });
    if (failed)
        return fl_error(FL_MEMORY_ERROR, "ctc_loss(): no memory for the forward variables");
    out.commit();
    return 0;
}

extern "C" int fl_infer_ctc_loss_grad(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *log_probs = in[1].t;
    if (fl_same_device(op, in, n) < 0 || check_shapes(op, log_probs, in + 2, in[6].i) < 0 ||
        fl_expect_shape(op, "grad", in[0].t, 1, &log_probs->shape[1]) < 0 ||
        fl_expect_shape(op, "result", in[5].t, 1, &log_probs->shape[1]) < 0)
        return -1;
    fl_spec_like(outs, log_probs);
    return 0;
}

extern "C" int fl_run_ctc_loss_grad(const fl_op *, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    Reader r(in[1].t, in + 2, in[6].i);
    const Sequences &s = r.s;
    In g(in[0].t, FL_K_F64), loss(in[5].t, FL_K_F64);
    Out out(outs[0], s.kind);
    if (!r.ok() || !g.ok() || !loss.ok() || !out.ok() || check_lengths(s, in[2].t) < 0)
        return -1;
    std::atomic<bool> failed(false);
    fl_parallel(s.batch, 1, [&](int64_t first, int64_t last) {
        Room room(s);
        if (!room.memory.ok())
            failed = true;
        for (int64_t i = first; i < last && room.memory.ok(); i++) {
            double l = loss.as<double>()[i], gi = g.as<double>()[i];
            if (s.kind == FL_K_F64)
                backward(fl_ctc_item_of(s, i), l, gi, room, out.as<double>());
            else
                backward(fl_ctc_item_of(s, i), l, gi, room, out.as<float>());
        }
    });
    if (failed)
        return fl_error(FL_MEMORY_ERROR, "ctc_loss(): no memory for the forward variables");
    out.commit();
    return 0;
}
