/* What generated kernels share: arguments, elements of every dtype, walks over strides.
 *
 * The text is compiled by NVRTC, and in the tests by a C++ compiler; it uses nothing but the
 * helpers of rendered formulas and native/arguments.h. */
#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
#endif
#define FL_THREAD ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define FL_THREADS ((int64_t)gridDim.x * blockDim.x)

/* ---- numbers of one kind from those of another ----------------------------------------------- */
template <class T> struct fl_to {
    template <class V> FL_INLINE T of(V v) { return (T)v; }
    FL_INLINE T of(fl_c64 v) { return (T)v.re; }
    FL_INLINE T of(fl_c128 v) { return (T)v.re; }
};
template <> struct fl_to<bool> {
    template <class V> FL_INLINE bool of(V v) { return v != (V)0; }
    FL_INLINE bool of(fl_c64 v) { return v.re != 0 || v.im != 0; }
    FL_INLINE bool of(fl_c128 v) { return v.re != 0 || v.im != 0; }
};
template <> struct fl_to<fl_c64> {
    template <class V> FL_INLINE fl_c64 of(V v) { return fl_c64{(float)v, 0.0f}; }
    FL_INLINE fl_c64 of(fl_c64 v) { return v; }
    FL_INLINE fl_c64 of(fl_c128 v) { return fl_c64{(float)v.re, (float)v.im}; }
};
template <> struct fl_to<fl_c128> {
    template <class V> FL_INLINE fl_c128 of(V v) { return fl_c128{(double)v, 0.0}; }
    FL_INLINE fl_c128 of(fl_c64 v) { return fl_c128{(double)v.re, (double)v.im}; }
    FL_INLINE fl_c128 of(fl_c128 v) { return v; }
};

