/* Layer, batch and group normalization and their gradients. Mean first, then squared distances. */

template <class W> struct fl_pair {
    W first, second;
    __device__ void join(const fl_pair &o) {
        first += o.first;
        second += o.second;
    }
};

/* Mean and 1 / sqrt(variance + eps) of `count` elements that `at` gives. */
template <class W, int SIZE, class F>
FL_INLINE fl_pair<W> fl_mean_and_rstd(const fl_team<SIZE> &team, int64_t count, double eps, F at,
                                      W *variance = nullptr) {
    fl_total<W> sum = {0}, squares = {0};
    for (int64_t j = team.rank; j < count; j += SIZE)
        sum.value += at(j);
    W mean = team.join(sum).value / (W)count;
    for (int64_t j = team.rank; j < count; j += SIZE) {
        W distance = at(j) - mean;
        squares.value += distance * distance;
    }
    W var = team.join(squares).value / (W)count;
    if (variance)
        *variance = var;
    return fl_pair<W>{mean, (W)1 / FL_BUILTIN(sqrt)(var + (W)eps)};
}

template <int D> FL_INLINE FL_WIDE(D) fl_or(const fl_view &v, int64_t at, double fallback) {
    return v.data ? fl_read<D>(v, at) : (FL_WIDE(D))fallback;
}

/* native_layer_norm(input, axes, weight, bias, eps): views input, weight, bias, result, mean, rstd */
template <int D, int SIZE, class C> FL_INLINE void fl_layer_norm(const C &c) {
    typedef FL_WIDE(D) W;
    fl_team<SIZE> team;
    const fl_view &x = c.views[0], &w = c.views[1], &b = c.views[2], &y = c.views[3];
    for (int64_t row = team.first; row < c.items; row += team.step) {
        int64_t from = fl_row(c, x, row), to = fl_row(c, y, row);
        auto at = [&](int64_t j) { return fl_read<D>(x, from + fl_in_row(c, x, j)); };
        auto s = fl_mean_and_rstd<W>(team, c.length, fl_word_double(c, 4), at);
        for (int64_t j = team.rank; j < c.length; j += SIZE)
            fl_write<D>(y, to + fl_in_row(c, y, j),
                        (at(j) - s.first) * s.second * fl_or<D>(w, fl_place(w, j), 1)
                            + fl_or<D>(b, fl_place(b, j), 0));
        if (team.rank)
            continue;
        fl_write<D>(c.views[4], fl_row(c, c.views[4], row), s.first);
        fl_write<D>(c.views[5], fl_row(c, c.views[5], row), s.second);
    }
}

/* layer_norm_grad(grad, input, mean, rstd, weight, axes): by the input. */
template <int D, int SIZE, class C> FL_INLINE void fl_layer_norm_grad(const C &c) {
    typedef FL_WIDE(D) W;
    fl_team<SIZE> team;
    const fl_view &g = c.views[0], &x = c.views[1], &w = c.views[4], &out = c.views[5];
    for (int64_t row = team.first; row < c.items; row += team.step) {
        int64_t at_g = fl_row(c, g, row), at_x = fl_row(c, x, row), to = fl_row(c, out, row);
        W mean = fl_read<D>(c.views[2], fl_row(c, c.views[2], row)),
          rstd = fl_read<D>(c.views[3], fl_row(c, c.views[3], row));
        auto slope = [&](int64_t j) {
            return fl_read<D>(g, at_g + fl_in_row(c, g, j)) * fl_or<D>(w, fl_place(w, j), 1);
        };
        auto centered = [&](int64_t j) {
            return (fl_read<D>(x, at_x + fl_in_row(c, x, j)) - mean) * rstd;
        };
        fl_pair<W> sums = {0, 0};
        for (int64_t j = team.rank; j < c.length; j += SIZE) {
            W s = slope(j);
            sums.first += s;
            sums.second += s * centered(j);
        }
        sums = team.join(sums);
        for (int64_t j = team.rank; j < c.length; j += SIZE)
            fl_write<D>(out, to + fl_in_row(c, out, j),
                        rstd * (slope(j) - sums.first / (W)c.length
                                - centered(j) * (sums.second / (W)c.length)));
    }
}

