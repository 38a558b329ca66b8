/* Scans along rows: each thread of a team takes four neighbours, teams go along the row. */
#define FL_SCAN_ITEMS 4

template <int D> struct fl_cumsum {
    FL_WIDE(D) value;
    __device__ void start() { value = fl_to<FL_WIDE(D)>::of((int64_t)0); }
    __device__ void take(FL_WIDE(D) x, int64_t) { value = fl_plus(value, x); }
    __device__ void follow(const fl_cumsum &o) { value = fl_plus(o.value, value); }
    template <class C> __device__ void give(const C &c, int64_t row, int64_t j) const {
        fl_write<D>(c.views[1], fl_row(c, c.views[1], row) + fl_in_row(c, c.views[1], j), value);
    }
};
template <int D> struct fl_cumprod {
    FL_WIDE(D) value;
    __device__ void start() { value = fl_to<FL_WIDE(D)>::of((int64_t)1); }
    __device__ void take(FL_WIDE(D) x, int64_t) { value = fl_times(value, x); }
    __device__ void follow(const fl_cumprod &o) { value = fl_times(o.value, value); }
    template <class C> __device__ void give(const C &c, int64_t row, int64_t j) const {
        fl_write<D>(c.views[1], fl_row(c, c.views[1], row) + fl_in_row(c, c.views[1], j), value);
    }
};

/* The greatest (SIGN 1) or least value so far, the last of equals or of NaN, and where it stood. */
template <int D, int SIGN> struct fl_running_extreme {
    FL_WIDE(D) value;
    int64_t at;
    __device__ void start() {
        memset(this, 0, sizeof *this);
        at = -1;
    }
    static __device__ bool replaces(FL_WIDE(D) later, FL_WIDE(D) earlier) {
        return later != later
               || (earlier == earlier && (SIGN > 0 ? later >= earlier : later <= earlier));
    }
    __device__ void take(FL_WIDE(D) x, int64_t j) {
        if (at < 0 || replaces(x, value)) {
            value = x;
            at = j;
        }
    }
    __device__ void follow(const fl_running_extreme &o) {
        if (o.at >= 0 && (at < 0 || !replaces(value, o.value)))
            *this = o;
    }
    template <class C> __device__ void give(const C &c, int64_t row, int64_t j) const {
        fl_write<D>(c.views[1], fl_row(c, c.views[1], row) + fl_in_row(c, c.views[1], j), value);
        fl_write_index(c.views[2], fl_row(c, c.views[2], row) + fl_in_row(c, c.views[2], j), at);
    }
};

template <int D> struct fl_logcumsumexp {
    double value;
    __device__ void start() { value = -FL_INF_F64; }
    static __device__ double sum(double a, double b) {
        if (a == b)
            return a == -FL_INF_F64 ? a : a + 0.69314718055994530942;
        double high = a > b || a != a ? a : b, low = a > b || a != a ? b : a;
        return low == -FL_INF_F64 ? high : high + FL_BUILTIN(log1p)(FL_BUILTIN(exp)(low - high));
    }
    __device__ void take(FL_WIDE(D) x, int64_t) { value = sum(value, (double)x); }
    __device__ void follow(const fl_logcumsumexp &o) { value = sum(o.value, value); }
    template <class C> __device__ void give(const C &c, int64_t row, int64_t j) const {
        fl_write<12>(c.views[1], fl_row(c, c.views[1], row) + fl_in_row(c, c.views[1], j), value);
    }
};

