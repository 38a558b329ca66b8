/* Layer, batch and group normalization and their gradients. Mean first, then squared distances. */

template <class W> struct fl_pair {
    W first, second;
    __device__ void start() { first = second = 0; }
    __device__ void join(const fl_pair &o) {
        first += o.first;
        second += o.second;
    }
};

/* Count, mean and sum of squared distances from it (Chan et al. for joining). */
template <class W> struct fl_spread {
    W n, mean, squares;
    __device__ void start() { n = mean = squares = 0; }
    __device__ void join(const fl_spread &o) {
        if (o.n == 0)
            return;
        const W total = n + o.n, distance = o.mean - mean, share = o.n / total;
        squares += o.squares + distance * distance * n * share;
        mean += distance * share;
        n = total;
    }
    __device__ W variance() const { return squares / n; }
};

/* Of elements from..to of a row of the first view, those of one thread of SIZE: the mean first. */
template <int D, int SIZE, class C>
FL_INLINE fl_spread<FL_WIDE(D)> fl_take_spread(const C &c, int64_t row, int64_t from, int64_t to,
                                               int rank) {
    typedef FL_WIDE(D) W;
    fl_spread<W> found;
    found.start();
    W sum = 0;
    const fl_operand in[] = {fl_operand_of(c, 0, row)};
    fl_each<D, SIZE>(c, in, from, to, rank, [&](int64_t, const W *x) {
        sum += x[0];
        found.n += 1;
    });
    found.mean = found.n == 0 ? 0 : sum / found.n;
    fl_each<D, SIZE>(c, in, from, to, rank, [&](int64_t, const W *x) {
        const W distance = x[0] - found.mean;
        found.squares += distance * distance;
    });
    return found;
}

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
template <int D> struct fl_layer_norm {
    typedef FL_WIDE(D) W;
    typedef fl_spread<W> joined;
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        return fl_take_spread<D, SIZE>(c, row, from, to, rank);
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t to, int rank,
                                const joined &found) {
        const fl_view &w = c.views[1], &b = c.views[2];
        const fl_operand in[] = {fl_operand_of(c, 0, row)}, out = fl_operand_of(c, 3, row);
        const W mean = found.mean,
                rstd = (W)1 / FL_BUILTIN(sqrt)(found.variance() + (W)fl_word_double(c, 4));
        fl_map<D, SIZE>(c, in, out, from, to, rank, [&](int64_t j, const W *x) {
            return (x[0] - mean) * rstd * fl_or<D>(w, fl_place(w, j), 1)
                   + fl_or<D>(b, fl_place(b, j), 0);
        });
        if (rank || from)
            return;
        fl_write<D>(c.views[4], fl_row(c, c.views[4], row), mean);
        fl_write<D>(c.views[5], fl_row(c, c.views[5], row), rstd);
    }
};

/* layer_norm_grad(grad, input, mean, rstd, weight, axes): by the input. */
template <int D> struct fl_layer_norm_grad {
    typedef FL_WIDE(D) W;
    typedef fl_pair<W> joined;
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        const fl_view &w = c.views[4];
        const W mean = fl_read<D>(c.views[2], fl_row(c, c.views[2], row)),
                rstd = fl_read<D>(c.views[3], fl_row(c, c.views[3], row));
        joined sums = {0, 0};
        const fl_operand in[] = {fl_operand_of(c, 0, row), fl_operand_of(c, 1, row)};
        fl_each<D, SIZE>(c, in, from, to, rank, [&](int64_t j, const W *x) {
            const W slope = x[0] * fl_or<D>(w, fl_place(w, j), 1);
            sums.first += slope;
            sums.second += slope * ((x[1] - mean) * rstd);
        });
        return sums;
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t to, int rank,
                                const joined &sums) {
        const fl_view &w = c.views[4];
        const W mean = fl_read<D>(c.views[2], fl_row(c, c.views[2], row)),
                rstd = fl_read<D>(c.views[3], fl_row(c, c.views[3], row)),
                first = sums.first / (W)c.length, second = sums.second / (W)c.length;
        const fl_operand in[] = {fl_operand_of(c, 0, row), fl_operand_of(c, 1, row)},
                         out = fl_operand_of(c, 5, row);
        fl_map<D, SIZE>(c, in, out, from, to, rank, [&](int64_t j, const W *x) {
            const W slope = x[0] * fl_or<D>(w, fl_place(w, j), 1);
            return rstd * (slope - first - (x[1] - mean) * rstd * second);
        });
    }
};

/* Sums over rows for each of their elements, which `add` gives one by one, into views from `first`
 * on: 32 columns for a block, whose 8 rows of threads join at the end. Of many rows each of `parts`
 * blocks has its share, whose sums another kernel joins. */
template <int D, int SUMS, class C, class F>
FL_INLINE void fl_sum_columns(const C &c, int first, F add) {
    typedef FL_WIDE(D) W;
    FL_SHARED(parts, FL_WIDE(D)[SUMS][8][32]);
    int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    const int64_t groups = (c.length + 31) / 32, share = (c.rows + c.parts - 1) / c.parts;
    for (int64_t t = blockIdx.x; t < groups * c.parts; t += gridDim.x) {
        const int64_t part = t / groups, j = t % groups * 32 + lane,
                      end = (part + 1) * share < c.rows ? (part + 1) * share : c.rows;
        W sums[SUMS] = {};
        for (int64_t row = part * share + line; row < end && j < c.length; row += 8)
            add(row, j, sums);
        for (int s = 0; s < SUMS; s++)
            parts[s][line][lane] = sums[s];
        __syncthreads();
        if (line < SUMS && j < c.length) {
            W sum = 0;
            for (int k = 0; k < 8; k++)
                sum += parts[line][k][lane];
            if (c.parts == 1)
                fl_write<D>(c.views[first + line], fl_place(c.views[first + line], j), sum);
            else
                ((W *)c.scratch[1])[(part * SUMS + line) * c.length + j] = sum;
        }
        __syncthreads();
    }
}
template <int D, int SUMS, class C> FL_INLINE void fl_join_columns(const C &c, int first) {
    typedef FL_WIDE(D) W;
    for (int64_t i = FL_THREAD; i < SUMS * c.length; i += FL_THREADS) {
        const int line = (int)(i / c.length);
        const int64_t j = i - line * c.length;
        W sum = 0;
        for (int64_t part = 0; part < c.parts; part++)
            sum += ((const W *)c.scratch[1])[(part * SUMS + line) * c.length + j];
        fl_write<D>(c.views[first + line], fl_place(c.views[first + line], j), sum);
    }
}

