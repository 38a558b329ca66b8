/* Reading and writing by index, and moving elements: a thread for each element that is written. */

template <int D, class C> FL_INLINE void fl_move(const fl_view &to, int64_t at, const fl_view &from,
                                                 int64_t source, const C &) {
    fl_write<D>(to, at, fl_read<D>(from, source));
}

/* Places of element i of `shape` in two views that share its dimensions but for the axis. */
struct fl_pair_of_places {
    int64_t first, second, along;   /* without the axis, and the index along it */
    __device__ fl_pair_of_places(const fl_view &shape, const fl_view &a, const fl_view &b, int axis,
                                 int64_t i) {
        fl_split rest(i);
        first = second = along = 0;
        for (int d = shape.ndim - 1; d >= 0; d--) {
            int64_t k = rest.take(shape.shape[d]);
            if (d == axis) {
                along = k;
                continue;
            }
            first += a.ndim ? k * a.strides[d] : 0;
            second += b.ndim ? k * b.strides[d] : 0;
        }
    }
};
FL_INLINE int64_t fl_axis_stride(const fl_view &v, int axis) {
    return v.ndim ? v.strides[axis] : 0;
}
FL_INLINE int64_t fl_axis_size(const fl_view &v, int axis) { return v.ndim ? v.shape[axis] : 1; }

/* gather(self, dim, index) */
template <int D, class C> FL_INLINE void fl_gather(const C &c) {
    const fl_view &x = c.views[0], &index = c.views[1], &out = c.views[2];
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_pair_of_places p(out, x, out, c.axis, i);
        int64_t at = fl_checked_index(fl_read_index(index, fl_place(index, i)),
                                      fl_axis_size(x, c.axis));
        fl_move<D>(out, p.second + p.along * fl_axis_stride(out, c.axis), x,
                   p.first + at * fl_axis_stride(x, c.axis), c);
    }
}

/* scatter(self, dim, index, src or value), for a copy of self. */
template <int D, bool VALUE, class C> FL_INLINE void fl_scatter(const C &c) {
    const fl_view &index = c.views[1], &out = c.views[VALUE ? 2 : 3];
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_pair_of_places p(index, out, c.views[2], c.axis, i);
        int64_t at = fl_checked_index(fl_read_index(index, fl_place(index, i)),
                                      fl_axis_size(out, c.axis));
        at = p.first + at * fl_axis_stride(out, c.axis);
        if (VALUE)
            fl_write<D>(out, at, fl_word_scalar<D>(c, 3));
        else
            fl_move<D>(out, at, c.views[2],
                       p.second + p.along * fl_axis_stride(c.views[2], c.axis), c);
    }
}

/* index_select(self, dim, index) */
template <int D, class C> FL_INLINE void fl_index_select(const C &c) {
    const fl_view &x = c.views[0], &index = c.views[1], &out = c.views[2];
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_pair_of_places p(out, x, out, c.axis, i);
        int64_t at = fl_checked_index(fl_read_index(index, fl_place(index, p.along)),
                                      fl_axis_size(x, c.axis));
        fl_move<D>(out, p.second + p.along * fl_axis_stride(out, c.axis), x,
                   p.first + at * fl_axis_stride(x, c.axis), c);
    }
}

/* embedding_lookup(weight, indices, ...) */
template <int D, class C> FL_INLINE void fl_embedding(const C &c) {
    const fl_view &weight = c.views[0], &index = c.views[1], &out = c.views[2];
    int64_t width = weight.shape[1];
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_split rest(i);
        int64_t j = rest.take(width), picked = fl_read_index(index, fl_place(index, i / width));
        FL_DEMAND(picked >= 0 && picked < weight.shape[0],
                  "index %lld is out of bounds for %lld rows", (long long)picked,
                  (long long)weight.shape[0]);
        fl_move<D>(out, fl_place(out, i), weight,
                   picked * weight.strides[0] + j * weight.strides[1], c);
    }
}

/* ---- several indices at once --------------------------------------------------------------------- */
/* How indices of some dimensions, broadcast to one shape, stand in x[indices]: where the first of
 * them does if they are neighbours, else in front. */
