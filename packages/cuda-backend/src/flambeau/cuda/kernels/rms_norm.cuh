/* RMS normalization and its gradients, behind norms.cuh. */

/* native_rms_norm(input, axes, weight, eps): views input, weight, result, rstd. */
template <int D> struct fl_rms_norm {
    typedef FL_WIDE(D) W;
    typedef fl_total<W> joined;
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        joined squares = {0};
        const fl_operand in[] = {fl_operand_of(c, 0, row)};
        fl_each<D, SIZE>(c, in, from, to, rank,
                         [&](int64_t, const W *x) { squares.value += x[0] * x[0]; });
        return squares;
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t to, int rank,
                                const joined &squares) {
        const fl_view &w = c.views[1], &scales = c.views[3];
        const fl_operand in[] = {fl_operand_of(c, 0, row)}, out = fl_operand_of(c, 2, row);
        const W rstd = (W)1
                       / FL_BUILTIN(sqrt)(squares.value / (W)c.length + (W)fl_word_double(c, 3));
        fl_map<D, SIZE>(c, in, out, from, to, rank, [&](int64_t j, const W *x) {
            return x[0] * rstd * fl_or<D>(w, fl_place(w, j), 1);
        });
        if (rank == 0 && from == 0)
            fl_write<D>(scales, fl_row(c, scales, row), rstd);
    }
};

/* rms_norm_grad(grad, input, rstd, weight, axes, eps): by the input. */
template <int D> struct fl_rms_norm_grad {
    typedef FL_WIDE(D) W;
    typedef fl_total<W> joined;
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        const fl_view &w = c.views[3];
        const W rstd = fl_read<D>(c.views[2], fl_row(c, c.views[2], row));
        joined along = {0};
        const fl_operand in[] = {fl_operand_of(c, 0, row), fl_operand_of(c, 1, row)};
        fl_each<D, SIZE>(c, in, from, to, rank, [&](int64_t j, const W *x) {
            along.value += x[0] * fl_or<D>(w, fl_place(w, j), 1) * (x[1] * rstd);
        });
        return along;
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t to, int rank,
                                const joined &along) {
        const fl_view &w = c.views[3];
        const W rstd = fl_read<D>(c.views[2], fl_row(c, c.views[2], row)),
                mean = along.value / (W)c.length;
        const fl_operand in[] = {fl_operand_of(c, 0, row), fl_operand_of(c, 1, row)},
                         out = fl_operand_of(c, 4, row);
        fl_map<D, SIZE>(c, in, out, from, to, rank, [&](int64_t j, const W *x) {
            return rstd * (x[0] * fl_or<D>(w, fl_place(w, j), 1) - x[1] * rstd * mean);
        });
    }
};

/* The same by the weight. */
template <int D, class C> FL_INLINE void fl_rms_norm_weights(const C &c) {
    const fl_view &g = c.views[0], &x = c.views[1], &scales = c.views[2];
    fl_sum_columns<D, 1>(c, 5, [&](int64_t row, int64_t j, FL_WIDE(D) *sums) {
        sums[0] += fl_read<D>(g, fl_row(c, g, row) + fl_in_row(c, g, j))
                   * (fl_read<D>(x, fl_row(c, x, row) + fl_in_row(c, x, j))
                      * fl_read<D>(scales, fl_row(c, scales, row)));
    });
}
