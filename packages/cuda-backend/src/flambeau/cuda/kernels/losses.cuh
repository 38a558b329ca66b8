/* Negative log likelihood. Classes lie along dimension 1, or 0 of a single sample. */

/* Target i, its weight and where its class lies; false where the target is ignored. */
template <int D> struct fl_target {
    int64_t at;
    FL_WIDE(D) weight;
    __device__ bool find(const fl_head &c, const fl_view &x, const fl_view &target,
                         const fl_view &weights, int64_t ignored, int64_t i) {
        int classes = x.ndim > 1 ? 1 : 0;
        int64_t picked = fl_read_index(target, fl_place(target, i));
        weight = 0;
        if (picked == ignored)
            return false;
        FL_DEMAND(picked >= 0 && picked < x.shape[classes],
                  "target %lld is out of bounds for %lld classes", (long long)picked,
                  (long long)x.shape[classes]);
        weight = weights.data ? fl_read<D>(weights, fl_place(weights, picked)) : (FL_WIDE(D))1;
        at = picked * x.strides[classes];
        fl_split rest(i);
        for (int d = x.ndim - 1; d >= 0 && x.ndim > 1; d--)
            if (d != 1)
                at += rest.take(x.shape[d]) * x.strides[d];
        return true;
    }
};

/* nll_loss_rows(self, target, weight, reduction, ignore_index): views in that order, then result
 * and total_weight. The loss of each row where nothing is reduced. */
template <int D, class C> FL_INLINE void fl_nll_rows(const C &c) {
    for (int64_t i = FL_THREAD; i < c.items && fl_word(c, 3) == 0; i += FL_THREADS) {
        fl_target<D> t;
        bool counts = t.find(c, c.views[0], c.views[1], c.views[2], fl_word(c, 4), i);
        fl_write<D>(c.views[3], fl_place(c.views[3], i),
                    counts ? -fl_read<D>(c.views[0], t.at) * t.weight : (FL_WIDE(D))0);
    }
}

/* Losses and weights of n rows, which `add` gives one by one: a block for each part, and where there
 * are several parts another kernel joins them. The fourth view gets the loss, the fifth the weight. */
template <int D, class C>
FL_INLINE void fl_write_losses(const C &c, const fl_pair<FL_WIDE(D)> &sums) {
    const int64_t reduction = fl_word(c, 3);
    if (reduction)
        fl_write<D>(c.views[3], 0, reduction == 1 ? sums.first / sums.second : sums.first);
    fl_write<D>(c.views[4], 0, sums.second);
}
template <int D, class C, class F> FL_INLINE void fl_sum_losses(const C &c, int64_t n, F add) {
    typedef fl_pair<FL_WIDE(D)> pair;
    fl_team<256> team;
    const int64_t share = (n + c.parts - 1) / c.parts;
    for (int64_t part = team.first; part < c.parts; part += team.step) {
        const int64_t end = (part + 1) * share < n ? (part + 1) * share : n;
        pair sums = {0, 0};
        for (int64_t i = part * share + team.rank; i < end; i += 256)
            add(i, sums);
        sums = team.join(sums);
        if (team.rank)
            continue;
        if (c.parts == 1)
            fl_write_losses<D>(c, sums);
        else
            ((pair *)c.scratch[1])[part] = sums;
    }
}
template <int D, class C> FL_INLINE void fl_join_losses(const C &c) {
    typedef fl_pair<FL_WIDE(D)> pair;
    fl_team<256> team;
    pair sums = {0, 0};
    for (int64_t part = team.rank; part < c.parts; part += 256)
        sums.join(((const pair *)c.scratch[1])[part]);
    sums = team.join(sums);
    if (team.rank == 0)
        fl_write_losses<D>(c, sums);
}

template <int D, class C> FL_INLINE void fl_nll_sums(const C &c) {
    fl_sum_losses<D>(c, c.views[1].numel, [&](int64_t i, fl_pair<FL_WIDE(D)> &sums) {
        fl_target<D> t;
        if (t.find(c, c.views[0], c.views[1], c.views[2], fl_word(c, 4), i))
            sums.first -= fl_read<D>(c.views[0], t.at) * t.weight;
        sums.second += t.weight;
    });
}

/* nll_loss_grad(grad, self, target, weight, reduction, ignore_index, total_weight), for zeros. */
template <int D, class C> FL_INLINE void fl_nll_grad(const C &c) {
    const fl_view &g = c.views[0], &out = c.views[5];
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_target<D> t;
        if (!t.find(c, out, c.views[2], c.views[3], fl_word(c, 5), i))
            continue;
        FL_WIDE(D) slope = fl_read<D>(g, g.ndim ? fl_place(g, i) : 0);
        if (fl_word(c, 4) == 1)
            slope /= fl_read<D>(c.views[4], 0);
        fl_write<D>(out, t.at, -t.weight * slope);
    }
}
