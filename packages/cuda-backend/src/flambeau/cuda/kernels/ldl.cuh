/* LDL decompositions with the pivots of Bunch and Kaufman (1977), as LAPACK's sytf2, hetf2, sytrs
 * and hetrs have them, of lower triangles: a block for each matrix, or for each right-hand side. */

/* Arithmetic of real and complex numbers. */
template <class T> struct fl_field {
    typedef T real;
    FL_INLINE T minus(T a, T b) { return a - b; }
    FL_INLINE T over(T a, T b) { return a / b; }
    FL_INLINE T scaled(T a, real s) { return a * s; }
    FL_INLINE T conj(T a) { return a; }
    FL_INLINE T of(real a) { return a; }
    FL_INLINE real part(T a) { return a; }
    FL_INLINE real size(T a) { return FL_BUILTIN(fabs)(a); }        /* as pivots are compared */
    FL_INLINE real length(T a) { return FL_BUILTIN(fabs)(a); }
    FL_INLINE bool is_finite(T a) { return a - a == 0; }
};
template <class T, class R> struct fl_complex_field {
    typedef R real;
    FL_INLINE T minus(T a, T b) { return T{a.re - b.re, a.im - b.im}; }
    FL_INLINE T over(T a, T b) {        /* Smith: neither square overflows */
        if (FL_BUILTIN(fabs)(b.re) >= FL_BUILTIN(fabs)(b.im)) {
            R ratio = b.im / b.re, whole = b.re + b.im * ratio;
            return T{(a.re + a.im * ratio) / whole, (a.im - a.re * ratio) / whole};
        }
        R ratio = b.re / b.im, whole = b.re * ratio + b.im;
        return T{(a.re * ratio + a.im) / whole, (a.im * ratio - a.re) / whole};
    }
    FL_INLINE T scaled(T a, R s) { return T{a.re * s, a.im * s}; }
    FL_INLINE T conj(T a) { return T{a.re, -a.im}; }
    FL_INLINE T of(R a) { return T{a, 0}; }
    FL_INLINE R part(T a) { return a.re; }
    FL_INLINE R size(T a) { return FL_BUILTIN(fabs)(a.re) + FL_BUILTIN(fabs)(a.im); }
    FL_INLINE R length(T a) { return FL_BUILTIN(hypot)(a.re, a.im); }
    FL_INLINE bool is_finite(T a) { return a.re - a.re == 0 && a.im - a.im == 0; }
};
template <> struct fl_field<fl_c64> : fl_complex_field<fl_c64, float> {};
template <> struct fl_field<fl_c128> : fl_complex_field<fl_c128, double> {};

/* Where a matrix of a stack begins, or a row, with `inner` dimensions each. `batch` numbers those
 * of a stack of matrices that this one broadcasts to. */
FL_INLINE int64_t fl_in_stack(const fl_view &v, int inner, const fl_view &like, int64_t batch) {
    int64_t at = 0;
    fl_split rest(batch);
    for (int d = like.ndim - 3; d >= 0; d--) {
        int64_t k = rest.take(like.shape[d]);
        int own = d + (v.ndim - inner) - (like.ndim - 2);
        if (own >= 0 && v.shape[own] != 1)
            at += k * v.strides[own];
    }
    return at;
}

template <int D> struct fl_matrix {
    typedef FL_WIDE(D) T;
    const fl_view &v;
    int64_t first, down, right;
    __device__ fl_matrix(const fl_view &view, const fl_view &like, int64_t batch)
        : v(view), first(fl_in_stack(view, 2, like, batch)), down(view.strides[view.ndim - 2]),
          right(view.strides[view.ndim - 1]) {}
    __device__ T get(int64_t i, int64_t j) const {
        return fl_read<D>(v, first + i * down + j * right);
    }
    __device__ void put(int64_t i, int64_t j, T x) const {
        fl_write<D>(v, first + i * down + j * right, x);
    }
    __device__ void exchange(int64_t i, int64_t j, int64_t k, int64_t l) const {
        T kept = get(i, j);
        put(i, j, get(k, l));
        put(k, l, kept);
    }
};

/* The greatest of the threads' sizes, the first of equals. */
template <class R> struct fl_largest {
    R value;
    int64_t at;
    __device__ void offer(R x, int64_t i) {
        if (at < 0 || x > value || (x == value && i < at)) {
            value = x;
            at = i;
        }
    }
    __device__ void join(const fl_largest &o) {
        if (o.at >= 0)
            offer(o.value, o.at);
    }
};

