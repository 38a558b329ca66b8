/* Other sizes: an output is a weighted sum of taps along each dimension behind the channels. */

/* Kernels of Keys (a = -0.5, -0.75) and Lanczos. */
FL_INLINE double fl_keys(double x, double a) {
    x = FL_BUILTIN(fabs)(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
}
FL_INLINE double fl_sinc(double x) {
    const double pi = 3.14159265358979323846;
    return x == 0 ? 1.0 : FL_BUILTIN(sin)(pi * x) / (pi * x);
}

enum fl_mode_of { FL_NEAREST, FL_NEAREST_EXACT, FL_AREA, FL_LINEAR, FL_CUBIC, FL_SMOOTH_LINEAR,
                  FL_SMOOTH_CUBIC, FL_SMOOTH_LANCZOS };

/* Letter k of a mode's name; names of modes of bytes have a prefix. */
#define FL_BYTES_PREFIX 6       /* "bytes-" */
FL_INLINE char fl_letter(const fl_head &c, int parameter, int k) {
    return (char)(fl_word(c, parameter, k / 8) >> (k % 8 * 8));
}

/* The mode from the letters of its name. */
FL_INLINE int fl_mode_named(const fl_head &c, int parameter) {
    const int skipped = fl_letter(c, parameter, 0) == 'b' ? FL_BYTES_PREFIX : 0;
    auto letter = [&](int k) { return fl_letter(c, parameter, skipped + k); };
    switch (letter(0)) {
    case 'n': return letter(7) == '-' ? FL_NEAREST_EXACT : FL_NEAREST;
    case 'a': return FL_AREA;
    case 'l': return FL_LINEAR;
    case 'c': return FL_CUBIC;
    default: break;
    }
    if (letter(7) == 'c')
        return FL_SMOOTH_CUBIC;
    return letter(8) == 'i' ? FL_SMOOTH_LINEAR : FL_SMOOTH_LANCZOS;
}

/* One dimension of a call. */
struct fl_resized {
    int mode;
    bool align;
    int64_t size, outs;
    double ratio, stretch, reach;
    __device__ fl_resized() {}
    __device__ fl_resized(int mode, bool align, int64_t size, int64_t outs, double scale)
        : mode(mode), align(align), size(size), outs(outs) {
        ratio = align ? outs > 1 ? (double)(size - 1) / (double)(outs - 1) : 0.0
                : scale > 0 ? 1.0 / scale : (double)size / (double)outs;
        stretch = ratio > 1 ? ratio : 1.0;
        reach = mode == FL_SMOOTH_LINEAR ? 1 : mode == FL_SMOOTH_CUBIC ? 2 : 3;
    }
    __device__ double smooth(double x) const {
        if (mode == FL_SMOOTH_CUBIC)
            return fl_keys(x, -0.5);
        if (mode == FL_SMOOTH_LANCZOS)
            return x > -3 && x < 3 ? fl_sinc(x) * fl_sinc(x / 3) : 0.0;
        x = 1 - FL_BUILTIN(fabs)(x);
        return x > 0 ? x : 0.0;
    }
};

/* The taps of one output: weight(t) of element at(t), for t from first to end. */
struct fl_taps {
    const fl_resized *axis;
    int64_t first, end;
    double centre, norm;
    __device__ fl_taps() {}
    __device__ fl_taps(const fl_resized &a, int64_t j) : axis(&a), norm(1) {
        centre = a.align ? a.ratio * (double)j : a.ratio * ((double)j + 0.5) - 0.5;
        switch (a.mode) {
        case FL_NEAREST:
        case FL_NEAREST_EXACT: {
            float shift = a.mode == FL_NEAREST_EXACT ? 0.5f : 0.0f;
            first = (int64_t)(((float)j + shift) * (float)a.ratio);
            first = first < a.size - 1 ? first : a.size - 1;
            end = first + 1;
            return;
        }
        case FL_AREA:
            first = j * a.size / a.outs;
            end = ((j + 1) * a.size + a.outs - 1) / a.outs;
            norm = (double)(end - first);
            return;
        case FL_LINEAR:
            centre = centre > 0 ? centre : 0.0;
            first = (int64_t)centre;
            end = first + 2;
            return;
        case FL_CUBIC:
            first = (int64_t)FL_BUILTIN(floor)(centre) - 1;
            end = first + 4;
            return;
        default: break;
        }
        centre = a.ratio * ((double)j + 0.5);
        first = (int64_t)(centre - a.reach * a.stretch + 0.5);
        end = (int64_t)(centre + a.reach * a.stretch + 0.5);
        first = first > 0 ? first : 0;
        end = end < a.size ? end : a.size;
        norm = 0;
        for (int64_t t = first; t < end; t++)
            norm += a.smooth(((double)t + 0.5 - centre) / a.stretch);
    }
    __device__ int64_t at(int64_t t) const {
        return t < 0 ? 0 : t < axis->size ? t : axis->size - 1;
    }
    __device__ double weight(int64_t t) const {
        double x = (double)t - centre;
        switch (axis->mode) {
        case FL_NEAREST:
        case FL_NEAREST_EXACT: return 1.0;
        case FL_AREA: return 1.0 / norm;
        case FL_LINEAR:
            x = 1 - FL_BUILTIN(fabs)(x);
            return x > 0 ? x : 0.0;
        case FL_CUBIC: return fl_keys(x, -0.75);
        default: return axis->smooth((x + 0.5) / axis->stretch) / norm;
        }
    }
    /* The weight of at(t), which an edge may repeat; 0 for all repetitions but the first. The
     * core keeps weights of bytes in single precision. */
    __device__ float merged_weight(int64_t t) const {
        if (t > first && at(t) == at(t - 1))
            return 0;
        float sum = (float)weight(t);
        for (int64_t u = t + 1; u < end && at(u) == at(t); u++)
            sum += (float)weight(u);
        return sum;
    }
};

#define FL_MOST_AXES 3
struct fl_axes {
    fl_resized axis[FL_MOST_AXES];
    int count;
    /* Sizes of the smaller picture are those of the input of resample(). */
    __device__ fl_axes(const fl_head &c, const fl_view &input, const fl_view &output) {
        count = input.ndim - 2;
        int mode = fl_mode_named(c, 2);
        for (int d = 0; d < count; d++)
            axis[d] = fl_resized(mode, fl_word(c, 3) != 0, input.shape[d + 2],
                                 output.shape[d + 2],
                                 fl_count(c, 4) > d ? fl_word_double(c, 4, d) : 0.0);
    }
};

/* The power of two by which weights of bytes become integers of 16 bits: a block for each axis. */
template <bool BACK, class C> FL_INLINE void fl_byte_units(const C &c) {
    fl_team<256> team;
    fl_axes axes(c, c.views[BACK ? 1 : 0], c.views[BACK ? 0 : 1]);
    for (int64_t d = team.first; d < axes.count; d += team.step) {
        fl_highest<float> most = {0};
        for (int64_t j = team.rank; j < axes.axis[d].outs; j += 256) {
            fl_taps taps(axes.axis[d], j);
            for (int64_t t = taps.first; t < taps.end; t++)
                most.join(fl_highest<float>{taps.merged_weight(t)});
        }
        most = team.join(most);
        double unit = 1;
        for (int k = 0; k < 22 && FL_BUILTIN(floor)(0.5 + most.value * 2 * unit) < 32768; k++)
            unit *= 2;
        if (team.rank == 0)
            ((double *)c.scratch[2])[d] = unit;
    }
}

/* The weight of a tap, and of one between bytes. */
struct fl_plain_weight {
    __device__ double operator()(const fl_taps &taps, int, int64_t t) const {
        return taps.weight(t);
    }
};
struct fl_byte_weight {
    const double *units;
    __device__ double operator()(const fl_taps &taps, int axis, int64_t t) const {
        return FL_BUILTIN(round)(taps.merged_weight(t) * units[axis]) / units[axis];
    }
};

/* What all taps together give to one element. */
template <class W>
FL_INLINE double fl_weight_of(const fl_taps &taps, int axis, int64_t element, const W &weight) {
    double sum = 0;
    for (int64_t t = taps.first; t < taps.end; t++)
        if (taps.at(t) == element)
            sum += weight(taps, axis, t);
    return sum;
}

/* resample(input, size, mode, align_corners, scales) */
template <int D, class C, class W> FL_INLINE void fl_resample_by(const C &c, const W &weight) {
    const fl_view &x = c.views[0], &out = c.views[1];
    fl_axes axes(c, x, out);
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_split rest(i);
        fl_taps taps[FL_MOST_AXES];
        for (int d = axes.count - 1; d >= 0; d--)
            taps[d] = fl_taps(axes.axis[d], rest.take(out.shape[d + 2]));
        int64_t channel = rest.take(out.shape[1]),
                base = channel * x.strides[1] + (int64_t)rest.rest * x.strides[0];
        for (int d = axes.count; d < FL_MOST_AXES; d++) {
            taps[d].first = 0;
            taps[d].end = 1;
        }
        double sum = 0;
        for (int64_t a = taps[0].first; a < taps[0].end; a++) {
            double wa = weight(taps[0], 0, a);
            int64_t at_a = base + taps[0].at(a) * x.strides[2];
            for (int64_t b = taps[1].first; b < taps[1].end; b++) {
                double wb = axes.count > 1 ? wa * weight(taps[1], 1, b) : wa;
                int64_t at_b = axes.count > 1 ? at_a + taps[1].at(b) * x.strides[3] : at_a;
                for (int64_t e = taps[2].first; e < taps[2].end; e++) {
                    double w = axes.count > 2 ? wb * weight(taps[2], 2, e) : wb;
                    int64_t at = axes.count > 2 ? at_b + taps[2].at(e) * x.strides[4] : at_b;
                    sum += w * (double)fl_read<D>(x, at);
                }
            }
        }
        fl_write<D>(out, fl_place(out, i), (FL_WIDE(D))sum);
    }
}
template <int D, class C> FL_INLINE void fl_resample(const C &c) {
    fl_resample_by<D>(c, fl_plain_weight());
}
template <int D, class C> FL_INLINE void fl_resample_bytes(const C &c) {
    fl_resample_by<D>(c, fl_byte_weight{(const double *)c.scratch[2]});
}

