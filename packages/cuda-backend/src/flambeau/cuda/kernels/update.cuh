/* An update rule over the rows of tensors of a launch: see native/update.h. */

/* The row of this block. */
template <class C> FL_INLINE int fl_row_of_block(const C &c) {
    int low = 0, high = c.rows - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (c.row[middle].first <= (int64_t)blockIdx.x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

template <class T, class C> FL_INLINE T fl_rule_value(const C &c, int k, int row) {
    const fl_rule_number &number = c.numbers[k];
    return (T)(number.found ? number.found[c.row[row].place * number.step] : number.value);
}

/* Pack g of a row's tensor; the last element stands for those beyond. */
template <class M, int W>
FL_INLINE fl_pack<M, W> fl_row_pack(const char *data, int64_t g, bool whole, int64_t numel) {
    if (whole)
        return ((const fl_pack<M, W> *)data)[g];
    fl_pack<M, W> found;
    for (int v = 0; v < W; v++) {
        const int64_t i = g * W + v;
        found.v[v] = ((const M *)data)[i < numel ? i : numel - 1];
    }
    return found;
}

template <class M, int W>
FL_INLINE void fl_put_row_pack(char *data, int64_t g, bool whole, int64_t numel,
                               const fl_pack<M, W> &values) {
    if (whole) {
        ((fl_pack<M, W> *)data)[g] = values;
        return;
    }
    for (int v = 0; v < W; v++)
        if (g * W + v < numel)
            ((M *)data)[g * W + v] = values.v[v];
}