template <int D> struct fl_ldl {
    typedef FL_WIDE(D) T;
    typedef fl_field<T> field;
    typedef typename field::real R;
    const fl_team<256> &team;
    fl_matrix<D> a;
    int64_t n;
    bool hermitian;

    __device__ T mirrored(T x) const { return hermitian ? field::conj(x) : x; }
    __device__ R diagonal_size(int64_t i) const {
        T x = a.get(i, i);
        return hermitian ? FL_BUILTIN(fabs)(field::part(x)) : field::size(x);
    }
    /* Of column k below row `from`, but for one row, and of row k from column `left` on. */
    __device__ fl_largest<R> largest(int64_t k, int64_t from, int64_t left) const {
        fl_largest<R> found;
        memset(&found, 0, sizeof found);
        found.at = -1;
        for (int64_t j = left + team.rank; j < k; j += 256)
            found.offer(field::size(a.get(k, j)), j);
        for (int64_t i = from + team.rank; i < n; i += 256)
            found.offer(field::size(a.get(i, k)), i);
        return team.join(found);
    }
    /* The row that column k is exchanged with; `pair` becomes whether two columns go together. */
    __device__ int64_t pivot(int64_t k, bool &pair, bool &is_zero) const {
        const R alpha = (R)0.6403882032022076;      /* (1 + sqrt(17)) / 8 */
        R own = diagonal_size(k);
        fl_largest<R> below = largest(k, k + 1, k);
        R most = below.at < 0 ? 0 : below.value;
        pair = false;
        is_zero = (own == 0 && most == 0) || own != own;
        if (is_zero || own >= alpha * most)
            return k;
        R across = largest(below.at, below.at + 1, k).value;
        if (own >= alpha * most * (most / across))
            return k;
        pair = !(diagonal_size(below.at) >= alpha * across);
        return below.at;
    }
    /* Exchanges rows and columns `to` and `from` > `to` of what is left. */
    __device__ void exchange(int64_t k, int64_t to, int64_t from) const {
        for (int64_t i = from + 1 + team.rank; i < n; i += 256)
            a.exchange(i, to, i, from);
        for (int64_t j = to + 1 + team.rank; j < from; j += 256) {
            T kept = mirrored(a.get(j, to));
            a.put(j, to, mirrored(a.get(from, j)));
            a.put(from, j, kept);
        }
        if (team.rank)
            return;
        a.put(from, to, mirrored(a.get(from, to)));
        a.exchange(to, to, from, from);
        if (to > k)
            a.exchange(to, k, from, k);
    }
    __device__ void make_real(int64_t k) const {
        if (hermitian && team.rank == 0)
            a.put(k, k, field::of(field::part(a.get(k, k))));
    }
    /* Rows k (and k + 1) above the diagonal, which nobody reads, take the new columns. */
    __device__ void divide(int64_t k, bool pair) const {
        if (!pair) {
            T inverse = field::over(field::of(1), a.get(k, k));
            for (int64_t j = k + 1 + team.rank; j < n; j += 256)
                a.put(k, j, fl_times(inverse, a.get(j, k)));
            return;
        }
        T below = a.get(k + 1, k), d11, d22, d21, across, back;
        if (hermitian) {
            R size = field::length(below);
            R first = field::part(a.get(k + 1, k + 1)) / size;
            R second = field::part(a.get(k, k)) / size;
            d11 = field::of(first);
            d22 = field::of(second);
            d21 = field::of(1 / (first * second - 1) / size);
            across = field::scaled(below, 1 / size);
            back = field::conj(across);
        } else {
            d11 = field::over(a.get(k + 1, k + 1), below);
            d22 = field::over(a.get(k, k), below);
            d21 = field::over(field::over(field::of(1), field::minus(fl_times(d11, d22),
                                                                     field::of(1))), below);
            across = back = field::of(1);
        }
        for (int64_t j = k + 2 + team.rank; j < n; j += 256) {
            T x = a.get(j, k), y = a.get(j, k + 1);
            a.put(k, j, fl_times(d21, field::minus(fl_times(d11, x), fl_times(across, y))));
            a.put(k + 1, j, fl_times(d21, field::minus(fl_times(d22, y), fl_times(back, x))));
        }
    }
    __device__ void subtract(int64_t k, bool pair) const {
        int64_t from = k + 1 + pair, left = n - from;
        for (int64_t t = team.rank; t < left * left; t += 256) {
            int64_t i = from + t / left, j = from + t % left;
            if (i < j)
                continue;
            T x = fl_times(a.get(i, k), mirrored(a.get(k, j)));
            if (pair)
                x = fl_plus(x, fl_times(a.get(i, k + 1), mirrored(a.get(k + 1, j))));
            x = field::minus(a.get(i, j), x);
            a.put(i, j, hermitian && i == j ? field::of(field::part(x)) : x);
        }
    }
    /* The new columns go to their place, and zeros above the diagonal. */
    __device__ void settle(int64_t k, bool pair) const {
        for (int64_t j = k + 1 + team.rank; j < n; j += 256) {
            if (!pair || j > k + 1)
                a.put(j, k, a.get(k, j));
            a.put(k, j, field::of(0));
            if (!pair || j == k + 1)
                continue;
            a.put(j, k + 1, a.get(k + 1, j));
            a.put(k + 1, j, field::of(0));
        }
    }
    __device__ bool all_finite() const {
        fl_total<int32_t> wrong = {0};
        for (int64_t t = team.rank; t < n * n; t += 256)
            wrong.value |= !field::is_finite(a.get(t / n, t % n));
        return team.join(wrong).value == 0;
    }
};

