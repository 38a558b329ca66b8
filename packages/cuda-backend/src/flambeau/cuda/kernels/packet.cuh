/* What kernels of our own share: elements of one dtype, places in views, teams of threads. */

/* ---- dtypes ------------------------------------------------------------------------------------- */
/* `stored` is what memory holds, `wide` what is computed with. */
template <int CODE> struct fl_dtype;
#define FL_PLAIN_DTYPE(code, type, wider)                                                        \
    template <> struct fl_dtype<code> {                                                          \
        typedef type stored;                                                                     \
        typedef wider wide;                                                                      \
        FL_INLINE wide widen(stored v) { return (wide)v; }                                       \
        FL_INLINE stored narrow(wide v) { return (stored)v; }                                    \
    };
FL_PLAIN_DTYPE(1, uint8_t, int64_t)
FL_PLAIN_DTYPE(2, signed char, int64_t)
FL_PLAIN_DTYPE(3, short, int64_t)
FL_PLAIN_DTYPE(4, int32_t, int64_t)
FL_PLAIN_DTYPE(5, int64_t, int64_t)
FL_PLAIN_DTYPE(6, unsigned short, int64_t)
FL_PLAIN_DTYPE(7, uint32_t, int64_t)
FL_PLAIN_DTYPE(8, uint64_t, uint64_t)
FL_PLAIN_DTYPE(11, float, float)
FL_PLAIN_DTYPE(12, double, double)
FL_PLAIN_DTYPE(13, fl_c64, fl_c64)
FL_PLAIN_DTYPE(14, fl_c128, fl_c128)
template <> struct fl_dtype<0> {
    typedef uint8_t stored;
    typedef bool wide;
    FL_INLINE bool widen(uint8_t v) { return v != 0; }
    FL_INLINE uint8_t narrow(bool v) { return v; }
};
template <> struct fl_dtype<9> {
    typedef unsigned short stored;
    typedef float wide;
    FL_INLINE float widen(stored v) { return fl_from_f16(v); }
    FL_INLINE stored narrow(float v) { return fl_to_f16(v); }
};
template <> struct fl_dtype<10> {
    typedef unsigned short stored;
    typedef float wide;
    FL_INLINE float widen(stored v) { return fl_from_bf16(v); }
    FL_INLINE stored narrow(float v) { return fl_to_bf16(v); }
};

#define FL_WIDE(D) typename fl_dtype<D>::wide
#define FL_STORED(D) typename fl_dtype<D>::stored

/* ---- elements ------------------------------------------------------------------------------------ */
/* The branch is the same for all threads; views mostly have the kernel's dtype. */
template <int D> FL_INLINE FL_WIDE(D) fl_read(const fl_view &v, int64_t at) {
    if (v.dtype == D)
        return fl_dtype<D>::widen(((const FL_STORED(D) *)v.data)[at]);
    return fl_load<FL_WIDE(D)>(v.data, v.dtype, at);
}
template <int D> FL_INLINE void fl_write(const fl_view &v, int64_t at, FL_WIDE(D) x) {
    if (v.dtype == D)
        ((FL_STORED(D) *)v.data)[at] = fl_dtype<D>::narrow(x);
    else
        fl_store(v.data, v.dtype, at, x);
}
/* Indices: int64, or whatever integers a view has. */
FL_INLINE int64_t fl_read_index(const fl_view &v, int64_t at) {
    return v.dtype == 5 ? ((const int64_t *)v.data)[at] : fl_load<int64_t>(v.data, v.dtype, at);
}
FL_INLINE void fl_write_index(const fl_view &v, int64_t at, int64_t x) {
    if (v.dtype == 5)
        ((int64_t *)v.data)[at] = x;
    else
        fl_store(v.data, v.dtype, at, x);
}

