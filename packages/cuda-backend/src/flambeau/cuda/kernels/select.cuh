/* The first entries of long rows without an order of all: the key that ends them is found eight
 * bits at a time, from the highest on (radix selection), and what comes before it is kept. */

/* Where a row's first entries end: all keys below `key` belong to them, and `ties` equal ones. */
struct fl_end {
    uint64_t key, ties;
};

/* Of 256 threads, each of which calls it. key_at(j) gives keys. Where EARLY, the key may be greater
 * than that of the last entry, below all that follow. */
template <bool EARLY, class F>
FL_INLINE fl_end fl_end_of(int64_t length, int64_t wanted, const F &key_at) {
    FL_SHARED(counts, uint32_t[256]);
    FL_SHARED(found, uint64_t[3]);
    uint64_t known = 0, left = (uint64_t)wanted;
    for (int shift = 56; shift >= 0; shift -= 8) {
        counts[threadIdx.x] = 0;
        __syncthreads();
        for (int64_t j = threadIdx.x; j < length; j += 256) {
            uint64_t key = key_at(j);
            if (shift == 56 || key >> (shift + 8) == known >> (shift + 8))
                atomicAdd(&counts[key >> shift & 255], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            uint64_t digit = 0;
            for (; left > counts[digit]; digit++)
                left -= counts[digit];
            found[0] = known | digit << shift;
            found[1] = left;
            found[2] = left == counts[digit];
        }
        __syncthreads();
        known = found[0];
        left = found[1];
        bool all = found[2] != 0;
        __syncthreads();
        if (EARLY && all)   /* whatever their lower bits are */
            return fl_end{known | (((uint64_t)1 << shift) - 1), ~0ull};
    }
    return fl_end{known, left};
}

/* How many threads of the block before this one say yes, and `before` them all, to which those of
 * this block are added. */
FL_INLINE uint64_t fl_count_before(bool yes, uint64_t &before) {
    FL_SHARED(of_warp, uint32_t[8]);
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32,
                   votes = __ballot_sync(FL_ALL_LANES, yes);
    __syncthreads();
    if (lane == 0)
        of_warp[warp] = __popc(votes);
    __syncthreads();
    uint64_t found = before + __popc(votes & ((1u << lane) - 1));
    for (uint32_t w = 0; w < 8; w++) {
        found += w < warp ? of_warp[w] : 0;
        before += of_warp[w];
    }
    return found;
}

/* Entries of the `width` first of each row, in any order: ties are taken by their index. */
template <int D, int DESCENDING, class C> FL_INLINE void fl_select_rows(const C &c) {
    FL_SHARED(taken, uint32_t[1]);
    const fl_view &x = c.views[0];
    const bool back = fl_word(c, DESCENDING) != 0;
    for (int64_t row = blockIdx.x; row < c.items; row += gridDim.x) {
        const int64_t from = fl_row(c, x, row);
        fl_entry *kept = fl_entries(c) + row * c.width;
        auto key_at = [&](int64_t j) {
            uint64_t key = fl_key_of(fl_read<D>(x, from + fl_in_row(c, x, j)));
            return back ? ~key : key;
        };
        const fl_end end = fl_end_of<true>(c.length, c.width, key_at);
        if (threadIdx.x == 0)
            taken[0] = 0;
        uint64_t ties = 0;
        for (int64_t tile = 0; tile < c.length; tile += 256) {
            const int64_t j = tile + threadIdx.x;
            const uint64_t key = j < c.length ? key_at(j) : ~0ull;
            const bool equal = j < c.length && key == end.key;
            const uint64_t before = fl_count_before(equal, ties);
            if (j < c.length && (key < end.key || (equal && before < end.ties)))
                kept[atomicAdd(&taken[0], 1u)] = fl_entry{key, j};
        }
        __syncthreads();
    }
}

/* One entry of each row, as fl_take_rank takes it from an order. Views self, values, indices. */
template <int D, int HOW, class C> FL_INLINE void fl_select_rank(const C &c) {
    fl_team<256> team;
    const fl_view &x = c.views[0];
    for (int64_t row = team.first; row < c.items; row += team.step) {
        const int64_t from = fl_row(c, x, row);
        auto key_at = [&](int64_t j) {
            return fl_key_of(fl_read<D>(x, from + fl_in_row(c, x, j)));
        };
        fl_total<int64_t> numbers = {0};
        for (int64_t j = team.rank; j < c.length; j += 256)
            numbers.value += !fl_is_floating<FL_WIDE(D)>::value || key_at(j) != ~0ull;
        const int64_t rank = fl_rank_wanted<HOW>(c, team.join(numbers).value);
        const fl_end end = fl_end_of<false>(c.length, rank + 1, key_at);
        uint64_t ties = 0;
        for (int64_t tile = 0; tile < c.length; tile += 256) {
            const int64_t j = tile + team.rank;
            const bool equal = j < c.length && key_at(j) == end.key;
            if (fl_count_before(equal, ties) + 1 != end.ties || !equal)
                continue;
            fl_write<D>(c.views[1], fl_row(c, c.views[1], row),
                        fl_read<D>(x, from + fl_in_row(c, x, j)));
            fl_write_index(c.views[2], fl_row(c, c.views[2], row), j);
        }
    }
}