/* linalg_ldl_factor_ex(self, hermitian, check_errors): views self, LD, pivots, info. */
template <int D, class C> FL_INLINE void fl_ldl_factor(const C &c) {
    typedef typename fl_ldl<D>::field field;
    fl_team<256> team;
    const fl_view &x = c.views[0], &out = c.views[1], &pivots = c.views[2], &info = c.views[3];
    const int64_t n = x.shape[x.ndim - 1];
    const double nan = fl_bit_cast<double>(0x7ff8000000000000LL);
    for (int64_t item = team.first; item < c.items; item += team.step) {
        fl_ldl<D> m = {team, fl_matrix<D>(out, out, item), n,
                       fl_is_complex<FL_WIDE(D)>::value && fl_word(c, 1) != 0};
        fl_matrix<D> given(x, x, item);
        auto put_pivot = [&](int64_t i, int64_t p) {
            fl_write_index(pivots, fl_in_stack(pivots, 1, out, item)
                                       + i * pivots.strides[pivots.ndim - 1], p);
        };
        for (int64_t t = team.rank; t < n * n; t += 256)
            m.a.put(t / n, t % n, given.get(t / n, t % n));
        __syncthreads();
        int64_t failed = 0, k = 0;
        if (!m.all_finite()) {
            for (int64_t t = team.rank; t < n * n; t += 256)
                m.a.put(t / n, t % n, fl_scalar<FL_WIDE(D)>::of(0, t / n < t % n ? 0 : nan,
                                                               t / n < t % n ? 0 : nan));
            for (int64_t i = team.rank; i < n; i += 256)
                put_pivot(i, i + 1);
            k = n;
        }
        while (k < n) {
            bool pair, is_zero;
            int64_t from = m.pivot(k, pair, is_zero), to = k + pair;
            if (is_zero && !failed)
                failed = k + 1;
            __syncthreads();        /* whoever still looks for the pivot */
            if (from != to)
                m.exchange(k, to, from);
            __syncthreads();
            m.make_real(k);
            if (pair)
                m.make_real(k + 1);
            __syncthreads();
            if (is_zero) {          /* the columns of L stay as they are */
                for (int64_t j = k + 1 + team.rank; j < n; j += 256)
                    m.a.put(k, j, field::of(0));
            } else {
                m.divide(k, pair);
                __syncthreads();
                m.subtract(k, pair);
                __syncthreads();
                m.settle(k, pair);
            }
            if (team.rank == 0) {
                put_pivot(k, pair ? -from - 1 : from + 1);
                if (pair)
                    put_pivot(k + 1, -from - 1);
            }
            __syncthreads();
            k += 1 + pair;
        }
        if (team.rank == 0)
            fl_write_index(info, fl_place(info, item), failed);
        __syncthreads();
    }
}

