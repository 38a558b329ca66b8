/* Cross entropy of class numbers: scores are read once by the loss and once by its gradient, and
 * neither log-probabilities nor their gradients are in memory. A row is what dimension 1 spans; behind
 * softmax.cuh and losses.cuh. */

/* What softmax takes of a row; for smoothed labels also the sums of its weights, and of weights times
 * distances from the greatest score. */
template <class W> struct fl_class_scores {
    fl_online<W> online;
    W distances, weights;
    __device__ void start() {
        online.start();
        distances = weights = 0;
    }
    /* The same sum of distances from another score; before any score was finite there were none. */
    static __device__ W moved(W sum, W weight, W from, W to) {
        return from == to || from == (W)-FL_INF_F64 ? sum : sum + weight * (from - to);
    }
    __device__ void take(W x, W weight) {
        const W before = online.high;
        online.take(x);
        distances = moved(distances, weights, before, online.high);
        distances += weight * (x == (W)-FL_INF_F64 ? x : x - online.high);
        weights += weight;
    }
    __device__ void join(const fl_class_scores &o) {
        const W before = online.high;
        online.join(o.online);
        distances = moved(distances, weights, before, online.high)
                    + moved(o.distances, o.weights, o.online.high, online.high);
        weights += o.weights;
    }
};

/* A row's class, or nothing where it is ignored. */
template <class C>
FL_INLINE bool fl_row_class(const C &c, const fl_view &target, int64_t ignored, int64_t row,
                            int64_t &found) {
    found = fl_read_index(target, fl_row(c, target, row));
    if (found == ignored)
        return false;
    FL_DEMAND(found >= 0 && found < c.length, "target %lld is out of bounds for %lld classes",
              (long long)found, (long long)c.length);
    return true;
}

/* cross_entropy_rows(self, target, weight, reduction, ignore_index, label_smoothing): views in that
 * order, then result, total_weight, highest, log_total. Losses and weights of rows are summed by
 * another kernel. */
template <int D> struct fl_cross_entropy {
    typedef FL_WIDE(D) W;
    typedef fl_class_scores<W> joined;
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        joined acc;
        acc.start();
        const fl_view &weights = c.views[2];
        const fl_operand in[] = {fl_operand_of(c, 0, row)};
        if (fl_word_double(c, 5) == 0)
            acc.online = fl_take_online<D, SIZE>(c, row, from, to, rank);
        else
            fl_each<D, SIZE>(c, in, from, to, rank, [&](int64_t j, const W *x) {
                acc.take(x[0], fl_or<D>(weights, fl_place(weights, j), 1));
            });
        return acc;
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t, int rank,
                                const joined &acc) {
        if (rank || from)
            return;
        const fl_view &x = c.views[0], &weights = c.views[2];
        const W smoothing = (W)fl_word_double(c, 5), log_total = FL_BUILTIN(log)(acc.online.total);
        W loss = 0, weight = 0;
        int64_t found;
        if (fl_row_class(c, c.views[1], fl_word(c, 4), row, found)) {
            weight = fl_or<D>(weights, fl_place(weights, found), 1);
            loss = -weight * (fl_read<D>(x, fl_row(c, x, row) + fl_in_row(c, x, found))
                              - acc.online.high - log_total);
            if (smoothing != 0)
                loss = loss * (1 - smoothing)
                       + (acc.weights * log_total - acc.distances) * (smoothing / (W)c.length);
        }
        if (fl_word(c, 3) == 0)
            fl_write<D>(c.views[3], fl_row(c, c.views[3], row), loss);
        fl_write<D>(c.views[5], fl_row(c, c.views[5], row), acc.online.high);
        fl_write<D>(c.views[6], fl_row(c, c.views[6], row), log_total);
        ((fl_pair<W> *)c.scratch[2])[row] = fl_pair<W>{loss, weight};
    }
};
template <int D, class C> FL_INLINE void fl_cross_entropy_sums(const C &c) {
    fl_sum_losses<D>(c, c.rows, [&](int64_t row, fl_pair<FL_WIDE(D)> &sums) {
        sums.join(((const fl_pair<FL_WIDE(D)> *)c.scratch[2])[row]);
    });
}

/* cross_entropy_grad(self, grad, target, weight, reduction, ignore_index, label_smoothing,
 * total_weight, highest, log_total). */
template <int D> struct fl_cross_entropy_grad {
    typedef FL_WIDE(D) W;
    typedef fl_total<W> joined;
    /* The sum of the weights of all classes, where smoothed labels need it. */
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t, int64_t from, int64_t to, int rank) {
        const fl_view &weights = c.views[3];
        joined sum;
        sum.start();
        if (fl_word_double(c, 6) != 0)
            for (int64_t j = from + rank; j < to; j += SIZE)
                sum.value += fl_or<D>(weights, fl_place(weights, j), 1);
        return sum;
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t to, int rank,
                                const joined &sum) {
        const fl_view &g = c.views[1], &weights = c.views[3];
        auto at = [&](int k) { return fl_read<D>(c.views[k], fl_row(c, c.views[k], row)); };
        const W smoothing = (W)fl_word_double(c, 6), high = at(5), log_total = at(6);
        W own = 0, each = 0;
        int64_t found;
        if (fl_row_class(c, c.views[2], fl_word(c, 5), row, found)) {
            const int64_t reduction = fl_word(c, 4);
            W slope = fl_read<D>(g, reduction ? 0 : fl_row(c, g, row));
            slope = reduction == 1 ? slope / fl_read<D>(c.views[4], 0) : slope;
            own = slope * (1 - smoothing) * fl_or<D>(weights, fl_place(weights, found), 1);
            each = smoothing == 0 ? 0 : slope * (smoothing / (W)c.length);
        }
        const W both = smoothing == 0 ? own : own + each * sum.value;
        const fl_operand in[] = {fl_operand_of(c, 0, row)}, out = fl_operand_of(c, 7, row);
        fl_map<D, SIZE>(c, in, out, from, to, rank, [&](int64_t j, const W *x) {
            W v = both * FL_BUILTIN(exp)(x[0] - high - log_total);
            if (smoothing != 0)
                v -= each * fl_or<D>(weights, fl_place(weights, j), 1);
            return j == found ? v - own : v;
        });
    }
};
