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

template <int D, class S, int SIZE, class C> FL_INLINE void fl_scan(const C &c) {
    fl_team<SIZE> team;
    const fl_view &x = c.views[0];
    for (int64_t row = team.first; row < c.items; row += team.step) {
        int64_t from = fl_row(c, x, row);
        S carry;
        carry.start();
        for (int64_t tile = 0; tile < c.length; tile += SIZE * FL_SCAN_ITEMS) {
            S mine, whole;
            mine.start();
            int64_t first = tile + team.rank * FL_SCAN_ITEMS;
            for (int64_t j = first; j < first + FL_SCAN_ITEMS && j < c.length; j++)
                mine.take(fl_read<D>(x, from + fl_in_row(c, x, j)), j);
            S until = fl_before<S, SIZE>(mine, whole, team.rank);
            until.follow(carry);
            for (int64_t j = first; j < first + FL_SCAN_ITEMS && j < c.length; j++) {
                until.take(fl_read<D>(x, from + fl_in_row(c, x, j)), j);
                until.give(c, row, j);
            }
            whole.follow(carry);
            carry = whole;
        }
    }
}
