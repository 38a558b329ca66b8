/* Elements of memory as registers of a fused kernel, by dtype code: integers in int64_t, half types
 * in float. */
template <int D> struct fl_memory;
#define FL_MEMORY(D, M, R, GET, PUT)                                                             \
    template <> struct fl_memory<D> {                                                            \
        typedef M type;                                                                          \
        FL_INLINE R get(M x) { return GET; }                                                     \
        FL_INLINE M put(R x) { return PUT; }                                                     \
    };
FL_MEMORY(0, uint8_t, bool, x != 0, x)
FL_MEMORY(1, uint8_t, int64_t, x, (uint8_t)x)
FL_MEMORY(2, signed char, int64_t, x, (signed char)x)
FL_MEMORY(3, short, int64_t, x, (short)x)
FL_MEMORY(4, int32_t, int64_t, x, (int32_t)x)
FL_MEMORY(5, int64_t, int64_t, x, x)
FL_MEMORY(6, uint16_t, int64_t, x, (uint16_t)x)
FL_MEMORY(7, uint32_t, int64_t, x, (uint32_t)x)
FL_MEMORY(8, uint64_t, int64_t, (int64_t)x, (uint64_t)x)
FL_MEMORY(9, uint16_t, float, fl_from_f16(x), fl_to_f16(x))
FL_MEMORY(10, uint16_t, float, fl_from_bf16(x), fl_to_bf16(x))
FL_MEMORY(11, float, float, x, x)
FL_MEMORY(12, double, double, x, x)
FL_MEMORY(13, fl_c64, fl_c64, x, x)
FL_MEMORY(14, fl_c128, fl_c128, x, x)

/* What is left of a number after it was stored as float16. */
FL_INLINE float fl_half_f32(float x) { return fl_from_f16(fl_to_f16(x)); }

/* Where the operands' elements of index i lie. Indices are divided once for all operands, in 32
 * bits where they fit. */
template <class I, int N> FL_INLINE void fl_walk(const fl_call<N> &c, I i, int64_t *at) {
    for (int32_t d = c.ndim - 1; d >= 0; d--) {
        const I size = (I)c.shape[d], next = i / size;
        const int64_t step = (int64_t)(i - next * size);
#pragma unroll
        for (int k = 0; k < N; k++)
            at[k] += step * c.args[k].strides[d];
        i = next;
    }
}

template <int N> struct fl_places {
    int64_t at[N];
    FL_INLINE fl_places of(const fl_call<N> &c, int64_t i) {
        fl_places found = {};
        if (c.numel >> 31)
            fl_walk<uint64_t>(c, (uint64_t)i, found.at);
        else
            fl_walk<uint32_t>(c, (uint32_t)i, found.at);
        return found;
    }
};

template <int D, int N>
FL_INLINE auto fl_get_at(const fl_call<N> &c, int k, const fl_places<N> &places) {
    typedef typename fl_memory<D>::type M;
    return fl_memory<D>::get(((const M *)c.args[k].data)[places.at[k]]);
}

template <int D, int N, class R>
FL_INLINE void fl_put_at(const fl_call<N> &c, int k, const fl_places<N> &places, R x) {
    typedef typename fl_memory<D>::type M;
    ((M *)c.args[k].data)[places.at[k]] = fl_memory<D>::put(x);
}
