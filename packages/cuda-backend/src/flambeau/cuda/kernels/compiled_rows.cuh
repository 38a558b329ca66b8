/* Compiled rows: what accumulates, and elements side by side of a row. */
FL_INLINE double fl_log_f64(double x) { return FL_BUILTIN(log)(x); }

template <class T> struct fl_row_sum {
    T value;
    __device__ void start() { value = 0; }
    __device__ void take(T x) { value += x; }
};
/* The greatest (SIGN 1) or least (SIGN -1) value; NaN wins. */
template <class T, int SIGN> struct fl_row_extreme {
    T value;
    __device__ void start() { value = (T)(SIGN > 0 ? -FL_INF_F64 : FL_INF_F64); }
    __device__ void take(T x) {
        if (x != x || (SIGN > 0 ? x > value : x < value))
            value = x;
    }
};
template <class T> struct fl_row_max : fl_row_extreme<T, 1> {};
template <class T> struct fl_row_min : fl_row_extreme<T, -1> {};
/* The greatest value that is not NaN. */
template <class T> struct fl_row_above {
    T value;
    __device__ void start() { value = (T)-FL_INF_F64; }
    __device__ void take(T x) {
        if (x > value)
            value = x;
    }
};

/* Where a row of an operand begins: see native/rows.h. */
template <class T, int N> FL_INLINE T *fl_row_of(const fl_call<N> &c, int k, int64_t row) {
    const fl_arg &a = c.args[k];
    const int64_t turn = a.strides[1];
    if (turn)
        return (T *)(a.data + row % turn * a.strides[0] + row / turn * a.strides[2]);
    return (T *)(a.data + row * a.strides[0]);
}

template <class T, int W> FL_INLINE bool fl_is_row_aligned(const T *row) {
    return (uint64_t)row % sizeof(fl_pack<T, W>) == 0;
}

/* Pack g of a row; of one that is not whole the last element stands for those beyond. */
template <class T, int W>
FL_INLINE fl_pack<T, W> fl_get_row_pack(const T *row, int64_t g, int64_t length, bool whole) {
    fl_pack<T, W> found;
    if (whole)
        return ((const fl_pack<T, W> *)row)[g];
#pragma unroll
    for (int v = 0; v < W; v++) {
        const int64_t i = g * W + v;
        found.v[v] = row[i < length ? i : length - 1];
    }
    return found;
}

template <class T, int W>
FL_INLINE void fl_put_row_pack(T *row, int64_t g, int64_t length, bool whole,
                               const fl_pack<T, W> &values) {
    if (whole) {
        ((fl_pack<T, W> *)row)[g] = values;
        return;
    }
#pragma unroll
    for (int v = 0; v < W; v++)
        if (g * W + v < length)
            row[g * W + v] = values.v[v];
}