/* The same by weight and bias. */
template <int D, class C> FL_INLINE void fl_layer_norm_weights(const C &c) {
    typedef FL_WIDE(D) W;
    const fl_view &g = c.views[0], &x = c.views[1];
    fl_sum_columns<D, 2>(c, 6, [&](int64_t row, int64_t j, W *sums) {
        W slope = fl_read<D>(g, fl_row(c, g, row) + fl_in_row(c, g, j)),
          mean = fl_read<D>(c.views[2], fl_row(c, c.views[2], row)),
          rstd = fl_read<D>(c.views[3], fl_row(c, c.views[3], row));
        sums[0] += slope
                   * ((fl_read<D>(x, fl_row(c, x, row) + fl_in_row(c, x, j)) - mean) * rstd);
        sums[1] += slope;
    });
}

/* native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
 * views in that order, then result, mean, rstd. A row is a channel. */
template <int D> struct fl_batch_norm {
    typedef FL_WIDE(D) W;
    typedef fl_spread<W> joined;
    template <class C> static __device__ bool trains(const C &c) { return fl_word(c, 5) != 0; }
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        return fl_take_spread<D, SIZE>(c, row, from, trains(c) ? to : from, rank);
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t to, int rank,
                                const joined &found) {
        auto place = [&](int k) { return fl_row(c, c.views[k], row); };
        const fl_operand in[] = {fl_operand_of(c, 0, row)}, out = fl_operand_of(c, 5, row);
        const W eps = (W)fl_word_double(c, 7), variance = found.variance(),
                mean = trains(c) ? found.mean : fl_read<D>(c.views[3], place(3)),
                rstd = (W)1 / FL_BUILTIN(sqrt)(
                    (trains(c) ? variance : fl_read<D>(c.views[4], place(4))) + eps),
                scale = fl_or<D>(c.views[1], place(1), 1),
                shift = fl_or<D>(c.views[2], place(2), 0);
        fl_map<D, SIZE>(c, in, out, from, to, rank, [&](int64_t, const W *x) {
            return (x[0] - mean) * rstd * scale + shift;
        });
        if (rank || from)
            return;
        fl_write<D>(c.views[6], place(6), mean);
        fl_write<D>(c.views[7], place(7), rstd);
        const double momentum = fl_word_double(c, 6);
        const W now[2] = {mean, variance * ((W)c.length / (W)(c.length > 1 ? c.length - 1 : 1))};
        for (int k = 0; k < 2; k++)
            if (trains(c) && c.views[3 + k].data)
                fl_write<D>(c.views[3 + k], place(3 + k),
                            fl_read<D>(c.views[3 + k], place(3 + k)) * (W)(1 - momentum)
                                + now[k] * (W)momentum);
    }
};

/* batch_norm_grad(grad, input, weight, mean, rstd, training): by input, weight and bias. */
template <int D> struct fl_batch_norm_grad {
    typedef FL_WIDE(D) W;
    typedef fl_pair<W> joined;
    template <int SIZE, class C>
    static __device__ joined take(const C &c, int64_t row, int64_t from, int64_t to, int rank) {
        const W mean = fl_read<D>(c.views[3], fl_row(c, c.views[3], row)),
                rstd = fl_read<D>(c.views[4], fl_row(c, c.views[4], row));
        joined sums = {0, 0};
        const fl_operand in[] = {fl_operand_of(c, 0, row), fl_operand_of(c, 1, row)};
        fl_each<D, SIZE>(c, in, from, to, rank, [&](int64_t, const W *x) {
            sums.first += x[0];
            sums.second += x[0] * ((x[1] - mean) * rstd);
        });
        return sums;
    }
    template <int SIZE, class C>
    static __device__ void give(const C &c, int64_t row, int64_t from, int64_t to, int rank,
                                const joined &sums) {
        const W mean = fl_read<D>(c.views[3], fl_row(c, c.views[3], row)),
                rstd = fl_read<D>(c.views[4], fl_row(c, c.views[4], row)),
                scale = rstd * fl_or<D>(c.views[2], fl_row(c, c.views[2], row), 1);
        const bool training = fl_word(c, 5) != 0;
        const fl_operand in[] = {fl_operand_of(c, 0, row), fl_operand_of(c, 1, row)},
                         out = fl_operand_of(c, 5, row);
        fl_map<D, SIZE>(c, in, out, from, to, rank, [&](int64_t, const W *x) {
            W slope = x[0];
            if (training)
                slope -= (sums.first + (x[1] - mean) * rstd * sums.second) / (W)c.length;
            return slope * scale;
        });
        if (rank || from)
            return;
        fl_write<D>(c.views[6], fl_row(c, c.views[6], row), sums.second);
        fl_write<D>(c.views[7], fl_row(c, c.views[7], row), sums.first);
    }
};

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
