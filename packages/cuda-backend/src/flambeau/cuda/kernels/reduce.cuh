/* Reductions: a row, or a part of one, is taken by a thread, a warp or a block.
 *
 * An accumulator starts, takes elements, joins another one, and writes results. Which thread takes
 * what depends on the shape alone, and sums are joined in a fixed order: results repeat bit for bit.
 * Parameters of all reductions: self, dim, and others; views: self, then the results. */

template <int D> struct fl_sum {
    static constexpr int code = D;
    FL_WIDE(D) value;
    __device__ void start() { value = fl_to<FL_WIDE(D)>::of((int64_t)0); }
    __device__ void take(const fl_head &, FL_WIDE(D) x, int64_t) { value = fl_plus(value, x); }
    __device__ void join(const fl_sum &o) { value = fl_plus(value, o.value); }
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write<D>(c.views[1], fl_row(c, c.views[1], row), value);
    }
};

template <int D> struct fl_nansum : fl_sum<D> {
    __device__ void take(const fl_head &, FL_WIDE(D) x, int64_t) {
        if (x == x)
            this->value = fl_plus(this->value, x);
    }
};

template <int D> struct fl_mean : fl_sum<D> {
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write<D>(c.views[1], fl_row(c, c.views[1], row),
                    fl_over(this->value, (double)c.length));
    }
};

template <int D> struct fl_prod {
    static constexpr int code = D;
    FL_WIDE(D) value;
    __device__ void start() { value = fl_to<FL_WIDE(D)>::of((int64_t)1); }
    __device__ void take(const fl_head &, FL_WIDE(D) x, int64_t) { value = fl_times(value, x); }
    __device__ void join(const fl_prod &o) { value = fl_times(value, o.value); }
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write<D>(c.views[1], fl_row(c, c.views[1], row), value);
    }
};

/* The first of the greatest (SIGN 1) or least (SIGN -1) values; the first nan wins. */
template <int D, int SIGN> struct fl_extreme {
    static constexpr int code = D;
    typedef FL_WIDE(D) T;
    T value;
    int64_t at;
    __device__ void start() {
        memset(this, 0, sizeof *this);
        at = -1;
    }
    __device__ bool beats(T x, int64_t i) const {
        if (at < 0)
            return true;
        if (x != x || value != value)
            return x != x && (value == value || i < at);
        return SIGN > 0 ? x > value || (x == value && i < at)
                        : x < value || (x == value && i < at);
    }
    __device__ void take(const fl_head &, T x, int64_t i) { offer(x, i); }
    __device__ void offer(T x, int64_t i) {
        if (beats(x, i)) {
            value = x;
            at = i;
        }
    }
    __device__ void join(const fl_extreme &o) {
        if (o.at >= 0)
            offer(o.value, o.at);
    }
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write<D>(c.views[1], fl_row(c, c.views[1], row), value);
    }
};
template <int D> struct fl_amax : fl_extreme<D, 1> {};
template <int D> struct fl_amin : fl_extreme<D, -1> {};

template <int D, int SIGN> struct fl_place_of_extreme : fl_extreme<D, SIGN> {
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write_index(c.views[1], fl_row(c, c.views[1], row), this->at);
    }
};
template <int D> struct fl_argmax : fl_place_of_extreme<D, 1> {};
template <int D> struct fl_argmin : fl_place_of_extreme<D, -1> {};

template <int D, int SIGN> struct fl_extreme_and_place : fl_extreme<D, SIGN> {
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write<D>(c.views[1], fl_row(c, c.views[1], row), this->value);
        fl_write_index(c.views[2], fl_row(c, c.views[2], row), this->at);
    }
};
template <int D> struct fl_max_dim : fl_extreme_and_place<D, 1> {};
template <int D> struct fl_min_dim : fl_extreme_and_place<D, -1> {};

template <int D> struct fl_any {
    static constexpr int code = 0;
    int32_t value;
    __device__ void start() { value = 0; }
    __device__ void take(const fl_head &, bool x, int64_t) { value |= x; }
    __device__ void join(const fl_any &o) { value |= o.value; }
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write<0>(c.views[1], fl_row(c, c.views[1], row), value);
    }
};
template <int D> struct fl_all {
    static constexpr int code = 0;
    int32_t value;
    __device__ void start() { value = 1; }
    __device__ void take(const fl_head &, bool x, int64_t) { value &= x; }
    __device__ void join(const fl_all &o) { value &= o.value; }
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write<0>(c.views[1], fl_row(c, c.views[1], row), value);
    }
};

