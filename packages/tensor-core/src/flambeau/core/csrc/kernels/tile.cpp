/* Tiles: rows x cols elements gathered from strided memory of any dtype into contiguous memory of
 * a compute kind, and scattered back. All dtype conversions of the core happen here. */
#include "core/pointwise.h"
#include "kernels/convert.h"
#ifdef __F16C__
#include <immintrin.h>
#endif

#define FL_CAT2(a, b) a##b
#define FL_CAT(a, b) FL_CAT2(a, b)

namespace {

/* 4 x 4 blocks of 4-byte elements through registers: in[r + c * step] to out[r * cols + c]. */
typedef float quad __attribute__((vector_size(16)));
typedef int pick __attribute__((vector_size(16)));

inline quad load_quad(const float *p) {
    quad q;
    memcpy(&q, p, sizeof q);
    return q;
}

inline void transpose_block(float *out, int64_t cols, const float *in, int64_t step) {
    quad a = load_quad(in), b = load_quad(in + step);
    quad c = load_quad(in + 2 * step), d = load_quad(in + 3 * step);
    quad ab0 = __builtin_shuffle(a, b, pick{0, 4, 1, 5});
    quad ab1 = __builtin_shuffle(a, b, pick{2, 6, 3, 7});
    quad cd0 = __builtin_shuffle(c, d, pick{0, 4, 1, 5});
    quad cd1 = __builtin_shuffle(c, d, pick{2, 6, 3, 7});
    quad rows[4] = {__builtin_shuffle(ab0, cd0, pick{0, 1, 4, 5}),
                    __builtin_shuffle(ab0, cd0, pick{2, 3, 6, 7}),
                    __builtin_shuffle(ab1, cd1, pick{0, 1, 4, 5}),
                    __builtin_shuffle(ab1, cd1, pick{2, 3, 6, 7})};
    for (int r = 0; r < 4; r++)
        memcpy(out + r * cols, &rows[r], sizeof(quad));
}

template <class S, class K>
inline void transpose(K *out, const S *in, int64_t rows, int64_t cols, int64_t step) {
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = 0; r < rows; r++)
            out[r * cols + c] = convert<K>(in[r + c * step]);
}

/* A whole line of each column at a time, spelled out: each load then has one stride, which the
 * processor learns and runs ahead of. */
template <>
inline void transpose(float *out, const float *in, int64_t rows, int64_t cols, int64_t step) {
    const int64_t whole_rows = rows & ~(int64_t)3, whole_cols = cols & ~(int64_t)3;
    int64_t lines = rows & ~(int64_t)15;
    for (int64_t r = 0; r < lines; r += 16)
        for (int64_t c = 0; c < whole_cols; c += 4) {
            float *to = out + r * cols + c;
            const float *from = in + r + c * step;
            transpose_block(to, cols, from, step);
            transpose_block(to + 4 * cols, cols, from + 4, step);
            transpose_block(to + 8 * cols, cols, from + 8, step);
            transpose_block(to + 12 * cols, cols, from + 12, step);
        }
    for (int64_t r = lines; r < whole_rows; r += 4)
        for (int64_t c = 0; c < whole_cols; c += 4)
            transpose_block(out + r * cols + c, cols, in + r + c * step, step);
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = c < whole_cols ? whole_rows : 0; r < rows; r++)
            out[r * cols + c] = in[r + c * step];
}

/* A row converted. Half precision has instructions of its own. */
template <class D, class S> inline void convert_row(D *out, const S *in, int64_t n) {
    for (int64_t c = 0; c < n; c++)
        out[c] = convert<D>(in[c]);
}

/* Of half precision to float, what the next tile is going to read is asked for: a tile of every
 * operand is read before any goes on, and the hardware does not see that the streams continue. */
const int64_t AHEAD = 2 * FL_TILE;
const int64_t LINE = 32;

inline void convert_row(float *out, const fl_bf16 *in, int64_t n) {
    int64_t c = 0;
    for (; c + LINE <= n; c += LINE) {
        __builtin_prefetch(in + c + AHEAD);
        for (int64_t i = c; i < c + LINE; i++)
            out[i] = widen(in[i]);
    }
    for (; c < n; c++)
        out[c] = widen(in[c]);
}