/* The same by weight and bias: 32 columns for a block, whose 8 rows of threads join at the end. */
template <int D, class C> FL_INLINE void fl_layer_norm_weights(const C &c) {
    typedef FL_WIDE(D) W;
    const fl_view &g = c.views[0], &x = c.views[1];
    FL_SHARED(parts, FL_WIDE(D)[2][8][32]);
    int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    for (int64_t first = (int64_t)blockIdx.x * 32; first < c.length;
         first += (int64_t)gridDim.x * 32) {
        int64_t j = first + lane;
        W by_weight = 0, by_bias = 0;
        for (int64_t row = line; row < c.rows && j < c.length; row += 8) {
            W slope = fl_read<D>(g, fl_row(c, g, row) + fl_in_row(c, g, j)),
              mean = fl_read<D>(c.views[2], fl_row(c, c.views[2], row)),
              rstd = fl_read<D>(c.views[3], fl_row(c, c.views[3], row));
            by_bias += slope;
            by_weight += slope * ((fl_read<D>(x, fl_row(c, x, row) + fl_in_row(c, x, j)) - mean)
                                  * rstd);
        }
        parts[0][line][lane] = by_weight;
        parts[1][line][lane] = by_bias;
        __syncthreads();
        if (line < 2 && j < c.length) {
            W sum = 0;
            for (int k = 0; k < 8; k++)
                sum += parts[line][k][lane];
            fl_write<D>(c.views[6 + line], fl_place(c.views[6 + line], j), sum);
        }
        __syncthreads();
    }
}

/* native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
 * views in that order, then result, mean, rstd. A row is a channel. */
template <int D, int SIZE, class C> FL_INLINE void fl_batch_norm(const C &c) {
    typedef FL_WIDE(D) W;
    fl_team<SIZE> team;
    const fl_view &x = c.views[0], &y = c.views[5];
    for (int64_t row = team.first; row < c.items; row += team.step) {
        auto place = [&](int k) { return fl_row(c, c.views[k], row); };
        int64_t from = place(0), to = place(5);
        auto at = [&](int64_t j) { return fl_read<D>(x, from + fl_in_row(c, x, j)); };
        double eps = fl_word_double(c, 7), momentum = fl_word_double(c, 6);
        fl_pair<W> s;
        W var = 0;
        bool training = fl_word(c, 5) != 0;
        if (training) {
            s = fl_mean_and_rstd<W>(team, c.length, eps, at, &var);
        } else {
            s.first = fl_read<D>(c.views[3], place(3));
            s.second = (W)1 / FL_BUILTIN(sqrt)(fl_read<D>(c.views[4], place(4)) + (W)eps);
        }
        W scale = fl_or<D>(c.views[1], place(1), 1), shift = fl_or<D>(c.views[2], place(2), 0);
        for (int64_t j = team.rank; j < c.length; j += SIZE)
            fl_write<D>(y, to + fl_in_row(c, y, j), (at(j) - s.first) * s.second * scale + shift);
        if (team.rank)
            continue;
        fl_write<D>(c.views[6], place(6), s.first);
        fl_write<D>(c.views[7], place(7), s.second);
        W now[2] = {s.first, var * ((W)c.length / (W)(c.length > 1 ? c.length - 1 : 1))};
        for (int k = 0; k < 2; k++)
            if (training && c.views[3 + k].data)
                fl_write<D>(c.views[3 + k], place(3 + k),
                            fl_read<D>(c.views[3 + k], place(3 + k)) * (W)(1 - momentum)
                                + now[k] * (W)momentum);
    }
}

/* batch_norm_grad(grad, input, weight, mean, rstd, training): by input, weight and bias. */
template <int D, int SIZE, class C> FL_INLINE void fl_batch_norm_grad(const C &c) {
    typedef FL_WIDE(D) W;
    fl_team<SIZE> team;
    const fl_view &g = c.views[0], &x = c.views[1], &out = c.views[5];
    for (int64_t row = team.first; row < c.items; row += team.step) {
        auto place = [&](int k) { return fl_row(c, c.views[k], row); };
        int64_t at_g = place(0), at_x = place(1), to = place(5);
        W mean = fl_read<D>(c.views[3], place(3)), rstd = fl_read<D>(c.views[4], place(4)),
          scale = rstd * fl_or<D>(c.views[2], place(2), 1);
        auto slope = [&](int64_t j) { return fl_read<D>(g, at_g + fl_in_row(c, g, j)); };
        auto centered = [&](int64_t j) {
            return (fl_read<D>(x, at_x + fl_in_row(c, x, j)) - mean) * rstd;
        };
        fl_pair<W> sums = {0, 0};
        for (int64_t j = team.rank; j < c.length; j += SIZE) {
            W s = slope(j);
            sums.first += s;
            sums.second += s * centered(j);
        }
        sums = team.join(sums);
        bool training = fl_word(c, 5) != 0;
        for (int64_t j = team.rank; j < c.length; j += SIZE) {
            W s = slope(j);
            if (training)
                s -= (sums.first + centered(j) * sums.second) / (W)c.length;
            fl_write<D>(out, to + fl_in_row(c, out, j), s * scale);
        }
        if (team.rank)
            continue;
        fl_write<D>(c.views[6], place(6), sums.second);
        fl_write<D>(c.views[7], place(7), sums.first);
    }
}