/* ---- half precision -------------------------------------------------------------------------- */
FL_INLINE float fl_from_bf16(uint16_t h) { return fl_bit_cast<float>((uint32_t)h << 16); }
FL_INLINE uint16_t fl_to_bf16(float x) {
    uint32_t b = fl_bit_cast<uint32_t>(x);
    if (x != x)
        return 0x7fc0;
    return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
FL_INLINE float fl_from_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00)
        return fl_bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    if (rest >= 0x400)
        return fl_bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
    float tiny = (float)rest * 5.9604644775390625e-08f;        /* 2**-24 */
    return sign ? -tiny : tiny;
}
/* Adding a power of two 13 bits above the last bit to be kept rounds to nearest even. */
FL_INLINE uint16_t fl_to_f16(float x) {
    uint32_t b = fl_bit_cast<uint32_t>(x), sign = b >> 16 & 0x8000, rest = b & 0x7fffffffu;
    if (rest > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000u) {
        float shifted = fl_bit_cast<float>(rest) + 0.5f;
        return (uint16_t)(sign | (fl_bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
    return (uint16_t)(sign | ((rest + 0xfff + (rest >> 13 & 1) - 0x38000000u) >> 13));
}

/* ---- elements -------------------------------------------------------------------------------- */
template <class T> FL_SLOW T fl_load(const char *data, int32_t dtype, int64_t i) {
    switch (dtype) {
    case 0: return fl_to<T>::of((int64_t)(((const uint8_t *)data)[i] != 0));
    case 1: return fl_to<T>::of((int64_t)((const uint8_t *)data)[i]);
    case 2: return fl_to<T>::of((int64_t)((const signed char *)data)[i]);
    case 3: return fl_to<T>::of((int64_t)((const short *)data)[i]);
    case 4: return fl_to<T>::of((int64_t)((const int32_t *)data)[i]);
    case 5: return fl_to<T>::of(((const int64_t *)data)[i]);
    case 6: return fl_to<T>::of((int64_t)((const unsigned short *)data)[i]);
    case 7: return fl_to<T>::of((int64_t)((const uint32_t *)data)[i]);
    case 8: return fl_to<T>::of(((const uint64_t *)data)[i]);
    case 9: return fl_to<T>::of(fl_from_f16(((const unsigned short *)data)[i]));
    case 10: return fl_to<T>::of(fl_from_bf16(((const unsigned short *)data)[i]));
    case 11: return fl_to<T>::of(((const float *)data)[i]);
    case 12: return fl_to<T>::of(((const double *)data)[i]);
    case 13: return fl_to<T>::of(((const fl_c64 *)data)[i]);
    default: return fl_to<T>::of(((const fl_c128 *)data)[i]);
    }
}

template <class T> FL_SLOW void fl_store(char *data, int32_t dtype, int64_t i, T v) {
    switch (dtype) {
    case 0: ((uint8_t *)data)[i] = fl_to<bool>::of(v); break;
    case 1:
    case 2: ((uint8_t *)data)[i] = (uint8_t)fl_to<int64_t>::of(v); break;
    case 3:
    case 6: ((unsigned short *)data)[i] = (unsigned short)fl_to<int64_t>::of(v); break;
    case 4:
    case 7: ((uint32_t *)data)[i] = (uint32_t)fl_to<int64_t>::of(v); break;
    case 5:
    case 8: ((int64_t *)data)[i] = fl_to<int64_t>::of(v); break;
    case 9: ((unsigned short *)data)[i] = fl_to_f16(fl_to<float>::of(v)); break;
    case 10: ((unsigned short *)data)[i] = fl_to_bf16(fl_to<float>::of(v)); break;
    case 11: ((float *)data)[i] = fl_to<float>::of(v); break;
    case 12: ((double *)data)[i] = fl_to<double>::of(v); break;
    case 13: ((fl_c64 *)data)[i] = fl_to<fl_c64>::of(v); break;
    default: ((fl_c128 *)data)[i] = fl_to<fl_c128>::of(v);
    }
}

/* ---- numbers instead of operands, and run-time scalars --------------------------------------- */
template <class T> struct fl_number {
    FL_INLINE T of(const fl_arg &a) { return (T)a.re; }
};
template <> struct fl_number<int64_t> {
    FL_INLINE int64_t of(const fl_arg &a) { return a.integer; }
};
template <> struct fl_number<bool> {
    FL_INLINE bool of(const fl_arg &a) { return a.integer != 0; }
};
template <> struct fl_number<fl_c64> {
    FL_INLINE fl_c64 of(const fl_arg &a) { return fl_c64{(float)a.re, (float)a.im}; }
};
template <> struct fl_number<fl_c128> {
    FL_INLINE fl_c128 of(const fl_arg &a) { return fl_c128{a.re, a.im}; }
};

/* ---- walks ----------------------------------------------------------------------------------- */
/* Element i of a strided operand: the last dimension varies fastest. */
FL_INLINE int64_t fl_offset(int64_t i, int32_t ndim, const int64_t *shape, const int64_t *strides) {
    int64_t at = 0;
    for (int32_t d = ndim - 1; d >= 0; d--) {
        at += i % shape[d] * strides[d];
        i /= shape[d];
    }
    return at;
}

template <class T, class C> FL_INLINE T fl_get(const C &c, int k, int64_t i) {
    const fl_arg &a = c.args[k];
    if (a.is_number)
        return fl_number<T>::of(a);
    return fl_load<T>(a.data, a.dtype, fl_offset(i, c.ndim, c.shape, a.strides));
}

template <class T, class C> FL_INLINE void fl_put(const C &c, int k, int64_t i, T v) {
    const fl_arg &a = c.args[k];
    fl_store<T>(a.data, a.dtype, fl_offset(i, c.ndim, c.shape, a.strides), v);
}

/* The same where everything is contiguous and of the kernel's own dtype. */
template <class T, class C> FL_INLINE T fl_get_near(const C &c, int k, int64_t i) {
    const fl_arg &a = c.args[k];
    return a.is_number ? fl_number<T>::of(a) : ((const T *)a.data)[i];
}

/* N elements side by side, which are loaded and stored by one instruction where they lie at a
 * multiple of their size. */
template <class T, int N> struct alignas(sizeof(T) * N) fl_pack {
    T v[N];
};

template <class T, int N, class C> FL_INLINE bool fl_is_aligned(const C &c, int k) {
    return c.args[k].is_number || (uint64_t)c.args[k].data % sizeof(fl_pack<T, N>) == 0;
}

/* Pack g of an operand; of one that is not whole the last element stands for those beyond. */
template <class T, int N, class C>
FL_INLINE fl_pack<T, N> fl_get_pack(const C &c, int k, int64_t g, bool whole) {
    const fl_arg &a = c.args[k];
    fl_pack<T, N> found;
    if (a.is_number) {
        const T number = fl_number<T>::of(a);
        for (int v = 0; v < N; v++)
            found.v[v] = number;
    } else if (whole) {
        found = ((const fl_pack<T, N> *)a.data)[g];
    } else {
        for (int v = 0; v < N; v++) {
            const int64_t i = g * N + v;
            found.v[v] = ((const T *)a.data)[i < c.numel ? i : c.numel - 1];
        }
    }
    return found;
}

template <class T, int N, class C>
FL_INLINE void fl_put_pack(const C &c, int k, int64_t g, bool whole, const fl_pack<T, N> &values) {
    char *data = c.args[k].data;
    if (whole) {
        ((fl_pack<T, N> *)data)[g] = values;
        return;
    }
    for (int v = 0; v < N; v++)
        if (g * N + v < c.numel)
            ((T *)data)[g * N + v] = values.v[v];
}

template <class T, class C> FL_INLINE void fl_put_near(const C &c, int k, int64_t i, T v) {
    ((T *)c.args[k].data)[i] = v;
}
