/* Softmax, its logarithm and their gradients: a warp or a block for each row, two passes. */

/* Greatest value and the sum of exp(x - greatest), in one pass. */
template <class W> struct fl_online {
    W high, total;
    __device__ void start() {
        high = (W)-FL_INF_F64;
        total = 0;
    }
    __device__ void take(W x) {
        if (x == (W)-FL_INF_F64)
            return;
        if (x > high || x != x) {
            total = total * FL_BUILTIN(exp)(high - x) + FL_BUILTIN(exp)(x - x);
            high = x;
        } else {
            total += FL_BUILTIN(exp)(x - high);
        }
    }
    __device__ void join(const fl_online &o) {
        if (o.high == (W)-FL_INF_F64)
            return;
        if (o.high > high || o.high != o.high) {
            total = total * FL_BUILTIN(exp)(high - o.high) + o.total;
            high = o.high;
        } else {
            total += o.total * FL_BUILTIN(exp)(o.high - high);
        }
    }
};

template <int D, int SIZE, class C>
FL_INLINE fl_online<FL_WIDE(D)> fl_row_online(const C &c, const fl_team<SIZE> &team, int64_t base) {
    fl_online<FL_WIDE(D)> acc;
    acc.start();
    for (int64_t j = team.rank; j < c.length; j += SIZE)
        acc.take(fl_read<D>(c.views[0], base + fl_in_row(c, c.views[0], j)));
    return team.join(acc);
}

/* softmax(self, dim, dtype) */
template <int D, int SIZE, bool LOG, class C> FL_INLINE void fl_softmax(const C &c) {
    fl_team<SIZE> team;
    const fl_view &x = c.views[0], &y = c.views[1];
    for (int64_t row = team.first; row < c.items; row += team.step) {
        int64_t from = fl_row(c, x, row), to = fl_row(c, y, row);
        auto acc = fl_row_online<D>(c, team, from);
        FL_WIDE(D) shift = LOG ? FL_BUILTIN(log)(acc.total) : acc.total;
        for (int64_t j = team.rank; j < c.length; j += SIZE) {
            FL_WIDE(D) v = fl_read<D>(x, from + fl_in_row(c, x, j)) - acc.high;
            fl_write<D>(y, to + fl_in_row(c, y, j), LOG ? v - shift : FL_BUILTIN(exp)(v) / shift);
        }
    }
}

/* log_softmax_at(self, dim, index): 0 where the index is outside. */
template <int D, int SIZE, class C> FL_INLINE void fl_log_softmax_at(const C &c) {
    fl_team<SIZE> team;
    for (int64_t row = team.first; row < c.items; row += team.step) {
        int64_t from = fl_row(c, c.views[0], row);
        auto acc = fl_row_online<D>(c, team, from);
        if (team.rank)
            continue;
        int64_t at = fl_read_index(c.views[1], fl_row(c, c.views[1], row));
        FL_WIDE(D) found = 0;
        if (at >= 0 && at < c.length)
            found = fl_read<D>(c.views[0], from + fl_in_row(c, c.views[0], at)) - acc.high
                    - FL_BUILTIN(log)(acc.total);
        fl_write<D>(c.views[2], fl_row(c, c.views[2], row), found);
    }
}

/* softmax_grad(grad, result, dim) */
template <int D, int SIZE, bool LOG, class C> FL_INLINE void fl_softmax_grad(const C &c) {
    fl_team<SIZE> team;
    const fl_view &g = c.views[0], &y = c.views[1], &out = c.views[2];
    for (int64_t row = team.first; row < c.items; row += team.step) {
        int64_t at_g = fl_row(c, g, row), at_y = fl_row(c, y, row), to = fl_row(c, out, row);
        fl_total<FL_WIDE(D)> sum = {0};
        for (int64_t j = team.rank; j < c.length; j += SIZE) {
            FL_WIDE(D) slope = fl_read<D>(g, at_g + fl_in_row(c, g, j));
            sum.value += LOG ? slope : slope * fl_read<D>(y, at_y + fl_in_row(c, y, j));
        }
        sum = team.join(sum);
        for (int64_t j = team.rank; j < c.length; j += SIZE) {
            FL_WIDE(D) slope = fl_read<D>(g, at_g + fl_in_row(c, g, j)),
                       v = fl_read<D>(y, at_y + fl_in_row(c, y, j));
            fl_write<D>(out, to + fl_in_row(c, out, j),
                        LOG ? slope - FL_BUILTIN(exp)(v) * sum.value : v * (slope - sum.value));
        }
    }
}