/* Element j of a group: channels and what is behind them, as they lie in the view. */
FL_INLINE int64_t fl_in_group(const fl_view &v, int64_t sample, int64_t j) {
    return sample * v.strides[0] + fl_walk(v, 1, v.ndim, j);
}

/* Elements behind each channel; samples, by which a quotient would divide, may be none. */
FL_INLINE int64_t fl_plane(const fl_view &v) {
    int64_t size = 1;
    for (int32_t d = 2; d < v.ndim; d++)
        size *= v.shape[d];
    return size;
}

/* native_group_norm(input, weight, bias, num_groups, eps): views in that order, then results. */
template <int D, class C> FL_INLINE void fl_group_norm(const C &c) {
    typedef FL_WIDE(D) W;
    fl_team<256> team;
    const fl_view &x = c.views[0], &y = c.views[3], &w = c.views[1], &b = c.views[2];
    int64_t groups = fl_word(c, 3), plane = fl_plane(x), size = x.shape[1] * plane / groups;
    for (int64_t item = team.first; item < c.items; item += team.step) {
        int64_t sample = item / groups, from = item % groups * size;
        auto at = [&](int64_t j) { return fl_read<D>(x, fl_in_group(x, sample, from + j)); };
        auto s = fl_mean_and_rstd<W>(team, size, fl_word_double(c, 4), at);
        for (int64_t j = team.rank; j < size; j += 256) {
            int64_t channel = (from + j) / plane;
            fl_write<D>(y, fl_in_group(y, sample, from + j),
                        (at(j) - s.first) * s.second * fl_or<D>(w, fl_place(w, channel), 1)
                            + fl_or<D>(b, fl_place(b, channel), 0));
        }
        if (team.rank)
            continue;
        fl_write<D>(c.views[4], fl_place(c.views[4], item), s.first);
        fl_write<D>(c.views[5], fl_place(c.views[5], item), s.second);
    }
}

/* group_norm_grad(grad, input, weight, mean, rstd, num_groups): by the input. */
template <int D, class C> FL_INLINE void fl_group_norm_grad(const C &c) {
    typedef FL_WIDE(D) W;
    fl_team<256> team;
    const fl_view &g = c.views[0], &x = c.views[1], &w = c.views[2], &out = c.views[5];
    int64_t groups = fl_word(c, 5), plane = fl_plane(x), size = x.shape[1] * plane / groups;
    for (int64_t item = team.first; item < c.items; item += team.step) {
        int64_t sample = item / groups, from = item % groups * size;
        W mean = fl_read<D>(c.views[3], fl_place(c.views[3], item)),
          rstd = fl_read<D>(c.views[4], fl_place(c.views[4], item));
        auto slope = [&](int64_t j) {
            return fl_read<D>(g, fl_in_group(g, sample, from + j))
                   * fl_or<D>(w, fl_place(w, (from + j) / plane), 1);
        };
        auto centered = [&](int64_t j) {
            return (fl_read<D>(x, fl_in_group(x, sample, from + j)) - mean) * rstd;
        };
        fl_pair<W> sums = {0, 0};
        for (int64_t j = team.rank; j < size; j += 256) {
            W s = slope(j);
            sums.first += s;
            sums.second += s * centered(j);
        }
        sums = team.join(sums);
        for (int64_t j = team.rank; j < size; j += 256)
            fl_write<D>(out, fl_in_group(out, sample, from + j),
                        rstd * (slope(j) - sums.first / (W)size
                                - centered(j) * (sums.second / (W)size)));
    }
}

/* The same by weight and bias: a block for each channel. */
template <int D, class C> FL_INLINE void fl_group_norm_weights(const C &c) {
    typedef FL_WIDE(D) W;
    fl_team<256> team;
    const fl_view &g = c.views[0], &x = c.views[1];
    int64_t groups = fl_word(c, 5), samples = x.shape[0], channels = x.shape[1],
            plane = fl_plane(x), each = channels / groups;
    for (int64_t channel = team.first; channel < c.items; channel += team.step) {
        fl_pair<W> sums = {0, 0};
        for (int64_t j = team.rank; j < samples * plane; j += 256) {
            int64_t sample = j / plane, at = channel * plane + j % plane,
                    group = sample * groups + channel / each;
            W slope = fl_read<D>(g, fl_in_group(g, sample, at)),
              mean = fl_read<D>(c.views[3], fl_place(c.views[3], group)),
              rstd = fl_read<D>(c.views[4], fl_place(c.views[4], group));
            sums.first += slope;
            sums.second += slope * ((fl_read<D>(x, fl_in_group(x, sample, at)) - mean) * rstd);
        }
        sums = team.join(sums);
        if (team.rank)
            continue;
        fl_write<D>(c.views[6], fl_place(c.views[6], channel), sums.second);
        fl_write<D>(c.views[7], fl_place(c.views[7], channel), sums.first);
    }
}
