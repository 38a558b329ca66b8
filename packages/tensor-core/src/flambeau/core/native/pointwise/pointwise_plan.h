/* The plan of a pointwise loop: its dimensions in order, its tiles, what is streamed. */
#pragma once
#include "dispatch/pointwise.h"
#include "runtime/host.h"
#include <algorithm>
#include <cstdlib>

namespace {

struct Loop {
    fl_pw_fn fn;
    const void *code;
    const fl_scalar *scalars;
    int n_in, n_all, ndim;
    int64_t shape[FL_MAX_DIMS];         /* innermost first */
    fl_operand *ops;
    int64_t planes, rows, cols;         /* of a full tile */
    int64_t tiles_0, tiles_1, tiles_2, tiles;
    bool row_calls;                     /* one kernel call per row of the tile */
    bool crosswise;                     /* elements of a row of some operand lie lines apart */
    int64_t piece;                      /* elements streamed at once, 0: results are stored */
};

static const int64_t PIECE_BYTES = 1024;
/* Shorter rows are rather moved, or filled with what they share. */
static const int64_t ROW_CALL_ELEMENTS = 32, FILLED_ROW_ELEMENTS = 512;
static const int64_t CACHE_LINE = 64;   /* bytes */

inline void swap_dims(Loop &L, int a, int b) {
    int64_t s = L.shape[a];
    L.shape[a] = L.shape[b];
    L.shape[b] = s;
    for (int k = 0; k < L.n_all; k++) {
        int64_t *st = L.ops[k].strides;
        s = st[a];
        st[a] = st[b];
        st[b] = s;
    }
}

/* Whether dimension b should lie inside dimension a: outputs decide, inputs break ties. */
inline bool inner_first(const Loop &L, int a, int b) {
    for (int k = L.n_in; k < L.n_all; k++) {
        int64_t x = L.ops[k].strides[a], y = L.ops[k].strides[b];
        if (x != y)
            return x < y;
    }
    return false;
}

/* Take dimensions of size 1 out, reverse to innermost first, sort, merge. */
inline void simplify(Loop &L, int ndim, const int64_t *shape) {
    int nd = 0;
    int64_t source[FL_MAX_DIMS];
    for (int d = ndim - 1; d >= 0; d--)
        if (shape[d] != 1)
            source[nd++] = d;
    for (int i = 0; i < nd; i++)
        L.shape[i] = shape[source[i]];
    for (int k = 0; k < L.n_all; k++) {
        int64_t old[FL_MAX_DIMS];
        int64_t *st = L.ops[k].strides;
        memcpy(old, st, (size_t)ndim * sizeof(int64_t));
        for (int i = 0; i < nd; i++)
            st[i] = old[source[i]];
    }
    for (int i = 1; i < nd; i++)
        for (int j = i; j > 0 && inner_first(L, j, j - 1); j--)
            swap_dims(L, j, j - 1);
    int last = 0;
    for (int i = 1; i < nd; i++) {
        bool together = true;
        for (int k = 0; k < L.n_all && together; k++)
            together = L.ops[k].strides[i] == L.ops[k].strides[last] * L.shape[last];
        if (together) {
            L.shape[last] *= L.shape[i];
            continue;
        }
        last++;
        L.shape[last] = L.shape[i];
        for (int k = 0; k < L.n_all; k++)
            L.ops[k].strides[last] = L.ops[k].strides[i];
    }
    L.ndim = nd ? last + 1 : 0;
    for (; L.ndim < 2; L.ndim++) {
        L.shape[L.ndim] = 1;
        for (int k = 0; k < L.n_all; k++)
            L.ops[k].strides[L.ndim] = 0;
    }
}

inline bool converts(const fl_operand &o) { return o.dtype != fl_dtype_of_kind[o.kind]; }

/* Whether every operand can be read and written as it lies, or holds one value per row: then a
 * tile needs no memory of its own and may have many rows. */
inline bool nothing_moves(const Loop &L) {
    for (int k = 0; k < L.n_all; k++) {
        bool row_value = k < L.n_in && L.ops[k].strides[0] == 0;
        if (!row_value && (converts(L.ops[k]) || L.ops[k].strides[0] != 1))
            return false;
    }
    return true;
}

inline bool is_number(const Loop &L, const fl_operand &o) {
    for (int d = 0; d < L.ndim; d++)
        if (o.strides[d] != 0 && L.shape[d] != 1)
            return false;
    return true;
}

inline bool has_number(const Loop &L) {
    for (int k = 0; k < L.n_in; k++)
        if (is_number(L, L.ops[k]))
            return true;
    return false;
}

inline int widest_kind(const Loop &L) {
    int widest = 1;
    for (int k = 0; k < L.n_all; k++) {
        int size = fl_kind_size[L.ops[k].kind];
        widest = size > widest ? size : widest;
    }
    return widest;
}

/* Elements of a piece when results are to be streamed, else 0: when the operands do not fit the
 * last cache together and the results are a good part of them. Lines of an operand that is
 * overwritten are read anyway. */
inline int64_t choose_piece(const Loop &L, int64_t n) {
    int64_t read = 0, written = 0;
    for (int k = 0; k < L.n_in; k++) {
        int64_t bytes = fl_itemsize(L.ops[k].dtype);
        for (int d = 0; d < L.ndim; d++)
            bytes *= L.ops[k].strides[d] ? L.shape[d] : 1;
        read += bytes;
    }
    for (int k = L.n_in; k < L.n_all; k++) {
        written += n * fl_kind_size[L.ops[k].kind];
        for (int j = 0; j < L.n_in; j++)
            if (L.ops[j].data == L.ops[k].data)
                return 0;
    }
    int widest = widest_kind(L);
    bool fits = read + written <= fl_host_cache() || 4 * written < fl_host_cache();
    return fits ? 0 : PIECE_BYTES / (widest < 4 ? 4 : widest);
}

/* Whether an operand is read or written as it lies only row by row. */
inline bool rows_lie_apart(const Loop &L, const fl_operand &o) {
    return !converts(o) && o.strides[0] == 1 && o.strides[1] != L.cols;
}

/* Whether calls row by row may be of use: some operand lies so, or has one value per row. */
inline bool has_rows(const Loop &L) {
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        const bool has_values = k < L.n_in && o.strides[0] == 0 && !is_number(L, o);
        if (has_values || rows_lie_apart(L, o))
            return true;
    }
    return false;
}

