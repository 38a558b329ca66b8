/* Sorting one line: elements become unsigned keys whose order is the wanted one. */
#pragma once
#include "dispatch/core.h"

/* Ascending keys: NaN after everything, -0 equal to 0. */
static inline uint32_t fl_sort_key(float x) {
    uint32_t u;
    x = x == 0 ? 0.0f : x;
    memcpy(&u, &x, 4);
    uint32_t key = u & 0x80000000u ? ~u : u | 0x80000000u;
    return x != x ? 0xffffffffu : key;
}
static inline uint64_t fl_sort_key(double x) {
    uint64_t u;
    x = x == 0 ? 0.0 : x;
    memcpy(&u, &x, 8);
    uint64_t key = u >> 63 ? ~u : u | 0x8000000000000000ull;
    return x != x ? ~0ull : key;
}
static inline uint64_t fl_sort_key(int64_t x) { return (uint64_t)x ^ 0x8000000000000000ull; }

/* A key with its position in the line; 32-bit keys are packed with the position into one number. */
struct fl_keyed {
    uint64_t key;
    int64_t position;
};
static inline bool operator<(const fl_keyed &a, const fl_keyed &b) {
    return a.key < b.key || (a.key == b.key && a.position < b.position);
}

/* Bytes of room a line of n elements needs. */
size_t fl_sort_room(int kind, int64_t n);
/* values and positions: sorted stably; kind float32, float64 or int64; values may be x. */
void fl_sort_line(int kind, const void *x, int64_t n, bool descending, void *room, void *values,
                  int64_t *positions);

/* The first k elements, in order, of lines that lie one behind the other. */
struct fl_lines {
    int kind;
    int64_t lines, n, k;
    bool descending;
};
/* The same of all lines at once; false where they are long, or not enough of them. */
bool fl_sort_short_lines(const fl_lines &job, const char *x, char *values, int64_t *positions);
