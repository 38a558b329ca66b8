/* grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners): each position of the
 * grid names a place of the picture by numbers from -1 to 1; behind resample.cuh. */
enum { FL_GRID_LINEAR, FL_GRID_NEAREST, FL_GRID_CUBIC };
enum { FL_GRID_ZEROS, FL_GRID_BORDER, FL_GRID_REFLECT };

FL_INLINE double fl_keys_slope(double x, double a) {
    double sign = x < 0 ? -1.0 : x > 0 ? 1.0 : 0.0;
    x = FL_BUILTIN(fabs)(x);
    if (x < 1)
        return sign * (3 * (a + 2) * x - 2 * (a + 3)) * x;
    return x < 2 ? sign * (3 * x * x - 10 * x + 8) * a : 0.0;
}

/* A place and its derivative, brought into the picture as the padding mode says. */
struct fl_inside {
    double at, slope;
    __device__ fl_inside(double where, double by, int64_t size, int64_t border, bool align)
        : at(where), slope(by) {
        if (border == FL_GRID_REFLECT) {
            double low = align ? 0.0 : -0.5, span = (double)(align ? size - 1 : size);
            if (span == 0) {
                at = slope = 0;
            } else {
                double away = FL_BUILTIN(fabs)(at - low), turns = FL_BUILTIN(floor)(away / span),
                       rest = away - turns * span;
                if (at < low)
                    slope = -slope;
                bool back = FL_BUILTIN(fmod)(turns, 2.0) != 0;
                at = (back ? span - rest : rest) + low;
                slope = back ? -slope : slope;
            }
        }
        if (border != FL_GRID_ZEROS && !(at > 0 && at < (double)(size - 1))) {
            at = at > 0 ? (double)(size - 1) : 0.0;
            slope = 0;
        }
    }
};

/* Elements of one axis that a place reads, with their weights and the derivatives of these. */
struct fl_grid_axis {
    int count;
    int64_t element[4];
    double weight[4], slope[4];
    __device__ void add(double where, double w, double s, int64_t size) {
        if (!(where >= 0 && where < (double)size))
            return;
        element[count] = (int64_t)where;
        weight[count] = w;
        slope[count++] = s;
    }
    __device__ void start(double x, int64_t size, int64_t mode, int64_t border, bool align) {
        double at = align ? (x + 1) / 2 * (double)(size - 1) : ((x + 1) * (double)size - 1) / 2,
               by = (double)(align ? size - 1 : size) / 2;
        count = 0;
        if (mode == FL_GRID_CUBIC) {
            double below = FL_BUILTIN(floor)(at);
            for (int t = -1; t < 3; t++) {
                double distance = at - (below + t);
                add(FL_BUILTIN(trunc)(fl_inside(below + t, 0.0, size, border, align).at),
                    fl_keys(distance, -0.75), fl_keys_slope(distance, -0.75) * by, size);
            }
            return;
        }
        fl_inside place(at, by, size, border, align);
        if (mode == FL_GRID_NEAREST)
            return add(FL_BUILTIN(rint)(place.at), 1.0, 0.0, size);
        double below = FL_BUILTIN(floor)(place.at);
        add(below, below + 1 - place.at, -place.slope, size);
        add(below + 1, place.at - below, place.slope, size);
    }
};

/* All axes of one position; those that are not there have one element. */
struct fl_grid_place {
    fl_grid_axis axis[FL_MOST_AXES];
    int axes;
    /* The modes are three parameters, beginning with number `modes`. */
    template <int D> __device__ void start(const fl_head &c, int modes, const fl_view &x,
                                           const fl_view &grid, int64_t sample,
                                           int64_t position) {
        axes = x.ndim - 2;
        int64_t base = sample * grid.strides[0] + fl_walk(grid, 1, grid.ndim - 1, position);
        for (int d = 0; d < FL_MOST_AXES; d++) {
            axis[d].count = 1;
            axis[d].element[0] = 0;
            axis[d].weight[0] = 1;
            axis[d].slope[0] = 0;
        }
        for (int d = 0; d < axes; d++)
            axis[d].start((double)fl_read<D>(grid, base + (axes - 1 - d)
                                                            * grid.strides[grid.ndim - 1]),
                          x.shape[d + 2], fl_word(c, modes), fl_word(c, modes + 1),
                          fl_word(c, modes + 2) != 0);
    }
    /* Calls with the offset of each element that is read, its weight and derivatives. */
    template <class F> __device__ void each(const fl_view &x, F f) const {
        for (int a = 0; a < axis[0].count; a++)
            for (int b = 0; b < axis[1].count; b++)
                for (int e = 0; e < axis[2].count; e++) {
                    double w[3] = {axis[0].weight[a], axis[1].weight[b], axis[2].weight[e]},
                           s[3] = {axis[0].slope[a] * w[1] * w[2], w[0] * axis[1].slope[b] * w[2],
                                   w[0] * w[1] * axis[2].slope[e]};
                    int64_t at = axis[0].element[a] * x.strides[2];
                    at += axes > 1 ? axis[1].element[b] * x.strides[3] : 0;
                    at += axes > 2 ? axis[2].element[e] * x.strides[4] : 0;
                    f(at, w[0] * w[1] * w[2], s);
                }
    }
};

