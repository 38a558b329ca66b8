/* Order: keys that compare as the values do, tiles sorted by a block, runs merged two by two.
 *
 * Equal keys keep their order (an entry's index decides), so that every order is one alone. NaN
 * comes after all numbers, and the zeros are equal. */
struct fl_entry {
    uint64_t key;
    int64_t index;
};
FL_INLINE bool fl_comes_first(const fl_entry &a, const fl_entry &b) {
    return a.key < b.key || (a.key == b.key && a.index < b.index);
}

#define FL_TOP_BIT 0x8000000000000000ull
FL_INLINE uint64_t fl_key_of(bool x) { return x; }
FL_INLINE uint64_t fl_key_of(uint64_t x) { return x; }
FL_INLINE uint64_t fl_key_of(int64_t x) { return (uint64_t)x ^ FL_TOP_BIT; }
FL_INLINE uint64_t fl_key_of(double x) {
    if (x != x)
        return ~0ull;
    uint64_t bits = fl_bit_cast<uint64_t>(x == 0 ? 0.0 : x);
    return bits & FL_TOP_BIT ? ~bits : bits | FL_TOP_BIT;
}
FL_INLINE uint64_t fl_key_of(float x) { return fl_key_of((double)x); }

FL_INLINE fl_entry *fl_entries(const fl_head &c) { return (fl_entry *)c.scratch[0]; }

/* Keys of rows of the first view. DESCENDING is the parameter that says so, or -1. */
template <int D, int DESCENDING, class C> FL_INLINE void fl_load_rows(const C &c) {
    bool back = DESCENDING >= 0 && fl_word(c, DESCENDING < 0 ? 0 : DESCENDING) != 0;
    for (int64_t t = FL_THREAD; t < c.items; t += FL_THREADS) {
        int64_t row = t / c.length, j = t % c.length;
        uint64_t key = fl_key_of(
            fl_read<D>(c.views[0], fl_row(c, c.views[0], row) + fl_in_row(c, c.views[0], j)));
        fl_entries(c)[t] = fl_entry{back ? ~key : key, j};
    }
}

/* Bitonic, in shared memory; a block has half as many threads as its tile has entries. */
template <class C> FL_INLINE void fl_sort_tiles(const C &c) {
    FL_SHARED(tile, uint64_t[2][1024]);
    int64_t tiles = (c.length + c.parts - 1) / c.parts;
    int size = (int)c.parts;
    for (int64_t t = blockIdx.x; t < c.items; t += gridDim.x) {
        int64_t start = t % tiles * size, base = t / tiles * c.length + start;
        fl_entry *entries = fl_entries(c) + base;
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            bool there = start + i < c.length;
            tile[0][i] = there ? entries[i].key : ~0ull;
            tile[1][i] = there ? (uint64_t)entries[i].index : FL_TOP_BIT - 1;
        }
        for (int run = 2; run <= size; run *= 2)
            for (int step = run / 2; step > 0; step /= 2) {
                __syncthreads();
                int i = 2 * threadIdx.x - (threadIdx.x & (step - 1)), k = i + step;
                fl_entry a = {tile[0][i], (int64_t)tile[1][i]},
                         b = {tile[0][k], (int64_t)tile[1][k]};
                bool up = (i & run) == 0;
                if (fl_comes_first(b, a) == up) {
                    tile[0][i] = b.key;
                    tile[1][i] = (uint64_t)b.index;
                    tile[0][k] = a.key;
                    tile[1][k] = (uint64_t)a.index;
                }
            }
        __syncthreads();
        for (int i = threadIdx.x; i < size && start + i < c.length; i += blockDim.x)
            entries[i] = fl_entry{tile[0][i], (int64_t)tile[1][i]};
        __syncthreads();
    }
}

