/* Strided elements of one size, brought side by side as they are, and back. */
#pragma once
#include "common/kernels/block_copies.h"
#include "common/kernels/even_lanes.h"
#include "common/kernels/transpose_blocks.h"
#include <type_traits>

namespace {

/* One element for each row, repeated. A short row is part of one store, the rest of which is
 * overwritten by the rows that follow. */
template <class U>
inline void repeat_units(U *__restrict out, const U *__restrict in, int64_t rows, int64_t cols,
                         int64_t s1) {
    const int64_t STORED = 64 / sizeof(U);
    int64_t r = 0;
    for (; cols <= STORED && r * cols + STORED <= rows * cols; r++) {
        const U element = in[r * s1];
        for (int64_t c = 0; c < STORED; c++)
            out[r * cols + c] = element;
    }
    for (; r < rows; r++) {
        const U element = in[r * s1];
        for (int64_t c = 0; c < cols; c++)
            out[r * cols + c] = element;
    }
}

/* Short rows: down the columns of a few lines at a time, in loops that are long enough. */
template <class U>
inline void collect_columns(U *__restrict out, const U *__restrict in, int64_t rows, int64_t cols,
                            int64_t s1, int64_t s0) {
    const int64_t GROUP_ROWS = 64;
    for (int64_t first = 0; first < rows; first += GROUP_ROWS) {
        const int64_t end = first + GROUP_ROWS < rows ? first + GROUP_ROWS : rows;
        for (int64_t c = 0; c < cols; c++)
            for (int64_t r = first; r < end; r++)
                out[r * cols + c] = in[r * s1 + c * s0];
    }
}

template <class V, int... E> inline V turned(V v, std::integer_sequence<int, E...>) {
    return fl_shuffle(v, V{(int)sizeof...(E) - 1 - E...});
}

/* A row backwards, from its last element on: registers are turned around. */
template <class U> inline void turn_row(U *__restrict out, const U *__restrict in, int64_t cols) {
    int64_t c = 0;
    if constexpr (sizeof(U) <= 8) {
        using Lane = std::conditional_t<sizeof(U) == 1, int8_t,
                     std::conditional_t<sizeof(U) == 2, int16_t,
                     std::conditional_t<sizeof(U) == 4, int32_t, int64_t>>>;
        typedef Lane Turned __attribute__((vector_size(32)));
        const int64_t LANES = 32 / sizeof(U);
        for (; c + LANES <= cols; c += LANES) {
            Turned v;
            memcpy(&v, in - c - (LANES - 1), sizeof v);
            v = turned(v, std::make_integer_sequence<int, LANES>{});
            memcpy(out + c, &v, sizeof v);
        }
    }
    for (; c < cols; c++)
        out[c] = in[-c];
}

/* Every second element. Of narrow ones pairs are read, whose second half is cut off. */
template <class Bits>
inline void take_even(unit<Bits> *__restrict out, const unit<Bits> *__restrict in, int64_t n) {
    if constexpr (sizeof(Bits) == 4) {
        TakeEvenLanes::run((float *)out, (const float *)in, n, 2 * n - 1);
    } else if constexpr (sizeof(Bits) == 8) {
        TakeEvenLanes::run((double *)out, (const double *)in, n, 2 * n - 1);
    } else if constexpr (sizeof(Bits) < 4) {
        typedef std::conditional_t<sizeof(Bits) == 1, uint16_t, uint32_t> Pair;
        for (int64_t i = 0; i + 1 < n; i++) {
            Pair pair;
            memcpy(&pair, in + 2 * i, sizeof pair);
            out[i].bits = (Bits)pair;       /* the first is the low half: little-endian */
        }
        if (n > 0)
            out[n - 1] = in[2 * (n - 1)];
    }
}

/* A function of its own, since what it is inlined into decides whether it is unrolled. */
template <class U>
__attribute__((noinline)) void take_steps(U *__restrict out, const U *__restrict in, int64_t n,
                                          int64_t step) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4, in += 4 * step) {
        const U a = in[0], b = in[step], c = in[2 * step], d = in[3 * step];
        out[i] = a;
        out[i + 1] = b;
        out[i + 2] = c;
        out[i + 3] = d;
    }
    for (; i < n; i++, in += step)
        out[i] = *in;
}

/* Strided elements, side by side. */
template <class U>
inline void collect_units(U *__restrict out, const U *__restrict in, int64_t rows, int64_t cols,
                          int64_t s1, int64_t s0) {
    const int64_t SHORT_ROW = 16;
    if (s0 == 0) {
        repeat_units(out, in, rows, cols, s1);
    } else if (s1 == 1 && rows > 1) {
        transpose(out, cols, in, s0, rows, cols);
    } else if (s0 == 2 && sizeof(U) <= 8) {
        for (int64_t r = 0; r < rows; r++)
            take_even(out + r * cols, in + r * s1, cols);
    } else if (cols < SHORT_ROW && cols < rows) {
        collect_columns(out, in, rows, cols, s1, s0);
    } else if (s0 == -1) {
        for (int64_t r = 0; r < rows; r++)
            turn_row(out + r * cols, in + r * s1, cols);
    } else {
        for (int64_t r = 0; r < rows; r++)
            take_steps(out + r * cols, in + r * s1, cols, s0);
    }
}

template <class U>
inline void spread_units(U *__restrict out, const U *__restrict in, int64_t rows, int64_t cols,
                         int64_t s1, int64_t s0) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            out[r * s1 + c * s0] = in[r * cols + c];
}

/* The same for elements of so many bytes. */
#define FOR_SIZE(move, out, in, ...)                                                             \
    switch (size) {                                                                              \
    case 1: return move((unit<uint8_t> *)out, (const unit<uint8_t> *)in, __VA_ARGS__);           \
    case 2: return move((unit<uint16_t> *)out, (const unit<uint16_t> *)in, __VA_ARGS__);         \
    case 4: return move((unit<uint32_t> *)out, (const unit<uint32_t> *)in, __VA_ARGS__);         \
    case 8: return move((unit<uint64_t> *)out, (const unit<uint64_t> *)in, __VA_ARGS__);         \
    case 16: return move((unit<two_words> *)out, (const unit<two_words> *)in, __VA_ARGS__);      \
    }

void collect(int64_t size, void *out, const void *in, int64_t rows, int64_t cols, int64_t s1,
             int64_t s0) {
    if (s0 == 1)
        return copy_blocks((char *)out, cols * size, (const char *)in, s1 * size, cols * size,
                           rows);
    FOR_SIZE(collect_units, out, in, rows, cols, s1, s0)
}

void spread(int64_t size, void *out, const void *in, int64_t rows, int64_t cols, int64_t s1,
            int64_t s0) {
    if (s0 == 1)
        return copy_blocks((char *)out, s1 * size, (const char *)in, cols * size, cols * size,
                           rows);
    FOR_SIZE(spread_units, out, in, rows, cols, s1, s0)
}

}  // namespace