template <int D, class C> FL_INLINE void fl_grid_sample(const C &c) {
    const fl_view &x = c.views[0], &grid = c.views[1], &out = c.views[2];
    int64_t plane = out.shape[0] * out.shape[1] ? out.numel / (out.shape[0] * out.shape[1]) : 0;
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        int64_t position = i % plane, channel = i / plane % out.shape[1],
                sample = i / plane / out.shape[1];
        fl_grid_place place;
        place.template start<D>(c, 2, x, grid, sample, position);
        int64_t base = sample * x.strides[0] + channel * x.strides[1];
        double sum = 0;
        place.each(x, [&](int64_t at, double weight, const double *) {
            sum += weight * (double)fl_read<D>(x, base + at);
        });
        fl_write<D>(out, fl_place(out, i), (FL_WIDE(D))sum);
    }
}

/* grid_sampler_grad(grad, input, grid, ...): by the grid, a thread for each position; views grad,
 * input, grid, and the results. */
template <int D, class C> FL_INLINE void fl_grid_sample_grad_grid(const C &c) {
    const fl_view &g = c.views[0], &x = c.views[1], &grid = c.views[2], &out = c.views[4];
    int last = grid.ndim - 1, axes = x.ndim - 2;
    int64_t positions = grid.numel / (axes * grid.shape[0]);
    for (int64_t i = FL_THREAD; i < positions * grid.shape[0]; i += FL_THREADS) {
        int64_t sample = i / positions, position = i % positions;
        fl_grid_place place;
        place.template start<D>(c, 3, x, grid, sample, position);
        double sums[3] = {0, 0, 0};
        for (int64_t channel = 0; channel < x.shape[1]; channel++) {
            double slope = (double)fl_read<D>(g, sample * g.strides[0] + channel * g.strides[1]
                                                     + fl_walk(g, 2, g.ndim, position));
            int64_t base = sample * x.strides[0] + channel * x.strides[1];
            place.each(x, [&](int64_t at, double, const double *slopes) {
                double met = slope * (double)fl_read<D>(x, base + at);
                for (int d = 0; d < axes; d++)
                    sums[d] += slopes[d] * met;
            });
        }
        int64_t to = sample * out.strides[0] + fl_walk(out, 1, last, position);
        for (int d = 0; d < axes; d++)
            fl_write<D>(out, to + (axes - 1 - d) * out.strides[last], (FL_WIDE(D))sums[d]);
    }
}

/* By the input: a thread for each plane, which adds up in double precision and in a fixed order. */
template <int D, class C> FL_INLINE void fl_grid_sample_grad_input(const C &c) {
    const fl_view &g = c.views[0], &x = c.views[1], &grid = c.views[2], &out = c.views[3];
    int64_t planes = x.shape[0] * x.shape[1],
            positions = grid.numel / ((x.ndim - 2) * grid.shape[0]);
    fl_view sums = out;
    sums.strides[out.ndim - 1] = 1;
    for (int d = out.ndim - 2; d > 1; d--)
        sums.strides[d] = sums.strides[d + 1] * out.shape[d + 1];
    int64_t area = sums.strides[2] * out.shape[2];
    for (int64_t i = FL_THREAD; i < planes; i += FL_THREADS) {
        int64_t sample = i / x.shape[1], channel = i % x.shape[1];
        double *sum = (double *)c.scratch[2] + i * area;
        for (int64_t k = 0; k < area; k++)
            sum[k] = 0;
        for (int64_t position = 0; position < positions; position++) {
            fl_grid_place place;
            place.template start<D>(c, 3, x, grid, sample, position);
            double slope = (double)fl_read<D>(g, sample * g.strides[0] + channel * g.strides[1]
                                                     + fl_walk(g, 2, g.ndim, position));
            place.each(sums, [&](int64_t at, double weight, const double *) {
                sum[at] += weight * slope;
            });
        }
        for (int64_t k = 0; k < area; k++)
            fl_write<D>(out, sample * out.strides[0] + channel * out.strides[1]
                                 + fl_walk(out, 2, out.ndim, k), (FL_WIDE(D))sum[k]);
    }
}
