/* Positions of a grid as weighted sums of picked elements: see grid.h.
 *
 * The taps of a run of positions are worked out once and used for all channels. */
#include "resample/kernels/grid_taps.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

/* Tap k of position i over all axes at [k][i]; an offset of -1 stands for what lies outside. Planes
 * that are too large for offsets of 32 bits have wider ones. */
template <class T, class Offset> struct Taps {
    int count;
    Offset offset[MAX_TAPS][RUN];
    T weight[MAX_TAPS][RUN];
};

/* Another, inner axis: its weights, or its slopes where the derivative is along it. */
template <class T, class From, class Offset>
void times(int count, const From (*offsets)[RUN], const T (*weights)[RUN], const AxisTaps<T> &axis,
           bool slopes, int64_t size, int64_t n, Taps<T, Offset> *out) {
    out->count = count * axis.count;
    for (int j = 0; j < count; j++)
        for (int k = 0; k < axis.count; k++) {
            const From *from = offsets[j];
            const int32_t *index = axis.index[k];
            const T *before = weights[j], *own = slopes ? axis.slope[k] : axis.weight[k];
            Offset *__restrict to = out->offset[j * axis.count + k];
            T *__restrict weight = out->weight[j * axis.count + k];
            for (int64_t i = 0; i < n; i++) {
                to[i] = (from[i] | index[i]) < 0 ? -1 : from[i] * (Offset)size + index[i];
                weight[i] = before[i] * own[i];
            }
        }
}

/* The products over the axes; `along` is the axis of the derivative, -1 for the weights. */
template <class T, class Offset>
void product(const fl_grid &g, const AxisTaps<T> *axes, int along, int64_t n,
             Taps<T, Offset> *out) {
    Taps<T, Offset> two;
    times(axes[0].count, axes[0].index, along == 0 ? axes[0].slope : axes[0].weight, axes[1],
          along == 1, g.size[1], n, g.axes == 2 ? out : &two);
    if (g.axes == 3)
        times(two.count, two.offset, two.weight, axes[2], along == 2, g.size[2], n, out);
}

/* The sums of positions i .. n in one plane. */
template <class T, class Offset>
inline void pick(const Taps<T, Offset> &taps, const T *plane, int64_t i, int64_t n, T *out) {
    T sum[RUN] = {};
    for (int k = 0; k < taps.count; k++)
        for (int64_t j = i; j < n; j++) {
            const Offset at = taps.offset[k][j];
            const T element = plane[at < 0 ? 0 : at];
            sum[j] += at < 0 ? 0 : taps.weight[k][j] * element;
        }
    for (int64_t j = i; j < n; j++)
        out[j] = sum[j];
}

#if defined(__AVX2__)
/* Compilers do not gather by themselves, as it gains on some processors only. */
inline void pick(const Taps<float, int32_t> &taps, const float *plane, int64_t n, float *out) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 sum = _mm256_setzero_ps();
        for (int k = 0; k < taps.count; k++) {
            const __m256i at = _mm256_loadu_si256((const __m256i *)(taps.offset[k] + i));
            const __m256i inside = _mm256_cmpgt_epi32(at, _mm256_set1_epi32(-1));
            const __m256 element = _mm256_mask_i32gather_ps(_mm256_setzero_ps(), plane, at,
                                                            _mm256_castsi256_ps(inside), 4);
            sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_loadu_ps(taps.weight[k] + i), element));
        }
        _mm256_storeu_ps(out + i, sum);
    }
    if (i < n)
        pick<float, int32_t>(taps, plane, i, n, out);
}
#endif

template <class T, class Offset>
inline void pick(const Taps<T, Offset> &taps, const T *plane, int64_t n, T *out) {
    pick(taps, plane, 0, n, out);
}

template <class T, class Offset>
void sample(const fl_grid &g, int64_t n, const T *input, const T *points, T *out) {
    AxisTaps<T> axes[3];
    Taps<T, Offset> taps;
    for (int a = 0; a < g.axes; a++)
        axis_taps<false>(g, a, n, points, &axes[a]);
    product(g, axes, -1, n, &taps);
    for (int64_t c = 0; c < g.channels; c++, input += g.plane, out += g.positions)
        pick(taps, input, n, out);
}

/* What each tap would change in the loss: the sum over the channels of element times gradient. */
template <class T, class Offset>
void tap_gradients(const fl_grid &g, int64_t n, const Taps<T, Offset> &taps, const T *input,
                   const T *grad, T (*out)[RUN]) {
    for (int k = 0; k < taps.count; k++) {
        T sum[RUN] = {};
        for (int64_t c = 0; c < g.channels; c++)
            for (int64_t i = 0; i < n; i++) {
                const Offset at = taps.offset[k][i];
                const T element = input[c * g.plane + (at < 0 ? 0 : at)];
                sum[i] += at < 0 ? 0 : element * grad[c * g.positions + i];
            }
        for (int64_t i = 0; i < n; i++)
            out[k][i] = sum[i];
    }
}

template <class T, class Offset>
void spread_input(const fl_grid &g, int64_t n, const Taps<T, Offset> &taps, const T *grad,
                  T *dinput) {
    for (int64_t c = 0; c < g.channels; c++, dinput += g.plane, grad += g.positions)
        for (int64_t i = 0; i < n; i++)
            for (int k = 0; k < taps.count; k++)
                if (taps.offset[k][i] >= 0)
                    dinput[taps.offset[k][i]] += taps.weight[k][i] * grad[i];
}

template <class T, class Offset>
void spread(const fl_grid &g, int64_t n, const T *input, const T *points, const T *grad, T *dinput,
            T *dpoints) {
    AxisTaps<T> axes[3];
    Taps<T, Offset> taps;
    T by_tap[MAX_TAPS][RUN];
    for (int a = 0; a < g.axes; a++)
        axis_taps<true>(g, a, n, points, &axes[a]);
    product(g, axes, -1, n, &taps);
    spread_input(g, n, taps, grad, dinput);
    tap_gradients(g, n, taps, input, grad, by_tap);
    for (int a = 0; a < g.axes; a++) {
        T sum[RUN] = {};
        product(g, axes, a, n, &taps);
        for (int k = 0; k < taps.count; k++)
            for (int64_t i = 0; i < n; i++)
                sum[i] += taps.weight[k][i] * by_tap[k][i];
        for (int64_t i = 0; i < n; i++)
            dpoints[i * g.axes + g.axes - 1 - a] = sum[i];
    }
}

bool is_wide(const fl_grid *g) { return g->plane >= (int64_t)1 << 31; }

template <class T>
void sampled(const fl_grid *g, int64_t n, const T *input, const T *points, T *out) {
    is_wide(g) ? sample<T, int64_t>(*g, n, input, points, out)
               : sample<T, int32_t>(*g, n, input, points, out);
}

template <class T>
void spread_out(const fl_grid *g, int64_t n, const T *input, const T *points, const T *grad,
                T *dinput, T *dpoints) {
    is_wide(g) ? spread<T, int64_t>(*g, n, input, points, grad, dinput, dpoints)
               : spread<T, int32_t>(*g, n, input, points, grad, dinput, dpoints);
}

}  // namespace

extern const fl_grid_kernels FL_LEVEL(fl_grid_kernels) = {sampled<float>, sampled<double>,
                                                          spread_out<float>, spread_out<double>};
