/* Kernels of direct convolution: see conv_direct.h. */
#include "conv/kernels/conv_direct.h"
#include "matmul/kernels/gemm_vector.h"

#if defined(__AVX2__)
namespace {

/* With two vectors of weights and an element of the input, the sums take 15 of 16 registers, or 31
 * of 32. */
const int PIXELS = REGISTERS == 32 ? 14 : 6;
const int VECTORS = 2;
const int L = Lanes<float>::COUNT;
const int CHANNELS = VECTORS * L;

template <int ROWS, int V> void multiply_tile(const fl_conv_direct_block &b, int64_t first) {
    float *sums = b.sums + first * CHANNELS;
    const float *weights = b.weights, *from[ROWS];
    Vector<float> sum[ROWS][V];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++) {
        from[i] = b.input + b.pixels[first + i];
#pragma GCC unroll 16
        for (int v = 0; v < V; v++)
            sum[i][v] = load(b.start ? b.start + v * L : sums + i * CHANNELS + v * L);
    }
    for (int64_t t = 0; t < b.tap_count; t++, weights += CHANNELS) {
        Vector<float> row[V];
#pragma GCC unroll 16
        for (int v = 0; v < V; v++)
            row[v] = load(weights + v * L);
        int64_t tap = b.taps[t];
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++) {
            Vector<float> element = splat(from[i][tap]);
#pragma GCC unroll 16
            for (int v = 0; v < V; v++)
                sum[i][v] = fma(element, row[v], sum[i][v]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 16
        for (int v = 0; v < V; v++)
            store(sums + i * CHANNELS + v * L, sum[i][v]);
}

/* Rest: how many pixels the last tile has. */
template <int ROWS, int V>
void multiply_last(const fl_conv_direct_block &b, int64_t first, int64_t rows) {
    if (rows == ROWS)
        multiply_tile<ROWS, V>(b, first);
    else if constexpr (ROWS > 1)
        multiply_last<ROWS - 1, V>(b, first, rows);
}

template <int V> void multiply_vectors(const fl_conv_direct_block &b) {
    int64_t left = b.pixel_count, first = 0;
    for (; left >= 2 * PIXELS || left == PIXELS; left -= PIXELS, first += PIXELS)
        multiply_tile<PIXELS, V>(b, first);
    for (; left > 0;) {                 /* the last two share what is left */
        int64_t rows = left > PIXELS ? (left + 1) / 2 : left;
        multiply_last<PIXELS, V>(b, first, rows);
        left -= rows;
        first += rows;
    }
}

void multiply(const fl_conv_direct_block *b) {
    if (b->channels > L)
        multiply_vectors<VECTORS>(*b);
    else
        multiply_vectors<1>(*b);
}

/* A square block of in's rows, `rows` of them, to the columns of out. */
inline void load_columns(const float *in, int64_t row, int64_t rows, Vector<float> *block) {
    for (int i = 0; i < L; i++)
        block[i] = i < rows ? load(in + i * row) : Vector<float>{};
    transpose_lanes<float>(block);
}

void pack(const float *weights, int64_t row, int64_t rows, int64_t taps, float *packed) {
    for (int v = 0; v < VECTORS; v++, rows -= L, weights += L * row) {
        int64_t t = 0;
        for (; t + L <= taps; t += L) {
            Vector<float> block[L];
            load_columns(weights + t, row, rows, block);
            for (int i = 0; i < L; i++)
                store(packed + (t + i) * CHANNELS + v * L, block[i]);
        }
        for (; t < taps; t++)
            for (int i = 0; i < L; i++)
                packed[t * CHANNELS + v * L + i] = i < rows ? weights[i * row + t] : 0.0f;
    }
}

void spread(const float *sums, int64_t pixels, int64_t channels, float *out, int64_t row) {
    for (int64_t q = 0; q < pixels; q += L)
        for (int64_t c = 0; c < channels; c += L) {
            int64_t wide = pixels - q < L ? pixels - q : L,
                high = channels - c < L ? channels - c : L;
            Vector<float> block[L];
            load_columns(sums + q * CHANNELS + c, CHANNELS, wide, block);
            for (int64_t i = 0; i < high; i++)
                if (wide == L)
                    store(out + (c + i) * row + q, block[i]);
                else
                    store_part(out + (c + i) * row + q, block[i], wide);
        }
}

}  // namespace

extern const fl_conv_direct_kernels FL_LEVEL(fl_conv_direct_kernels) = {CHANNELS, PIXELS, multiply,
                                                                        pack, spread};
#else
extern const fl_conv_direct_kernels FL_LEVEL(fl_conv_direct_kernels) = {};
#endif
