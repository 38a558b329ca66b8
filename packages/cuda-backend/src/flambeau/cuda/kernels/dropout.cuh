/* Dropout: numbers are drawn, multiplied with and not written; what was kept is, a byte for each
 * element. Behind packet.cuh and random.cuh. */
template <int D> FL_INLINE bool fl_lies_as_drawn(const fl_drawing &c, int k) {
    const fl_arg &a = c.call.args[k];
    return a.dtype == D && (c.call.ndim == 0 || a.strides[0] == 1);
}

/* native_dropout(input, p, scale): the result, the input, what was kept. A thread takes whole blocks
 * of numbers, and 16 bytes or more of the input. */
template <int D> FL_INLINE void fl_dropout(const fl_drawing &c) {
    typedef FL_STORED(D) stored;
    typedef FL_WIDE(D) wide;
    constexpr int E = sizeof(stored) == 2 ? 8 : 4;
    const wide scale = (wide)c.a;
    const bool near = c.call.ndim <= 1 && fl_lies_as_drawn<D>(c, 0) && fl_lies_as_drawn<D>(c, 1)
                      && fl_lies_as_drawn<0>(c, 2) && fl_is_aligned<stored, E>(c.call, 0)
                      && fl_is_aligned<stored, E>(c.call, 1)
                      && fl_is_aligned<uint8_t, E>(c.call, 2);
    for (int64_t g = FL_THREAD; g * E < c.call.numel; g += FL_THREADS) {
        fl_pack<uint8_t, E> kept;
#pragma unroll
        for (int q = 0; q < E; q += 4) {
            const fl_words words = fl_block_of(c, (g * E + q) / 4);
#pragma unroll
            for (int l = 0; l < 4; l++)
                kept.v[q + l] = words.w[l] < c.range;
        }
        if (near && (g + 1) * E <= c.call.numel) {
            fl_pack<stored, E> x = ((const fl_pack<stored, E> *)c.call.args[1].data)[g];
#pragma unroll
            for (int l = 0; l < E; l++)
                x.v[l] = fl_dtype<D>::narrow(fl_dtype<D>::widen(x.v[l])
                                             * (kept.v[l] ? scale : (wide)0));
            ((fl_pack<stored, E> *)c.call.args[0].data)[g] = x;
            ((fl_pack<uint8_t, E> *)c.call.args[2].data)[g] = kept;
            continue;
        }
        for (int l = 0; l < E && g * E + l < c.call.numel; l++) {
            const int64_t i = g * E + l;
            const wide x = fl_get<wide>(c.call, 1, i);
            fl_put<wide>(c.call, 0, i, x * (kept.v[l] ? scale : (wide)0));
            fl_put<bool>(c.call, 2, i, kept.v[l] != 0);
        }
    }
}
