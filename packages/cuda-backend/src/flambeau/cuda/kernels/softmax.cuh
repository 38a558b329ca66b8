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

/* Elements from..to of a row of the first view. */
template <int D, int SIZE, class C>
FL_INLINE fl_online<FL_WIDE(D)> fl_take_online(const C &c, int64_t row, int64_t from, int64_t to,
                                               int rank) {
    fl_online<FL_WIDE(D)> acc;
    acc.start();
    const fl_operand in[] = {fl_operand_of(c, 0, row)};
    fl_each<D, SIZE>(c, in, from, to, rank,
                     [&](int64_t, const FL_WIDE(D) *x) { acc.take(x[0]); });
    return acc;
}

/* softmax(self, dim, dtype) */
template <int D, bool LOG> struct fl_softmax {
    typedef fl_online<FL_WIDE(D)> joined;
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        return fl_take_online<D, SIZE>(c, row, from, to, rank);
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t to, int rank,
                                const joined &acc) {
        const FL_WIDE(D) shift = LOG ? FL_BUILTIN(log)(acc.total) : acc.total;
        const fl_operand in[] = {fl_operand_of(c, 0, row)}, out = fl_operand_of(c, 1, row);
        fl_map<D, SIZE>(c, in, out, from, to, rank, [&](int64_t, const FL_WIDE(D) *x) {
            const FL_WIDE(D) v = x[0] - acc.high;
            return LOG ? v - shift : FL_BUILTIN(exp)(v) / shift;
        });
    }
};

/* log_softmax_at(self, dim, index): 0 where the index is outside. */
template <int D> struct fl_log_softmax_at {
    typedef fl_online<FL_WIDE(D)> joined;
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        return fl_take_online<D, SIZE>(c, row, from, to, rank);
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t, int rank,
                                const joined &acc) {
        if (rank || from)
            return;
        const fl_view &x = c.views[0], &index = c.views[1], &y = c.views[2];
        const int64_t at = fl_read_index(index, fl_row(c, index, row));
        FL_WIDE(D) found = 0;
        if (at >= 0 && at < c.length)
            found = fl_read<D>(x, fl_row(c, x, row) + fl_in_row(c, x, at)) - acc.high
                    - FL_BUILTIN(log)(acc.total);
        fl_write<D>(y, fl_row(c, y, row), found);
    }
};

/* softmax_grad(grad, result, dim) */
template <int D, bool LOG> struct fl_softmax_grad {
    typedef fl_total<FL_WIDE(D)> joined;
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        joined sum;
        sum.start();
        const fl_operand in[] = {fl_operand_of(c, 0, row), fl_operand_of(c, LOG ? 0 : 1, row)};
        fl_each<D, SIZE>(c, in, from, to, rank, [&](int64_t, const FL_WIDE(D) *x) {
            sum.value += LOG ? x[0] : x[0] * x[1];
        });
        return sum;
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t to, int rank,
                                const joined &sum) {
        const fl_operand in[] = {fl_operand_of(c, 0, row), fl_operand_of(c, 1, row)},
                         out = fl_operand_of(c, 2, row);
        fl_map<D, SIZE>(c, in, out, from, to, rank, [&](int64_t, const FL_WIDE(D) *x) {
            return LOG ? x[0] - FL_BUILTIN(exp)(x[1]) * sum.value : x[1] * (x[0] - sum.value);
        });
    }
};
