/* Transposes of elements of one size, in blocks that pass through registers. */
#pragma once
#include "common/kernels/shuffle.h"
#include <stdint.h>
#include <string.h>

namespace {

/* An element, moved as it is. */
template <class Bits> struct __attribute__((may_alias)) unit { Bits bits; };
struct two_words { uint64_t first, second; };

/* 4 x 4 blocks of 4-byte elements through registers: in[r + c * step] to out[r * cols + c]. */
typedef float quad __attribute__((vector_size(16)));
typedef int pick __attribute__((vector_size(16)));

inline quad load_quad(const void *p) {
    quad q;
    memcpy(&q, p, sizeof q);
    return q;
}

template <class U>
inline void transpose_block(U *out, int64_t cols, const U *in, int64_t step) {
    quad a = load_quad(in), b = load_quad(in + step);
    quad c = load_quad(in + 2 * step), d = load_quad(in + 3 * step);
    quad ab0 = fl_shuffle(a, b, pick{0, 4, 1, 5});
    quad ab1 = fl_shuffle(a, b, pick{2, 6, 3, 7});
    quad cd0 = fl_shuffle(c, d, pick{0, 4, 1, 5});
    quad cd1 = fl_shuffle(c, d, pick{2, 6, 3, 7});
    quad rows[4] = {fl_shuffle(ab0, cd0, pick{0, 1, 4, 5}),
                    fl_shuffle(ab0, cd0, pick{2, 3, 6, 7}),
                    fl_shuffle(ab1, cd1, pick{0, 1, 4, 5}),
                    fl_shuffle(ab1, cd1, pick{2, 3, 6, 7})};
    for (int r = 0; r < 4; r++)
        memcpy(out + r * cols, &rows[r], sizeof(quad));
}

/* out[r * row + c] = in[r + c * step], a few rows at a time. */
template <class U>
inline void transpose(U *out, int64_t row, const U *in, int64_t step, int64_t rows,
                      int64_t cols) {
    const int64_t STRIP_ROWS = 8;
    for (int64_t r = 0; r < rows; r += STRIP_ROWS) {
        const int64_t end = r + STRIP_ROWS < rows ? r + STRIP_ROWS : rows;
        for (int64_t c = 0; c < cols; c++)
            for (int64_t k = r; k < end; k++)
                out[k * row + c] = in[k + c * step];
    }
}

/* A whole line of each column at a time, spelled out: each load then has one stride, which the
 * processor learns and runs ahead of. */
template <>
inline void transpose(unit<uint32_t> *out, int64_t row, const unit<uint32_t> *in, int64_t step,
                      int64_t rows, int64_t cols) {
    const int64_t whole_rows = rows & ~(int64_t)3, whole_cols = cols & ~(int64_t)3;
    int64_t lines = rows & ~(int64_t)15;
    for (int64_t r = 0; r < lines; r += 16)
        for (int64_t c = 0; c < whole_cols; c += 4) {
            unit<uint32_t> *to = out + r * row + c;
            const unit<uint32_t> *from = in + r + c * step;
            transpose_block(to, row, from, step);
            transpose_block(to + 4 * row, row, from + 4, step);
            transpose_block(to + 8 * row, row, from + 8, step);
            transpose_block(to + 12 * row, row, from + 12, step);
        }
    for (int64_t r = lines; r < whole_rows; r += 4)
        for (int64_t c = 0; c < whole_cols; c += 4)
            transpose_block(out + r * row + c, row, in + r + c * step, step);
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = c < whole_cols ? whole_rows : 0; r < rows; r++)
            out[r * row + c] = in[r + c * step];
}

/* 4 x 4 blocks of 8-byte elements, two at a time: a line of each column. */
typedef double four __attribute__((vector_size(32)));
typedef int64_t pick_four __attribute__((vector_size(32)));

inline four load_four(const void *p) {
    four v;
    memcpy(&v, p, sizeof v);
    return v;
}

inline void transpose_block(unit<uint64_t> *out, int64_t cols, const unit<uint64_t> *in,
                            int64_t step) {
    four a = load_four(in), b = load_four(in + step);
    four c = load_four(in + 2 * step), d = load_four(in + 3 * step);
    const pick_four even = {0, 4, 2, 6}, odd = {1, 5, 3, 7};
    four ab0 = fl_shuffle(a, b, even), ab1 = fl_shuffle(a, b, odd);
    four cd0 = fl_shuffle(c, d, even), cd1 = fl_shuffle(c, d, odd);
    four rows[4] = {fl_shuffle(ab0, cd0, pick_four{0, 1, 4, 5}),
                    fl_shuffle(ab1, cd1, pick_four{0, 1, 4, 5}),
                    fl_shuffle(ab0, cd0, pick_four{2, 3, 6, 7}),
                    fl_shuffle(ab1, cd1, pick_four{2, 3, 6, 7})};
    for (int r = 0; r < 4; r++)
        memcpy(out + r * cols, &rows[r], sizeof(four));
}

template <>
inline void transpose(unit<uint64_t> *out, int64_t row, const unit<uint64_t> *in, int64_t step,
                      int64_t rows, int64_t cols) {
    const int64_t whole_rows = rows & ~(int64_t)3, whole_cols = cols & ~(int64_t)3;
    const int64_t lines = rows & ~(int64_t)7;
    for (int64_t r = 0; r < whole_rows; r += r < lines ? 8 : 4)
        for (int64_t c = 0; c < whole_cols; c += 4) {
            transpose_block(out + r * row + c, row, in + r + c * step, step);
            if (r < lines)
                transpose_block(out + (r + 4) * row + c, row, in + r + 4 + c * step, step);
        }
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = c < whole_cols ? whole_rows : 0; r < rows; r++)
            out[r * row + c] = in[r + c * step];
}

/* 8 x 8 blocks of 2-byte elements, in three rounds. */
typedef int16_t eight __attribute__((vector_size(16)));

/* Weave rows four apart: eight rows that stay in registers, so no loop is left. */
inline void weave(const eight (&a)[8], eight (&b)[8]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b[2 * i] = fl_shuffle(a[i], a[i + 4], eight{0, 8, 1, 9, 2, 10, 3, 11});
        b[2 * i + 1] = fl_shuffle(a[i], a[i + 4], eight{4, 12, 5, 13, 6, 14, 7, 15});
    }
}

inline void transpose_block(unit<uint16_t> *out, int64_t cols, const unit<uint16_t> *in,
                            int64_t step) {
    eight a[8], b[8], c[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        memcpy(&a[i], in + i * step, sizeof(eight));
    weave(a, b);
    weave(b, c);
    weave(c, a);
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++)
        memcpy(out + r * cols, &a[r], sizeof(eight));
}

template <>
inline void transpose(unit<uint16_t> *out, int64_t row, const unit<uint16_t> *in, int64_t step,
                      int64_t rows, int64_t cols) {
    const int64_t whole_rows = rows & ~(int64_t)7, whole_cols = cols & ~(int64_t)7;
    const int64_t lines = rows & ~(int64_t)31;
    for (int64_t r = 0; r < lines; r += 32)         /* a line of each column at a time */
        for (int64_t c = 0; c < whole_cols; c += 8)
            for (int64_t part = r; part < r + 32; part += 8)
                transpose_block(out + part * row + c, row, in + part + c * step, step);
    for (int64_t r = lines; r < whole_rows; r += 8)
        for (int64_t c = 0; c < whole_cols; c += 8)
            transpose_block(out + r * row + c, row, in + r + c * step, step);
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = c < whole_cols ? whole_rows : 0; r < rows; r++)
            out[r * row + c] = in[r + c * step];
}

}  // namespace
