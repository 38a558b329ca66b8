/* Tiles: rows x cols elements gathered from strided memory of any dtype into contiguous memory of
 * a compute kind, and scattered back. All dtype conversions of the core happen here. */
#include "dispatch/pointwise.h"
#include "common/kernels/convert.h"
#include "common/kernels/move_units.h"
#ifdef __F16C__
#include <immintrin.h>
#endif

#define FL_CAT2(a, b) a##b
#define FL_CAT(a, b) FL_CAT2(a, b)

namespace {

/* ---- conversions ----------------------------------------------------------------------------- */

/* A row converted. Half precision has instructions of its own. */
template <class D, class S> inline void convert_row(D *out, const S *in, int64_t n) {
    for (int64_t c = 0; c < n; c++)
        out[c] = convert<D>(in[c]);
}

/* Of half precision to float, what the next tile is going to read is asked for: a tile of every
 * operand is read before any goes on, and the hardware does not see that the streams continue. */
const int64_t PREFETCH_ELEMENTS = 2 * FL_TILE;
const int64_t LINE_ELEMENTS = 32;

inline void convert_row(float *out, const fl_bf16 *in, int64_t n) {
    int64_t c = 0;
    for (; c + LINE_ELEMENTS <= n; c += LINE_ELEMENTS) {
        __builtin_prefetch(in + c + PREFETCH_ELEMENTS);
        for (int64_t i = c; i < c + LINE_ELEMENTS; i++)
            out[i] = widen(in[i]);
    }
    for (; c < n; c++)
        out[c] = widen(in[c]);
}

#ifdef __F16C__
#ifdef __AVX512F__
const int64_t F16_LANES = 16;
inline void widen_lanes(float *out, const fl_f16 *in) {
    _mm512_storeu_ps(out, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)in)));
}
inline void narrow_lanes(fl_f16 *out, const float *in) {
    _mm256_storeu_si256((__m256i *)out,
                        _mm512_cvtps_ph(_mm512_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT));
}
#else
const int64_t F16_LANES = 8;
inline void widen_lanes(float *out, const fl_f16 *in) {
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)in)));
}
inline void narrow_lanes(fl_f16 *out, const float *in) {
    _mm_storeu_si128((__m128i *)out,
                     _mm256_cvtps_ph(_mm256_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT));
}
#endif

inline void convert_row(float *out, const fl_f16 *in, int64_t n) {
    int64_t c = 0;
    for (; c + LINE_ELEMENTS <= n; c += LINE_ELEMENTS) {
        __builtin_prefetch(in + c + PREFETCH_ELEMENTS);
        for (int64_t i = c; i < c + LINE_ELEMENTS; i += F16_LANES)
            widen_lanes(out + i, in + i);
    }
    for (; c < n; c++)
        out[c] = widen(in[c]);
}

inline void convert_row(fl_f16 *out, const float *in, int64_t n) {
    int64_t c = 0;
    for (; c + F16_LANES <= n; c += F16_LANES)
        narrow_lanes(out + c, in + c);
    for (; c < n; c++)
        out[c] = narrow_f16(in[c]);
}

/* By way of float, as the conversion of one element goes. */
inline void convert_row(fl_f16 *out, const double *in, int64_t n) {
    int64_t c = 0;
    for (; c + F16_LANES <= n; c += F16_LANES) {
        float wide[F16_LANES];
        for (int64_t i = 0; i < F16_LANES; i++)
            wide[i] = (float)in[c + i];
        narrow_lanes(out + c, wide);
    }
    for (; c < n; c++)
        out[c] = narrow_f16((float)in[c]);
}
#endif

/* A conversion of side by side elements, with the sizes of both. */
struct Conversion {
    int64_t from, to;
    void (*row)(void *out, const void *in, int64_t n);
};

#define FL_ONCE __attribute__((noinline, noclone))  /* else each conversion gets a copy */

template <class D, class S> FL_ONCE void convert_any_row(void *out, const void *in, int64_t n) {
    convert_row((D *)out, (const S *)in, n);
}

template <class D, class S>
constexpr Conversion conversion = {sizeof(S), sizeof(D), convert_any_row<D, S>};
template <class T> constexpr Conversion conversion<T, T> = {sizeof(T), sizeof(T), nullptr};

/* What is stored but not computed with is converted through one kind of number alone, M: float8
 * through float, complex32 through complex numbers. Other kinds meet it seldom, and take the two
 * conversions that there are. */
FL_ONCE void convert_in_pieces(const Conversion &first, const Conversion &second, char *out,
                               const char *in, int64_t n) {
    const int64_t PIECE_ELEMENTS = 64;
    alignas(64) char piece[PIECE_ELEMENTS * sizeof(double)];    /* complex64 is as large */
    for (int64_t i = 0; i < n; i += PIECE_ELEMENTS) {
        const int64_t count = n - i < PIECE_ELEMENTS ? n - i : PIECE_ELEMENTS;
        first.row(piece, in + i * first.from, count);
        second.row(out + i * second.to, piece, count);
    }
}