/* One column of right-hand sides, which becomes the solution. */
template <int D> struct fl_ldl_column {
    typedef FL_WIDE(D) T;
    typedef fl_field<T> field;
    const fl_team<256> &team;
    fl_matrix<D> a, x;
    int64_t n, column;
    bool hermitian;

    __device__ T mirrored(T v) const { return hermitian ? field::conj(v) : v; }
    __device__ T get(int64_t i) const { return x.get(i, column); }
    __device__ void put(int64_t i, T v) const { x.put(i, column, v); }
    __device__ void exchange(int64_t i, int64_t k) const {
        if (team.rank == 0 && i != k)
            x.exchange(i, column, k, column);
        __syncthreads();
    }
    /* Takes columns k, and k + 1 of a pair, of L away from what is below, and divides by D. */
    __device__ void forward(int64_t k, bool pair) const {
        T first = get(k), second = pair ? get(k + 1) : first;
        for (int64_t i = k + 1 + pair + team.rank; i < n; i += 256) {
            T v = fl_times(a.get(i, k), first);
            if (pair)
                v = fl_plus(v, fl_times(a.get(i, k + 1), second));
            put(i, field::minus(get(i), v));
        }
        __syncthreads();
        if (team.rank == 0 && !pair) {
            T d = a.get(k, k);
            put(k, field::over(first, hermitian ? field::of(field::part(d)) : d));
        } else if (team.rank == 0) {
            T below = a.get(k + 1, k), above = mirrored(below), one = field::of(1);
            T d11 = field::over(a.get(k, k), above), d22 = field::over(a.get(k + 1, k + 1), below);
            T scale = field::minus(fl_times(d11, d22), one);
            T b1 = field::over(first, above), b2 = field::over(second, below);
            put(k, field::over(field::minus(fl_times(d22, b1), b2), scale));
            put(k + 1, field::over(field::minus(fl_times(d11, b2), b1), scale));
        }
        __syncthreads();
    }
    /* Takes what is below row `from`, times column k of L, away from row k. */
    __device__ void back(int64_t k, int64_t from) const {
        fl_total<T> sum = {field::of(0)};
        for (int64_t i = from + team.rank; i < n; i += 256)
            sum.value = fl_plus(sum.value, fl_times(mirrored(a.get(i, k)), get(i)));
        T whole = team.join(sum).value;
        if (team.rank == 0)
            put(k, field::minus(get(k), whole));
        __syncthreads();
    }
};

/* linalg_ldl_solve(LD, pivots, B, hermitian): views in that order, then the solution. */
template <int D, class C> FL_INLINE void fl_ldl_solve(const C &c) {
    fl_team<256> team;
    const fl_view &pivots = c.views[1], &out = c.views[3];
    const int64_t n = out.shape[out.ndim - 2], columns = out.shape[out.ndim - 1];
    for (int64_t item = team.first; item < c.items; item += team.step) {
        int64_t batch = item / columns / n;
        if (item / columns % n)
            continue;               /* a block for each column: the one of its first element */
        fl_matrix<D> given(c.views[2], out, batch);
        fl_ldl_column<D> m = {team, fl_matrix<D>(c.views[0], out, batch),
                              fl_matrix<D>(out, out, batch), n, item % columns,
                              fl_is_complex<FL_WIDE(D)>::value && fl_word(c, 3) != 0};
        auto pivot = [&](int64_t i) {
            int64_t p = fl_read_index(pivots, fl_in_stack(pivots, 1, out, batch)
                                                  + i * pivots.strides[pivots.ndim - 1]);
            FL_DEMAND((p < 0 ? -p : p) >= 1 && (p < 0 ? -p : p) <= n,
                      "linalg.ldl_solve: pivot %lld is no row of a matrix with %lld; pass what "
                      "ldl_factor returned", (long long)p, (long long)n);
            return p;
        };
        for (int64_t i = team.rank; i < n; i += 256)
            m.put(i, given.get(i, m.column));
        __syncthreads();
        for (int64_t k = 0; k < n;) {
            int64_t p = pivot(k);
            bool pair = p < 0;
            FL_DEMAND(!pair || (k + 1 < n && pivot(k + 1) < 0),
                      "linalg.ldl_solve: negative pivots come in pairs; pass what ldl_factor "
                      "returned");
            m.exchange(k + pair, (pair ? -p : p) - 1);
            m.forward(k, pair);
            k += 1 + pair;
        }
        for (int64_t k = n - 1; k >= 0;) {
            int64_t p = pivot(k);
            bool pair = p < 0;
            m.back(k, k + 1);
            if (pair)
                m.back(k - 1, k + 1);
            m.exchange(k, (pair ? -p : p) - 1);
            k -= 1 + pair;
        }
    }
}