/* How many of `count` entries in order come before one. */
FL_INLINE int64_t fl_rank(const fl_entry *run, int64_t count, const fl_entry &entry) {
    int64_t low = 0;
    while (low < count) {
        int64_t middle = low + (count - low) / 2;
        if (fl_comes_first(run[middle], entry))
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Each entry finds its place in the merged pair of runs by itself. */
template <class C> FL_INLINE void fl_merge_runs(const C &c) {
    for (int64_t t = FL_THREAD; t < c.items; t += FL_THREADS) {
        int64_t row = t / c.length, at = t % c.length, pair = at / (2 * c.width) * 2 * c.width,
                other = at - pair < c.width ? pair + c.width : pair, mine = at - at % c.width;
        const fl_entry *entries = fl_entries(c) + row * c.length;
        int64_t count = other < c.length ? (c.length - other < c.width ? c.length - other : c.width)
                                         : 0;
        int64_t place = pair + (at - mine) + fl_rank(entries + other, count, entries[at]);
        ((fl_entry *)c.scratch[1])[row * c.length + place] = entries[at];
    }
}

/* ---- what is made of the order ------------------------------------------------------------------ */
/* The first entries of each row: all of sort()'s, k of topk()'s. Views self, values, indices. */
template <int D, class C> FL_INLINE void fl_take_order(const C &c) {
    const fl_view &x = c.views[0], &values = c.views[1], &indices = c.views[2];
    int64_t wanted = c.rows ? values.numel / c.rows : 0;
    for (int64_t t = FL_THREAD; t < c.items; t += FL_THREADS) {
        int64_t row = t / wanted, j = t % wanted, at = fl_entries(c)[row * c.length + j].index;
        fl_write<D>(values, fl_row(c, values, row) + fl_in_row(c, values, j),
                    fl_read<D>(x, fl_row(c, x, row) + fl_in_row(c, x, at)));
        fl_write_index(indices, fl_row(c, indices, row) + fl_in_row(c, indices, j), at);
    }
}

#define FL_BY_K 0           /* kthvalue(self, k, ...) */
#define FL_BY_MEDIAN 1      /* of all; the first NaN if there is one */
#define FL_BY_NUMBERS 2     /* of what is not NaN */
/* Which entry of a row with so many numbers is asked for. */
template <int HOW, class C> FL_INLINE int64_t fl_rank_wanted(const C &c, int64_t numbers) {
    if (HOW == FL_BY_K)
        return fl_word(c, 1) - 1;
    if (HOW == FL_BY_MEDIAN && numbers < c.length)
        return numbers;
    if (HOW == FL_BY_NUMBERS)
        return numbers ? (numbers - 1) / 2 : 0;
    return (c.length - 1) / 2;
}

/* One entry of each row. Views self, values, indices. */
template <int D, int HOW, class C> FL_INLINE void fl_take_rank(const C &c) {
    for (int64_t row = FL_THREAD; row < c.items; row += FL_THREADS) {
        const fl_entry *entries = fl_entries(c) + row * c.length;
        const fl_entry first_nan = {~0ull, -1};
        int64_t numbers = fl_is_floating<FL_WIDE(D)>::value
                              ? fl_rank(entries, c.length, first_nan) : c.length;
        int64_t at = entries[fl_rank_wanted<HOW>(c, numbers)].index;
        fl_write<D>(c.views[1], fl_row(c, c.views[1], row),
                    fl_read<D>(c.views[0], fl_row(c, c.views[0], row)
                                               + fl_in_row(c, c.views[0], at)));
        fl_write_index(c.views[2], fl_row(c, c.views[2], row), at);
    }
}

/* ---- sums by index, in the order of the sources ------------------------------------------------- */
/* Indices along a dimension of a view. */
template <int VIEW, int INDEX, class C> FL_INLINE void fl_load_indices(const C &c) {
    const fl_view &index = c.views[INDEX];
    int64_t size = c.views[VIEW].ndim ? c.views[VIEW].shape[c.axis] : 1;
    for (int64_t t = FL_THREAD; t < c.items; t += FL_THREADS) {
        int64_t at = fl_read_index(index, fl_place(index, t));
        fl_entries(c)[t] = fl_entry{(uint64_t)fl_checked_index(at, size), t};
    }
}

/* The entries with the key of entry t begin there. */
FL_INLINE bool fl_begins_run(const fl_entry *entries, int64_t t) {
    return t == 0 || entries[t - 1].key != entries[t].key;
}

/* index_add(self, dim, index, source, alpha): views self, index, source, result, which holds self.
 * A thread adds up what one run of equal indices gives to one element. */
template <int D, class C> FL_INLINE void fl_index_add(const C &c) {
    const fl_view &source = c.views[2], &out = c.views[3];
    FL_WIDE(D) alpha = fl_word_scalar<D>(c, 4);
    int64_t count = c.length, others = count ? source.numel / count : 0;
    const fl_entry *entries = fl_entries(c);
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        int64_t t = i / others, from = 0, to = 0;
        if (!fl_begins_run(entries, t))
            continue;
        fl_split rest(i % others);
        for (int d = source.ndim - 1; d >= 0; d--) {
            if (d == c.axis)
                continue;
            int64_t k = rest.take(source.shape[d]);
            from += k * source.strides[d];
            to += k * out.strides[d];
        }
        int64_t step = source.ndim ? source.strides[c.axis] : 0;
        to += (int64_t)entries[t].key * (out.ndim ? out.strides[c.axis] : 0);
        FL_WIDE(D) sum = fl_read<D>(out, to);
        uint64_t key = entries[t].key;
        for (; t < count && entries[t].key == key; t++)
            sum = fl_plus(sum, fl_times(alpha, fl_read<D>(source, from
                                                              + entries[t].index * step)));
        fl_write<D>(out, to, sum);
    }
}

/* embedding_grad(grad, indices, num_weights, padding_idx), for zeros. */
template <int D, class C> FL_INLINE void fl_embedding_grad(const C &c) {
    const fl_view &grad = c.views[0], &out = c.views[2];
    int64_t width = out.shape[1];
    const fl_entry *entries = fl_entries(c);
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        int64_t t = i / width, j = i % width;
        uint64_t key = entries[t].key;
        if (!fl_begins_run(entries, t) || (int64_t)key == fl_word(c, 3))
            continue;
        FL_WIDE(D) sum = fl_to<FL_WIDE(D)>::of((int64_t)0);
        for (; t < c.length && entries[t].key == key; t++)
            sum = fl_plus(sum, fl_read<D>(grad, fl_place(grad, entries[t].index * width + j)));
        fl_write<D>(out, (int64_t)key * out.strides[0] + j * out.strides[1], sum);
    }
}

