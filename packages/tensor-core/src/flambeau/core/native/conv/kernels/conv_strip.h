/* Strips of the unfolded input: for every tap, the elements that consecutive output pixels read.
 *
 * Pixels of one output row read consecutive elements (phase_rows.h), so a strip is a few runs, the
 * same for every tap but for the tap's offset. Runs are copied by whole vectors from left to
 * right: what a run writes too much, the next run or the next tap writes over. */
#pragma once
#include "matmul/kernels/gemm_micro.h"
#include "common/kernels/phase_rows.h"

namespace {

/* Where the unfolded input of a block comes from: planes of channels, each in rows. */
struct ConvSource {
    int64_t row_step;           /* elements between output rows, */
    int64_t image_step;         /* between images, */
    int64_t channel_step;       /* between channels */
    int64_t readable;           /* elements from the start */
};

template <class T> constexpr int strip_width() { return TILE_VECTORS * Lanes<T>::COUNT; }

/* The runs of at most CAPACITY pixels. */
template <class T, int CAPACITY> struct Runs {
    static const int L = Lanes<T>::COUNT;
    int runs, moves;
    int64_t cols;               /* pixels that count */
    int64_t from[CAPACITY], lane[CAPACITY], length[CAPACITY];   /* of runs */
    int64_t move_from[CAPACITY], move_lane[CAPACITY];           /* of vectors */

    /* Pixels [first, first + count) of rows of `width` pixels, `rows` of them in an image. */
    void set(const ConvSource &s, int64_t first, int64_t count, int64_t width, int64_t rows) {
        runs = moves = 0;
        cols = count;
        for (int64_t done = 0; done < count; runs++) {
            int64_t pixel = first + done, row = pixel / width, x = pixel % width;
            int64_t n = width - x < count - done ? width - x : count - done;
            from[runs] = row / rows * s.image_step + row % rows * s.row_step + x;
            lane[runs] = done;
            length[runs] = n;
            for (int64_t j = 0; j < n; j += L, moves++) {
                move_from[moves] = from[runs] + j;
                move_lane[moves] = done + j;
            }
            done += n;
        }
    }

    /* The elements behind `offset` that copying by vectors reads. */
    int64_t reach() const {
        int64_t most = 0;
        for (int m = 0; m < moves; m++)
            most = move_from[m] + L > most ? move_from[m] + L : most;
        return most;
    }
};

template <class T> using Strip = Runs<T, strip_width<T>()>;

template <class T, int MOVES>
inline void copy_moves(const Strip<T> &s, const T *source, const int64_t *offsets, int64_t k,
                       int64_t width, T *out) {
    int64_t from[MOVES], lane[MOVES];   /* copies: stores to `out` might change s */
    for (int m = 0; m < MOVES && m < strip_width<T>(); m++) {
        from[m] = s.move_from[m];
        lane[m] = s.move_lane[m];
    }
    for (int64_t p = 0; p < k; p++, out += width) {
        const T *tap = source + offsets[p];
#pragma GCC unroll 8
        for (int m = 0; m < MOVES; m++)
            store(out + lane[m], load(tap + from[m]));
    }
}

/* Near the end of the tensor: no element is read that does not count. */
template <class T, int CAPACITY>
inline void copy_exactly(const Runs<T, CAPACITY> &s, const T *source, const int64_t *offsets,
                         int64_t k, int64_t width, T *out) {
    for (int64_t p = 0; p < k; p++, out += width)
        for (int r = 0; r < s.runs; r++)
            for (int64_t j = 0; j < s.length[r]; j++)
                out[s.lane[r] + j] = source[offsets[p] + s.from[r] + j];
}

/* Lanes that nothing is copied to: what lay there may be denormal numbers, which are multiplied a
 * hundred times slower than others. */
template <class T>
inline void clear_rest(int64_t copied, int64_t k, int64_t width, T *out) {
    for (int64_t p = 0; p < k && copied < width; p++, out += width)
        for (int64_t i = copied; i < width; i++)
            out[i] = T(0);
}

/* out[p * width + i] = source[offsets[p] + pixel i]. `out` has a strip of slack at its end. */
template <class T>
inline void pack_strip(const Strip<T> &s, const T *source, const int64_t *offsets, int64_t k,
                       int64_t width, bool exactly, T *out) {
    clear_rest(exactly ? s.cols : s.move_lane[s.moves - 1] + s.L, k, width, out);
    if (exactly)
        return copy_exactly(s, source, offsets, k, width, out);
    switch (s.moves) {
    case 1: return copy_moves<T, 1>(s, source, offsets, k, width, out);
    case 2: return copy_moves<T, 2>(s, source, offsets, k, width, out);
    case 3: return copy_moves<T, 3>(s, source, offsets, k, width, out);
    case 4: return copy_moves<T, 4>(s, source, offsets, k, width, out);
    case 5: return copy_moves<T, 5>(s, source, offsets, k, width, out);
    case 8: return copy_moves<T, 8>(s, source, offsets, k, width, out);
    }
    for (int64_t p = 0; p < k; p++, out += width)
        for (int m = 0; m < s.moves; m++)
            store(out + s.move_lane[m], load(source + offsets[p] + s.move_from[m]));
}

}  // namespace