/* Count, mean and sum of squared distances (Welford; Chan et al. for joining). */
struct fl_moments {
    double n, re, im, m2;
    __device__ void start() { n = re = im = m2 = 0; }
    __device__ void add(double x, double y) {
        n += 1;
        double dr = x - re, di = y - im;
        re += dr / n;
        im += di / n;
        m2 += dr * (x - re) + di * (y - im);
    }
    __device__ void join(const fl_moments &o) {
        double total = n + o.n, dr = o.re - re, di = o.im - im;
        if (o.n == 0)
            return;
        m2 += o.m2 + (dr * dr + di * di) * (n * o.n / total);
        re += dr * (o.n / total);
        im += di * (o.n / total);
        n = total;
    }
};
template <int D> struct fl_var : fl_moments {
    static constexpr int code = D;
    __device__ void take(const fl_head &, FL_WIDE(D) given, int64_t) {
        fl_c128 x = fl_to<fl_c128>::of(given);
        add(x.re, x.im);
    }
    __device__ double value(const fl_head &c) const {
        double divisor = n - (fl_count(c, 2) ? fl_word_double(c, 2, 1) : 1.0);
        return n == 0 ? fl_bit_cast<double>(0x7ff8000000000000LL)
                      : m2 / (divisor > 0 ? divisor : 0.0);
    }
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write<12>(c.views[1], fl_row(c, c.views[1], row), value(c));
    }
};
template <int D> struct fl_std : fl_var<D> {
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        fl_write<12>(c.views[1], fl_row(c, c.views[1], row), FL_BUILTIN(sqrt)(this->value(c)));
    }
};

/* Greatest value and the sum of exp(x - greatest). */
template <int D> struct fl_logsumexp {
    static constexpr int code = D;
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
    __device__ void take(const fl_head &, FL_WIDE(D) x, int64_t) { add((double)x, 1.0); }
    __device__ void join(const fl_logsumexp &o) { add(o.high, o.total); }
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        bool plain = high - high == 0;
        fl_write<12>(c.views[1], fl_row(c, c.views[1], row),
                     plain ? high + FL_BUILTIN(log)(total) : high);
    }
};

/* The same of complex numbers: the greatest real part, and the sum of exp(x - greatest). */
template <int D> struct fl_logsumexp_complex {
    static constexpr int code = D;
    double high, re, im;
    __device__ void start() {
        high = -FL_INF_F64;
        re = im = 0;
    }
    __device__ void add(double top, double x, double y) {
        if (top == -FL_INF_F64)
            return;
        if (top > high || top != top) {
            double shrink = high == -FL_INF_F64 ? 0.0 : FL_BUILTIN(exp)(high - top);
            re = re * shrink + x;
            im = im * shrink + y;
            high = top;
        } else {
            double shrink = top == high ? 1.0 : FL_BUILTIN(exp)(top - high);
            re += shrink * x;
            im += shrink * y;
        }
    }
    __device__ void take(const fl_head &, FL_WIDE(D) x, int64_t) {
        add(x.re, FL_BUILTIN(cos)((double)x.im), FL_BUILTIN(sin)((double)x.im));
    }
    __device__ void join(const fl_logsumexp_complex &o) { add(o.high, o.re, o.im); }
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        double size = high + FL_BUILTIN(log)(FL_BUILTIN(hypot)(re, im));
        fl_write<14>(c.views[1], fl_row(c, c.views[1], row),
                     fl_c128{high == -FL_INF_F64 ? high : size, FL_BUILTIN(atan2)(im, re)});
    }
};

/* norm_of(self, p, dim, ...): in double, so that squares of half types do not overflow. */
template <int D> struct fl_norm {
    static constexpr int code = D;
    double value;
    int32_t kind, any;          /* the order: 0, 1, 2 as they are; 3 inf; 4 -inf; 5 any other */
    __device__ void start() {
        value = 0;
        kind = any = 0;
    }
    static __device__ int kind_of(double p) {
        if (p == FL_INF_F64 || p == -FL_INF_F64)
            return p > 0 ? 3 : 4;
        return p == 0 ? 0 : p == 1 ? 1 : p == 2 ? 2 : 5;
    }
    __device__ void take(const fl_head &c, FL_WIDE(D) given, int64_t) {
        fl_c128 x = fl_to<fl_c128>::of(given);
        double p = fl_word_double(c, 1);
        kind = kind_of(p);
        double size = x.im == 0 ? FL_BUILTIN(fabs)(x.re)
                                : FL_BUILTIN(hypot)(x.re, x.im);
        put(kind == 0 ? (double)(size != 0)
            : kind == 2 ? size * size
            : kind == 5 ? FL_BUILTIN(pow)(size, p) : size);
    }
    __device__ void put(double x) {
        if (kind < 3 || kind == 5)
            value += x;
        else if (!any || x != x || (kind == 3 ? x > value : x < value))
            value = value != value ? value : x;
        any = 1;
    }
    __device__ void join(const fl_norm &o) {
        if (!o.any)
            return;
        kind = o.kind;
        put(o.value);
    }
    template <class C> __device__ void finish(const C &c, int64_t row) const {
        double p = fl_word_double(c, 1);
        int order = kind_of(p);
        double x = order == 2   ? FL_BUILTIN(sqrt)(value)
                   : order == 5 ? FL_BUILTIN(pow)(value, 1.0 / p)
                                : value;
        fl_write<12>(c.views[1], fl_row(c, c.views[1], row), x);
    }
};