/* scatter_add(self, dim, index, src): keys are places in the result. */
template <class C> FL_INLINE void fl_load_places(const C &c) {
    const fl_view &index = c.views[1], &out = c.views[3];
    for (int64_t t = FL_THREAD; t < c.items; t += FL_THREADS) {
        fl_split rest(t);
        int64_t to = 0, at = fl_read_index(index, fl_place(index, t));
        for (int d = index.ndim - 1; d >= 0; d--) {
            int64_t k = rest.take(index.shape[d]);
            if (d != c.axis)
                to += k * (out.ndim ? out.strides[d] : 0);
        }
        to += fl_checked_index(at, out.ndim ? out.shape[c.axis] : 1)
              * (out.ndim ? out.strides[c.axis] : 0);
        fl_entries(c)[t] = fl_entry{(uint64_t)to, t};
    }
}

/* Views self, index, src, result, which holds self. */
template <int D, class C> FL_INLINE void fl_scatter_add(const C &c) {
    const fl_view &index = c.views[1], &source = c.views[2], &out = c.views[3];
    const fl_entry *entries = fl_entries(c);
    for (int64_t t = FL_THREAD; t < c.items; t += FL_THREADS) {
        int64_t k = t;
        if (!fl_begins_run(entries, t))
            continue;
        FL_WIDE(D) sum = fl_read<D>(out, (int64_t)entries[t].key);
        for (; k < c.length && entries[k].key == entries[t].key; k++) {
            fl_split rest(entries[k].index);
            int64_t from = 0;
            for (int d = index.ndim - 1; d >= 0; d--)
                from += rest.take(index.shape[d]) * (source.ndim ? source.strides[d] : 0);
            sum = fl_plus(sum, fl_read<D>(source, from));
        }
        fl_write<D>(out, (int64_t)entries[t].key, sum);
    }
}

/* ---- places in what is in order ----------------------------------------------------------------- */
/* searchsorted(sorted_sequence, input, out_int32, right, side, sorter) with views sequence, input,
 * sorter, result; BUCKETS: bucketize(input, boundaries, out_int32, right) with input, boundaries,
 * result. */
template <int D, bool BUCKETS, class C> FL_INLINE void fl_searchsorted(const C &c) {
    const fl_view &sequence = c.views[BUCKETS ? 1 : 0], &x = c.views[BUCKETS ? 0 : 1],
                  &out = c.views[BUCKETS ? 2 : 3];
    int last = sequence.ndim - 1;
    bool right = fl_word(c, 3) != 0 || (!BUCKETS && fl_count(c, 4) && (fl_word(c, 4) & 255) == 'r');
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_split rest(i);
        int64_t row = 0, sort_row = 0, at = 0;
        for (int d = out.ndim - 1; d >= 0; d--) {
            int64_t k = rest.take(out.shape[d]);
            at += x.dtype == FL_IS_NUMBER ? 0 : k * x.strides[d];
            if (sequence.ndim > 1 && d < last) {
                row += k * sequence.strides[d];
                sort_row += !BUCKETS && c.views[2].data ? k * c.views[2].strides[d] : 0;
            }
        }
        uint64_t key = fl_key_of(fl_read_operand<D>(x, at));
        int64_t low = 0, high = sequence.shape[last];
        while (low < high) {
            int64_t middle = low + (high - low) / 2, j = middle;
            if (!BUCKETS && c.views[2].data)
                j = fl_read_index(c.views[2], sort_row + middle * c.views[2].strides[last]);
            uint64_t met = fl_key_of(fl_read<D>(sequence, row + j * sequence.strides[last]));
            if (right ? met <= key : met < key)
                low = middle + 1;
            else
                high = middle;
        }
        fl_write_index(out, fl_place(out, i), low);
    }
}
