/* Pooling: a thread for each window, or for each element of a gradient. */

/* Numbers of windows, which stand for both dimensions or for each: word k of a parameter. */
FL_INLINE int64_t fl_each(const fl_head &c, int parameter, int k, int fallback = -1) {
    int count = fl_count(c, parameter);
    if (!count)
        return fallback < 0 ? 1 : fl_each(c, fallback, k);
    return fl_word(c, parameter, count > k ? k : 0);
}

/* Element i of a view as a plane's first element, a row and a column. */
struct fl_in_plane {
    int64_t row, column, plane;
    __device__ fl_in_plane(const fl_view &v, int64_t i) {
        fl_split rest(i);
        column = rest.take(v.shape[v.ndim - 1]);
        row = rest.take(v.shape[v.ndim - 2]);
        plane = (int64_t)rest.rest;
    }
};
FL_INLINE int64_t fl_plane(const fl_view &v, int64_t plane) {
    return v.ndim > 2 ? fl_walk(v, 0, v.ndim - 2, plane) : 0;
}
FL_INLINE int64_t fl_at(const fl_view &v, int64_t row, int64_t column) {
    return row * v.strides[v.ndim - 2] + column * v.strides[v.ndim - 1];
}

/* max_pool2d_*(self, kernel_size, stride, padding, dilation, ceil_mode): the first of the greatest,
 * or the last NaN, as PyTorch; indices count within the plane. */
template <int D, bool INDICES, class C> FL_INLINE void fl_max_pool(const C &c) {
    const fl_view &x = c.views[0], &out = c.views[1];
    int64_t height = x.shape[x.ndim - 2], width = x.shape[x.ndim - 1];
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_in_plane p(out, i);
        int64_t base = fl_plane(x, p.plane), best = -1;
        FL_WIDE(D) value = fl_to<FL_WIDE(D)>::of((int64_t)0);
        for (int64_t a = 0; a < fl_each(c, 1, 0); a++)
            for (int64_t b = 0; b < fl_each(c, 1, 1); b++) {
                int64_t row = p.row * fl_each(c, 2, 0, 1) - fl_each(c, 3, 0) + a * fl_each(c, 4, 0),
                        column = p.column * fl_each(c, 2, 1, 1) - fl_each(c, 3, 1)
                                 + b * fl_each(c, 4, 1);
                if (row < 0 || row >= height || column < 0 || column >= width)
                    continue;
                FL_WIDE(D) met = fl_read<D>(x, base + fl_at(x, row, column));
                if (best < 0 || met > value || met != met) {
                    value = met;
                    best = row * width + column;
                }
            }
        fl_write<D>(out, fl_place(out, i), value);
        if (INDICES)
            fl_write_index(c.views[2], fl_place(c.views[2], i), best);
    }
}

/* How many elements a window counts, and where it begins and ends within the plane. */
struct fl_window {
    int64_t begin, end, size;
    __device__ fl_window(int64_t at, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t length, bool include) {
        begin = at * stride - padding;
        end = begin + kernel;
        int64_t last = end < length + padding ? end : length + padding;
        size = last - begin;
        begin = begin < 0 ? 0 : begin;
        end = end < length ? end : length;
        if (!include)
            size = end - begin;
    }
};

template <class T> FL_INLINE T fl_shared_out(T sum, int64_t count) { return sum / (T)count; }

/* avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) */
template <int D, class C> FL_INLINE void fl_avg_pool(const C &c) {
    const fl_view &x = c.views[0], &out = c.views[1];
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_in_plane p(out, i);
        bool include = fl_word(c, 5) != 0;
        fl_window rows(p.row, fl_each(c, 1, 0), fl_each(c, 2, 0, 1), fl_each(c, 3, 0),
                       x.shape[x.ndim - 2], include),
            columns(p.column, fl_each(c, 1, 1), fl_each(c, 2, 1, 1), fl_each(c, 3, 1),
                    x.shape[x.ndim - 1], include);
        int64_t base = fl_plane(x, p.plane),
                divisor = fl_count(c, 6) ? fl_word(c, 6) : rows.size * columns.size;
        FL_WIDE(D) sum = 0;
        for (int64_t row = rows.begin; row < rows.end; row++)
            for (int64_t column = columns.begin; column < columns.end; column++)
                sum += fl_read<D>(x, base + fl_at(x, row, column));
        fl_write<D>(out, fl_place(out, i), fl_shared_out(sum, divisor));
    }
}