/* ---- words --------------------------------------------------------------------------------------- */
FL_INLINE int64_t fl_word(const fl_head &c, int parameter, int k = 0) {
    return c.words[c.starts[parameter] + k];
}
FL_INLINE double fl_word_double(const fl_head &c, int parameter, int k = 0) {
    return fl_bit_cast<double>(fl_word(c, parameter, k));
}
/* How many words a parameter has: none where it is not given. */
FL_INLINE int fl_count(const fl_head &c, int parameter) {
    return c.starts[parameter + 1] - c.starts[parameter];
}
template <class T> struct fl_scalar {
    FL_INLINE T of(int64_t, double re, double) { return (T)re; }
};
template <> struct fl_scalar<int64_t> {
    FL_INLINE int64_t of(int64_t i, double, double) { return i; }
};
template <> struct fl_scalar<uint64_t> {
    FL_INLINE uint64_t of(int64_t i, double, double) { return (uint64_t)i; }
};
template <> struct fl_scalar<bool> {
    FL_INLINE bool of(int64_t, double re, double im) { return re != 0 || im != 0; }
};
template <> struct fl_scalar<fl_c64> {
    FL_INLINE fl_c64 of(int64_t, double re, double im) { return fl_c64{(float)re, (float)im}; }
};
template <> struct fl_scalar<fl_c128> {
    FL_INLINE fl_c128 of(int64_t, double re, double im) { return fl_c128{re, im}; }
};
template <int D> FL_INLINE FL_WIDE(D) fl_word_scalar(const fl_head &c, int parameter) {
    return fl_scalar<FL_WIDE(D)>::of(fl_word(c, parameter), fl_word_double(c, parameter, 1),
                                     fl_word_double(c, parameter, 2));
}
/* An operand that may be a number. */
template <int D> FL_INLINE FL_WIDE(D) fl_read_operand(const fl_view &v, int64_t at) {
    if (v.dtype == FL_IS_NUMBER)
        return fl_scalar<FL_WIDE(D)>::of(v.shape[0], fl_bit_cast<double>(v.strides[0]),
                                         fl_bit_cast<double>(v.strides[1]));
    return fl_read<D>(v, at);
}

/* ---- places -------------------------------------------------------------------------------------- */
/* Splits an index by sizes, the last dimension fastest, in 32 bits where that is enough: divisions
 * of 64 bits take a GPU ten times as long. */
struct fl_split {
    uint64_t rest;
    __device__ explicit fl_split(int64_t i) : rest((uint64_t)i) {}
    __device__ int64_t take(int64_t size) {
        if (((rest | (uint64_t)size) >> 32) == 0) {
            uint32_t n = (uint32_t)rest, q = n / (uint32_t)size;
            rest = q;
            return n - q * (uint32_t)size;
        }
        uint64_t q = rest / (uint64_t)size, r = rest - q * (uint64_t)size;
        rest = q;
        return (int64_t)r;
    }
};

/* Element i of the dimensions from..to of a view. */
FL_INLINE int64_t fl_walk(const fl_view &v, int from, int to, int64_t i) {
    if (to - from == 1)
        return i * v.strides[from];
    int64_t at = 0;
    fl_split rest(i);
    for (int d = to - 1; d >= from; d--)
        at += rest.take(v.shape[d]) * v.strides[d];
    return at;
}
FL_INLINE int64_t fl_place(const fl_view &v, int64_t i) { return fl_walk(v, 0, v.ndim, i); }

/* Where rows begin, and their elements, in views that were arranged for rows. */
FL_INLINE int64_t fl_row(const fl_head &c, const fl_view &v, int64_t row) {
    return fl_walk(v, 0, c.kept, row);
}
FL_INLINE int64_t fl_in_row(const fl_head &c, const fl_view &v, int64_t i) {
    return fl_walk(v, c.kept, v.ndim, i);
}
FL_INLINE bool fl_is_line(const fl_head &c, const fl_view &v) {
    return v.ndim == c.kept || (v.ndim == c.kept + 1 && v.strides[c.kept] == 1);
}

/* Ends a launch that was given an impossible index, as PyTorch's kernels do. */
#ifdef FL_FAIL
#define FL_DEMAND(condition, ...)                                                                \
    do {                                                                                         \
        if (!(condition))                                                                        \
            FL_FAIL(__VA_ARGS__);                                                                \
    } while (0)
#else
#define FL_DEMAND(condition, ...)                                                                \
    do {                                                                                         \
        if (!(condition))                                                                        \
            __trap();                                                                            \
    } while (0)
#endif
#ifndef FL_SHARED
template <class T> struct fl_type {
    typedef T type;
};
#define FL_SHARED(name, ...) __shared__ typename fl_type<__VA_ARGS__>::type name
#endif
FL_INLINE int64_t fl_checked_index(int64_t i, int64_t size) {
    FL_DEMAND(i >= 0 && i < size, "index %lld is out of bounds for dimension with size %lld",
              (long long)i, (long long)size);
    return i;
}
/* The same of x[indices], where negative indices count from the end. */
FL_INLINE int64_t fl_wrapped_index(int64_t i, int64_t size) {
    return fl_checked_index(i < 0 && i >= -size ? i + size : i, size);
}

#define FL_INLINE_SPECIAL __device__ __forceinline__

/* ---- arithmetic of any kind ---------------------------------------------------------------------- */
template <class T> struct fl_is_complex { static constexpr bool value = false; };
template <> struct fl_is_complex<fl_c64> { static constexpr bool value = true; };
template <> struct fl_is_complex<fl_c128> { static constexpr bool value = true; };