template <class D, class M, class S> void convert_by_way(void *out, const void *in, int64_t n) {
    static_assert(sizeof(M) <= sizeof(double), "the piece");
    convert_in_pieces(conversion<M, S>, conversion<D, M>, (char *)out, (const char *)in, n);
}

template <class D, class M, class S>
constexpr Conversion by_way = {sizeof(S), sizeof(D), convert_by_way<D, M, S>};
template <class M, class S> constexpr Conversion by_way<M, M, S> = conversion<M, S>;
template <class D, class M> constexpr Conversion by_way<D, M, M> = conversion<D, M>;

template <class T> struct real_part { using type = void; };
template <> struct real_part<fl_c64> { using type = float; };
template <> struct real_part<fl_c128> { using type = double; };
template <class T> using real_of = typename real_part<T>::type;
template <class T> constexpr bool is_complex = !std::is_void_v<real_of<T>>;

/* Complex numbers and others meet by way of the real part, too; bool asks for both parts. */
template <class D, class S> constexpr const Conversion &route() {
    if constexpr (is_complex<D> && !is_complex<S>)
        return by_way<D, real_of<D>, S>;
    else if constexpr (is_complex<S> && !is_complex<D> && !std::is_same_v<D, fl_bool>)
        return by_way<D, real_of<S>, S>;
    else
        return conversion<D, S>;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Conversions of strided elements take two passes, the first of which is shared by all dtypes of a
 * size: a loop for every pair of dtypes and every kind of stride would take half a minute to
 * compile. Between the passes the elements lie in the L1 cache, a block at a time. */
const int64_t BLOCK_ELEMENTS = FL_TILE;
struct Block {
    alignas(64) char bytes[BLOCK_ELEMENTS * 16];
};

/* Call run(row, column, rows, columns) for blocks of at most BLOCK_ELEMENTS: whole rows, if one
 * fits. */
template <class Run> inline void each_block(int64_t rows, int64_t cols, const Run &run) {
    const int64_t width = cols < BLOCK_ELEMENTS ? cols : BLOCK_ELEMENTS;
    const int64_t height = width > 0 ? BLOCK_ELEMENTS / width : 1;
    for (int64_t c = 0; c < cols; c += width)
        for (int64_t r = 0; r < rows; r += height)
            run(r, c, rows - r < height ? rows - r : height, cols - c < width ? cols - c : width);
}

/* Of whole rows a block is converted at once. */
inline void convert_block(const Conversion &how, char *out, const char *in, int64_t rows,
                          int64_t cols, int64_t out_row, int64_t in_row) {
    if (out_row == cols && in_row == cols)
        return how.row(out, in, rows * cols);
    for (int64_t r = 0; r < rows; r++)
        how.row(out + r * out_row * how.to, in + r * in_row * how.from, cols);
}

void gather_strided(const Conversion &how, char *out, const char *in, int64_t rows, int64_t cols,
                    int64_t s1, int64_t s0) {
    Block block;
    each_block(rows, cols, [&](int64_t r, int64_t c, int64_t height, int64_t width) {
        collect(how.from, block.bytes, in + (r * s1 + c * s0) * how.from, height, width, s1, s0);
        convert_block(how, out + (r * cols + c) * how.to, block.bytes, height, width, cols, width);
    });
}

/* Rows that have one value each: the values are converted side by side. */
void gather_values(const Conversion &how, char *out, const char *in, int64_t rows, int64_t cols,
                   int64_t s1) {
    Block block;
    for (int64_t r = 0; r < rows; r += BLOCK_ELEMENTS) {
        const int64_t n = rows - r < BLOCK_ELEMENTS ? rows - r : BLOCK_ELEMENTS;
        gather_strided(how, block.bytes, in + r * s1 * how.from, 1, n, 0, s1);
        collect(how.to, out + r * cols * how.to, block.bytes, n, cols, 1, 0);
    }
}

void scatter_strided(const Conversion &how, char *out, const char *in, int64_t rows, int64_t cols,
                     int64_t s1, int64_t s0) {
    Block block;
    each_block(rows, cols, [&](int64_t r, int64_t c, int64_t height, int64_t width) {
        convert_block(how, block.bytes, in + (r * cols + c) * how.from, height, width, width, cols);
        spread(how.to, out + (r * s1 + c * s0) * how.to, block.bytes, height, width, s1, s0);
    });
}

/* Fewer elements of a row are moved side by side before they are converted, and fewer in all are
 * moved row by row where all rows are the same. */
const int64_t MIN_CONVERTED_ELEMENTS = 64, MIN_REPEATED_ELEMENTS = 256;

FL_ONCE void gather_by(const Conversion &how, void *tile, const void *src, int64_t rows,
                       int64_t cols, int64_t s1, int64_t s0) {
    char *out = (char *)tile;
    const char *in = (const char *)src;
    if (s1 == 0 && s0 != 0 && rows > 1 && rows * cols >= MIN_REPEATED_ELEMENTS) {
        gather_by(how, tile, src, 1, cols, 0, s0);
        return repeat_block(out, cols * how.to, rows);
    }
    if (!how.row)
        return collect(how.to, out, in, rows, cols, s1, s0);
    if (s0 == 0 && cols > 1)
        return gather_values(how, out, in, rows, cols, s1);
    if (s0 != 1 || (rows > 1 && s1 != cols && cols < MIN_CONVERTED_ELEMENTS))
        return gather_strided(how, out, in, rows, cols, s1, s0);
    convert_block(how, out, in, rows, cols, cols, s1);
}

FL_ONCE void scatter_by(const Conversion &how, void *dst, const void *tile, int64_t rows,
                        int64_t cols, int64_t s1, int64_t s0) {
    char *out = (char *)dst;
    const char *in = (const char *)tile;
    if (!how.row)
        return spread(how.to, out, in, rows, cols, s1, s0);
    if (s0 != 1 || (rows > 1 && s1 != cols && cols < MIN_CONVERTED_ELEMENTS))
        return scatter_strided(how, out, in, rows, cols, s1, s0);
    convert_block(how, out, in, rows, cols, s1, cols);
}

template <class S, class K>
void gather(void *tile, const void *src, int64_t rows, int64_t cols, int64_t s1, int64_t s0) {
    gather_by(route<K, S>(), tile, src, rows, cols, s1, s0);
}

template <class K, class D>
void scatter(void *dst, const void *tile, int64_t rows, int64_t cols, int64_t s1, int64_t s0) {
    scatter_by(route<D, K>(), dst, tile, rows, cols, s1, s0);
}

#define GATHERS(S, ...)                                                                          \
    { gather<S, float>, gather<S, double>, gather<S, int64_t>, gather<S, fl_bool>,               \
      gather<S, fl_c64>, gather<S, fl_c128>, __VA_ARGS__ }
template <class S, class M, class K>
void gather_stored(void *tile, const void *src, int64_t rows, int64_t cols, int64_t s1,
                   int64_t s0) {
    gather_by(by_way<K, M, S>, tile, src, rows, cols, s1, s0);
}

template <class K, class M, class D>
void scatter_stored(void *dst, const void *tile, int64_t rows, int64_t cols, int64_t s1,
                    int64_t s0) {
    scatter_by(by_way<D, M, K>, dst, tile, rows, cols, s1, s0);
}

#define GATHERS_STORED(S, M)                                                                     \
    { gather_stored<S, M, float>, gather_stored<S, M, double>, gather_stored<S, M, int64_t>,     \
      gather_stored<S, M, fl_bool>, gather_stored<S, M, fl_c64>, gather_stored<S, M, fl_c128> }
#define SCATTERS_STORED(K)                                                                       \
    scatter_stored<K, float, fl_e4m3>, scatter_stored<K, float, fl_e5m2>,                        \
        scatter_stored<K, float, fl_e4m3uz>, scatter_stored<K, float, fl_e5m2uz>,                \
        scatter_stored<K, float, fl_e8m0>, scatter_stored<K, fl_c64, fl_c32>
#define SCATTERS(K)                                                                              \
    { scatter<K, fl_bool>, scatter<K, uint8_t>, scatter<K, int8_t>, scatter<K, int16_t>,         \
      scatter<K, int32_t>, scatter<K, int64_t>, scatter<K, uint16_t>, scatter<K, uint32_t>,      \
      scatter<K, uint64_t>, scatter<K, fl_f16>, scatter<K, fl_bf16>, scatter<K, float>,          \
      scatter<K, double>, scatter<K, fl_c64>, scatter<K, fl_c128>,           \
      SCATTERS_STORED(K) }

}  // namespace