/* The outputs that may have a tap at an element. */
FL_INLINE void fl_outputs_at(const fl_resized &a, int64_t element, int64_t *first, int64_t *end) {
    *first = 0;
    *end = a.outs;
    if (a.ratio <= 0)
        return;
    double near = (a.mode >= FL_SMOOTH_LINEAR ? a.reach * a.stretch : 2 + a.ratio) + 2;
    if (element > 0 && a.mode != FL_NEAREST)
        *first = (int64_t)(((double)element - near) / a.ratio) - 2;
    else if (element > 0)
        *first = (int64_t)((double)element / a.ratio) - 2;
    if (element + 1 < a.size)
        *end = (int64_t)(((double)element + near) / a.ratio) + 3;
    *first = *first > 0 ? *first : 0;
    *end = *end < a.outs ? *end : a.outs;
}

/* resample_grad(grad, input_size, mode, align_corners, scales): a thread for each element. */
template <int D, class C, class W> FL_INLINE void fl_resample_grad_by(const C &c, const W &weight) {
    const fl_view &g = c.views[0], &out = c.views[1];
    fl_axes axes(c, out, g);
    for (int64_t i = FL_THREAD; i < c.items; i += FL_THREADS) {
        fl_split rest(i);
        int64_t element[FL_MOST_AXES] = {}, first[FL_MOST_AXES] = {},
                end[FL_MOST_AXES] = {1, 1, 1};
        for (int d = axes.count - 1; d >= 0; d--) {
            element[d] = rest.take(out.shape[d + 2]);
            fl_outputs_at(axes.axis[d], element[d], &first[d], &end[d]);
        }
        int64_t channel = rest.take(out.shape[1]),
                base = channel * g.strides[1] + (int64_t)rest.rest * g.strides[0];
        auto weight_at = [&](int d, int64_t j) {
            return fl_weight_of(fl_taps(axes.axis[d], j), d, element[d], weight);
        };
        double sum = 0;
        for (int64_t a = first[0]; a < end[0]; a++) {
            double wa = weight_at(0, a);
            for (int64_t b = first[1]; b < end[1] && wa != 0; b++) {
                double wb = axes.count > 1 ? wa * weight_at(1, b) : wa;
                for (int64_t e = first[2]; e < end[2] && wb != 0; e++) {
                    double w = axes.count > 2 ? wb * weight_at(2, e) : wb;
                    int64_t at = base + a * g.strides[2];
                    at += axes.count > 1 ? b * g.strides[3] : 0;
                    at += axes.count > 2 ? e * g.strides[4] : 0;
                    if (w != 0)
                        sum += w * (double)fl_read<D>(g, at);
                }
            }
        }
        fl_write<D>(out, fl_place(out, i), (FL_WIDE(D))sum);
    }
}
template <int D, class C> FL_INLINE void fl_resample_grad(const C &c) {
    fl_resample_grad_by<D>(c, fl_plain_weight());
}
template <int D, class C> FL_INLINE void fl_resample_bytes_grad(const C &c) {
    fl_resample_grad_by<D>(c, fl_byte_weight{(const double *)c.scratch[2]});
}
