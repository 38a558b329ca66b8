/* The gradient of maxima, in the order of the results' elements; behind order.cuh and pool.cuh. */
/* max_pool2d_grad(grad, indices, input_size): keys are elements of the result, in order. */
template <class C> FL_INLINE void fl_load_pooled(const C &c) {
    const fl_view &indices = c.views[1], &out = c.views[2];
    int64_t area = out.shape[out.ndim - 2] * out.shape[out.ndim - 1];
    for (int64_t t = FL_THREAD; t < c.items; t += FL_THREADS) {
        fl_in_plane p(indices, t);
        int64_t at = fl_checked_index(fl_read_index(indices, fl_place(indices, t)), area);
        fl_entries(c)[t] = fl_entry{(uint64_t)(p.plane * area + at), t};
    }
}
template <int D, class C> FL_INLINE void fl_max_pool_grad(const C &c) {
    const fl_view &g = c.views[0], &out = c.views[2];
    const fl_entry *entries = fl_entries(c);
    for (int64_t t = FL_THREAD; t < c.items; t += FL_THREADS) {
        if (!fl_begins_run(entries, t))
            continue;
        FL_WIDE(D) sum = 0;
        for (int64_t k = t; k < c.length && entries[k].key == entries[t].key; k++)
            sum += fl_read<D>(g, fl_place(g, entries[k].index));
        fl_write<D>(out, fl_place(out, (int64_t)entries[t].key), sum);
    }
}
