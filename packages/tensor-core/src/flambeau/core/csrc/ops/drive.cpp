/* The pointwise driver: any strides, any dtypes, one kernel call per contiguous tile.
 *
 * Dimensions are sorted by the first output's strides, neighbours that step together are merged.
 * What remains is cut into tiles of rows x cols. An operand already contiguous in its kind is
 * passed as it lies; a number (all strides 0) fills a tile once; anything else is gathered. A few
 * elements go without all this. */
#include "ops/few.h"

namespace {

struct Loop {
    fl_pw_fn fn;
    const void *code;
    const fl_scalar *scalars;
    int n_in, n_all, ndim;
    int64_t shape[FL_MAX_DIMS];         /* innermost first */
    fl_operand *ops;
    int64_t rows, cols;                 /* of a full tile */
    int64_t tiles_0, tiles_1, tiles;
    bool row_calls;                     /* one kernel call per row of the tile */
};

/* How a tile of an operand is reached: as it lies; a number, filled once; one value per row,
 * filled for a chunk of the row; gathered or scattered. */
enum Access { DIRECT, NUMBER, ROW_VALUE, MOVED };
static const int64_t CHUNK = 1024;

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
void simplify(Loop &L, int ndim, const int64_t *shape) {
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
bool nothing_moves(const Loop &L) {
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

bool has_number(const Loop &L) {
    for (int k = 0; k < L.n_in; k++)
        if (is_number(L, L.ops[k]))
            return true;
    return false;
}

/* Tiles of 8 KiB in the widest kind: three operands stay in the first-level cache. */
void choose_tile(Loop &L) {
    bool crosswise = false;
    int widest = 1;
    for (int k = 0; k < L.n_all; k++) {
        crosswise |= L.ops[k].strides[0] > 1 && L.shape[1] > 1;
        int size = fl_kind_size[L.ops[k].kind];
        widest = size > widest ? size : widest;
    }
    const int64_t tile = widest > 8 ? FL_TILE / 2 : 8 * FL_TILE / (widest < 4 ? 4 : widest);
    int64_t n0 = L.shape[0], n1 = L.shape[1];
    L.cols = n0 < tile ? n0 : tile;
    if (crosswise && L.cols > 64)
        L.cols = 64;
    L.rows = tile / L.cols;
    if (L.rows > n1)
        L.rows = n1;
    L.row_calls = L.cols >= 32;
    if (L.row_calls && nothing_moves(L)) {
        if (!has_number(L))             /* long rows stream better than many short ones */
            L.cols = n0 < 16 * tile ? n0 : 16 * tile;
        int64_t rows = 16 * tile / L.cols;
        L.rows = rows < n1 ? rows : n1;
    }
    L.tiles_0 = (n0 + L.cols - 1) / L.cols;
    L.tiles_1 = (n1 + L.rows - 1) / L.rows;
    L.tiles = L.tiles_0 * L.tiles_1;
    for (int d = 2; d < L.ndim; d++)
        L.tiles *= L.shape[d];
}

inline Access access_of(const Loop &L, const fl_operand &o, bool is_input) {
    if (is_input && L.row_calls && o.strides[0] == 0)
        return ROW_VALUE;
    if (converts(o))
        return MOVED;
    if (o.strides[0] == 1 && (L.row_calls || L.rows == 1 || o.strides[1] == L.cols))
        return DIRECT;
    return MOVED;
}

struct Tiles {
    alignas(64) char memory[(FL_PW_MAX_IN + FL_PW_MAX_OUT)][FL_TILE * 16];
};

/* One kernel call per row, or per chunk of a row where an operand has one value per row. */
void call_rows(const Loop &L, const Access *access, void *const *ptr, char *const *origin,
               const int64_t *step, int64_t rows, int64_t cols) {
    int64_t chunk = cols;
    for (int k = 0; k < L.n_in; k++)
        if (access[k] == ROW_VALUE && chunk > CHUNK)
            chunk = CHUNK;
    void *at[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    for (int64_t r = 0; r < rows; r++) {
        for (int k = 0; k < L.n_in; k++) {
            const fl_operand &o = L.ops[k];
            if (access[k] == ROW_VALUE)
                fl_moves->gather[o.dtype][o.kind](
                    ptr[k], origin[k] + r * o.strides[1] * fl_itemsize(o.dtype), 1, chunk, 0, 0);
        }
        for (int64_t c = 0; c < cols; c += chunk) {
            for (int k = 0; k < L.n_all; k++) {
                bool fixed = access[k] == NUMBER || access[k] == ROW_VALUE;
                int64_t across = fixed ? 0 : c * fl_kind_size[L.ops[k].kind];
                at[k] = (char *)ptr[k] + r * step[k] + across;
            }
            L.fn(L.code, at, at + L.n_in, L.scalars, cols - c < chunk ? cols - c : chunk);
        }
    }
}

void run_tile(const Loop &L, const Access *access, Tiles &tiles, const int64_t *start,
              int64_t rows, int64_t cols) {
    void *ptr[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    int64_t step[FL_PW_MAX_IN + FL_PW_MAX_OUT];     /* bytes between rows, for row calls */
    char *origin[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    bool by_rows = L.row_calls && rows > 1;
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        int64_t size = fl_itemsize(o.dtype), offset = 0;
        for (int d = 0; d < L.ndim; d++)
            offset += start[d] * o.strides[d];
        origin[k] = o.data + offset * size;
        if (access[k] == DIRECT) {
            ptr[k] = origin[k];
            step[k] = o.strides[1] * size;
            continue;
        }
        ptr[k] = tiles.memory[k];
        step[k] = access[k] == MOVED ? cols * fl_kind_size[o.kind] : 0;
        by_rows |= access[k] == ROW_VALUE;
        if (access[k] == MOVED && k < L.n_in)
            fl_moves->gather[o.dtype][o.kind](ptr[k], origin[k], rows, cols, o.strides[1],
                                              o.strides[0]);
    }
    if (by_rows)
        call_rows(L, access, ptr, origin, step, rows, cols);
    else
        L.fn(L.code, ptr, ptr + L.n_in, L.scalars, rows * cols);
    for (int k = L.n_in; k < L.n_all; k++)
        if (access[k] == MOVED)
            fl_moves->scatter[L.ops[k].kind][L.ops[k].dtype](
                origin[k], ptr[k], rows, cols, L.ops[k].strides[1], L.ops[k].strides[0]);
}

void run_tiles(const Loop &L, int64_t begin, int64_t end) {
    Tiles tiles;
    Access access[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        access[k] = access_of(L, o, k < L.n_in);
        if (k < L.n_in && is_number(L, o)) {
            access[k] = NUMBER;
            int64_t n = L.row_calls ? L.cols : L.rows * L.cols;
            fl_moves->gather[o.dtype][o.kind](tiles.memory[k], o.data, 1, n, 0, 0);
        }
    }
    for (int64_t i = begin; i < end; i++) {
        int64_t start[FL_MAX_DIMS];
        int64_t rest = i;
        start[0] = rest % L.tiles_0 * L.cols;
        rest /= L.tiles_0;
        start[1] = rest % L.tiles_1 * L.rows;
        rest /= L.tiles_1;
        for (int d = 2; d < L.ndim; d++) {
            start[d] = rest % L.shape[d];
            rest /= L.shape[d];
        }
        int64_t cols = L.shape[0] - start[0] < L.cols ? L.shape[0] - start[0] : L.cols;
        int64_t rows = L.shape[1] - start[1] < L.rows ? L.shape[1] - start[1] : L.rows;
        run_tile(L, access, tiles, start, rows, cols);
    }
}

/* All operands contiguous in their kinds: no tiles, long runs. */
bool try_flat(const Loop &L) {
    if (L.shape[1] != 1 || L.ndim != 2)
        return false;
    for (int k = 0; k < L.n_all; k++)
        if (converts(L.ops[k]) || (L.ops[k].strides[0] != 1 && L.shape[0] != 1))
            return false;
    fl_parallel(L.shape[0], FL_GRAIN, [&](int64_t begin, int64_t end) {
        void *ptr[FL_PW_MAX_IN + FL_PW_MAX_OUT];
        for (int k = 0; k < L.n_all; k++)
            ptr[k] = L.ops[k].data + begin * fl_kind_size[L.ops[k].kind];
        L.fn(L.code, ptr, ptr + L.n_in, L.scalars, end - begin);
    });
    return true;
}

/* ---- few elements ---------------------------------------------------------------------------- */

/* No plan: every operand is brought into the result's order, and the kernel called once. */
void run_few(const Loop &L, int ndim, const int64_t *shape, int64_t n) {
    alignas(64) char tiles[FL_PW_MAX_IN + FL_PW_MAX_OUT][FL_FEW * 16];
    void *ptr[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        fl_walk walk(ndim, shape, o.strides);
        bool direct = !converts(o) && walk.in_order();
        ptr[k] = direct ? o.data : tiles[k];
        if (!direct && k < L.n_in)
            fl_gather_few(tiles[k], o.kind, o.data, o.dtype, walk);
    }
    L.fn(L.code, ptr, ptr + L.n_in, L.scalars, n);
    for (int k = L.n_in; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        if (ptr[k] != o.data)
            fl_scatter_few(o.data, o.dtype, tiles[k], o.kind, fl_walk(ndim, shape, o.strides));
    }
}

}  // namespace

void fl_pw_drive(fl_pw_fn fn, const void *code, const fl_scalar *scalars, int n_in, int n_out,
                 fl_operand *ops, int ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= shape[i];
    if (n == 0)
        return;
    Loop L;
    L.fn = fn;
    L.code = code;
    L.scalars = scalars;
    L.n_in = n_in;
    L.n_all = n_in + n_out;
    L.ops = ops;
    if (n <= FL_FEW) {
        run_few(L, ndim, shape, n);
        return;
    }
    simplify(L, ndim, shape);
    if (try_flat(L))
        return;
    choose_tile(L);
    int64_t grain = FL_GRAIN / (L.rows * L.cols);
    fl_parallel(L.tiles, grain > 0 ? grain : 1,
                [&](int64_t begin, int64_t end) { run_tiles(L, begin, end); });
}
