/* Reductions: what an accumulator starts from, takes, joins and gives.
 *
 * Three kernels without shared memory: `take` reduces parts of each output, `join` reduces parts
 * into fewer parts, `finish` writes. Parts are fixed by the shape, so results repeat bit for bit. */
struct fl_reduce {
    int64_t kept, reduced, parts, parts_out;
    int32_t kept_ndim, reduced_ndim;
    int64_t kept_shape[FL_DIMS], kept_strides[FL_DIMS];
    int64_t reduced_shape[FL_DIMS], reduced_strides[FL_DIMS];
    int64_t out_strides[FL_DIMS], out2_strides[FL_DIMS];
    char *data, *partial, *partial_out, *out, *out2;
    int32_t dtype, out_dtype, out2_dtype, unused;
    double correction;
};

FL_INLINE fl_c64 fl_plus(fl_c64 a, fl_c64 b) { return fl_c64{a.re + b.re, a.im + b.im}; }
FL_INLINE fl_c128 fl_plus(fl_c128 a, fl_c128 b) { return fl_c128{a.re + b.re, a.im + b.im}; }
template <class T> FL_INLINE T fl_plus(T a, T b) { return a + b; }
template <class C> FL_INLINE C fl_times_pair(C a, C b) {
    return C{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
FL_INLINE fl_c64 fl_times(fl_c64 a, fl_c64 b) { return fl_times_pair(a, b); }
FL_INLINE fl_c128 fl_times(fl_c128 a, fl_c128 b) { return fl_times_pair(a, b); }
template <class T> FL_INLINE T fl_times(T a, T b) { return a * b; }
FL_INLINE fl_c64 fl_over(fl_c64 a, double n) {
    return fl_c64{(float)(a.re / n), (float)(a.im / n)};
}
FL_INLINE fl_c128 fl_over(fl_c128 a, double n) { return fl_c128{a.re / n, a.im / n}; }
template <class T> FL_INLINE T fl_over(T a, double n) { return (T)((double)a / n); }

template <class T> struct fl_sum {
    typedef T in;
    T value;
    __device__ void start() { value = fl_to<T>::of((int64_t)0); }
    __device__ void take(T x, int64_t) { value = fl_plus(value, x); }
    __device__ void join(const fl_sum &o) { value = fl_plus(value, o.value); }
    __device__ T result(const fl_reduce &) const { return value; }
    __device__ T second() const { return value; }
};

template <class T> struct fl_mean : fl_sum<T> {
    __device__ T result(const fl_reduce &c) const {
        return fl_over(this->value, (double)c.reduced);
    }
};

template <class T> struct fl_prod {
    typedef T in;
    T value;
    __device__ void start() { value = fl_to<T>::of((int64_t)1); }
    __device__ void take(T x, int64_t) { value = fl_times(value, x); }
    __device__ void join(const fl_prod &o) { value = fl_times(value, o.value); }
    __device__ T result(const fl_reduce &) const { return value; }
    __device__ T second() const { return value; }
};

/* The first of the greatest (SIGN 1) or least (SIGN -1) values; the first nan wins. */
template <class T, int SIGN> struct fl_extreme {
    typedef T in;
    T value;
    int64_t at;
    __device__ void start() { value = (T)0; at = -1; }
    __device__ bool beats(T x, int64_t i) const {
        if (at < 0)
            return true;
        if (x != x || value != value)
            return x != x && (value == value || i < at);
        return SIGN > 0 ? x > value || (x == value && i < at)
                        : x < value || (x == value && i < at);
    }
    __device__ void take(T x, int64_t i) {
        if (beats(x, i)) {
            value = x;
            at = i;
        }
    }
    __device__ void join(const fl_extreme &o) {
        if (o.at >= 0)
            take(o.value, o.at);
    }
    __device__ T result(const fl_reduce &) const { return value; }
    __device__ int64_t second() const { return at; }
};
template <class T> struct fl_amax : fl_extreme<T, 1> {};
template <class T> struct fl_amin : fl_extreme<T, -1> {};
template <class T> struct fl_argmax : fl_extreme<T, 1> {
    __device__ int64_t result(const fl_reduce &) const { return this->at; }
};
template <class T> struct fl_argmin : fl_extreme<T, -1> {
    __device__ int64_t result(const fl_reduce &) const { return this->at; }
};

template <class T> struct fl_any {
    typedef bool in;
    bool value;
    __device__ void start() { value = false; }
    __device__ void take(bool x, int64_t) { value |= x; }
    __device__ void join(const fl_any &o) { value |= o.value; }
    __device__ bool result(const fl_reduce &) const { return value; }
    __device__ bool second() const { return value; }
};
template <class T> struct fl_all {
    typedef bool in;
    bool value;
    __device__ void start() { value = true; }
    __device__ void take(bool x, int64_t) { value &= x; }
    __device__ void join(const fl_all &o) { value &= o.value; }
    __device__ bool result(const fl_reduce &) const { return value; }
    __device__ bool second() const { return value; }
};

/* Count, mean and sum of squared distances (Welford; Chan et al. for joining). */
template <class T> struct fl_var {
    typedef fl_c128 in;
    double n, re, im, m2;
    __device__ void start() { n = re = im = m2 = 0; }
    __device__ void take(fl_c128 x, int64_t) {
        n += 1;
        double dr = x.re - re, di = x.im - im;
        re += dr / n;
        im += di / n;
        m2 += dr * (x.re - re) + di * (x.im - im);
    }
    __device__ void join(const fl_var &o) {
        double total = n + o.n, dr = o.re - re, di = o.im - im;
        if (o.n == 0)
            return;
        m2 += o.m2 + (dr * dr + di * di) * (n * o.n / total);
        re += dr * (o.n / total);
        im += di * (o.n / total);
        n = total;
    }
    __device__ double result(const fl_reduce &c) const {
        double divisor = n - c.correction;
        return n == 0 ? fl_bit_cast<double>(0x7ff8000000000000LL)
                      : m2 / (divisor > 0 ? divisor : 0.0);
    }
    __device__ double second() const { return n; }
};

/* Greatest value and the sum of exp(x - greatest). */
template <class T> struct fl_logsumexp {
    typedef double in;
    double high, total;
    __device__ void start() { high = -FL_INF_F64; total = 0; }
    __device__ void add(double x, double weight) {
        if (x == -FL_INF_F64 || weight == 0)
            return;
        if (x > high || x != x) {
            total = high == -FL_INF_F64 ? weight : total * FL_BUILTIN(exp)(high - x) + weight;
            high = x;
        } else {
            total += weight * (x == high ? 1.0 : FL_BUILTIN(exp)(x - high));
        }
    }
    __device__ void take(double x, int64_t) { add(x, 1.0); }
    __device__ void join(const fl_logsumexp &o) { add(o.high, o.total); }
    __device__ double result(const fl_reduce &) const {
        bool plain = high - high == 0;
        return plain ? high + FL_BUILTIN(log)(total) : high;
    }
    __device__ double second() const { return total; }
};

template <class A> FL_INLINE void fl_reduce_take(const fl_reduce &c) {
    for (int64_t t = FL_THREAD; t < c.kept * c.parts; t += FL_THREADS) {
        A acc;
        acc.start();
        int64_t base = fl_offset(t / c.parts, c.kept_ndim, c.kept_shape, c.kept_strides);
        for (int64_t j = t % c.parts; j < c.reduced; j += c.parts)
            acc.take(fl_load<typename A::in>(c.data, c.dtype, base + fl_offset(j, c.reduced_ndim,
                     c.reduced_shape, c.reduced_strides)), j);
        ((A *)c.partial)[t] = acc;
    }
}

template <class A> FL_INLINE void fl_reduce_join(const fl_reduce &c) {
    for (int64_t t = FL_THREAD; t < c.kept * c.parts_out; t += FL_THREADS) {
        const A *from = (const A *)c.partial + t / c.parts_out * c.parts;
        int64_t p = t % c.parts_out;
        A acc = from[p];
        for (p += c.parts_out; p < c.parts; p += c.parts_out)
            acc.join(from[p]);
        ((A *)c.partial_out)[t] = acc;
    }
}

template <class A> FL_INLINE void fl_reduce_finish(const fl_reduce &c) {
    for (int64_t t = FL_THREAD; t < c.kept; t += FL_THREADS) {
        const A &acc = ((const A *)c.partial)[t];
        int64_t at = fl_offset(t, c.kept_ndim, c.kept_shape, c.out_strides);
        fl_store(c.out, c.out_dtype, at, acc.result(c));
        if (c.out2)
            fl_store(c.out2, c.out2_dtype,
                     fl_offset(t, c.kept_ndim, c.kept_shape, c.out2_strides), acc.second());
    }
}
