/* Forward and backward variables as probabilities, scaled so that those of a step sum up to one
 * (Rabiner, 1989): a step takes one exponential for each label, and no logarithm for each state.
 *
 * A state far less likely than the others is lost. That is right unless all likelier ones turn out
 * to be dead ends, which the likelihood shows: where it is out of the range that is safe, and
 * something was lost, or where a number is not finite, the logarithms of ctc.cpp have to do. */
#include "loss/ctc.h"

namespace {

const double LEAST = 1e-290;        /* what is kept of a state's share */
const double SAFE_LOG = -500;       /* of the likelihood where something was lost: LEAST is less */

struct Walk {
    const fl_ctc_item &item;
    double *labels;                 /* of a step: blank's probability, then those of the labels */
    bool lost;

    double of(int64_t state) const { return state & 1 ? labels[1 + state / 2] : labels[0]; }

    /* Probabilities of a step, of which the greatest is 1; the logarithm of its own. */
    double load(int64_t t) {
        const int64_t n = item.labels;
        double most = item.score(t, 0);
        labels[0] = most;
        for (int64_t i = 0; i < n; i++) {
            const double x = item.score(t, 2 * i + 1);
            labels[1 + i] = x;
            most = x > most ? x : most;
        }
        for (int64_t i = 0; i <= n; i++) {
            const double x = labels[i];
            labels[i] = exp(x - most);
            lost |= labels[i] == 0 && x > -INFINITY;
        }
        return most;
    }

    /* row /= its sum, without what is too small; returns the sum. */
    double scale(double *row) {
        const int64_t n = item.states();
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += row[k];
        const double by = 1 / sum;
        bool small = false;
        for (int64_t k = 0; k < n; k++) {
            const double x = row[k] * by;
            small |= (x < LEAST) & (row[k] > 0);
            row[k] = x < LEAST ? 0 : x;
        }
        lost |= small;
        return sum;
    }

    void start(double *row) {
        for (int64_t k = 0; k < item.states(); k++)
            row[k] = k < 2 ? of(k) : 0;
    }

    void advance(const double *before, double *row) {
        const int64_t n = item.states();
        row[0] = before[0] * labels[0];
        for (int64_t k = 1; k < n; k++) {
            double sum = before[k] + before[k - 1];
            if (item.skips(k))
                sum += before[k - 2];
            row[k] = sum * of(k);
        }
    }

    /* What follows step t, where `after`, which is changed, follows t + 1. */
    void retreat(double *after, double *row) {
        const int64_t n = item.states();
        for (int64_t k = 0; k < n; k++)
            after[k] *= of(k);
        for (int64_t k = 0; k < n; k++) {
            double sum = after[k] + (k + 1 < n ? after[k + 1] : 0);
            if (k + 2 < n && item.skips(k + 2))
                sum += after[k + 2];
            row[k] = sum;
        }
    }
};

/* The greatest sum of exponentials that the steps of a path may have, in logarithms: 0 where the
 * scores are logarithms of probabilities. */
double most_of_paths(const fl_ctc_item &item) {
    double all = 0;
    for (int64_t t = 0; t < item.steps; t++) {
        double sum = 0;
        for (int64_t c = 0; c < item.s.classes; c++)
            sum += exp(item.s.score(t, item.number, c));
        all += sum > 1 ? log(sum) : 0;
    }
    return all;
}

/* Whether a likelihood can be what was lost. */
bool is_safe(const Walk &walk, double log_likelihood) {
    return !walk.lost || log_likelihood - most_of_paths(walk.item) > SAFE_LOG;
}

/* The logarithm of the likelihood; each step's row follows the one before after `step` elements. */
double walk_forward(Walk &walk, double *rows, int64_t step, bool keep) {
    const fl_ctc_item &item = walk.item;
    double *now = rows, total = walk.load(0);
    walk.start(now);
    total += log(walk.scale(now));
    for (int64_t t = 1; t < item.steps; t++) {
        double *next = keep ? now + step : now == rows ? rows + step : rows;
        total += walk.load(t);
        walk.advance(now, next);
        total += log(walk.scale(next));
        now = next;
    }
    const int64_t last = item.states() - 1;
    return total + log(last > 0 ? now[last] + now[last - 1] : now[last]);
}

}  // namespace

double fl_ctc_scaled_loss(const fl_ctc_item &item, double *rows) {
    Walk walk{item, rows + 2 * item.states(), false};
    const double found = walk_forward(walk, rows, item.states(), false);
    return isfinite(found) && is_safe(walk, found) ? -found : NAN;
}

bool fl_ctc_scaled_paths(const fl_ctc_item &item, double *rows, double *probabilities) {
    const int64_t n = item.states();
    Walk walk{item, rows + 2 * n, false};
    const double found = walk_forward(walk, probabilities, n, true);
    if (!isfinite(found))
        return false;
    double *now = rows, *after = rows + n;
    for (int64_t t = item.steps - 1; t >= 0; t--) {
        if (t == item.steps - 1) {
            for (int64_t k = 0; k < n; k++)
                now[k] = k >= n - 2;
        } else {
            walk.load(t + 1);
            walk.retreat(after, now);
        }
        walk.scale(now);
        double sum = 0, *row = probabilities + t * n;
        for (int64_t k = 0; k < n; k++)
            sum += row[k] *= now[k];
        if (!(sum > LEAST))
            return false;
        for (int64_t k = 0; k < n; k++)
            row[k] /= sum;
        double *swap = now;
        now = after;
        after = swap;
    }
    return is_safe(walk, found);
}