/* What all threads before this one hold together; `whole` becomes what the team holds. */
template <class S, int SIZE> FL_INLINE S fl_before(S mine, S &whole, int rank) {
    FL_SHARED(ends, uint64_t[SIZE / 32][(sizeof(S) + 7) / 8]);
    int lane = rank % 32, warp = rank / 32;
    S until = mine, before;
    for (int by = 1; by < 32; by *= 2) {
        uint32_t words[sizeof(S) / 4];
        S other;
        memcpy(words, &until, sizeof(S));
        for (int i = 0; i < (int)(sizeof(S) / 4); i++)
            words[i] = __shfl_up_sync(FL_ALL_LANES, words[i], by);
        memcpy(&other, words, sizeof(S));
        if (lane >= by)
            until.follow(other);
    }
    S left = fl_shuffle_any(until, lane ? lane - 1 : 0);
    before.start();
    if (lane)
        before = left;
    if (SIZE == 32) {
        whole = fl_shuffle_any(until, 31);
        return before;
    }
    __syncthreads();
    if (lane == 31)
        memcpy(ends[warp], &until, sizeof(S));
    __syncthreads();
    S earlier;
    earlier.start();
    whole.start();
    for (int w = 0; w < SIZE / 32; w++) {
        S end;
        memcpy(&end, ends[w], sizeof(S));
        S longer = end;
        longer.follow(whole);
        if (w == warp)
            earlier = whole;
        whole = longer;
    }
    before.follow(earlier);
    return before;
}

/* Elements from..to of a row, after what `carry` holds; gives what both hold together. */
template <int D, class S, int SIZE, bool GIVES, class C>
FL_INLINE S fl_scan_part(const C &c, int rank, int64_t row, int64_t from, int64_t to, S carry) {
    const fl_view &x = c.views[0];
    const int64_t base = fl_row(c, x, row);
    for (int64_t tile = from; tile < to; tile += SIZE * FL_SCAN_ITEMS) {
        S mine, whole;
        mine.start();
        const int64_t first = tile + rank * FL_SCAN_ITEMS;
        for (int64_t j = first; j < first + FL_SCAN_ITEMS && j < to; j++)
            mine.take(fl_read<D>(x, base + fl_in_row(c, x, j)), j);
        S until = fl_before<S, SIZE>(mine, whole, rank);
        until.follow(carry);
        for (int64_t j = first; GIVES && j < first + FL_SCAN_ITEMS && j < to; j++) {
            until.take(fl_read<D>(x, base + fl_in_row(c, x, j)), j);
            until.give(c, row, j);
        }
        whole.follow(carry);
        carry = whole;
    }
    return carry;
}

template <int D, class S, int SIZE, class C> FL_INLINE void fl_scan(const C &c) {
    fl_team<SIZE> team;
    S nothing;
    nothing.start();
    for (int64_t row = team.first; row < c.items; row += team.step)
        fl_scan_part<D, S, SIZE, true>(c, team.rank, row, 0, c.length, nothing);
}

/* Of long rows: what each part holds, what goes before it, and its scan after that. */
template <int D, class S, class C> FL_INLINE void fl_scan_totals(const C &c) {
    fl_team<256> team;
    S nothing;
    nothing.start();
    for (int64_t t = team.first; t < c.items; t += team.step) {
        const fl_part part(c, t);
        const S total = fl_scan_part<D, S, 256, false>(c, team.rank, part.row, part.from, part.to,
                                                       nothing);
        if (team.rank == 0)
            ((S *)c.scratch[0])[t] = total;
    }
}

template <class S, class C> FL_INLINE void fl_scan_carries(const C &c) {
    S *parts = (S *)c.scratch[0];
    for (int64_t row = FL_THREAD; row < c.items; row += FL_THREADS) {
        S before;
        before.start();
        for (int64_t p = 0; p < c.parts; p++) {
            S until = parts[p * c.rows + row];
            parts[p * c.rows + row] = before;
            until.follow(before);
            before = until;
        }
    }
}

template <int D, class S, class C> FL_INLINE void fl_scan_joined(const C &c) {
    fl_team<256> team;
    for (int64_t t = team.first; t < c.items; t += team.step) {
        const fl_part part(c, t);
        fl_scan_part<D, S, 256, true>(c, team.rank, part.row, part.from, part.to,
                                      ((const S *)c.scratch[0])[t]);
    }
}
