/* Tile registers of AMX. Files that use them are compiled for AVX-512 alone, begin with
 * FL_COMPILES_AMX, and may run where fl_has_amx(). */
#pragma once
#include <stdint.h>

#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define FL_COMPILES_AMX 1
#pragma GCC target("avx512bf16,amx-tile,amx-bf16,amx-int8")
#include <immintrin.h>

namespace {

const int64_t SIDE = 16;                /* rows of a tile, and its columns of 32 bits */
const int64_t BLOCK = 2 * SIDE;         /* rows and columns of sums in registers */

/* The form of the eight tiles: all are full. */
struct alignas(64) TileConfig {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE};
};

constexpr TileConfig CONFIG;            /* not on the stack: GCC sees only 8 of its bytes read */

/* What was stored is in memory: loads of tiles do not tell GCC that they read. */
inline void before_tiles() { asm volatile("" ::: "memory"); }

/* R x C tiles of sums of 32 bits, in registers 0 to 3; rows in memory are `row` sums apart. */
inline void zero_sums() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

template <int R, int C, class T> inline void load_sums(const T *from, int64_t row) {
    _tile_loadd(0, from, row * 4);
    if (C > 1)
        _tile_loadd(1, from + SIDE, row * 4);
    if (R > 1)
        _tile_loadd(2, from + SIDE * row, row * 4);
    if (R > 1 && C > 1)
        _tile_loadd(3, from + SIDE * row + SIDE, row * 4);
}

template <int R, int C, class T> inline void store_sums(T *to, int64_t row) {
    _tile_stored(0, to, row * 4);
    if (C > 1)
        _tile_stored(1, to + SIDE, row * 4);
    if (R > 1)
        _tile_stored(2, to + SIDE * row, row * 4);
    if (R > 1 && C > 1)
        _tile_stored(3, to + SIDE * row + SIDE, row * 4);
}

inline int64_t up_to(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

}  // namespace
#endif