/* Whether all rows are the same. */
inline bool is_shared_row(const Loop &L, const fl_operand &o) {
    for (int d = 1; d < L.ndim; d++)
        if (o.strides[d] != 0 && L.shape[d] != 1)
            return false;
    return true;
}

/* Whether tiles would be copies of rows that lie as they are needed. */
inline bool tiles_are_copies(const Loop &L) {
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        const bool is_filled = k < L.n_in && L.cols == L.shape[0] && is_shared_row(L, o);
        if (rows_lie_apart(L, o) && !is_filled)
            return true;
    }
    return false;
}

/* Tiles of 8 KiB in the widest kind: three operands stay in the first-level cache. Half of that
 * when an operand lies crosswise, so that the next tile's lines are asked for early. Small planes
 * of rows are taken several at a time. */
inline void choose_tile(Loop &L) {
    L.crosswise = false;
    for (int k = 0; k < L.n_all; k++)
        L.crosswise |= L.shape[1] > 1 && std::abs(L.ops[k].strides[0]) *
                                                 fl_itemsize(L.ops[k].dtype) >= CACHE_LINE;
    int widest = widest_kind(L);
    int64_t tile = widest > 8 ? FL_TILE / 2 : 8 * FL_TILE / (widest < 4 ? 4 : widest);
    int64_t n0 = L.shape[0], n1 = L.shape[1];
    if (L.crosswise)
        tile /= 2;
    L.cols = n0 < tile ? n0 : tile;
    if (L.crosswise && L.cols > 64)
        L.cols = 64;
    L.rows = tile / L.cols;
    if (L.rows > n1)
        L.rows = n1;
    const int64_t least = tiles_are_copies(L) ? ROW_CALL_ELEMENTS : FILLED_ROW_ELEMENTS;
    L.row_calls = L.cols >= least && has_rows(L);
    if (L.row_calls && nothing_moves(L)) {
        if (!has_number(L))             /* long rows stream better than many short ones */
            L.cols = n0 < 16 * tile ? n0 : 16 * tile;
        int64_t rows = 16 * tile / L.cols;
        L.rows = rows < n1 ? rows : n1;
    }
    L.planes = 1;
    if (L.ndim > 2 && !L.row_calls && L.rows == n1 && L.cols == n0)
        L.planes = std::min(tile / (n0 * n1), L.shape[2]);
    L.tiles_0 = (n0 + L.cols - 1) / L.cols;
    L.tiles_1 = (n1 + L.rows - 1) / L.rows;
    L.tiles_2 = L.ndim > 2 ? (L.shape[2] + L.planes - 1) / L.planes : 1;
    L.tiles = L.tiles_0 * L.tiles_1 * L.tiles_2;
    for (int d = 3; d < L.ndim; d++)
        L.tiles *= L.shape[d];
}

}  // namespace