template <class C> struct fl_indexed {
    const C &c;
    const fl_view &x;
    int listed, wide, begin;        /* the length of the list; the broadcast shape and its place */
    int64_t shape[FL_DIMS];
    __device__ fl_indexed(const C &call, const fl_view &indexed, int parameter)
        : c(call), x(indexed), listed((int)fl_word(call, parameter)), wide(0), begin(-1) {
        int last = -1;
        bool neighbours = true;
        for (int d = 0; d < FL_DIMS; d++)
            shape[d] = 1;
        for (int k = 0; k < listed; k++) {
            const fl_view &index = of(k);
            if (!given(k))
                continue;
            neighbours &= last < 0 || last == k - 1;
            begin = last < 0 ? k : begin;
            last = k;
            wide = index.ndim > wide ? index.ndim : wide;
        }
        begin = neighbours ? begin : 0;
        for (int k = 0; k < listed; k++)
            for (int d = 0; given(k) && d < of(k).ndim; d++)
                if (of(k).shape[d] != 1)
                    shape[wide - of(k).ndim + d] = of(k).shape[d];
    }
    __device__ const fl_view &of(int k) const { return c.views[c.listed + k]; }
    __device__ bool given(int k) const { return k < listed && of(k).dtype != 255; }
    __device__ int64_t numel() const {
        int64_t count = 1;
        for (int d = 0; d < wide; d++)
            count *= shape[d];
        for (int d = 0; d < x.ndim; d++)
            count *= given(d) ? 1 : x.shape[d];
        return count;
    }
    /* The place in x of element i of x[indices], and that in another view of its shape, to which
     * fewer dimensions, or dimensions of size 1, broadcast. */
    __device__ int64_t place(int64_t i, const fl_view &other, int64_t *there) const {
        int left = 0;
        for (int d = 0; d < x.ndim; d++)
            left += !given(d);
        int ndim = left + wide, plain = x.ndim - 1;
        fl_split rest(i);
        int64_t at = 0, coordinates[FL_DIMS];
        *there = 0;
        for (int d = ndim - 1; d >= 0; d--) {
            bool indexed = d >= begin && d < begin + wide;
            while (!indexed && given(plain))
                plain--;
            int64_t k = rest.take(indexed ? shape[d - begin] : x.shape[plain]);
            int own = d - (ndim - other.ndim);
            if (own >= 0 && other.shape[own] != 1)
                *there += k * other.strides[own];
            if (indexed)
                coordinates[d - begin] = k;
            else
                at += k * x.strides[plain--];
        }
        for (int k = 0; k < listed; k++) {
            if (!given(k))
                continue;
            const fl_view &index = of(k);
            int64_t from = 0;
            for (int d = 0; d < index.ndim; d++)
                if (index.shape[d] != 1)
                    from += coordinates[wide - index.ndim + d] * index.strides[d];
            at += fl_wrapped_index(fl_read_index(index, from), x.shape[k]) * x.strides[k];
        }
        return at;
    }
};

/* index(self, indices): views self, result, and the indices. */
template <int D, class C> FL_INLINE void fl_index(const C &c) {
    fl_indexed<C> indexed(c, c.views[0], 1);
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        int64_t to, at = indexed.place(i, c.views[1], &to);
        fl_move<D>(c.views[1], to, c.views[0], at, c);
    }
}

/* index_put(self, indices, values, accumulate): views self, values, result, and the indices. */
template <int D, class C> FL_INLINE void fl_index_put(const C &c) {
    fl_indexed<C> indexed(c, c.views[2], 1);
    int64_t count = indexed.numel();
    for (int64_t i = FL_THREAD; i < count; i += FL_THREADS) {
        int64_t from, at = indexed.place(i, c.views[1], &from);
        fl_move<D>(c.views[2], at, c.views[1], from, c);
    }
}

/* ---- moving -------------------------------------------------------------------------------------- */
/* flip(self, dims) */
template <int D, class C> FL_INLINE void fl_flip(const C &c) {
    const fl_view &x = c.views[0], &out = c.views[1];
    uint32_t flipped = 0;
    for (int k = 0; k < fl_count(c, 1); k++)
        flipped |= 1u << (fl_word(c, 1, k) < 0 ? fl_word(c, 1, k) + x.ndim : fl_word(c, 1, k));
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_split rest(i);
        int64_t from = 0, to = 0;
        for (int d = x.ndim - 1; d >= 0; d--) {
            int64_t k = rest.take(x.shape[d]);
            to += k * out.strides[d];
            from += (flipped >> d & 1 ? x.shape[d] - 1 - k : k) * x.strides[d];
        }
        fl_move<D>(out, to, x, from, c);
    }
}

/* tril(self, diagonal) and triu: zeros beyond the diagonal. */
template <int D, bool UPPER, class C> FL_INLINE void fl_triangle(const C &c) {
    const fl_view &x = c.views[0], &out = c.views[1];
    int64_t columns = x.shape[x.ndim - 1], rows = x.shape[x.ndim - 2], diagonal = fl_word(c, 1);
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        int64_t column = i % columns, row = i / columns % rows;
        bool kept = UPPER ? column - row >= diagonal : column - row <= diagonal;
        fl_write<D>(out, fl_place(out, i), kept ? fl_read<D>(x, fl_place(x, i))
                                                : fl_to<FL_WIDE(D)>::of((int64_t)0));
    }
}

/* constant_pad_nd(self, pad, value): pairs of before and after, the last dimension first. */
template <int D, class C> FL_INLINE void fl_pad(const C &c) {
    const fl_view &x = c.views[0], &out = c.views[1];
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_split rest(i);
        int64_t from = 0, to = 0;
        bool inside = true;
        for (int d = out.ndim - 1; d >= 0; d--) {
            int64_t k = rest.take(out.shape[d]);
            int pair = 2 * (out.ndim - 1 - d);
            to += k * out.strides[d];
            k -= pair < fl_count(c, 1) ? fl_word(c, 1, pair) : 0;
            inside &= k >= 0 && k < x.shape[d];
            from += k * x.strides[d];
        }
        fl_write<D>(out, to, inside ? fl_read<D>(x, from) : fl_word_scalar<D>(c, 2));
    }
}
