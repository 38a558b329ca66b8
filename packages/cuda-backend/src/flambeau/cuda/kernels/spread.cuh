/* Rows that are read, joined and written: a warp or a block for each, or of few long rows a block
 * for each part. R says how: an accumulator of elements from..to of a row, and what is written of
 * them when all are joined. How many parts a row has depends on its shape alone. */
template <class R, int SIZE, class C> FL_INLINE void fl_rows(const C &c) {
    fl_team<SIZE> team;
    for (int64_t row = team.first; row < c.items; row += team.step) {
        auto acc = team.join(R::template take<SIZE>(c, row, 0, c.length, team.rank));
        R::template give<SIZE>(c, row, 0, c.length, team.rank, acc);
    }
}

/* ---- elements of rows ------------------------------------------------------------------------ */
/* A row of a view. */
struct fl_operand {
    const fl_view *view;
    int64_t base;
};
template <class C> FL_INLINE fl_operand fl_operand_of(const C &c, int k, int64_t row) {
    return fl_operand{&c.views[k], fl_row(c, c.views[k], row)};
}

/* Whether elements from `from` on may be loaded 16 bytes at a time. */
template <int D, class C>
FL_INLINE bool fl_has_packs(const C &c, const fl_operand &o, int64_t from) {
    const fl_view &v = *o.view;
    return v.dtype == D && v.ndim == c.kept + 1 && v.strides[c.kept] == 1
           && (uint64_t)((FL_STORED(D) *)v.data + o.base + from) % 16 == 0;
}

/* Elements g..g+W of a row. */
template <int D, int W>
FL_INLINE fl_pack<FL_STORED(D), W> fl_pack_at(const fl_operand &o, int64_t g) {
    return *(const fl_pack<FL_STORED(D), W> *)((FL_STORED(D) *)o.view->data + o.base + g);
}

template <int D, class C>
FL_INLINE FL_WIDE(D) fl_read_at(const C &c, const fl_operand &o, int64_t j) {
    return fl_read<D>(*o.view, o.base + fl_in_row(c, *o.view, j));
}

/* Elements from..to of a row, as threads take them: packs of W neighbours each, one by one where
 * that would leave threads without any. Which takes what does not depend on how they lie, so that
 * sums have one order. */
template <int D, int SIZE> struct fl_pace {
    static constexpr int W = 16 / sizeof(FL_STORED(D));
    int64_t width, at, step;
    template <class C>
    __device__ fl_pace(const C &c, int64_t from, int rank)
        : width(c.length >= SIZE * W ? W : 1), at(from + rank * width), step(SIZE * width) {}
    template <int N, class C>
    __device__ bool has_packs(const C &c, const fl_operand (&in)[N]) const {
        bool all = width == W;
        for (int k = 0; k < N; k++)
            all = all && fl_has_packs<D>(c, in[k], at);
        return all;
    }
};

/* take(j, x) gets element j of all operands. */
template <int D, int SIZE, int N, class C, class F>
FL_INLINE void fl_each(const C &c, const fl_operand (&in)[N], int64_t from, int64_t to, int rank,
                       const F &take) {
    typedef fl_pace<D, SIZE> pace;
    pace p(c, from, rank);
    FL_WIDE(D) x[N];
    if (p.has_packs(c, in))
        for (; p.at + pace::W <= to; p.at += p.step) {
            fl_pack<FL_STORED(D), pace::W> packs[N];
            for (int k = 0; k < N; k++)
                packs[k] = fl_pack_at<D, pace::W>(in[k], p.at);
#pragma unroll
            for (int w = 0; w < pace::W; w++) {
                for (int k = 0; k < N; k++)
                    x[k] = fl_dtype<D>::widen(packs[k].v[w]);
                take(p.at + w, x);
            }
        }
#pragma unroll 1
    for (; p.at < to; p.at += p.step)
#pragma unroll 1
        for (int64_t j = p.at; j < p.at + p.width && j < to; j++) {
            for (int k = 0; k < N; k++)
                x[k] = fl_read_at<D>(c, in[k], j);
            take(j, x);
        }
}

/* Writes make(j, x) to element j of `out`, with x as above. */
template <int D, int SIZE, int N, class C, class F>
FL_INLINE void fl_map(const C &c, const fl_operand (&in)[N], const fl_operand &out, int64_t from,
                      int64_t to, int rank, const F &make) {
    typedef fl_pace<D, SIZE> pace;
    typedef FL_STORED(D) stored;
    pace p(c, from, rank);
    FL_WIDE(D) x[N];
    if (p.has_packs(c, in) && fl_has_packs<D>(c, out, p.at))
        for (; p.at + pace::W <= to; p.at += p.step) {
            fl_pack<stored, pace::W> packs[N], made;
            for (int k = 0; k < N; k++)
                packs[k] = fl_pack_at<D, pace::W>(in[k], p.at);
#pragma unroll
            for (int w = 0; w < pace::W; w++) {
                for (int k = 0; k < N; k++)
                    x[k] = fl_dtype<D>::widen(packs[k].v[w]);
                made.v[w] = fl_dtype<D>::narrow(make(p.at + w, x));
            }
            *(fl_pack<stored, pace::W> *)((stored *)out.view->data + out.base + p.at) = made;
        }
#pragma unroll 1
    for (; p.at < to; p.at += p.step)
#pragma unroll 1
        for (int64_t j = p.at; j < p.at + p.width && j < to; j++) {
            for (int k = 0; k < N; k++)
                x[k] = fl_read_at<D>(c, in[k], j);
            fl_write<D>(*out.view, out.base + fl_in_row(c, *out.view, j), make(j, x));
        }
}

/* ---- parts of rows --------------------------------------------------------------------------- */
/* Item p * rows + r is part p of row r; parts begin at whole packs. */
struct fl_part {
    int64_t row, from, to;
    template <class C> __device__ fl_part(const C &c, int64_t item) : row(item % c.rows) {
        const int64_t size = ((c.length + c.parts - 1) / c.parts + 63) / 64 * 64, last = c.length;
        from = item / c.rows * size;
        to = from + size < last ? from + size : last;
        from = from < last ? from : last;
    }
};

template <class R, class C> FL_INLINE void fl_row_parts(const C &c) {
    fl_team<256> team;
    for (int64_t t = team.first; t < c.items; t += team.step) {
        const fl_part part(c, t);
        auto acc = team.join(R::template take<256>(c, part.row, part.from, part.to, team.rank));
        if (team.rank == 0)
            ((typename R::joined *)c.scratch[0])[t] = acc;
    }
}

template <class R, class C> FL_INLINE void fl_joined_rows(const C &c) {
    fl_team<256> team;
    for (int64_t t = team.first; t < c.items; t += team.step) {
        const fl_part part(c, t);
        typename R::joined acc;
        acc.start();
        for (int64_t p = team.rank; p < c.parts; p += 256)
            acc.join(((const typename R::joined *)c.scratch[0])[p * c.rows + part.row]);
        R::template give<256>(c, part.row, part.from, part.to, team.rank, team.join(acc));
    }
}