/* ---- elements of rows ------------------------------------------------------------------------- */
/* Elements from..to of a row that lies in memory as one line: 16 bytes at a time where they may. */
template <class A, int SIZE, class C>
FL_INLINE void fl_take_line(A &acc, const C &c, int64_t base, int64_t from, int64_t to, int rank) {
    typedef FL_STORED(A::code) stored;
    constexpr int count = 16 / sizeof(stored);
    struct alignas(16) vector {
        stored part[count];
    };
    const stored *line = (const stored *)c.views[0].data + base;
    int64_t start = from + (int64_t)((16 - ((uint64_t)(line + from) & 15)) & 15)
                               / (int64_t)sizeof(stored);
    start = start < to ? start : to;
    int64_t vectors = (to - start) / count;
    const vector *at = (const vector *)(line + start);
    for (int64_t j = from + rank; j < start; j += SIZE)
        acc.take(c, fl_dtype<A::code>::widen(line[j]), j);
    for (int64_t k = rank; k < vectors; k += SIZE) {
        vector v = at[k];
        for (int e = 0; e < count; e++)
            acc.take(c, fl_dtype<A::code>::widen(v.part[e]), start + k * count + e);
    }
    for (int64_t j = start + vectors * count + rank; j < to; j += SIZE)
        acc.take(c, fl_dtype<A::code>::widen(line[j]), j);
}

template <class A, int SIZE, class C>
FL_INLINE A fl_take_part(const C &c, int64_t row, int64_t part, int rank) {
    const fl_view &v = c.views[0];
    int64_t size = (c.length + c.parts - 1) / c.parts, from = part * size,
            to = from + size < c.length ? from + size : c.length, base = fl_row(c, v, row);
    A acc;
    acc.start();
    if (SIZE > 1 && v.dtype == A::code && fl_is_line(c, v)) {
        fl_take_line<A, SIZE>(acc, c, base, from, to, rank);
        return acc;
    }
    for (int64_t j = from + rank; j < to; j += SIZE)
        acc.take(c, fl_read<A::code>(v, base + fl_in_row(c, v, j)), j);
    return acc;
}

template <class A, class C> FL_INLINE void fl_give(const C &c, const A &acc, int64_t item) {
    if (c.parts == 1)
        acc.finish(c, item);
    else
        ((A *)c.scratch[0])[item] = acc;
}

/* ---- kernels ------------------------------------------------------------------------------------ */
/* Item p * rows + r is part p of row r, so that neighbouring threads have neighbouring rows. */
template <class A, class C> FL_INLINE void fl_reduce_thread(const C &c) {
    for (int64_t t = FL_THREAD; t < c.items; t += FL_THREADS)
        fl_give(c, fl_take_part<A, 1>(c, t % c.rows, t / c.rows, 0), t);
}

template <class A, int SIZE, class C> FL_INLINE void fl_reduce_team(const C &c) {
    fl_team<SIZE> team;
    for (int64_t t = team.first; t < c.items; t += team.step) {
        A acc = team.join(fl_take_part<A, SIZE>(c, t % c.rows, t / c.rows, team.rank));
        if (team.rank == 0)
            fl_give(c, acc, t);
    }
}

template <class A, class C> FL_INLINE A fl_join_parts(const C &c, int64_t row, int from, int step) {
    const A *parts = (const A *)c.scratch[0];
    A acc;
    acc.start();
    for (int64_t p = from; p < c.parts; p += step)
        acc.join(parts[p * c.rows + row]);
    return acc;
}

template <class A, class C> FL_INLINE void fl_join_thread(const C &c) {
    for (int64_t row = FL_THREAD; row < c.items; row += FL_THREADS)
        fl_join_parts<A>(c, row, 0, 1).finish(c, row);
}

template <class A, class C> FL_INLINE void fl_join_team(const C &c) {
    fl_team<256> team;
    for (int64_t row = team.first; row < c.items; row += team.step) {
        A acc = team.join(fl_join_parts<A>(c, row, team.rank, 256));
        if (team.rank == 0)
            acc.finish(c, row);
    }
}