extern "C" const fl_tile_moves FL_CAT(fl_tile_moves_, FL_ISA);
extern "C" const fl_tile_moves FL_CAT(fl_tile_moves_, FL_ISA) = {
    {GATHERS(fl_bool), GATHERS(uint8_t), GATHERS(int8_t),
     GATHERS(int16_t, gather<int16_t, int16_t>), GATHERS(int32_t), GATHERS(int64_t),
     GATHERS(uint16_t), GATHERS(uint32_t), GATHERS(uint64_t), GATHERS(fl_f16),
     GATHERS(fl_bf16), GATHERS(float), GATHERS(double), GATHERS(fl_c64), GATHERS(fl_c128),
     GATHERS_STORED(fl_e4m3, float), GATHERS_STORED(fl_e5m2, float),
     GATHERS_STORED(fl_e4m3uz, float), GATHERS_STORED(fl_e5m2uz, float),
     GATHERS_STORED(fl_e8m0, float), GATHERS_STORED(fl_c32, fl_c64)},
    {SCATTERS(float), SCATTERS(double), SCATTERS(int64_t), SCATTERS(fl_bool), SCATTERS(fl_c64),
     SCATTERS(fl_c128),
     {nullptr, nullptr, nullptr, scatter<int16_t, int16_t>}}};
static_assert(FL_I16 == 3, "the index of int16 in the last line");