/* The windows that hold an element: of all that end behind it, those that do not begin behind. */
struct fl_holders {
    int64_t first, end;
    __device__ fl_holders(int64_t at, int64_t kernel, int64_t stride, int64_t padding,
                          int64_t windows) {
        at += padding;
        first = at < kernel ? 0 : (at - kernel) / stride + 1;
        end = at / stride + 1;
        end = end < windows ? end : windows;
    }
};

/* avg_pool2d_grad(grad, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad,
 * divisor_override) */
template <int D, class C> FL_INLINE void fl_avg_pool_grad(const C &c) {
    const fl_view &g = c.views[0], &out = c.views[1];
    int64_t height = out.shape[out.ndim - 2], width = out.shape[out.ndim - 1];
    int64_t kernel[2], stride[2], padding[2];
    bool include = fl_word(c, 6) != 0;
    for (int k = 0; k < 2; k++) {
        kernel[k] = fl_each(c, 2, k);
        stride[k] = fl_each(c, 3, k, 2);
        padding[k] = fl_each(c, 4, k);
    }
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_in_plane p(out, i);
        fl_holders rows(p.row, kernel[0], stride[0], padding[0], g.shape[g.ndim - 2]),
            columns(p.column, kernel[1], stride[1], padding[1], g.shape[g.ndim - 1]);
        int64_t base = fl_plane(g, p.plane);
        FL_WIDE(D) sum = 0;
        for (int64_t row = rows.first; row < rows.end; row++)
            for (int64_t column = columns.first; column < columns.end; column++) {
                int64_t size =
                    fl_window(row, kernel[0], stride[0], padding[0], height, include).size
                    * fl_window(column, kernel[1], stride[1], padding[1], width, include).size;
                sum += fl_read<D>(g, base + fl_at(g, row, column))
                       / (FL_WIDE(D))(fl_count(c, 7) ? fl_word(c, 7) : size);
            }
        fl_write<D>(out, fl_place(out, i), sum);
    }
}

/* ---- windows of about equal sizes, along one dimension -------------------------------------------- */
struct fl_span {
    int64_t begin, end;
    __device__ fl_span(int64_t i, int64_t size, int64_t windows)
        : begin(i * size / windows), end(((i + 1) * size + windows - 1) / windows) {}
};

/* adaptive_mean(self, dim, count) and adaptive_max, which gives indices along the dimension, too. */
template <int D, bool MAX, class C> FL_INLINE void fl_adaptive(const C &c) {
    const fl_view &x = c.views[0], &out = c.views[1];
    int axis = c.axis;
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_split rest(i);
        int64_t base = 0, along = 0, best = -1;
        for (int d = out.ndim - 1; d >= 0; d--) {
            int64_t k = rest.take(out.shape[d]);
            if (d == axis)
                along = k;
            else
                base += k * x.strides[d];
        }
        fl_span span(along, x.shape[axis], out.shape[axis]);
        FL_WIDE(D) value = fl_to<FL_WIDE(D)>::of((int64_t)0);
        for (int64_t j = span.begin; j < span.end; j++) {
            FL_WIDE(D) met = fl_read<D>(x, base + j * x.strides[axis]);
            if (!MAX)
                value += met;
            else if (best < 0 || met > value || met != met) {
                value = met;
                best = j;
            }
        }
        fl_write<D>(out, fl_place(out, i),
                    MAX ? value : fl_shared_out(value, span.end - span.begin));
        if (MAX)
            fl_write_index(c.views[2], fl_place(c.views[2], i), best);
    }
}

/* adaptive_mean_grad(grad, dim, length) */
template <int D, class C> FL_INLINE void fl_adaptive_grad(const C &c) {
    const fl_view &g = c.views[0], &out = c.views[1];
    int axis = c.axis;
    int64_t windows = g.shape[axis], size = out.shape[axis];
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_split rest(i);
        int64_t base = 0, along = 0;
        for (int d = out.ndim - 1; d >= 0; d--) {
            int64_t k = rest.take(out.shape[d]);
            if (d == axis)
                along = k;
            else
                base += k * g.strides[d];
        }
        FL_WIDE(D) sum = 0;
        for (int64_t w = along * windows / size; w < windows; w++) {
            fl_span span(w, size, windows);
            if (span.begin > along)
                break;
            if (along < span.end)
                sum += fl_read<D>(g, base + w * g.strides[axis])
                       / (FL_WIDE(D))(span.end - span.begin);
        }
        fl_write<D>(out, fl_place(out, i), sum);
    }
}