template <class T> struct fl_is_floating { static constexpr bool value = false; };
template <> struct fl_is_floating<float> { static constexpr bool value = true; };
template <> struct fl_is_floating<double> { static constexpr bool value = true; };

template <class T> FL_INLINE T fl_plus(T a, T b) { return a + b; }
template <> FL_INLINE_SPECIAL fl_c64 fl_plus(fl_c64 a, fl_c64 b) {
    return fl_c64{a.re + b.re, a.im + b.im};
}
template <> FL_INLINE_SPECIAL fl_c128 fl_plus(fl_c128 a, fl_c128 b) {
    return fl_c128{a.re + b.re, a.im + b.im};
}
template <class T> FL_INLINE T fl_times(T a, T b) { return a * b; }
template <> FL_INLINE_SPECIAL bool fl_times(bool a, bool b) { return a && b; }
template <> FL_INLINE_SPECIAL fl_c64 fl_times(fl_c64 a, fl_c64 b) {
    return fl_c64{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <> FL_INLINE_SPECIAL fl_c128 fl_times(fl_c128 a, fl_c128 b) {
    return fl_c128{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T> FL_INLINE T fl_over(T a, double n) { return (T)((double)a / n); }
template <> FL_INLINE_SPECIAL fl_c64 fl_over(fl_c64 a, double n) {
    return fl_c64{(float)(a.re / n), (float)(a.im / n)};
}
template <> FL_INLINE_SPECIAL fl_c128 fl_over(fl_c128 a, double n) {
    return fl_c128{a.re / n, a.im / n};
}

/* ---- teams --------------------------------------------------------------------------------------- */
#define FL_ALL_LANES 0xffffffffu

template <class A> FL_INLINE A fl_shuffle_down_any(const A &value, int by) {
    static_assert(sizeof(A) % 4 == 0, "whole words");
    uint32_t words[sizeof(A) / 4];
    A other;
    memcpy(words, &value, sizeof(A));
    for (int i = 0; i < (int)(sizeof(A) / 4); i++)
        words[i] = __shfl_down_sync(FL_ALL_LANES, words[i], by);
    memcpy(&other, words, sizeof(A));
    return other;
}
template <class A> FL_INLINE A fl_shuffle_any(const A &value, int from) {
    uint32_t words[sizeof(A) / 4];
    A other;
    memcpy(words, &value, sizeof(A));
    for (int i = 0; i < (int)(sizeof(A) / 4); i++)
        words[i] = __shfl_sync(FL_ALL_LANES, words[i], from);
    memcpy(&other, words, sizeof(A));
    return other;
}

/* A team is a warp (SIZE 32), or a block of SIZE threads. */
template <int SIZE> struct fl_team {
    static constexpr int warps = SIZE / 32;
    int64_t first, step;            /* of the items that teams take in turn */
    int rank;
    __device__ fl_team() {
        if (SIZE == 32) {
            first = FL_THREAD / 32;
            step = FL_THREADS / 32;
            rank = threadIdx.x & 31;
        } else {
            first = blockIdx.x;
            step = gridDim.x;
            rank = threadIdx.x;
        }
    }
    /* Joins the accumulators of all threads in a fixed order; all threads get the result. */
    template <class A> __device__ A join(A mine) const {
        for (int by = 16; by; by >>= 1) {
            A other = fl_shuffle_down_any(mine, by);
            mine.join(other);
        }
        if (SIZE == 32)
            return fl_shuffle_any(mine, 0);
        FL_SHARED(parts, uint64_t[warps + 1][(sizeof(A) + 7) / 8]);
        __syncthreads();            /* whoever still reads what was shared before */
        if (rank % 32 == 0)
            memcpy(parts[rank / 32], &mine, sizeof(A));
        __syncthreads();
        if (rank == 0) {
            for (int w = 1; w < warps; w++) {
                A other;
                memcpy(&other, parts[w], sizeof(A));
                mine.join(other);
            }
            memcpy(parts[0], &mine, sizeof(A));
        }
        __syncthreads();
        memcpy(&mine, parts[0], sizeof(A));
        return mine;
    }
};

/* Accumulators of numbers. */
template <class T> struct fl_total {
    T value;
    __device__ void start() { value = fl_to<T>::of((int64_t)0); }
    __device__ void join(const fl_total &o) { value = fl_plus(value, o.value); }
};
template <class T> struct fl_highest {
    T value;
    __device__ void join(const fl_highest &o) {
        if (o.value > value || o.value != o.value)
            value = o.value;
    }
};