#ifdef __F16C__
inline void convert_row(float *out, const fl_f16 *in, int64_t n) {
    int64_t c = 0;
    for (; c + LINE <= n; c += LINE) {
        __builtin_prefetch(in + c + AHEAD);
        for (int64_t i = c; i < c + LINE; i += 8)
            _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
    }
    for (; c < n; c++)
        out[c] = widen(in[c]);
}

inline void convert_row(fl_f16 *out, const float *in, int64_t n) {
    int64_t c = 0;
    for (; c + 8 <= n; c += 8)
        _mm_storeu_si128((__m128i *)(out + c),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + c), _MM_FROUND_TO_NEAREST_INT));
    for (; c < n; c++)
        out[c] = narrow_f16(in[c]);
}
#endif

/* Every second element, where a loop of its own is worth while: it is made of shuffles. */
template <class S, class K> inline bool every_second(int64_t step) {
    return sizeof(S) == sizeof(K) && sizeof(S) >= 4 && sizeof(S) <= 8 && step == 2;
}

template <class S, class K>
void gather(void *tile, const void *src, int64_t rows, int64_t cols, int64_t s1, int64_t s0) {
    K *out = (K *)tile;
    const S *in = (const S *)src;
    if (s0 == 1) {
        for (int64_t r = 0; r < rows; r++)
            convert_row(out + r * cols, in + r * s1, cols);
    } else if (s0 == 0) {
        for (int64_t r = 0; r < rows; r++) {
            const K value = convert<K>(in[r * s1]);
            for (int64_t c = 0; c < cols; c++)
                out[r * cols + c] = value;
        }
    } else if (s1 == 1 && rows > 1) {
        transpose<S, K>(out, in, rows, cols, s0);
    } else if (every_second<S, K>(s0)) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++)
                out[r * cols + c] = convert<K>(in[r * s1 + c * 2]);
    } else {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++)
                out[r * cols + c] = convert<K>(in[r * s1 + c * s0]);
    }
}

template <class K, class D>
void scatter(void *dst, const void *tile, int64_t rows, int64_t cols, int64_t s1, int64_t s0) {
    D *out = (D *)dst;
    const K *in = (const K *)tile;
    if (s0 == 1) {
        for (int64_t r = 0; r < rows; r++)
            convert_row(out + r * s1, in + r * cols, cols);
    } else {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++)
                out[r * s1 + c * s0] = convert<D>(in[r * cols + c]);
    }
}

#define GATHERS(S)                                                                               \
    { gather<S, float>, gather<S, double>, gather<S, int64_t>, gather<S, fl_bool>,               \
      gather<S, fl_c64>, gather<S, fl_c128> }
#define SCATTERS(K)                                                                              \
    { scatter<K, fl_bool>, scatter<K, uint8_t>, scatter<K, int8_t>, scatter<K, int16_t>,         \
      scatter<K, int32_t>, scatter<K, int64_t>, scatter<K, uint16_t>, scatter<K, uint32_t>,      \
      scatter<K, uint64_t>, scatter<K, fl_f16>, scatter<K, fl_bf16>, scatter<K, float>,          \
      scatter<K, double>, scatter<K, fl_c64>, scatter<K, fl_c128> }

}  // namespace

extern "C" const fl_tile_moves FL_CAT(fl_tile_moves_, FL_ISA);
extern "C" const fl_tile_moves FL_CAT(fl_tile_moves_, FL_ISA) = {
    {GATHERS(fl_bool), GATHERS(uint8_t), GATHERS(int8_t), GATHERS(int16_t), GATHERS(int32_t),
     GATHERS(int64_t), GATHERS(uint16_t), GATHERS(uint32_t), GATHERS(uint64_t), GATHERS(fl_f16),
     GATHERS(fl_bf16), GATHERS(float), GATHERS(double), GATHERS(fl_c64), GATHERS(fl_c128)},
    {SCATTERS(float), SCATTERS(double), SCATTERS(int64_t), SCATTERS(fl_bool), SCATTERS(fl_c64),
     SCATTERS(fl_c128)}};
